# plot() draws what autoplot() draws: ggplot2, which is only suggested, is asked for by name.

draw_figure <- function(x, ...) {
  check_package("ggplot2", "Figures need")
  # with a negative one grid draws no rectangle
  rlang::local_options(scipen = max(getOption("scipen"), 0))
  print(ggplot2::autoplot(x, ...))
  invisible(x)
}

# Results without a figure of their own: that of a data frame would be one of all columns against each other.
no_figure <- function(x) {
  stop_input(
    "Tables of metrics and of differences, states and summaries have no figure.", "x" = "{.arg x} is {describe(x)}.",
    "i" = "{.fn plot} draws {.fn ce_curve}, {.fn ce_estimate}, {.fn ce_rank}, {.fn ce_decision}, {.fn ce_validate}, \\
           {.fn ce_gain}, {.fn ce_hierarchy}, {.fn ce_test}, {.fn ce_monitor} and {.fn ce_tune}.", arg = "x"
  )
}

#' @export
plot.ce_table <- function(x, ...) no_figure(x)

#' @export
plot.ce_result <- function(x, ...) no_figure(x)

#' @export
plot.ce_state <- function(x, ...) no_figure(x)

#' @export
plot.ce_summary <- function(x, ...) no_figure(x)

#' @export
plot.ce_assumption <- function(x, ...) no_figure(x)

#' @method autoplot ce_table
#' @exportS3Method ggplot2::autoplot ce_table
autoplot.ce_table <- function(object, ...) no_figure(object)

#' @method autoplot ce_result
#' @exportS3Method ggplot2::autoplot ce_result
autoplot.ce_result <- function(object, ...) no_figure(object)

#' @method autoplot ce_state
#' @exportS3Method ggplot2::autoplot ce_state
autoplot.ce_state <- function(object, ...) no_figure(object)

#' @method autoplot ce_summary
#' @exportS3Method ggplot2::autoplot ce_summary
autoplot.ce_summary <- function(object, ...) no_figure(object)

#' @method autoplot ce_assumption
#' @exportS3Method ggplot2::autoplot ce_assumption
autoplot.ce_assumption <- function(object, ...) no_figure(object)

#' @rdname autoplot.ce_tune
#' @export
plot.ce_tune <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_fit
#' @export
plot.ce_fit <- function(x, ...) draw_figure(x, ...)

#' @rdname ce_estimate_tables
#' @export
plot.ce_estimate <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_gain
#' @export
plot.ce_gain <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_curve
#' @export
plot.ce_curve <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_test
#' @export
plot.ce_test <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_rank
#' @export
plot.ce_rank <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_hierarchy
#' @export
plot.ce_hierarchy <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_recalibration
#' @export
plot.ce_recalibration <- function(x, ...) draw_figure(x, ...)

#' @rdname autoplot.ce_decision
#' @export
plot.ce_decision <- function(x, ...) draw_figure(x, ...)

#' @rdname ce_grouped
#' @export
plot.ce_grouped <- function(x, ...) draw_figure(x, ...)

#' @rdname ce_monitor
#' @export
plot.ce_monitor <- function(x, ...) draw_figure(x, ...)

#' @rdname ce_grouped
#' @method autoplot ce_grouped
#' @exportS3Method ggplot2::autoplot ce_grouped
autoplot.ce_grouped <- function(object, ...) {
  check_object(object)
  switch(class(object$results[[1]])[1],
    ce_tune = autoplot_tunes(group_panels(object), ...),
    ce_fit = autoplot_fits(group_panels(object), ...),
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

# A dot with its interval, across.
interval_layers <- function() {
  list(ggplot2::geom_linerange(ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), colour = ce_colours[1],
                               linewidth = 0.7, na.rm = TRUE),
       ggplot2::geom_point(colour = ce_colours[1], size = 2.4, na.rm = TRUE))
}
