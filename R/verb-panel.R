#' All classical calibration errors at once
#'
#' The panel of errors for one scalar type of calibration, from one reading and one sort of the predictions; or a panel
#' of your own metrics, one below the other. For rows that are not in one place, pass a [ce_state()] as `x`; then only
#' `level` may be given, and the rows are those that sums can give.
#'
#' Without `metrics` the rows are, in this order: `rbs`; `ece` with `n_bins` bins of equal width and of equal mass, by
#' the monotone sweep, and (`p = 2`) of equal width, and of equal mass debiased; `ks_error`, `mmce`, `kde_error`
#' (triweight), `smooth_ece`; `ici`, `e50`, `e90`, `emax`; `cox_intercept`, `cox_slope`, `cox_in_the_large`,
#' `cox_joint`; `spiegelhalter`, `hosmer_lemeshow`. Each is defined on the help page of its own function. Intervals are
#' those of the functions themselves; `ici`, `e50`, `e90` and `emax` have none here, see [ici()]. Errors that cannot be
#' computed are `NA`, and `detail` says why; nothing stops the panel. With clusters that is the Hosmer-Lemeshow
#' statistic.
#'
#' # Cost
#' One sort and a few linear passes; the loess of `ici` is the slowest (about half of the time).
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ks_error
#' @param metrics `NULL` for the rows above, or a list of metrics: functions such as [ece] and [skce], their names,
#'   scores such as [score_log()], [ce_metric()] with options, functions of your own (see there). Names in the list are
#'   what the rows are called. `notion` and `level` are handed to the metrics that have such an argument.
#' @param n_bins Number of bins of the `ece` rows; [hosmer_lemeshow()] keeps its own 10 groups. This and the next two
#'   are options of the panel without `metrics`.
#' @param notion `"top_label"` or `"binary"`; see [ce_args].
#' @param smoother For the ICI: `"loess"` or `"isotonic"`.
#' @param floor For Cox's regression, see [cox_calibration()].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `p.value`, `detail`
#'   (the choices behind the number), `n`, `notion`, `level`.
#' @concept calibration metrics
#' @concept expected calibration error
#' @examples
#' ce_panel(vehicle_predictions, truth)
#' own <- list(ece, wide = ce_metric(ece, n_bins = 5), skce, "log")
#' ce_panel(vehicle_predictions, truth, metrics = own)
#' @export
ce_panel <- function(x, truth, ..., notion = NULL, n_bins = 15,
                     smoother = c("loess", "isotonic"), floor = NULL, level = 0.95, .by = NULL,
                     event_level = "first", weights = NULL, cluster = NULL, horizon = NULL,
                     metrics = NULL) {
  notion <- check_one_problem(notion)
  check_bins(n_bins)
  given <- c("n_bins", "smoother", "floor")[!c(missing(n_bins), missing(smoother), is.null(floor))]
  smoother <- check_choice(smoother, c("loess", "isotonic"))
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_level(level)
  if (!missing(x)) x <- read_table(x, FALSE)
  if (!missing(x) && has_sums(x)) {
    given <- c(given, if (!is.null(metrics)) "metrics")
    return(panel_of_sums(x, given, n_bins, level, c(rows_input(copies = TRUE), list(notion = notion))))
  }
  of_panel <- if (is.null(metrics)) {
    scalar_metrics("rows", level, n_bins, smoother, floor)
  } else {
    given_metrics(metrics, notion, level, given)
  }
  names <- unlist(lapply(of_panel, `[[`, "metric"))
  metric_frame(x, rows_input(quote_dots, copies = is.null(metrics)), names, function(predictions) {
    data <- predictions
    if (is.null(metrics)) {
      # sorted once, for all metrics
      data <- fold_copies(notion_problems(predictions, notion)[[1]])
      data$fold <- problem_folds(data)
      data$sorted <- sort_problem(data)
    }
    parts <- lapply(of_panel, panel_part, data, level)
    columns <- lapply(stats::setNames(nm = panel_columns), function(name) unlist(lapply(parts, `[[`, name)))
    columns <- c(columns, list(n = n_obs(predictions)))
    if (!is.null(metrics)) {
      # that of the panel where a metric has none
      used <- notion %||% default_notion(predictions)
      columns$notion <- unlist(lapply(parts, function(part) part$notion %||% rep(used, length(part$.estimate))))
    }
    columns
  }, choices = list(notion = notion, level = level))
}
