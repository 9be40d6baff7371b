#' Plot a tuning result
#'
#' @param object,x A `ce_tune`.
#' @param type `"risk"`: the mean root risk over each method's grid with its standard error over
#'   folds, the chosen value and the risk of \eqn{h = 0} (dashed). `"estimate"`: the
#'   calibration error of each method with its interval, and the one-sided lower bound of the
#'   selected one (dashed). `"gap"`: the estimated gap, prediction minus outcome, over the
#'   confidence, with the density of the predictions below (scalar notions; for kkr, which
#'   estimates no gap, the root of the positive part of \eqn{h(p, p)}).
#' @param methods Which methods to draw, by name; all by default.
#' @param ... Not used.
#' @return A ggplot object; `plot()` draws with base graphics and returns `x`.
#' @name autoplot.ce_tune
#' @exportS3Method ggplot2::autoplot
autoplot.ce_tune <- function(object, type = c("risk", "estimate", "gap"), methods = NULL, ...) {
  rlang::check_installed("ggplot2", reason = "to plot.")
  type <- check_choice(type, c("risk", "estimate", "gap"))
  object <- keep_methods(object, methods)
  switch(type,
    risk = autoplot_risk(object),
    estimate = autoplot_estimate(object),
    gap = autoplot_gap(object)
  )
}

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

# Methods with one value have no curve: they are left out where others have one.
risk_rows <- function(x) {
  rows <- x$tidy[!is.na(x$tidy$risk) & !is.na(x$tidy$value), ]
  n_values <- tapply(rows$value, rows$method, function(v) length(unique(v)))
  curves <- names(n_values)[n_values > 1]
  if (length(curves) > 0) rows[rows$method %in% curves, ] else rows
}

zero_root_risk <- function(x) {
  row <- x$glance[which(!is.na(x$glance$skill) & x$glance$skill < 1)[1], ]
  100 * sqrt(row$risk / (1 - row$skill))
}

autoplot_risk <- function(x) {
  curve <- risk_curve(x)
  chosen <- x$glance[!is.na(x$glance$value), ]
  chosen <- merge(as.data.frame(chosen[c("method", "value")]), curve, by = c("method", "value"))
  labels <- setNames(paste0(x$glance$method, " (", x$glance$parameter, ")"), x$glance$method)
  # bins are counts on a linear axis; the rest spans decades: one axis per panel
  curve$x <- axis_value(curve$value, curve$method, x)
  chosen$x <- axis_value(chosen$value, chosen$method, x)
  ggplot2::ggplot(curve, ggplot2::aes(x = .data$x, y = .data$root_risk)) +
    ggplot2::geom_hline(yintercept = zero_root_risk(x), linetype = "dashed", colour = "grey50", linewidth = 0.4) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$root_risk - .data$std.error, ymax = .data$root_risk + .data$std.error),
      colour = "grey65", linewidth = 0.4, na.rm = TRUE
    ) +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.5) +
    ggplot2::geom_point(colour = ce_colours[1], size = 1) +
    ggplot2::geom_point(data = chosen, colour = ce_colours[2], size = 2.6, shape = 18) +
    ggplot2::facet_wrap(ggplot2::vars(.data$method), scales = "free_x",
                        labeller = ggplot2::as_labeller(labels)) +
    ggplot2::coord_cartesian(ylim = risk_limits(curve, zero_root_risk(x))) +
    ggplot2::scale_x_continuous(labels = axis_labels) +
    ggplot2::labs(
      x = NULL, y = "root risk x 100",
      subtitle = "Mean over folds with its standard error; the diamond is chosen, the dashed line is h = 0"
    ) +
    theme_ce() +
    ggplot2::theme(panel.spacing.x = ggplot2::unit(1.2, "lines"))
}

# Methods whose grid spans more than two decades are drawn on a log axis. Both kinds live in
# one figure: log values are shifted far below any count, and labelled back.
log_shift <- 1000
axis_value <- function(value, method, x) {
  for (m in unique(as.character(method))) {
    v <- x$tidy$value[x$tidy$method == m]
    if (min(v) > 0 && max(v) / min(v) > 100) {
      at <- as.character(method) == m
      value[at] <- log10(value[at]) - log_shift
    }
  }
  value
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
  c(low, max(high, zero))
}

autoplot_estimate <- function(x) {
  rows <- x$glance
  rows$method <- factor(rows$method, levels = rev(rows$method))
  best <- rows[which(rows$selected), ]
  rows$chosen <- ifelse(rows$selected %in% TRUE, "smallest risk", "other")
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x = .data$estimate, y = .data$method))
  if (nrow(best) == 1 && isTRUE(best$lower_bound > 0)) {
    plot <- plot + ggplot2::geom_vline(xintercept = best$lower_bound, linetype = "dashed",
                                       colour = "grey50", linewidth = 0.4)
  }
  plot +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high, colour = .data$chosen),
                            linewidth = 0.7, na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(colour = .data$chosen), size = 2.4) +
    ggplot2::scale_colour_manual(values = c(`smallest risk` = ce_colours[2], other = ce_colours[1])) +
    ggplot2::expand_limits(x = 0) +
    ggplot2::labs(
      x = "calibration error", y = NULL,
      subtitle = paste0("On the test rows, with ", format(100 * x$level), " % intervals; dashed: lower bound of the error itself")
    ) +
    theme_ce() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
}

# The estimated gap on a grid of confidences, within the range of the data.
gap_curve <- function(x, n_points = 601L, call = caller_env()) {
  if (is.null(x$histogram)) {
    stop_input(c(
      "The gap is drawn for scalar notions.",
      "x" = "The notion is {.val {x$notion}}.",
      "i" = "Use {.code type = \"risk\"} or {.val estimate}, or tune with {.code notion = \"top_label\"}."
    ), "notion", arg = "type", call = call)
  }
  used <- range(which(x$histogram$counts > 0))
  at <- seq(x$histogram$breaks[used[1]], x$histogram$breaks[used[2] + 1], length.out = n_points)
  threads <- resolve_threads()
  do.call(rbind, lapply(x$glance$method, function(m) {
    form <- ensemble_form(x$forms[[m]][[1]])
    is_gap <- isTRUE(form$gap)
    gap <- if (is_gap) form_gap(form, matrix(at), threads)[, 1] else {
      sqrt(pmax(form_squared(form, matrix(at), threads), 0))
    }
    data.frame(method = if (is_gap) m else paste0(m, " (size only)"), confidence = at, gap = gap)
  }))
}

autoplot_gap <- function(x) {
  curve <- gap_curve(x)
  curve$method <- factor(curve$method, levels = unique(curve$method))
  range <- range(curve$gap, 0)
  height <- 0.18 * diff(range)
  bars <- histogram_bars(x$histogram, base = range[1] - 1.25 * height, height = height)
  ggplot2::ggplot(curve) +
    ggplot2::geom_rect(
      data = bars, fill = "grey80",
      ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data$bottom, ymax = .data$top)
    ) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey40", linewidth = 0.4) +
    ggplot2::geom_line(ggplot2::aes(x = .data$confidence, y = .data$gap, colour = .data$method, linetype = .data$method),
                       linewidth = 0.6) +
    ggplot2::scale_colour_manual(values = colours_for(levels(curve$method))) +
    ggplot2::labs(
      x = if (x$notion == "binary") "predicted probability" else "confidence",
      y = "estimated gap (prediction - outcome)",
      subtitle = "Above zero the model is overconfident; grey: how many predictions lie there (square root scale)"
    ) +
    theme_ce()
}

# Square-root heights: confidences crowd near 1, and rare ones should stay visible.
histogram_bars <- function(histogram, base, height) {
  tall <- sqrt(histogram$counts) / sqrt(max(histogram$counts))
  n <- length(tall)
  data.frame(left = histogram$breaks[-(n + 1)], right = histogram$breaks[-1], bottom = base,
             top = base + height * tall)[tall > 0, ]
}

#' @rdname autoplot.ce_tune
#' @export
plot.ce_tune <- function(x, type = c("risk", "estimate", "gap"), methods = NULL, ...) {
  type <- check_choice(type, c("risk", "estimate", "gap"))
  shown <- keep_methods(x, methods)
  switch(type, risk = plot_risk(shown), estimate = plot_estimate(shown), gap = plot_gap(shown))
  invisible(x)
}

plot_risk <- function(x) {
  curve <- risk_curve(x)
  present <- levels(droplevels(curve$method))
  old <- graphics::par(mfrow = grDevices::n2mfrow(length(present)), mar = c(4, 4, 2, 1))
  on.exit(graphics::par(old))
  limits <- risk_limits(curve, zero_root_risk(x))
  for (m in present) {
    one <- curve[curve$method == m, ]
    logs <- min(one$value) > 0 && max(one$value) / min(one$value) > 100
    plot(one$value, one$root_risk, log = if (logs) "x" else "", type = "b", pch = 20, ylim = limits,
         col = ce_colours[1], main = m, xlab = x$glance$parameter[x$glance$method == m], ylab = "root risk x 100")
    graphics::segments(one$value, one$root_risk - one$std.error, one$value, one$root_risk + one$std.error,
                       col = "grey65")
    graphics::abline(h = zero_root_risk(x), lty = 2, col = "grey50")
    chosen <- one[one$value %in% x$glance$value[x$glance$method == m], ]
    graphics::points(chosen$value, chosen$root_risk, pch = 18, cex = 1.6, col = ce_colours[2])
  }
}

plot_estimate <- function(x) {
  rows <- x$glance[rev(seq_len(nrow(x$glance))), ]
  at <- seq_len(nrow(rows))
  old <- graphics::par(mar = c(4, 6, 1, 1))
  on.exit(graphics::par(old))
  colour <- ifelse(rows$selected %in% TRUE, ce_colours[2], ce_colours[1])
  plot(rows$estimate, at, xlim = range(0, rows$conf.high, rows$estimate, na.rm = TRUE), yaxt = "n",
       pch = 19, col = colour, xlab = "calibration error", ylab = "")
  graphics::segments(rows$conf.low, at, rows$conf.high, at, col = colour)
  graphics::axis(2, at, rows$method, las = 1)
  graphics::abline(v = rows$lower_bound[rows$selected %in% TRUE], lty = 2, col = "grey50")
}

plot_gap <- function(x) {
  curve <- gap_curve(x)
  names <- unique(curve$method)
  range <- range(curve$gap, 0)
  height <- 0.18 * diff(range)
  bars <- histogram_bars(x$histogram, range[1] - 1.25 * height, height)
  plot(NA, xlim = range(curve$confidence), ylim = range(curve$gap, 0, bars$bottom), xlab = "confidence",
       ylab = "estimated gap (prediction - outcome)")
  graphics::rect(bars$left, bars$bottom, bars$right, bars$top, col = "grey80", border = NA)
  graphics::abline(h = 0, col = "grey40")
  colours <- colours_for(names)
  for (m in names) {
    one <- curve[curve$method == m, ]
    graphics::lines(one$confidence, one$gap, col = colours[[m]], lwd = 1.5)
  }
  graphics::legend("topleft", names, col = colours, lwd = 1.5, bty = "n")
}
