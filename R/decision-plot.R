#' Draw a decision curve of calibration
#'
#' The upper panel has the net benefit of the model, of treating all and of treating none. The lower panel has the net
#' benefit lost to miscalibration, with its intervals (darker) and, for one model, its simultaneous band (lighter).
#' Models differ in colour and line type; groups have panels side by side. `type = "differences"` draws the differences
#' between several models, a panel per pair.
#'
#' @param object A [ce_decision()].
#' @param ... Not used.
#' @param type `"curve"`, or of several models `"differences"`.
#' @param thresholds The range of thresholds to draw, two numbers; by default that of the curve.
#' @param recalibrated Whether to draw the net benefit of the recalibrated predictions too, dashed.
#' @return A ggplot object. Lines end where their net benefit falls below 0 by more
#'   than 15% of the largest net benefit; a model's loss ends there too.
#' @name autoplot.ce_decision
#' @method autoplot ce_decision
#' @exportS3Method ggplot2::autoplot ce_decision
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' p <- rbeta(600, 1, 3)
#' y <- rbinom(600, 1, plogis(0.6 * qlogis(p)))
#' plot(ce_decision(p, y), thresholds = c(0, 0.6))
autoplot.ce_decision <- function(object, thresholds = NULL, type = c("curve", "differences"), recalibrated = FALSE,
                                 ...) {
  check_empty(...)
  check_numbers(thresholds, lower = 0, upper = 1, size = 2, null = TRUE)
  check_flag(recalibrated)
  if (check_choice(type, c("curve", "differences")) == "differences") {
    return(autoplot_differences(object, thresholds))
  }
  rows <- decision_display(object, thresholds)
  models <- levels(rows$model)
  lines <- decision_lines(rows, recalibrated)
  lost <- lines[lines$panel == decision_panels[2] & !is.na(lines$conf.low), ]
  single <- length(unique(rows$threshold)) == 1
  zero <- data.frame(zero = 0, panel = factor(decision_panels[2], decision_panels))
  plot <- ggplot2::ggplot(lines, ggplot2::aes(x = .data$threshold, y = .data$value)) +
    ggplot2::geom_hline(ggplot2::aes(yintercept = .data$zero), zero, colour = "grey55", linewidth = 0.35)
  # bands of several models would hide each other
  plot <- plot + (if (length(models) < 2) decision_limit_layers(lost, single)) +
    (if (single) ggplot2::geom_point(ggplot2::aes(colour = .data$line), size = 1.8, na.rm = TRUE) else {
      ggplot2::geom_line(ggplot2::aes(colour = .data$line, linetype = .data$line), linewidth = 0.6, na.rm = TRUE)
    }) +
    decision_scales(models, levels(lines$line)) +
    ggplot2::labs(x = "threshold", y = NULL, caption = decision_caption(object, rows, recalibrated)) +
    theme_ce() +
    ggplot2::theme(strip.placement = "outside", strip.text.y = ggplot2::element_text(hjust = 0.5),
                   panel.spacing.y = ggplot2::unit(0.8, "lines"))
  facets <- if (nlevels(rows$group) > 1) {
    list(ggplot2::facet_grid(ggplot2::vars(.data$panel), ggplot2::vars(.data$group), scales = "free_y", switch = "y",
                             labeller = ggplot2::labeller(group = panel_titles(rows$group))),
         ggplot2::theme(panel.spacing.x = ggplot2::unit(1.2, "lines")))
  } else {
    ggplot2::facet_wrap(ggplot2::vars(.data$panel), ncol = 1, scales = "free_y")
  }
  plot + facets
}

# Limits at one threshold and at all; of a `single` threshold as bars.
decision_limit_layers <- function(rows, single = FALSE) {
  if (nrow(rows) == 0) return(NULL)
  if (single) return(limit_layers("conf", TRUE, data = rows, colour = ce_colours[1]))
  limit_layers("conf", FALSE, data = rows, fill = ce_colours[1])
}

decision_references <- c("treat all" = "grey60", "treat none" = "grey20")

# The legend names every line; a recalibrated model has its colour and is dashed.
decision_scales <- function(models, lines) {
  again <- if (length(lines) > length(models) + 2) recalibrated_name(models)
  colours <- c(colours_for(models), stats::setNames(colours_for(models)[seq_along(again)], again), decision_references)
  types <- c(line_types_for(models), rep("22", length(again)), "solid", "solid")
  line_scales(names(colours), ggplot2::waiver(), wrapped_legend(lines), colours = colours, types = types)
}

recalibrated_name <- function(model) ifelse(model == "model", "recalibrated", paste(model, "recalibrated"))

decision_panels <- c("Net benefit", "Lost to miscalibration")

within_thresholds <- function(rows, thresholds) {
  if (is.null(thresholds)) return(rows)
  at <- rows$threshold
  shown <- rows[at >= min(thresholds) & at <= max(thresholds), ]
  if (nrow(shown) > 0) return(shown)
  stop_input("{.arg thresholds} must hold a threshold of the curve.",
             "x" = "They are {.val {thresholds}}; the curve has those from {.val {min(at)}} to {.val {max(at)}}.",
             arg = "thresholds", value = thresholds)
}

# The rows within the range, with the model and the group that they belong to as factors.
decision_display <- function(x, thresholds) {
  rows <- within_thresholds(x$curve, thresholds)
  model <- intersect("model", x$keys)
  rows$model <- if (length(model) > 0) factor(rows$model, unique(rows$model)) else factor(rep("model", nrow(rows)))
  rows$group <- labels_factor(rows, setdiff(x$keys, "model"))
  rows
}

# One row per line and threshold: net benefit, and that of treating all and none, in the upper panel; the loss and its
# limits in the lower. Treating all falls without end; so does a model's net benefit near 1.
decision_lines <- function(rows, recalibrated = FALSE) {
  model <- as.character(rows$model)
  benefit <- c(rows$net_benefit, rows$recalibrated)
  lowest <- min(-0.15 * max(benefit, rows$treat_all), max(min(benefit), -0.05))
  # a line that has fallen does not come back
  above <- function(value) {
    stats::ave(value >= lowest, rows$model, rows$group, FUN = function(v) cummin(as.integer(v %in% TRUE)) == 1)
  }
  line <- function(value, name, panel, shown = above(value)) {
    out <- data.frame(threshold = rows$threshold, value = value, line = name, panel = factor(panel, decision_panels),
                      group = rows$group, conf.low = NA_real_, conf.high = NA_real_, band.low = NA_real_,
                      band.high = NA_real_)
    limits <- c("conf.low", "conf.high", "band.low", "band.high")
    if (panel == decision_panels[2]) out[limits] <- rows[limits]
    out[!shown, c("value", limits)] <- NA_real_
    out
  }
  lines <- rbind(
    line(rows$treat_all, "treat all", decision_panels[1]),
    line(0 * rows$threshold, "treat none", decision_panels[1]),
    line(rows$net_benefit, model, decision_panels[1]),
    if (recalibrated) line(rows$recalibrated, recalibrated_name(model), decision_panels[1]),
    line(rows$loss, model, decision_panels[2], above(rows$net_benefit))
  )
  # of several models on the same rows, treating all is one line
  lines <- lines[!duplicated(lines[c("threshold", "line", "panel", "group")]), ]
  models <- levels(rows$model)
  lines$line <- factor(lines$line, c(models, if (recalibrated) recalibrated_name(models), names(decision_references)))
  lines
}

decision_caption <- function(x, rows, recalibrated) {
  text <- c(
    if (recalibrated) paste0("Recalibrated by ", x$recalibration$label, "."),
    if (all(rows$changed == 0)) {
      paste0("Recalibration changes no decision at ", if (length(unique(rows$threshold)) > 1) "these thresholds." else
        "this threshold.")
    } else if (nlevels(rows$model) < 2) {
      paste("Below,", sub("^D", "d", band_note(x$level)))
    }
  )
  if (length(text) > 0) paste(vapply(text, wrap_text, "", width = 58), collapse = "\n")
}

band_note <- function(level) {
  paste0("Dark: ", percent_text(level), " at one threshold; light: at all thresholds together.")
}

# A panel per pair, and per group beside it.
autoplot_differences <- function(object, thresholds) {
  rows <- within_thresholds(tidy(object, "differences"), thresholds)
  pair <- paste(rows$a, "-", rows$b)
  rows[c("group", "pair")] <- list(labels_factor(rows, setdiff(object$keys, "model")), factor(pair, unique(pair)))
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x = .data$threshold, y = .data$difference)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey35", linewidth = 0.35)
  plot + decision_limit_layers(rows[!is.na(rows$conf.low), ]) +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.6, na.rm = TRUE) +
    ggplot2::facet_grid(ggplot2::vars(.data$pair), if (nlevels(rows$group) > 1) ggplot2::vars(.data$group)) +
    ggplot2::labs(x = "threshold", y = "difference of net benefit", caption = wrap_text(band_note(object$level), 58)) +
    theme_ce()
}
