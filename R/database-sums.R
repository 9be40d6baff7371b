# The rows that a table of a database delivers to functions: few different rows as in memory, else rows that stand for
# those of cells (R/database-problem.R).

#' @export
by_predictions.ce_database <- function(x, fn, input) {
  unsupported_if(identical(input$interval, "bootstrap"), "rows are not resampled", "{.arg times} is given.", "times")
  reads <- told_once(warned_once(lapply(input$notion %||% list(NULL), function(one) read_database(x, input, one)),
                                 "calibrisk_warning_direction"))
  rows <- reads[[1]]
  few <- few_problems(rows)
  found <- collect_kept(database_by_groups(rows, function(g) {
    own <- few[[g]]
    room <- !is.null(own) && (input$design$copies || sum(own$count) <= most_repeated_rows)
    if (!room && is.null(input$edges) && is.null(input$sums)) check_has_rows(x, few = TRUE)
    fn(database_predictions(reads, g, own, input))
  }, bind_parts), "notes")
  out <- name_event(metric_table(as_result(found$value)), event_label(rows))
  designs <- lapply(seq_len(nrow(rows$counts)), function(g) database_design(rows, g))
  attr(out, "design") <- c(design_sentence(designs), unique(unlist(found$kept)))
  out
}

#' @export
by_predictions.tbl_lazy <- by_predictions.ce_database

# Those of group g. `reads`: the table as it was read for each notion that is asked for; `few`: the problem of few
# different rows, NULL of many.
database_predictions <- function(reads, g, few, input) {
  na <- lacks_rows(reads[[1]], g)
  reads <- lapply(reads, rows_of_group, g)
  rows <- reads[[1]]
  n_all <- rows$counts$n_all
  problem <- if (!is.null(few)) repeated_problem(few, input$design$copies) else if (is.null(input$sums)) {
    cells <- sort(unique(c(input$edges, far_edges(), extreme_places(rows))))
    sorted_cells(many_problem(rows, NULL, cells, scattered = TRUE), c(cells, 1))
  }
  out <- sums_predictions(problem, rows, dropped = n_all - rows$counts$n, na = na, n_input = n_all)
  out$n <- database_design(rows)$n
  out$ladder <- function(level, notion = rows$notion) {
    if (notion == rows$notion) return(database_ladder(rows, level, few))
    database_ladder(reads[[match(notion, lapply(reads, `[[`, "notion"))]], level)
  }
  if (is.null(few)) out$binned <- function(scheme, interval) database_ece(rows, scheme, interval)
  if (!is.null(problem)) out$events <- round(sum((problem$count %||% problem$design$copies %||% 1) * problem$labels))
  out[c("truth_name", "event_level")] <- rows[c("truth_name", "event_level")]
  out
}

# Edges of cells in which functions of logit(p) are smooth. Predictions of 0 and of 1 have cells of their own.
far_edges <- function() c(0, 2^-(60:21), cell_edges()[-c(1, length(cell_edges()))], 1 - 2^-(21:53))

# The first predictions at which the cumulated residual is largest and smallest.
extreme_places <- function(rows) {
  sums <- paste0("SELECT p, SUM(", if (rows$kind == "none") "1" else "ce_w", " * (p - y)) AS d FROM (", rows$pairs,
                 ") ce_pairs GROUP BY p")
  path <- paste0("SELECT p, SUM(d) OVER (ORDER BY p) AS upto FROM (", sums, ") ce_values")
  vapply(c("DESC", "ASC"), function(order) {
    first <- paste0("SELECT p FROM (", path, ") ce_path ORDER BY upto ", order, ", p LIMIT 1")
    database_query(rows$db, first)$p
  }, 0)
}

#' @export
panel_of_sums.ce_database <- function(x, given, n_bins, level, input) {
  check_sums_options(x, setdiff(given, "n_bins"))
  spec <- list(n_bins = n_bins, bins = (0:n_bins) / n_bins)
  input$edges <- spec$bins[-c(1, n_bins + 1)]
  by_predictions(x, function(predictions) sums_panel(predictions, spec, level), input)
}

#' @export
panel_of_sums.tbl_lazy <- panel_of_sums.ce_database
