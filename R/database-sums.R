# The rows that a table of a database delivers to functions: few different rows as in memory, else rows that stand for
# those of cells (R/database-problem.R).

#' @export
by_sums.ce_database <- function(x, fn, input, call) {
  unsupported_if(identical(input$interval, "bootstrap"), "rows are not resampled", "{.arg times} is given.", call,
                 "times")
  rows <- read_database(x, input, input$notion, call)
  out <- database_by_groups(rows, function(g) fn(database_predictions(rows, g, input$edges, call)), bind_parts, call)
  attr(out, "design") <- design_sentence(lapply(seq_len(nrow(rows$counts)), function(g) database_design(rows, g)))
  as_result(out)
}

#' @export
by_sums.tbl_lazy <- by_sums.ce_database

database_predictions <- function(rows, g, edges, call) {
  na <- lacks_rows(rows, g)
  rows <- rows_of_group(rows, g)
  n_all <- rows$counts$n_all
  cells <- NULL
  problem <- database_problem(rows, rows$pairs, NULL, function() {
    cells <<- sort(unique(c(edges, far_edges(), extreme_places(rows, call))))
  }, call, scattered = TRUE)
  problem <- if (is.null(cells)) repeated_problem(problem) else sorted_cells(problem, c(cells, 1))
  out <- sums_predictions(problem, rows, dropped = n_all - rows$counts$n, na = na, n_input = n_all)
  out$n <- database_design(rows)$n
  out$ladder <- function(level, threads) database_ladder(rows, 1, level, threads, call)
  out$events <- round(sum((problem$count %||% problem$design$copies %||% 1) * problem$labels))
  out[c("truth_name", "event_level")] <- rows[c("truth_name", "event_level")]
  out
}

# Edges of cells in which functions of logit(p) are smooth. Predictions of 0 and of 1 have cells of their own.
far_edges <- function() c(0, 2^-(60:21), cell_edges()[-c(1, length(cell_edges()))], 1 - 2^-(21:53))

# The first predictions at which the cumulated residual is largest and smallest.
extreme_places <- function(rows, call) {
  sums <- paste0("SELECT p, SUM(", if (rows$kind == "none") "1" else "ce_w", " * (p - y)) AS d FROM (", rows$pairs,
                 ") ce_pairs GROUP BY p")
  path <- paste0("SELECT p, SUM(d) OVER (ORDER BY p) AS upto FROM (", sums, ") ce_values")
  vapply(c("DESC", "ASC"), function(order) {
    first <- paste0("SELECT p FROM (", path, ") ce_path ORDER BY upto ", order, ", p LIMIT 1")
    database_query(rows$db, first, call)$p
  }, 0)
}

# The result of ce_panel(table): the rows of the panel of a state.
database_panel <- function(x, n_bins, level, input, call) {
  spec <- list(n_bins = n_bins, bins = (0:n_bins) / n_bins)
  input$edges <- spec$bins[-c(1, n_bins + 1)]
  metric_table(by_sums(x, function(predictions) {
    problem <- predictions$problem
    class_frame(NULL, predictions, function() {
      score <- score_rows(predictions, list(score_log()))[[1]]
      rows <- sums_panel(problem, spec, list(
        ks = ks_columns(list(problem), list(type = "analytic", level = level)), between = "ties together",
        log = new_estimate(row_mean(score, problem$design), if (all_finite(score)) score, problem$design),
        cox = reasoned_cox(problem, level, call)
      ), level, "")
      c(rows[names(rows) != ".estimator"], n = predictions$n)
    }, list(notion = predictions$notion, level = level))
  }, input, call))
}
