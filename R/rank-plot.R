#' Plot a ranking
#'
#' @param object A `ce_rank`.
#' @param type `"differences"`: every model's difference from the best one, on all observations with simultaneous
#'   intervals, or on the same subsamples if there are any. The others show subsamples. `"estimates"`: every model's
#'   values over the subsamples. Of subsamples, the thin line is the central range at the ranking's level, the thick
#'   line the middle half and the dot the mean. Models whose thin line of differences contains 0 cannot be distinguished
#'   with that many observations. `"orders"`: the share of subsamples with each order of the models. `"pairs"`: the
#'   share of subsamples in which the row's model is better than the column's.
#' @param metrics Which metrics to draw; all by default.
#' @param max_orders At most this many orders per metric.
#' @param ... Not used.
#' @return A ggplot object.
#' @name autoplot.ce_rank
#' @method autoplot ce_rank
#' @exportS3Method ggplot2::autoplot ce_rank
autoplot.ce_rank <- function(object, type = c("differences", "estimates", "orders", "pairs"), metrics = NULL,
                             max_orders = 6, ...) {
  check_empty(...)
  type <- check_choice(type, c("differences", "estimates", "orders", "pairs"))
  object <- keep_metrics(object, metrics)
  drawn <- object$times > 0
  stop_if(!drawn && type != "differences", "{.code type = \"{type}\"} shows subsamples.",
          "x" = "The ranking has none: {.arg times} of {.fn ce_rank} is 0.", arg = "type", value = type)
  switch(type,
    differences = if (drawn) autoplot_rank_ranges(paired_draws(object), "minus the best; ") else
      autoplot_rank_tests(object),
    estimates = autoplot_rank_ranges(object),
    orders = autoplot_rank_orders(object, max_orders),
    pairs = autoplot_rank_pairs(object)
  )
}

keep_metrics <- function(x, metrics) {
  all <- unique(x$estimates$metric)
  check_among(metrics, all, "ranking")
  for (part in c("estimates", "orders", "pairs", "draws")) {
    x[[part]] <- x[[part]][x[[part]]$metric %in% (metrics %||% all), ]
    x[[part]]$metric <- factor(x[[part]]$metric, levels = metrics %||% all)
  }
  x
}

metric_panels <- function(x, ...) {
  ggplot2::facet_wrap(ggplot2::vars(.data$metric), labeller = ggplot2::as_labeller(x$titles), ...)
}

# Models from the worst at the bottom to the best of the first metric at the top.
model_levels <- function(x) {
  first <- x$estimates[x$estimates$metric == levels(x$estimates$metric)[1], ]
  rev(first$model)
}

subsample_summary <- function(x) {
  groups <- split(x$draws, list(x$draws$metric, x$draws$model), drop = TRUE)
  probs <- c((1 - x$level) / 2, .25, .75, (1 + x$level) / 2)
  out <- do.call(rbind, lapply(groups, function(g) {
    q <- quantile(g$estimate[is.finite(g$estimate)], probs, names = FALSE)
    data.frame(metric = g$metric[1], model = g$model[1], low = q[1], lower = q[2], upper = q[3],
               high = q[4], mean = mean(g$estimate))
  }))
  out$model <- factor(out$model, levels = model_levels(x))
  out
}

subsample_text <- function(x) {
  paste0(count_text(x$times), " subsamples of ", count_text(x$n_sub), " observations")
}

# Draws as differences to the best model of each metric in the same subsample.
paired_draws <- function(x) {
  best <- x$estimates[!duplicated(x$estimates$metric), c("metric", "model")]
  reference <- x$draws[x$draws$model == best$model[match(x$draws$metric, best$metric)], ]
  at <- match(paste(x$draws$metric, x$draws$sample), paste(reference$metric, reference$sample))
  x$draws$estimate <- x$draws$estimate - reference$estimate[at]
  x$zero <- TRUE
  x
}

# From the tests of all pairs, on all observations.
autoplot_rank_tests <- function(x) {
  shown <- do.call(rbind, lapply(split(x$estimates, x$estimates$metric, drop = TRUE), function(one) {
    rows <- to_best(x$tests[[as.character(one$metric[1])]], one$model[1], one$model)
    cbind(one[c("metric", "model")], best = one$can_be_best, rows[c("difference", "conf.low", "conf.high")])
  }))
  shown$model <- factor(shown$model, levels = model_levels(x))
  models_figure(ggplot2::ggplot(shown, ggplot2::aes(x = .data$difference, y = .data$model)), x$level,
                if (nlevels(shown$model) > 2) ", simultaneous") +
    metric_panels(x, scales = "free_x") +
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

autoplot_rank_ranges <- function(x, what = "") {
  shown <- subsample_summary(x)
  ggplot2::ggplot(shown, ggplot2::aes(y = .data$model)) +
    (if (isTRUE(x$zero)) ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.4)) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$low, xmax = .data$high), colour = ce_colours[1],
                            linewidth = 0.4) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$lower, xmax = .data$upper), colour = ce_colours[1],
                            linewidth = 1.6) +
    ggplot2::geom_point(ggplot2::aes(x = .data$mean), shape = 21, fill = "white", colour = ce_colours[1],
                        size = 1.9, stroke = 0.7) +
    metric_panels(x, scales = "free_x") +
    ggplot2::scale_x_continuous(n.breaks = 4) +
    ggplot2::labs(
      x = NULL, y = NULL,
      subtitle = wrap_text(paste0(if (nzchar(what)) "Each model ", what, "mean, middle half and ",
                                  percent_text(x$level), " range over ", subsample_text(x)))
    ) +
    theme_rows(panel.spacing.x = ggplot2::unit(1.2, "lines"))
}

autoplot_rank_orders <- function(x, max_orders) {
  # the most frequent orders of each metric, and the one on all observations
  shown <- do.call(rbind, lapply(split(x$orders, x$orders$metric, drop = TRUE), function(g) {
    g <- g[order(-g$count), ]
    g[seq_len(nrow(g)) <= max_orders | g$full, ]
  }))
  shown$label <- factor(paste(shown$metric, shown$order), levels = rev(paste(shown$metric, shown$order)))
  shown$colour <- ifelse(shown$full, ce_colours[2], ce_colours[1])
  ggplot2::ggplot(shown, ggplot2::aes(x = .data$share, y = .data$label, colour = .data$colour)) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = 0, xmax = .data$share), linewidth = 0.6) +
    ggplot2::geom_point(size = 2) +
    metric_panels(x, scales = "free_y", ncol = 1) +
    ggplot2::scale_y_discrete(labels = setNames(vapply(shown$order, wrap_text, "", 48), shown$label)) +
    ggplot2::scale_x_continuous(labels = percent_text) +
    ggplot2::scale_colour_identity() +
    ggplot2::labs(
      x = paste("share with", count_text(x$n_sub), "new rows"), y = NULL,
      subtitle = paste0(subsample_text(x), ";\norange: the order on all observations")
    ) +
    theme_rows(axis.text.y = ggplot2::element_text(size = ggplot2::rel(0.85), lineheight = 0.85))
}

# Every ordered pair: the share of subsamples in which row beats column.
autoplot_rank_pairs <- function(x) {
  back <- x$pairs
  back[c("model", "other")] <- x$pairs[c("other", "model")]
  back$share <- 1 - x$pairs$share
  shown <- rbind(x$pairs, back)
  shown$model <- factor(shown$model, levels = model_levels(x))
  shown$other <- factor(shown$other, levels = rev(model_levels(x)))
  shown$dark <- ifelse(abs(shown$share - 0.5) > 0.35, "light", "dark")
  ggplot2::ggplot(shown, ggplot2::aes(x = .data$other, y = .data$model, fill = .data$share)) +
    ggplot2::geom_tile(colour = "white", linewidth = 0.6) +
    ggplot2::geom_text(ggplot2::aes(label = round(100 * .data$share), colour = .data$dark), size = 3,
                       show.legend = FALSE) +
    metric_panels(x) +
    ggplot2::scale_fill_gradient2(low = ce_colours[2], mid = "grey96", high = ce_colours[1], midpoint = 0.5,
                                  limits = c(0, 1), labels = percent_text) +
    ggplot2::scale_colour_manual(values = c(light = "white", dark = "grey20"), guide = "none") +
    ggplot2::coord_equal() +
    ggplot2::labs(
      x = NULL, y = NULL,
      subtitle = paste0("Percent of the subsamples in which the row is better than the column\n(", subsample_text(x),
                        ")")
    ) +
    theme_ce() +
    ggplot2::theme(panel.grid = ggplot2::element_blank(), axis.text.x = ggplot2::element_text(angle = 40, hjust = 1),
                   legend.key.width = ggplot2::unit(2, "lines"))
}
