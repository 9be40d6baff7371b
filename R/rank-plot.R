#' Plot a ranking
#'
#' @param object A `ce_rank`.
#' @param metrics Which metrics to draw; all by default.
#' @param ... Not used.
#' @return A ggplot object: every model's difference from the best one of each metric, on all observations with
#'   simultaneous intervals. The tables of subsamples are in the result, see [ce_rank()].
#' @name autoplot.ce_rank
#' @method autoplot ce_rank
#' @exportS3Method ggplot2::autoplot ce_rank
autoplot.ce_rank <- function(object, metrics = NULL, ...) {
  check_empty(...)
  all <- unique(object$estimates$metric)
  check_among(metrics, all, "ranking")
  metrics <- metrics %||% all
  shown <- do.call(rbind, lapply(metrics, function(metric) {
    one <- object$estimates[object$estimates$metric == metric, ]
    rows <- to_best(object$tests[[metric]], one$model[1], one$model)
    cbind(one[c("metric", "model")], best = one$can_be_best, rows[c("difference", "conf.low", "conf.high")])
  }))
  shown$metric <- factor(shown$metric, metrics)
  # from the worst at the bottom to the best of the first metric at the top
  shown$model <- factor(shown$model, rev(shown$model[shown$metric == metrics[1]]))
  models_figure(ggplot2::ggplot(shown, ggplot2::aes(x = .data$difference, y = .data$model)), object$level,
                if (nlevels(shown$model) > 2) ", simultaneous") +
    ggplot2::facet_wrap("metric", labeller = ggplot2::as_labeller(object$titles), scales = "free_x") +
    ggplot2::labs(subtitle = "Minus the best of each metric")
}

# A line for each model, filled if it can be the best.
models_figure <- function(plot, level, simultaneous) {
  plot + ggplot2::geom_vline(xintercept = 0, colour = "grey70", linewidth = 0.4) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), colour = ce_colours[1],
                            linewidth = 0.7, na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(fill = .data$best), shape = 21, colour = ce_colours[1], size = 1.7, na.rm = TRUE,
                        show.legend = FALSE) +
    ggplot2::scale_fill_manual(values = c("FALSE" = "white", "TRUE" = ce_colours[1])) +
    ggplot2::scale_y_discrete(labels = short_names(levels(plot$data$model), 16)) +
    ggplot2::scale_x_continuous(n.breaks = 3) +
    ggplot2::labs(x = NULL, y = NULL, caption = wrap_text(paste0(
      "Filled: can be the best (Holm, ", percent_text(1 - level), " level). Lines: ", percent_text(level), " intervals",
      simultaneous, "."
    ), 58)) +
    theme_rows(panel.spacing.x = ggplot2::unit(1, "lines"),
               strip.text = ggplot2::element_text(face = "bold", hjust = 0, size = ggplot2::rel(0.75)),
               axis.text.y = ggplot2::element_text(size = ggplot2::rel(0.85)))
}
