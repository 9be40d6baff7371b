# All models on one page: the metric of each, and those that may be the best.

#' Several models on one page
#'
#' `summary()` compares the models of [ce_models()] by one metric and puts their calibration error beside it. `plot()`
#' draws that table: the difference to the best model, and the calibration error, with their intervals.
#'
#' @section Comparison:
#' Models are in the order of the metric. Differences are paired, as in [ce_compare()]: on all rows, with simultaneous
#' intervals and p-values by Holm's method over all pairs. A model *can be the best* if no other is shown to be better.
#' The truly best model is among these with probability `level` at least.
#'
#' The metric should be a proper score, such as the default. Calibration errors alone do not order models: one that
#' predicts the same frequency for every row is calibrated. If outcomes say whether the top label of each model was
#' right, the default is the misclassification rate; see [ce_models()].
#' @param object,x A `ce_models`.
#' @param metric The metric of the comparison: a name, a score or [ce_metric()]. By default `"brier"`, of top labels
#'   `"error"`, of predictions of numbers `"crps"`.
#' @param level Confidence level of intervals, and of the models that can be the best.
#' @param times Number of bootstrap samples, for metrics without influences.
#' @param ... For `plot()`: arguments of `summary()`.
#' @return `summary()`: a `ce_models_summary`, a tibble with one row per model, best first: `model`, `n`; `accuracy` of
#'   several classes, or `auroc` of one event; `calibration_error` with `error.low` and `error.high`, the row of
#'   [ce_estimate()] (not for numbers); `.metric`, `estimate`, `difference` (from the best) with `conf.low`, `conf.high`
#'   and `p.value`; and `can_be_best`. `plot()` and `autoplot()`: a ggplot object.
#' @concept leaderboard
#' @concept model comparison
#' @concept several models
#' @export
#' @examples
#' long <- transform(letters_predictions, row = rep(1:10000, 3))
#' m <- ce_models(long[long$row <= 500, ], truth, starts_with(".pred_"), model = model, id = row)
#' summary(m)
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(m)
summary.ce_models <- function(object, metric = NULL, level = 0.95, times = 200, ...) {
  check_empty(...)
  check_no_groups(object)
  check_level(level)
  check_count(times, lower = 20)
  one <- object[[1]]
  metric <- as_metric(metric %||% if (is_real(one)) "crps" else if (identical(one$notion, "top_label")) "error" else
    "brier")
  sign <- check_metric_sign(metric)
  data <- list(models = unclass(object))
  tests <- compared_pairs(metric, data, level, times)
  values <- pair_values(tests, names(object))
  order <- order(sign * values)
  models <- names(object)[order]
  beside <- lapply(beside_metrics(object), function(v) unname(v[order]))
  names(beside) <- tolower(names(beside))
  # the headline of each model; none of numbers
  errors <- if (!is_real(one)) {
    rows <- bind_rows(unname(lapply(data$models[order], function(model) {
      said_once(estimate_group(model, NULL, "adaptive", NULL, level, NULL))$rows
    })))
    list(calibration_error = rows$estimate, error.low = rows$conf.low, error.high = rows$conf.high)
  }
  out <- columns_frame(
    model = models, n = rep(entered_rows(object[[1]]$design), length(models)), !!!beside,
    !!!errors, .metric = metric_label(metric), estimate = unname(values[order]),
    !!!to_best(tests, models[1], models)[-1],
    can_be_best = unname(!is.na(values[order])) & !models %in% shown_worse(tests, 1 - level, sign)
  )
  out <- new_table(out, character(), "ce_models_summary")
  attr(out, "about") <- list(
    title = metric_title(metric, metric_label(metric), object[[1]]), sign = sign, level = level,
    line = models_line(object), facts = models_facts(object)
  )
  out
}
