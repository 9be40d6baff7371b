#' Plot a fitted calibration estimation function
#'
#' Draws the estimated calibration gap, predicted minus observed, over the confidence (class-wise, over the probability
#' of each class), with the density of the fitted predictions below. It is the figure `"gap"` of [autoplot.ce_tune()].
#'
#' @param object A `ce_fit`, or a [ce_grouped] list of them.
#' @param classes Class-wise: which classes to draw, by name; all by default.
#' @param ... Not used.
#' @return A ggplot object.
#' @section Errors:
#' `calibrisk_error_notion` for a canonical fit, `calibrisk_error_argument` for unknown classes.
#' @name autoplot.ce_fit
#' @method autoplot ce_fit
#' @exportS3Method ggplot2::autoplot ce_fit
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' plot(ce_fit(vehicle_predictions, truth, method = method_kde(0.05)))
autoplot.ce_fit <- function(object, classes = NULL, ...) {
  check_empty(...)
  autoplot_gap(list(fit_panel(object)), classes)
}

# The parts that figures of a tuning result need, with one method and one fold.
fit_panel <- function(x) {
  list(notion = x$notion, levels = x$levels, event = x$event,
       histogram = x$histogram, glance = data.frame(method = x$method),
       forms = setNames(list(lapply(x$forms, list)), x$method))
}

#' @export
print.ce_fit <- function(x, ...) {
  cat("<ce_fit> ", x$label, "\n", sep = "")
  cat("Type:    ", notion_label(x), "\n", sep = "")
  cat("Rows:    ", count_text(x$n), "\n", counted_line(x), sep = "")
  invisible(x)
}
