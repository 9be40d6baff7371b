#' Plot a tuning result
#'
#' For grouped results, every group has its panels.
#'
#' @param object,x A `ce_tune`, or a [ce_grouped] list of them.
#' @param type `"risk"`: the mean root risk over each method's grid with its standard error over
#'   folds, the chosen value and the risk of \eqn{h = 0} (dashed). Class-wise: the risk with the same value in all
#'   classes, the values chosen per class as ticks and the risk with them as a line. `"estimate"`: the
#'   calibration error of each method with its interval, and the one-sided lower bound of the
#'   selected one (dashed). `"gap"`: the estimated gap, prediction minus outcome, over the
#'   confidence, with the density of the predictions below (scalar notions, and per class for class-wise; for kkr, which
#'   estimates no gap, the root of the positive part of \eqn{h(p, p)}).
#' @param methods Which methods to draw, by name; all by default.
#' @param classes Class-wise gaps: which classes to draw, by name; all by default.
#' @param ... Not used.
#' @return A ggplot object; `plot()` draws with base graphics and returns `x`.
#' @section Errors:
#' `calibrisk_error_argument` for unknown methods or classes, `calibrisk_error_risk` where no fold has two held-out
#' rows, `calibrisk_error_notion` for the gap of a canonical result.
#' @name autoplot.ce_tune
#' @exportS3Method ggplot2::autoplot
autoplot.ce_tune <- function(object, type = c("risk", "estimate", "gap"), methods = NULL, classes = NULL, ...) {
  autoplot_tunes(list(object), type, methods, classes)
}

# `panels`: tuning results, named by group where there are several.
autoplot_tunes <- function(panels, type = tune_plots, methods = NULL, classes = NULL, call = caller_env()) {
  rlang::check_installed("ggplot2", reason = "to plot.")
  type <- check_choice(type, tune_plots, call = call)
  panels <- lapply(panels, keep_methods, methods, call)
  switch(type,
    risk = autoplot_risk(panels, call),
    estimate = autoplot_estimate(panels),
    gap = autoplot_gap(panels, classes, call)
  )
}

tune_plots <- c("risk", "estimate", "gap")

keep_methods <- function(x, methods, call = caller_env()) {
  if (is.null(methods)) return(x)
  unknown <- setdiff(methods, x$glance$method)
  if (length(unknown) > 0) {
    stop_input(c(
      "{.arg methods} must name methods of the result.",
      "x" = "{.val {unknown}} {?is/are} not among {.val {x$glance$method}}."
    ), "argument", arg = "methods", call = call)
  }
  x$glance <- x$glance[x$glance$method %in% methods, ]
  x$tidy <- x$tidy[x$tidy$method %in% methods, ]
  x
}

# One table for all panels, with the column `panel`.
bind_panels <- function(panels, fn) {
  names <- names(panels) %||% rep("", length(panels))
  parts <- Map(function(x, name) {
    out <- fn(x)
    if (NROW(out) == 0) return(NULL)
    out$panel <- factor(name, levels = names)
    out
  }, panels, names)
  do.call(rbind, unname(parts))
}

# Mean over folds of the root risk per method and value (class-wise: of the summed risk),
# with its standard error over folds, in units of 1/100.
risk_curve <- function(x, call = caller_env(2)) {
  if (all(is.na(x$tidy$risk))) {
    stop_input(c(
      "A risk needs at least two held-out rows in a fold.",
      "x" = "No risk of this result is defined.",
      "i" = "Tune with fewer folds, or use {.code type = \"estimate\"}."
    ), "risk", arg = "type", call = call)
  }
  rows <- best_kernels(risk_rows(x))
  per_fold <- stats::aggregate(risk ~ method + value + fold, rows, sum)
  per_fold$root <- 100 * sqrt(pmax(per_fold$risk, 0))
  groups <- split(per_fold, list(per_fold$method, per_fold$value), drop = TRUE)
  curve <- do.call(rbind, lapply(groups, function(g) {
    data.frame(method = g$method[1], value = g$value[1], root_risk = mean(g$root),
               std.error = mean_std_error(g$root))
  }))
  curve$method <- factor(curve$method, levels = x$glance$method)
  curve[order(curve$method, curve$value), ]
}

# Of several kernels the one with the smallest mean risk at each value (and class).
best_kernels <- function(rows) {
  if (is.null(rows[["kernel"]])) return(rows)
  label <- function(columns) do.call(paste, c(lapply(columns, function(name) rows[[name]]), sep = "\r"))
  points <- label(intersect(c("method", "class", "value"), names(rows)))
  means <- tapply(rows$risk, list(points, paste(rows$kernel)), mean)
  best <- colnames(means)[apply(means, 1, which.min)]
  rows[paste(rows$kernel) == best[match(points, rownames(means))], ]
}

# A method without a hyperparameter has no axis to be drawn on.
risk_rows <- function(x) {
  rows <- x$tidy[!is.na(x$tidy$risk) & !is.na(x$tidy$value), ]
  # folds of different splits are different folds
  if (x$n_splits > 1) rows$fold <- rows$fold + (rows$split - 1) * x$split$k
  rows
}

# Mean over folds of the root, as the curve is: the root of the mean is larger.
zero_root_risk <- function(x) {
  roots <- x$zero_root_risk[x$glance$method]
  100 * unname(roots[!is.na(roots)][1])
}

# The point of the curve that was chosen: none where classes chose differently.
chosen_points <- function(x) {
  chosen <- as.data.frame(x$glance[!is.na(x$glance$value), c("method", "value")])
  merge(chosen, risk_curve(x), by = c("method", "value"))
}

# Class-wise, where classes chose differently: their values, and the risk with them.
class_choices <- function(x) {
  methods <- x$glance$method[is.na(x$glance$value) & !is.na(x$glance$parameter)]
  rows <- x$tidy[x$tidy$method %in% methods & !is.na(x$tidy$value), ]
  if (is.null(rows[["class"]]) || nrow(rows) == 0) return(NULL)
  rows <- best_kernels(rows)
  do.call(rbind, lapply(split(rows, list(rows$method, rows$class), drop = TRUE), function(g) {
    values <- sort(unique(g$value))
    means <- vapply(values, function(v) mean(g$risk[g$value == v], na.rm = TRUE), 0)
    data.frame(method = factor(g$method[1], levels = x$glance$method), class = g$class[1],
               value = values[which.min(means)],
               root_risk = 100 * x$glance$root_risk[x$glance$method == g$method[1]])
  }))
}

autoplot_risk <- function(panels, call) {
  curve <- bind_panels(panels, risk_curve_of(call))
  chosen <- bind_panels(panels, chosen_points)
  classes <- bind_panels(panels, class_choices)
  zero <- bind_panels(panels, function(x) data.frame(zero = zero_root_risk(x)))
  glance <- panels[[1]]$glance
  labels <- setNames(paste0(glance$method, " (", glance$parameter, ")"), glance$method)
  # bins are counts on a linear axis; the rest spans decades: one axis per panel
  logs <- log_methods(curve)
  curve$x <- axis_value(curve, logs)
  if (!is.null(chosen)) chosen$x <- axis_value(chosen, logs)
  plot <- ggplot2::ggplot(curve, ggplot2::aes(x = .data$x, y = .data$root_risk)) +
    ggplot2::geom_hline(data = zero, ggplot2::aes(yintercept = .data$zero), linetype = "dashed", colour = "grey50",
                        linewidth = 0.4, na.rm = TRUE) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$root_risk - .data$std.error, ymax = .data$root_risk + .data$std.error),
      colour = "grey65", linewidth = 0.4, na.rm = TRUE
    ) +
    ggplot2::geom_line(data = several_points(curve), ggplot2::aes(group = .data$method), colour = ce_colours[1],
                       linewidth = 0.5) +
    ggplot2::geom_point(colour = ce_colours[1], size = 1)
  if (!is.null(chosen)) plot <- plot + ggplot2::geom_point(data = chosen, colour = ce_colours[2], size = 2.6,
                                                           shape = 18)
  if (!is.null(classes)) {
    classes$x <- axis_value(classes, logs)
    plot <- plot +
      ggplot2::geom_hline(data = unique(classes[c("method", "root_risk", "panel")]),
                          ggplot2::aes(yintercept = .data$root_risk), colour = ce_colours[2], linewidth = 0.5) +
      ggplot2::geom_rug(data = classes, sides = "b", colour = ce_colours[2], linewidth = 0.7,
                        length = ggplot2::unit(0.06, "npc"))
  }
  method_panels <- ggplot2::as_labeller(labels)
  plot +
    (if (length(panels) > 1) {
      ggplot2::facet_grid(ggplot2::vars(.data$panel), ggplot2::vars(.data$method), scales = "free_x",
                          labeller = ggplot2::labeller(method = method_panels))
    } else {
      ggplot2::facet_wrap(ggplot2::vars(.data$method), scales = "free_x", labeller = method_panels)
    }) +
    ggplot2::coord_cartesian(ylim = all_risk_limits(panels)) +
    ggplot2::scale_x_continuous(breaks = axis_breaks(curve$x), labels = axis_labels) +
    ggplot2::labs(x = NULL, y = "root risk x 100", subtitle = risk_subtitle(chosen, classes)) +
    theme_ce() +
    ggplot2::theme(panel.spacing.x = ggplot2::unit(1.2, "lines"))
}

# A line needs two points.
several_points <- function(curve) {
  key <- paste(curve$method, curve$panel)
  curve[duplicated(key) | duplicated(key, fromLast = TRUE), ]
}

# `risk_curve()` with the call of the user's verb.
risk_curve_of <- function(call) function(x) risk_curve(x, call)

risk_subtitle <- function(chosen, classes) {
  paste0(
    "Mean over folds with its standard error; ", if (NROW(chosen) > 0) "the diamond is chosen, ",
    "the dashed line is h = 0",
    if (NROW(classes) > 0) {
      "\nPoints: the same value in all classes; ticks: the value of each class; line: the risk with these"
    }
  )
}

# Methods whose grid spans more than two decades are drawn on a log axis. Both kinds live in
# one figure: log values are shifted far below any count, and labelled back.
log_shift <- 1000
spans_decades <- function(v) min(v) > 0 && max(v) / min(v) > 100
log_methods <- function(curve) {
  spans <- tapply(curve$value, droplevels(curve$method), spans_decades)
  names(spans)[spans]
}
axis_value <- function(rows, logs) {
  ifelse(rows$method %in% logs, suppressWarnings(log10(rows$value)) - log_shift, rows$value)
}
# A panel with one value has one tick.
axis_breaks <- function(values) {
  function(limits) {
    inside <- unique(values[values >= limits[1] & values <= limits[2]])
    if (length(inside) == 1) inside else pretty(limits, 4)
  }
}
axis_labels <- function(at) {
  out <- as.list(format(at, trim = TRUE))
  for (i in which(!is.na(at) & at < -log_shift / 2)) {
    out[[i]] <- bquote(10^.(round(at[i] + log_shift, 2)))
  }
  as.expression(out)
}

# Small ridges can have huge risks: show the interesting range, cut the rest.
risk_limits <- function(curve, zero) {
  low <- min(curve$root_risk - ifelse(is.na(curve$std.error), 0, curve$std.error))
  best <- min(curve$root_risk)
  spread <- max(zero - best, stats::median(curve$std.error, na.rm = TRUE), 1e-6, na.rm = TRUE)
  high <- min(max(curve$root_risk + ifelse(is.na(curve$std.error), 0, curve$std.error)), best + 6 * spread)
  c(low, max(high, zero, na.rm = TRUE))
}

all_risk_limits <- function(panels) {
  range(vapply(panels, function(x) {
    classes <- class_choices(x)
    range(risk_limits(risk_curve(x), zero_root_risk(x)), classes$root_risk)
  }, numeric(2)))
}

# The methods' numbers on the test rows, against the headline of all rows.
autoplot_estimate <- function(panels) {
  rows <- bind_panels(panels, function(x) as.data.frame(x$glance))
  rows$method <- factor(rows$method, levels = rev(unique(rows$method)))
  rows$chosen <- ifelse(rows$selected %in% TRUE, "smallest risk", "other")
  headline <- bind_panels(panels, function(x) as.data.frame(x$headline))
  level <- panels[[1]]$level
  half <- qnorm((1 + level) / 2) * rows$std.error_holdout
  rows$low <- pmax(0, rows$estimate_holdout - half)
  rows$high <- rows$estimate_holdout + half
  plot <- ggplot2::ggplot(rows) +
    ggplot2::geom_rect(data = headline, ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), ymin = -Inf,
                       ymax = Inf, fill = "grey88") +
    ggplot2::geom_vline(data = headline, ggplot2::aes(xintercept = .data$estimate), colour = "grey40",
                        linewidth = 0.5, na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$low, xmax = .data$high, y = .data$method,
                                         colour = .data$chosen), linewidth = 0.7, na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(x = .data$estimate_holdout, y = .data$method, colour = .data$chosen),
                        size = 2.4, na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = c(`smallest risk` = ce_colours[2], other = ce_colours[1])) +
    ggplot2::expand_limits(x = 0) +
    ggplot2::labs(
      x = "calibration error", y = NULL,
      subtitle = paste0("Points: each method on the test rows (bars: sampling error of these rows alone)\n",
                        "Line and band: estimate of all rows and its ", format(100 * level), " % interval")
    ) +
    theme_ce() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
  if (length(panels) > 1) plot <- plot + ggplot2::facet_wrap(ggplot2::vars(.data$panel))
  plot
}
