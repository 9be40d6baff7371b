# Results have the class `ce_result`: what a class adds to its methods is its own.

#' Figures of results
#'
#' `plot()` returns the figure of `autoplot()`, a ggplot object, which R draws when it is printed. To draw it inside a
#' function or a loop, use `print()`.
#'
#' @param x A result with a figure: of [ce_curve()], [ce_coverage()], [ce_estimate()], [ce_rank()], [ce_decision()],
#'   [ce_validate()], [ce_meta()], [ce_gain()], [ce_test()], [ce_tune()], [ce_fit()],
#'   [ce_recalibrate()], or groups of them.
#' @param ... Passed on to `autoplot()`.
#' @return A ggplot object.
#' @export
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' plot(ce_curve(vehicle_predictions, truth)) + ggplot2::ggtitle("Vehicles")
plot.ce_result <- function(x, ...) {
  check_package("ggplot2", "Figures need")
  ggplot2::autoplot(x, ...)
}

#' @method autoplot ce_result
#' @exportS3Method ggplot2::autoplot ce_result
autoplot.ce_result <- function(object, ...) {
  stop_input("This result has no figure.", "x" = "It is {.cls {class(object)[1]}}.",
             "i" = "{.code ?plot.ce_result} names the results that have one.", class = "unsupported", arg = "x")
}

#' @rdname ce_grouped
#' @method autoplot ce_grouped
#' @exportS3Method ggplot2::autoplot ce_grouped
autoplot.ce_grouped <- function(object, ...) {
  switch(class(object$results[[1]])[1],
    ce_tune = autoplot_tunes(group_panels(object), ...),
    ce_fit = autoplot_gap(lapply(group_panels(object), fit_panel), ...),
    ce_recalibration = autoplot_maps(group_panels(object), ...),
    one_group(object, "autoplot")
  )
}

# The rows of a table as a data frame with the factor `group`: the label of the columns before `first`.
rows_of_groups <- function(x, first) {
  rows <- as.data.frame(as.list(x), check.names = FALSE)
  label <- key_labels(rows[seq_len(match(first, names(rows)) - 1)])
  rows$group <- factor(label, levels = unique(label))
  rows
}

# A row for each line from the top, with a dot and its interval, across.
interval_layers <- function() {
  list(ggplot2::geom_linerange(ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), colour = ce_colours[1],
                               linewidth = 0.7, na.rm = TRUE),
       ggplot2::geom_point(colour = ce_colours[1], size = 2.4, na.rm = TRUE), ggplot2::scale_y_discrete(limits = rev),
       theme_rows())
}
