# Reads a table of a database as predictions. The result is the SQL of a SELECT whose rows are (groups, p, y, w),
# complete and used: p is the scalar prediction, y its outcome 0/1 and w the weight. `extra` columns are the fold and
# the cluster, if there are any. A `rows` object is
#   db, pairs   the database, the SQL
#   keys        tibble of groups (NULL: none); by: their quoted names
#   counts      per group: n_all, n (complete), used, sums of the weights and the number of clusters
#   kind        of the weights: "none", "frequency", "importance"
#   levels, event, n_classes, notion

read_database <- function(x, input, notion, fold = NULL) {
  check_flag(input$na_rm, "na_rm")
  event_level <- check_choice(input$event_level, c("first", "second"), "event_level")
  check_truth_given(input$truth)
  design <- input$design
  db <- as_database(x)
  check_database_design(design, db)
  groups <- database_groups(db, input$by)
  outcome <- truth_column(input$truth, db$columns)
  values <- outcome_values(db, outcome)
  weights <- database_weights(db, design$weights)
  cluster <- names(db$columns)[select_column(design$cluster, db$columns, "cluster")]
  columns <- colnames(read_probs(db$columns, input$dots, values, match(outcome, names(db$columns))))
  coded <- code_values(values, columns, event_level)
  notion <- notion %||% default_notion(coded)
  check_database_notion(notion, coded)
  rows <- c(list(db = db, notion = notion, kind = weights$kind, scalar = is.null(coded$probs), na_rm = input$na_rm,
                 groups = groups, by = sprintf("ce_g%d", seq_along(groups)),
                 extra = c(if (!is.null(fold)) "ce_fold", if (length(cluster) > 0) "ce_cluster")),
            coded[c("levels", "event", "named")],
            list(truth_name = outcome, event_level = event_level, column = if (is.null(coded$probs)) columns))
  inner <- paste0("SELECT ", sql_list(
    database_by(rows, groups),
    paste0(sql_double(sql_name(db, coded$columns)), " AS ce_p", seq_along(coded$columns)),
    paste0(sql_code(db, outcome, values, coded$codes), " AS ce_t"),
    paste0(if (is.null(weights$column)) "1" else sql_double(sql_name(db, weights$column)), " AS ce_w"),
    if (!is.null(fold)) paste(sql_name(db, fold), "AS ce_fold"),
    if (length(cluster) > 0) paste(sql_name(db, cluster), "AS ce_cluster")
  ), " FROM (", db$from, ") ce_rows")
  check_stored_numbers(db, coded$columns, "probs", "Probabilities")
  check_stored_numbers(db, weights$column, "weights", "Weights")
  if (is.numeric(values)) check_stored_numbers(db, outcome, "truth", "Outcomes that are numbers")
  rows <- count_rows(rows, inner, length(coded$columns))
  rows$pairs <- sql_pairs(rows, inner, length(coded$columns))
  database_direction(rows, inner, coded, if (is.character(values)) event_level)
  rows
}

# SQLite stores a value of any type in a column without a type, and casts text and blobs to 0.
check_stored_numbers <- function(db, columns, class, what) {
  if (!inherits(db$con, "SQLiteConnection")) return(invisible())
  for (column in columns) {
    name <- sql_name(db, column)
    other <- "('integer', 'real', 'null')"
    n <- database_query(db, paste0("SELECT COUNT(*) AS n FROM (", db$from, ") ce_rows WHERE TYPEOF(", name, ") NOT IN ",
                                   other))$n
    if (n == 0) next
    # beside a minimum SQLite gives the other values of its row
    numbered <- paste0("SELECT ROW_NUMBER() OVER () AS ce_row, ", name, " AS ce_v FROM (", db$from, ") ce_rows")
    found <- database_query(db, paste0(
      "SELECT MIN(ce_row) AS row, TYPEOF(ce_v) AS type, CAST(ce_v AS TEXT) AS value FROM (", numbered,
      ") ce_numbered WHERE TYPEOF(ce_v) NOT IN ", other
    ))
    value <- if (found$type == "blob") "a blob" else dQuote(found$value, FALSE)
    stop_input(
      "{what} in a database must be stored as numbers.",
      "x" = "Row {found$row} of column {.val {column}} is {value}; {n} row{?s} hold{?s/} text or blobs.",
      "i" = "If the text is numbers, convert it: {.code mutate(tbl, {column} = as.numeric({column}))}, or in SQL \\
             {.code CAST({column} AS REAL)}.", class = c(class, "database"), arg = if (class == "probs") "x" else class,
      row = found$row, value = value
    )
  }
}

# SQL of how many rows a row stands for.
row_copies <- function(rows) if (rows$kind == "frequency") "ce_w" else "1"

is_clustered <- function(rows) "ce_cluster" %in% rows$extra

is_weighted <- function(rows) !is.null(database_design(rows)$sums)

# Whether incomplete rows make the result of a group missing.
lacks_rows <- function(rows, g) !rows$na_rm && rows$counts$n[g] < rows$counts$n_all[g]

check_database_design <- function(design, db) {
  unsupported_if(!is.null(design$horizon), "outcomes are known", "{.arg horizon} is given.", "horizon")
}

check_database_notion <- function(notion, coded) {
  if (notion == "binary") check_two_classes(coded)
  unsupported_if(notion %in% c("class_wise", "canonical"),
                 "{.arg notion} is {.val top_label} or {.val binary}: a pair of numbers per row",
                 "{.arg notion} is {.val {notion}}.", "notion")
}

database_groups <- function(db, by) {
  given <- !rlang::quo_is_null(by)
  stop_if(given && length(db$groups) > 0, "{.arg .by} cannot be used with a grouped table.",
          "i" = "Ungroup it, or drop {.arg .by}.", class = "group", arg = ".by")
  groups <- if (given) names(db$columns)[select_columns(by, db$columns, ".by")] else db$groups
  check_group_names(groups)
  groups
}

database_by <- function(rows, groups) {
  if (length(groups) > 0) paste0(sql_name(rows$db, groups), " AS ", rows$by)
}

# The distinct outcomes, in their order; text as a factor, which a database does not have.
outcome_values <- function(db, outcome, most = 10000) {
  name <- sql_name(db, outcome)
  values <- database_query(db, paste0("SELECT DISTINCT ", name, " AS ce_t FROM (", db$from, ") ce_rows WHERE ", name,
                                      " IS NOT NULL LIMIT ", most + 1))[["ce_t"]]
  stop_if(length(values) > most, "{.arg truth} must be a column of classes, or of 0 and 1.",
          "x" = "{.field {outcome}} has more than {count_text(most)} different values.", class = "truth", arg = "truth")
  # without rows the type is that of the declared column
  if (length(values) == 0) values <- db$columns[[outcome]][0]
  if (inherits(values, "integer64")) values <- as.numeric(values)
  sort(values, method = "radix")
}

# Levels and codes of the distinct outcomes, by the rules of predictions in memory: with several columns the codes are
# classes 1..K, else 0 and 1.
code_values <- function(values, columns, event_level) {
  if (length(columns) == 1) {
    outcome <- if (is.character(values)) factor(values, levels = values) else values
    coded <- code_outcome(outcome, event_level, columns)
    return(list(columns = columns, codes = coded$outcome, levels = coded$levels, event = coded$event,
                named = coded$named))
  }
  x <- matrix(0, length(values), length(columns), dimnames = list(NULL, columns))
  coded <- code_truth(values, x)
  list(columns = colnames(coded$x), codes = coded$truth, levels = coded$levels, probs = coded$x,
       event = if (event_level == "first") 1L else 2L, named = TRUE)
}

sql_code <- function(db, outcome, values, codes) {
  name <- sql_name(db, outcome)
  if (length(values) == 0) return("NULL")
  conditions <- if (is.logical(values)) {
    ifelse(values, name, paste("NOT", name))
  } else {
    vapply(values, function(value) sql_equal(db, name, value), "")
  }
  paste0("CASE ", paste0("WHEN ", conditions, " THEN ", codes, collapse = " "), " END")
}

# Integers are frequencies, doubles importance weights, as in memory.
database_weights <- function(db, quo) {
  at <- select_column(quo, db$columns, "weights")
  if (is.null(at)) return(list(kind = "none"))
  list(kind = weight_kind(db$columns[[at]]), column = names(db$columns)[at])
}

# --- The rows as pairs -----------------------------------------------------------------------------------------------

sql_pairs <- function(rows, inner, k) {
  by <- c(rows$by, "ce_w", rows$extra)
  where <- paste(sql_complete(rows, k), "AND ce_w > 0")
  y <- function(event) paste0("CASE WHEN ", event, " THEN 1 ELSE 0 END AS y")
  if (k == 1) {
    return(sql_select(c(by, "ce_p1 AS p", "ce_t AS y"), inner, "ce_inner", " WHERE ", where))
  }
  p <- paste0("ce_p", seq_len(k))
  total <- paste0("(", paste(p, collapse = " + "), ")")
  # sums that are off are divided by, as in memory
  scaled <- paste0("CASE WHEN ABS(", total, " - 1) > ", sql_number(sum_tolerance$exact), " THEN ", p, " / ", total,
                   " ELSE ", p, " END AS ", p)
  if (any(rows$counts$inexact > 0, na.rm = TRUE)) {
    inner <- sql_select(c(by, "ce_t", scaled), inner, "ce_raw")
  }
  if (rows$notion == "binary") {
    event <- c(paste0(p[rows$event], " AS p"), y(paste("ce_t =", rows$event)))
    return(sql_select(c(by, event), inner, "ce_inner", " WHERE ", where))
  }
  # the first of the largest
  first <- vapply(seq_len(k - 1), function(j) {
    paste0(p[j], " >= ", p[-seq_len(j)], collapse = " AND ")
  }, "")
  top <- paste0("CASE ", paste0("WHEN ", first, " THEN ", seq_len(k - 1), collapse = " "), " ELSE ", k,
                " END AS ce_top")
  labelled <- sql_select(c(by, p, "ce_t", top), inner, "ce_inner", " WHERE ", where)
  confidence <- paste0("CASE ce_top ", paste0("WHEN ", seq_len(k - 1), " THEN ", p[-k], collapse = " "), " ELSE ", p[k],
                       " END AS p")
  sql_select(c(by, confidence, y("ce_t = ce_top")), labelled, "ce_labelled")
}

# The pairs of one group.
group_pairs <- function(rows, g) {
  if (length(rows$by) == 0) return(rows$pairs)
  conditions <- vapply(seq_along(rows$by), function(j) sql_equal(rows$db, rows$by[j], rows$keys[[j]][g]), "")
  paste0("SELECT * FROM (", rows$pairs, ") ce_all WHERE ", paste(conditions, collapse = " AND "))
}

# The rows of one group, as if there were no others.
rows_of_group <- function(rows, g) {
  rows$pairs <- group_pairs(rows, g)
  rows$counts <- rows$counts[g, ]
  rows$by <- character()
  rows
}

# As many (copies of) rows as count, with the sums of their weights and the number of their clusters; weights of one
# value, `unit`, are none.
database_design <- function(rows, g = 1) {
  counts <- rows$counts[g, ]
  design <- new_design(if (rows$kind == "frequency") counts$weight else counts$used)
  design$n_clusters <- if (is_clustered(rows)) counts$clusters
  if (rows$kind != "importance") return(design)
  if (isTRUE(counts$low_weight == counts$high_weight)) {
    design$unit <- counts$low_weight
  } else {
    design$sums <- c(counts$weight, counts$weight2)
  }
  design
}

# fn(g) for every group, with the errors and warnings of groups in memory; `bind` makes one result of theirs.
database_by_groups <- function(rows, fn, bind) {
  if (length(rows$by) == 0) {
    warn_if_one_cluster(database_design(rows))
    return(fn(1))
  }
  if (nrow(rows$keys) == 0) stop_no_rows(rows, 1)
  groups <- list(keys = rows$keys, rows = as.list(seq_len(nrow(rows$keys))))
  bind(rows$keys, run_groups(groups, function(g) {
    if (is_empty_group(rows, g)) stop_no_rows(rows, g)
    warn_if_one_cluster(database_design(rows, g))
    fn(g)
  }))
}

warn_if_one_cluster <- function(design) if (isTRUE(design$n_clusters == 1 && design$n > 1)) warn_one_cluster(design$n)
