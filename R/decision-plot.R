#' Draw a decision curve of calibration
#'
#' Two panels above one another: the net benefit of acting on the predictions, on their recalibrated version, on all and
#' on none; and the net benefit lost to miscalibration with its intervals (darker) and its simultaneous band (lighter).
#' Models are told apart by colour, groups have panels side by side. Or the differences of several models, a panel per
#' pair.
#'
#' @param object,x A [ce_decision()].
#' @param ... Not used; of `plot()`, the arguments of `autoplot()`.
#' @param type `"curve"`, or of several models `"differences"`.
#' @param thresholds The range of thresholds to draw, two numbers; by default that of the curve.
#' @return A ggplot object; `plot()` draws it and returns `x`. Below the axis acting on all is not drawn: the panel ends
#'   a little below the smallest net benefit of the models, or 0.
#' @name autoplot.ce_decision
#' @exportS3Method ggplot2::autoplot
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' p <- rbeta(600, 1, 3)
#' y <- rbinom(600, 1, plogis(0.6 * qlogis(p)))
#' plot(ce_decision(p, y), thresholds = c(0, 0.6))
autoplot.ce_decision <- function(object, thresholds = NULL, type = c("curve", "differences"), ...) {
  rlang::check_installed("ggplot2", reason = "to plot.")
  check_numbers(thresholds, lower = 0, upper = 1, size = 2, null = TRUE)
  if (check_choice(type, c("curve", "differences")) == "differences") {
    return(autoplot_differences(object, thresholds, current_env()))
  }
  rows <- decision_display(object, thresholds)
  several <- nlevels(rows$model) > 1
  lines <- decision_lines(rows)
  lost <- rows
  lost$panel <- factor(decision_panels[2], decision_panels)
  colours <- colours_for(levels(rows$model))
  plot <- ggplot2::ggplot(lines, ggplot2::aes(x = .data$threshold, y = .data$value)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey35", linewidth = 0.35)
  for (layer in band_layers("conf")) {
    plot <- plot + ggplot2::geom_ribbon(
      ggplot2::aes(y = NULL, ymin = !!rlang::sym(layer[[1]]), ymax = !!rlang::sym(layer[[2]]), fill = .data$model),
      data = lost, alpha = layer[[3]] * if (several) 0.6 else 1, na.rm = TRUE
    )
  }
  plot <- plot +
    ggplot2::geom_line(ggplot2::aes(colour = .data$model, linetype = .data$what,
                                    group = interaction(.data$model, .data$what)), linewidth = 0.6, na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = c(colours, reference = "grey55"), aesthetics = c("colour", "fill"),
                                 breaks = levels(rows$model)) +
    ggplot2::scale_linetype_manual(values = c(predictions = "solid", recalibrated = "22", `all` = "solid"),
                                   breaks = c("predictions", "recalibrated")) +
    ggplot2::labs(x = "threshold", y = NULL, caption = decision_caption(object)) +
    ggplot2::guides(fill = "none", colour = if (several) "legend" else "none",
                    linetype = ggplot2::guide_legend(override.aes = list(colour = "grey20"))) +
    theme_ce() +
    ggplot2::theme(strip.placement = "outside", strip.text.y = ggplot2::element_text(hjust = 0.5),
                   panel.spacing.y = ggplot2::unit(0.8, "lines"))
  facets <- if (nlevels(rows$group) > 1) {
    ggplot2::facet_grid(ggplot2::vars(.data$panel), ggplot2::vars(.data$group), scales = "free_y", switch = "y")
  } else {
    ggplot2::facet_wrap(ggplot2::vars(.data$panel), ncol = 1, scales = "free_y")
  }
  plot + facets
}

decision_panels <- c("Net benefit", "Lost to miscalibration")

within_thresholds <- function(rows, thresholds, call) {
  if (is.null(thresholds)) return(rows)
  at <- rows$threshold
  shown <- rows[at >= min(thresholds) & at <= max(thresholds), ]
  if (nrow(shown) > 0) return(shown)
  stop_input(c("{.arg thresholds} must hold a threshold of the curve.",
               "x" = "They are {.val {thresholds}}; the curve has those from {.val {min(at)}} to {.val {max(at)}}."),
             "argument", arg = "thresholds", value = thresholds, call = call)
}

# The rows within the range, with the model and the group that they belong to as factors.
decision_display <- function(x, thresholds) {
  rows <- within_thresholds(x$curve, thresholds, caller_env())
  label <- function(keys) {
    text <- curve_labels(rows, keys)
    factor(text, levels = unique(text))
  }
  model <- intersect("model", x$keys)
  rows$model <- if (length(model) > 0) factor(rows$model, levels = unique(rows$model)) else factor(rep("", nrow(rows)))
  rows$group <- label(setdiff(x$keys, "model"))
  rows
}

# One row per line and threshold: net benefit before and after, and of all, in the upper panel; the loss in the lower.
decision_lines <- function(rows) {
  line <- function(value, what, panel, model = as.character(rows$model)) {
    data.frame(threshold = rows$threshold, value = value, what = what, panel = factor(panel, decision_panels),
               model = model, group = rows$group)
  }
  # acting on all falls without end; so does a model's net benefit near 1
  benefit <- c(rows$net_benefit, rows$recalibrated)
  shown <- function(v) replace(v, v < min(-0.15 * max(benefit, rows$treat_all), max(min(benefit), -0.05)), NA)
  lines <- rbind(
    line(shown(rows$treat_all), "all", decision_panels[1], "reference"),
    line(rows$net_benefit, "predictions", decision_panels[1]),
    line(rows$recalibrated, "recalibrated", decision_panels[1]),
    line(rows$loss, "predictions", decision_panels[2])
  )
  # of several models on the same rows, acting on all is one line
  lines <- lines[!duplicated(lines[c("threshold", "what", "panel", "model", "group")]), ]
  lines$model <- factor(lines$model, c(levels(rows$model), "reference"))
  lines
}

decision_caption <- function(x) {
  paste(wrap_text(paste0("Grey: acting on all, and on none (0). Dashed: recalibrated by ", x$recalibration$label, ".")),
        paste0("Below, dark: ", format(100 * x$level), " % at one threshold; light: at all jointly."), sep = "\n")
}

# A panel per pair, and per group beside it.
autoplot_differences <- function(object, thresholds, call) {
  if (is.null(object$differences)) stop_no_differences(call)
  rows <- within_thresholds(object$differences, thresholds, call)
  pair <- paste(rows$a, "-", rows$b)
  rows$pair <- factor(pair, unique(pair))
  by <- setdiff(object$keys, "model")
  group <- curve_labels(rows, by)
  rows$group <- factor(group, unique(group))
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x = .data$threshold, y = .data$difference)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey35", linewidth = 0.35)
  for (layer in band_layers("conf")) {
    plot <- plot + ggplot2::geom_ribbon(
      ggplot2::aes(y = NULL, ymin = !!rlang::sym(layer[[1]]), ymax = !!rlang::sym(layer[[2]])),
      fill = ce_colours[1], alpha = layer[[3]], na.rm = TRUE
    )
  }
  plot +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.6, na.rm = TRUE) +
    ggplot2::facet_grid(ggplot2::vars(.data$pair), if (nlevels(rows$group) > 1) ggplot2::vars(.data$group)) +
    ggplot2::labs(x = "threshold", y = "difference of net benefit",
                  caption = paste("Dark:", format(100 * object$level), "% at one threshold; light: at all jointly.")) +
    theme_ce()
}
