# States of tables of a database (R/row-table.R): of rows that are read in pieces, or of sums that a database computes.

# A state of the rows of a table. `choices`: those of ce_state(); `input`: see by_predictions().
state_of_table <- function(x, input, choices) {
  if (is_given(input$by)) stop_long_table(TRUE)
  check_state_input(state_input(input), input$notion)
  tell("i" = "The table has more than {count_text(most_table_rows)} rows: they are read into a {.fn ce_state}.",
       class = "state")
  horizon <- check_state_horizon(input$design$horizon)
  given <- c(input$design[c("weights", "cluster")], list(id = rlang::quo(NULL), horizon = horizon))
  empty <- do.call(ce_state, drop_null(c(choices, list(event_level = input$event_level))))
  source <- table_source(x, 1e5, meant_columns(x))
  update_from_source(empty, source, chunk_taker(input$truth, input$dots, given))
}

# Of a state nothing says how rows are read, as they were.
state_input <- function(input) {
  none <- rlang::quo()
  input[c("truth", "by", "dots", "event_level")] <- list(none, none, list(), "first")
  input$design <- list(weights = none, cluster = none)
  input
}

#' @export
by_predictions.tbl_lazy <- function(x, fn, input) {
  edges <- sort(unique(unname(input$edges)))
  # of edges that differ by rounding the upper one
  edges <- edges[c(diff(edges) > 1e-12, length(edges) > 0)]
  state <- state_of_table(x, input, list(notion = input$notion, breaks = if (length(edges) > 0) edges))
  by_predictions(state, fn, state_input(input))
}

#' @export
panel_of_sums.tbl_lazy <- function(x, given, n_bins, level, input) {
  check_sums_options(x, setdiff(given, "n_bins"))
  state_panel(state_of_table(x, input, list(notion = input$notion, n_bins = n_bins)), level)
}

#' @export
tune_sums.tbl_lazy <- function(x, input, notion, methods, split, level) {
  check_sums_options(x, setdiff(split$given, c("folds", "test")))
  choices <- list(notion = notion, folds = rlang::eval_tidy(split$folds), test = split$test)
  state <- state_of_table(x, input, choices)
  tune_sums(state, state_input(input), NULL, NULL, list(), level)
}

# --- Sums of a database ----------------------------------------------------------------------------------------------

# The state with the sums of the rows of a table, which stay where they are: one query groups them by cell, outcome and
# the column of clusters or ids.
add_table <- function(state, x, truth, dots, given) {
  check_table_sums(state, x, given)
  named <- vctrs::new_data_frame(setNames(rep(list(logical()), length(colnames(x))), colnames(x)))
  column <- function(quo, arg) if (is_given(quo)) names(named)[select_column(quo, named, arg)]
  y <- truth_column(truth, named)
  owner <- if (is_given(given$cluster)) "cluster" else "id"
  columns <- list(p = table_probability(named, dots, y), y = y, w = column(given$weights, "weights"),
                  part = column(given[[owner]], owner))
  query <- table_sums(x, columns, state$spec$edges)
  sums <- in_database(as.data.frame(dplyr::collect(query)))
  add_sums(state, sums, columns, owner)
}

check_table_sums <- function(state, x, given) {
  stop_if(!is_table(x), "{.code in_database = TRUE} is for tables of a database.",
          "x" = "{.arg data} is {.cls {class(x)[1]}}.", arg = "in_database")
  rlang::check_installed(c("dbplyr", "dplyr"), reason = "to query a database.")
  notion <- state$spec$notion %||% "binary"
  both <- is_given(given$cluster) && is_given(given$id)
  stop_if(notion != "binary" || both || !is.null(given$horizon),
          "In a database sums are those of one probability and one column of clusters or ids.",
          "x" = if (notion != "binary") "{.arg notion} is {.val {notion}}.",
          "x" = if (both) "{.arg cluster} and {.arg id} are both given.",
          "x" = if (!is.null(given$horizon)) "{.arg horizon} is given.",
          "i" = "Without {.arg in_database} the rows are read.",
          class = c("unsupported", "state", "database"), arg = "in_database")
}

table_probability <- function(named, dots, y) {
  found <- if (length(dots) > 0) names(named)[select_columns(rlang::quo(c(!!!dots)), named, "...")] else
    grep("^[.]pred_", names(named), value = TRUE)
  found <- setdiff(found, y)
  stop_if(length(found) != 1, "{.arg ...} must select the column of the event's probability.",
          "x" = "It selects {length(found)} columns.", class = "columns", arg = "...")
  found
}

# The query. Numbers are literals of floating point with all their digits.
table_sums <- function(x, columns, edges) {
  double <- function(value) dbplyr::sql(sprintf("%.16e", value))
  zero <- double(0)
  one <- double(1)
  low <- edges[-length(edges)]
  high <- edges[-1]
  # the value of the cell of p, by a search in groups of cells: deep nests are slow to translate, and have limits
  of_cell <- function(values) {
    cases <- function(at, values) {
      rules <- Map(function(edge, value) rlang::expr(p <= !!double(edge) ~ !!value), high[at], values)
      rlang::call2("case_when", !!!unname(rules))
    }
    groups <- split(seq_along(low), ceiling(seq_along(low) / sqrt(length(low))))
    cases(vapply(groups, max, 1L), lapply(groups, function(at) cases(at, lapply(at, values))))
  }
  place <- function(k) rlang::expr((p - !!double((low[k] + high[k]) / 2)) * !!double(2 / (high[k] - low[k])))
  column <- lapply(drop_null(columns), as.symbol)
  part <- if (is.null(columns$part)) 0L else column$part
  # rows without a weight are incomplete, and have no cell
  p <- if (is.null(columns$w)) column$p else rlang::expr(ifelse(is.na(!!column$w), NA, !!column$p))
  w <- if (is.null(columns$w)) one else rlang::expr(!!one * !!column$w)
  x <- dplyr::transmute(dplyr::ungroup(x), p = !!one * !!p, y = !!column$y, w = !!w, part = !!part)
  x <- dplyr::mutate(x, cell = ifelse(.data$p < !!zero, -1L, ifelse(.data$p > !!one, -2L, !!of_cell(identity))),
                     u = !!of_cell(place))
  # Equal rows as one. Databases merge subqueries that do not group, and would repeat the search in every sum.
  x <- dplyr::summarise(dplyr::group_by(x, .data$p, .data$y, .data$w, .data$part), cell = max(.data$cell, na.rm = TRUE),
                        u = max(.data$u, na.rm = TRUE), copies = sum(!!one, na.rm = TRUE), .groups = "drop")
  sums_of_cells(x, zero, one)
}

# The sums of the rows of every cell, outcome and value of `part`. A log score and squares are those of each outcome.
sums_of_cells <- function(x, zero, one) {
  x <- dplyr::mutate(x, q = !!one - .data$p)
  x <- dplyr::mutate(x, log_p = ifelse(.data$p > !!zero, log(.data$p), !!zero),
                     log_q = ifelse(.data$q > !!zero, log(.data$q), !!zero))
  powers <- c("w", "w * u", paste0("w * u^", seq_len(moments_of_cell - 1)[-1]))
  terms <- c(
    setNames(powers, paste0("u", seq_along(powers) - 1)), rows = "one", used = "ifelse(w > zero, one, zero)",
    negative = "ifelse(w < zero, one, zero)", fractions = "ifelse(w == floor(w), zero, one)", weight_square = "w * w",
    log_1 = "w * log_p", log_square_1 = "w * log_p * log_p", never = "ifelse(p > zero, zero, w)",
    square_1 = "w * w * q * q", copies_1 = "w * q * q", log_0 = "w * log_q", log_square_0 = "w * log_q * log_q",
    always = "ifelse(q > zero, zero, w)", square_0 = "w * w * p * p", copies_0 = "w * p * p"
  )
  sums <- lapply(rlang::parse_exprs(terms), function(term) {
    rlang::expr(sum(.data$copies * !!do.call(substitute, list(term, list(zero = zero, one = one))), na.rm = TRUE))
  })
  dplyr::summarise(dplyr::group_by(x, .data$cell, .data$y, .data$part), !!!sums, .groups = "drop")
}

# What the database sent as sums of a state.
add_sums <- function(state, sums, columns, owner) {
  numbers <- setdiff(names(sums), c("y", "part"))
  sums[numbers] <- lapply(sums[numbers], as.numeric)
  outside <- sum(sums$rows[which(sums$cell < 0)])
  stop_if(outside > 0, "Probabilities must lie between 0 and 1.", "x" = "{outside} row{?s} {?is/are} outside.",
          class = "probs", arg = "...")
  complete <- !is.na(sums$cell) & !is.na(sums$y) & !is.na(sums$part)
  state$dropped <- state$dropped + sum(sums$rows[!complete])
  sums <- sums[complete, ]
  stop_if(any(sums$negative > 0), "{.arg weights} must be finite and not negative.",
          "x" = "{sum(sums$negative)} row{?s} {?has/have} a negative one.", class = "weights", arg = "weights")
  sums <- sums[sums$used > 0, ]
  if (nrow(sums) == 0) return(state)
  kind <- if (is.null(columns$w)) "none" else if (all(sums$fractions == 0)) "frequency" else "importance"
  # rows that repeat have the weight 1
  if (kind == "frequency") {
    sums[c("used", "weight_square", "square_0", "square_1")] <- sums[c("u0", "u0", "copies_0", "copies_1")]
  }
  stop_if(kind == "importance" && is.null(columns$part),
          "In a database, importance weights need {.arg cluster} or {.arg id}.",
          "x" = "Rows are grouped by it into blocks, which standard errors come from.",
          class = c("unsupported", "weights", "database"), arg = "weights")
  coded <- code_outcome(sums$y, state$spec$event_level, columns$p)
  ids <- if (!is.null(columns$part)) setNames(list(exact_ids(sums$part, owner)), owner)
  about <- list(notion = "binary", levels = coded$levels, event = coded$event, scalar = TRUE,
                blocked = kind == "importance" || !is.null(ids$cluster), weights = kind, owner = row_owner(ids))
  about$in_database <- TRUE
  check_same_rows(state$about, about)
  if (length(state$sums) == 0) state$sums <- list(empty_sums(state$spec, about))
  state$sums[[1]] <- add_cells(state$sums[[1]], sums, coded$outcome, unlist(ids), about$blocked, state$spec)
  state$about <- about
  first <- state$n == 0
  state$n <- state$n + sum(sums$used)
  if (first) {
    read <- state_predictions(state, 1)
    read[c("column", "named")] <- list(columns$p, isTRUE(coded$named))
    warn_direction(read)
  }
  state
}

# Rows without clusters and ids are in the fold of their cell.
add_cells <- function(to, sums, y, ids, blocked, spec) {
  units <- if (!is.null(ids)) id_units(ids)
  part <- if (blocked) block_parts(units, spec) else if (is.null(ids)) sums$cell %% spec$folds + 1 else
    fold_parts(units, spec)
  add <- function(to, place, values) {
    size <- ncol(values)
    at <- rowsum(values, place)
    rows <- outer(seq_len(size), (as.numeric(rownames(at)) - 1) * size, `+`)
    new <- replace(matrix(0, nrow(to), 2), c(rows), c(t(at)))
    cpp_add_sums(to, new)
  }
  cell <- sums$cell - 1
  at_cell <- 1 + y + 2 * (cell + (length(spec$edges) - 1) * part)
  m <- if (blocked) moments_of_block else moments_of_cell
  powers <- as.matrix(sums[paste0("u", seq_len(moments_of_cell) - 1)]) %*% t(monomial_to_chebyshev(moments_of_cell))
  to$moments <- add(to$moments, at_cell, powers[, seq_len(m), drop = FALSE])
  event <- y == 1
  of_outcome <- function(name) ifelse(event, sums[[paste0(name, "_1")]], sums[[paste0(name, "_0")]])
  to$scores <- add(to$scores, part + 1, cbind(
    -of_outcome("log"), of_outcome("log_square"), ifelse(event, sums$never, sums$always), sums$never + sums$always,
    of_outcome("square"), sums$weight_square
  ))
  if (blocked) {
    middle <- (spec$edges[cell + 1] + spec$edges[cell + 2]) / 2
    bin <- findInterval(middle, spec$bins[-c(1, spec$n_bins + 1)])
    at_bin <- 1 + y + 2 * (bin + spec$n_bins * part)
    to$counts <- add(to$counts, at_bin, cbind(sums$used))
    to$squares <- add(to$squares, at_bin, cbind(sums$weight_square))
  }
  to
}
