#' Tables and figure of estimated calibration errors
#'
#' @param x,object A table of [ce_estimate()].
#' @param ... Not used.
#' @return `tidy()`: a plain tibble with the groups, `notion`, `estimate`, `std.error`, `conf.low`, `conf.high`,
#'   `lower_bound`, `p.value`, `method`. `glance()`: one row per type of calibration and group with `notion`, `p.value`,
#'   `resolution`, `upper_bound`, `method`, `n`. `autoplot()`: a ggplot object with the estimates and their intervals,
#'   and with groups a panel per type of calibration.
#' @name ce_estimate_tables
#' @export
#' @examples
#' errors <- ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise"))
#' tidy(errors)
#' glance(errors)
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(errors)
tidy.ce_estimate <- function(x, ...) {
  estimate_columns(x, c("notion", "estimate", "std.error", "conf.low", "conf.high", "lower_bound", "p.value", "method"))
}

#' @rdname ce_estimate_tables
#' @export
glance.ce_estimate <- function(x, ...) {
  estimate_columns(x, c("notion", "p.value", "resolution", "upper_bound", "method", "n"))
}

# Groups stand before the notion.
estimate_columns <- function(x, columns) {
  groups <- names(x)[seq_len(match("notion", names(x)) - 1)]
  tibble::as_tibble(as.list(x)[c(groups, intersect(columns, names(x)))])
}

#' @rdname ce_estimate_tables
#' @method autoplot ce_estimate
#' @exportS3Method ggplot2::autoplot ce_estimate
autoplot.ce_estimate <- function(object, ...) {
  check_empty(...)
  rows <- rows_of_groups(object, "notion")
  notion <- sub("_", "-", rows$notion)
  rows$notion <- factor(notion, levels = unique(notion))
  grouped <- nlevels(rows$group) > 1
  rows$line <- if (grouped) rows$group else rows$notion
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$estimate, y = .data$line)) +
    interval_layers() +
    ggplot2::expand_limits(x = 0) +
    ggplot2::labs(
      x = "calibration error (root, L2)", y = NULL,
      subtitle = paste0("Intervals: ", attr(object, "estimand")[["Interval"]])
    ) +
    (if (grouped) panels_by(rows, "notion"))
}
