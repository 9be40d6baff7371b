# Algorithm 1 on a database's rows: folds by SQL, the rest by the code of rows on the problem of R/database-problem.R.

#' @export
tune_sums.ce_database <- function(x, input, notion, methods, split, level) {
  methods <- methods %||% check_methods(database_methods(notion))
  check_database_methods(methods)
  unsupported_if(isTRUE(split$repeats > 1), "there is one split", "{.arg repeats} is given.", "repeats")
  unsupported_if(!is_share(split$test), "{.arg test} is a share", "It is a vector of rows.", "test")
  test <- split$test
  split <- database_folds(x, split$folds)
  rows <- read_database(split$db, input, notion, split$column)
  database_by_groups(rows, function(g) {
    check_complete(list(na = lacks_rows(rows, g), dropped = rows$counts$n_all[g] - rows$counts$n[g]))
    rows <- rows_of_group(rows, g)
    headline <- headline_of_tune(rows, level)
    name_event(tune_database(tuned_rows(rows, split, test), methods, headline, level), event_label(rows))
  }, new_grouped)
}

#' @export
tune_sums.tbl_lazy <- tune_sums.ce_database

# Risks are made of sums of any number of rows; the headline of weights is not, nor that of many clusters.
headline_of_tune <- function(rows, level) {
  n <- database_design(rows)$n
  rlang::try_fetch(headline_row(database_ladder(rows, level), rows$notion, n),
                   calibrisk_error_headline = function(cnd) {
    tell("!" = "The calibration error was not estimated: in a database {cnd$rule}.", "x" = "{cnd$fact}",
         class = "headline")
    missing_estimate(rows$notion, "adaptive", n)
  })
}

# The published methods that take rows with counts.
database_methods <- function(notion) {
  if (identical(notion, "canonical")) notion <- NULL
  Filter(takes_copies, ce_methods(notion %||% "top_label"))
}

# Bandwidths chosen from distances need the rows.
takes_copies <- function(method) {
  kernels <- if (is_kernel(method$kernel)) list(method$kernel) else method$kernel
  inherits(method, "ce_method_bins") ||
    inherits(method, "ce_method_ridge") && !any(vapply(kernels, function(one) is.character(one$bandwidth), NA))
}

check_database_methods <- function(methods) {
  other <- names(methods)[!vapply(methods, takes_copies, NA)]
  stop_if(length(other) > 0, "In a database methods are bins and kernel ridges whose bandwidth is a number.",
          "x" = "{.val {other}} {?is/are} not.", "i" = "{.code dplyr::collect(x)} the rows for other methods.",
          class = c("unsupported", "database", "method"), arg = "methods")
}

# A number of folds, or the column that has them.
database_folds <- function(x, folds) {
  db <- as_database(x)
  expr <- rlang::quo_get_expr(folds)
  name <- if (rlang::is_symbol(expr) || rlang::is_string(expr)) as.character(expr) else ""
  if (name %in% names(db$columns)) return(list(db = db, column = name))
  value <- rlang::try_fetch(rlang::eval_tidy(folds), error = function(cnd) {
    stop_input("{.arg folds} must be a number, or a column of {.arg x}.", class = "folds", arg = "folds", parent = cnd)
  })
  if (rlang::is_string(value) && value %in% names(db$columns)) return(list(db = db, column = value))
  stop_if(length(value) != 1,
          "If {.arg x} is a table of a database, {.arg folds} must be a number, or a column of {.arg x}.",
          "x" = "It is {describe(value)}.", class = "folds", arg = "folds", value = value)
  check_count(value, "folds", lower = 2)
  list(db = db, k = value)
}

# The rows with their fold 0, 1, ..., k.
tuned_rows <- function(rows, split, test) {
  pairs <- rows$pairs
  labels <- if (!is.null(split$column)) fold_labels(rows, pairs)
  clusters <- if (is_clustered(rows)) rows$counts$clusters
  if (!is.null(clusters) && is.null(labels)) {
    check_fold_count(split$k, floor((1 - test) * clusters + 1e-9), clusters)
  }
  fold <- if (is.null(labels)) {
    paste0("1 + ", if (is.null(clusters)) "scatter" else "(place - 1)", " % ", split$k)
  } else {
    values <- labels[labels > 0]
    paste0("CASE ce_fold ", paste0("WHEN ", values, " THEN ", seq_along(values), collapse = " "), " ELSE 0 END")
  }
  if (test > 0 && !any(labels == 0)) {
    tested <- if (is.null(clusters)) {
      paste("scatter <", floor(test * hash_modulus))
    } else {
      # whole clusters are dealt in the order of their hash: there may be few
      paste("place >", if (is.null(labels)) floor((1 - test) * clusters + 1e-9) else clusters - round(test * clusters))
    }
    fold <- paste0("CASE WHEN ", tested, " THEN 0 ELSE ", fold, " END")
  }
  source <- if (grepl("scatter|place", fold)) sql_scatter(pairs, character(), rows$extra) else pairs
  cluster <- if (!is.null(clusters)) "ce_cluster"
  if (grepl("place", fold)) {
    place <- "DENSE_RANK() OVER (ORDER BY scatter) AS place"
    source <- sql_select(c("p, y, ce_w", rows$extra, place), source, "ce_hashed")
  }
  rows$pairs <- sql_select(c("p, y, ce_w", cluster, paste(fold, "AS ce_fold")), source, "ce_scattered")
  rows$extra <- cluster
  if (!is.null(labels) && !is.null(cluster)) check_clusters_in_folds(rows)
  rows$k <- if (is.null(labels)) split$k else sum(labels > 0)
  rows
}

check_clusters_in_folds <- function(rows) {
  cut <- paste0("SELECT ce_cluster FROM (", rows$pairs,
                ") ce_folds GROUP BY ce_cluster HAVING MIN(ce_fold) <> MAX(ce_fold)")
  torn <- count_query(rows$db, "*", cut)
  stop_if(torn != 0, "The rows of a cluster must be in one fold, or all be test rows.",
          "x" = "The folds cut {count_of(torn, 'cluster')}.", class = c("cluster", "folds"), arg = "folds")
}

fold_labels <- function(rows, pairs, most = 1000) {
  found <- database_query(rows$db,
                          paste0("SELECT DISTINCT ce_fold FROM (", pairs, ") ce_pairs LIMIT ", most + 1))$ce_fold
  values <- if (is.numeric(found)) as.numeric(found) else NA
  stop_if(anyNA(values) || any(values < 0 | values != round(values)) || length(values) > most,
          "The column {.arg folds} must hold the fold of every row: whole numbers, 0 for test rows.",
          "x" = if (anyNA(values)) "It holds missing values, or no numbers." else "It holds other numbers.",
          class = "folds", arg = "folds")
  stop_if(sum(values > 0) < 2, "{.arg folds} must make at least two folds of the tuning rows.",
          "x" = "There {?is/are} {sum(values > 0)}.", class = "folds", arg = "folds")
  sort(values)
}

# --- One group -------------------------------------------------------------------------------------------------------

tune_database <- function(rows, methods, headline, level) {
  k <- rows$k
  problem <- few_problem(rows, "ce_fold") %||%
    many_problem(rows, "ce_fold", tuned_edges(rows, methods))
  sizes <- group_sizes(problem, problem$fold + 1L, k + 1L)
  check_fold_count(k, sum(sizes[-1]), sum(sizes))
  grids <- lapply(methods, method_grid, notion = rows$notion, n = sum(sizes[-1]) * (k - 1) / k)
  splits <- list(list(fold = problem$fold, k = k))
  results <- tune_jobs(methods, list(problem), splits, grids)
  design <- database_design(rows)
  new_tune(results, methods, grids, headline, list(list(class = NULL)), list(
    histogram = feature_histogram(problem), source = NULL, notion = rows$notion, level = level,
    split = structure(list(sizes = sizes, k = k), class = "ce_split"), n_splits = 1, n = design$n,
    counted = design_sentence(list(design)), dropped = rows$counts$n_all - rows$counts$n,
    levels = rows$levels, event = rows$event, scalar = rows$scalar
  ))
}

# Inner edges of every fold's bins, and those of the histogram.
tuned_edges <- function(rows, methods, most = 5000) {
  bins <- Filter(function(method) inherits(method, "ce_method_bins"), methods)
  values <- lapply(bins, function(method) method_grid(method, rows$notion, NA)$value)
  size <- sum(unlist(values) - 1)
  unsupported_if(size > most, "all numbers of bins together are at most {count_text(most)}",
                 "They are {count_text(size)}.", "methods")
  mass <- vapply(bins, function(method) method$type == "mass", NA)
  width <- lapply(unique(c(unlist(values[!mass]), 100)), function(b) seq_len(b - 1) / b)
  shares <- unlist(lapply(unique(unlist(values[mass])), function(b) seq_len(b - 1) / b))
  sort(unique(c(unlist(width), if (!is.null(shares)) unlist(lapply(seq_len(rows$k), mass_edges, rows, shares)))))
}

# Quantiles of the rows that train fold f: one query.
mass_edges <- function(f, rows, shares) {
  train <- paste0("SELECT * FROM (", rows$pairs, ") ce_folds WHERE ce_fold > 0 AND ce_fold <> ", f)
  weight <- if (is_weighted(rows)) "ce_w" else row_copies(rows)
  n <- database_query(rows$db, paste0("SELECT ", sql_sums(c(n = weight)), " FROM (", train, ") ce_train"))$n
  database_quantiles(rows, train, weight, shares * n * (1 - 1e-12))
}
