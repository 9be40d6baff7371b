#' @rdname autoplot.ce_tune
#' @export
plot.ce_tune <- function(x, type = c("risk", "estimate", "gap"), methods = NULL, classes = NULL, ...) {
  plot_tunes(list(x), type, methods, classes)
  invisible(x)
}

# `panels`: tuning results, named by group where there are several; drawn one after the other.
plot_tunes <- function(panels, type = tune_plots, methods = NULL, classes = NULL, call = caller_env()) {
  type <- check_choice(type, tune_plots, call = call)
  panels <- lapply(panels, keep_methods, methods, call)
  counts <- switch(type,
    risk = vapply(panels, function(x) length(unique(risk_curve(x, call)$method)), 0L),
    estimate = rep(1L, length(panels)),
    gap = vapply(panels, function(x) length(gap_parts(x, classes, call)), 0L)
  )
  margins <- c(4, if (type == "estimate") 6 else 4, 2, 1)
  old <- graphics::par(mfrow = grDevices::n2mfrow(sum(counts)), mar = margins)
  on.exit(graphics::par(old))
  for (g in seq_along(panels)) {
    title <- names(panels)[g] %||% ""
    switch(type,
      risk = plot_risk(panels[[g]], title),
      estimate = plot_estimate(panels[[g]], title),
      gap = plot_gap(panels[[g]], classes, title)
    )
  }
}

join_title <- function(...) {
  parts <- c(...)
  paste(parts[nzchar(parts)], collapse = ": ")
}

plot_risk <- function(x, title) {
  curve <- risk_curve(x)
  choices <- class_choices(x)
  limits <- all_risk_limits(list(x))
  for (m in levels(droplevels(curve$method))) {
    one <- curve[curve$method == m, ]
    plot(one$value, one$root_risk, log = if (spans_decades(one$value)) "x" else "", type = "b", pch = 20, ylim = limits,
         col = ce_colours[1], main = join_title(title, m), xlab = x$glance$parameter[x$glance$method == m],
         ylab = "root risk x 100")
    graphics::segments(one$value, one$root_risk - one$std.error, one$value, one$root_risk + one$std.error,
                       col = "grey65")
    graphics::abline(h = zero_root_risk(x), lty = 2, col = "grey50")
    chosen <- one[one$value %in% x$glance$value[x$glance$method == m], ]
    graphics::points(chosen$value, chosen$root_risk, pch = 18, cex = 1.6, col = ce_colours[2])
    classes <- choices[choices$method == m, ]
    if (NROW(classes) > 0) {
      graphics::rug(classes$value, col = ce_colours[2])
      graphics::abline(h = classes$root_risk[1], col = ce_colours[2])
    }
  }
}

plot_estimate <- function(x, title) {
  rows <- x$glance[rev(seq_len(nrow(x$glance))), ]
  at <- seq_len(nrow(rows))
  colour <- ifelse(rows$selected %in% TRUE, ce_colours[2], ce_colours[1])
  half <- qnorm((1 + x$level) / 2) * rows$std.error_holdout
  plot(rows$estimate_holdout, at, type = "n", yaxt = "n", xlab = "calibration error", ylab = "", main = title,
       xlim = range(0, x$headline$conf.high, rows$estimate_holdout + half, rows$estimate_holdout, na.rm = TRUE))
  graphics::rect(x$headline$conf.low, 0, x$headline$conf.high, nrow(rows) + 1, col = "grey88", border = NA)
  graphics::abline(v = x$headline$estimate, col = "grey40")
  graphics::segments(pmax(0, rows$estimate_holdout - half), at, rows$estimate_holdout + half, at, col = colour)
  graphics::points(rows$estimate_holdout, at, pch = 19, col = colour)
  graphics::axis(2, at, rows$method, las = 1)
}

plot_gap <- function(x, classes, title) {
  curve <- gap_curve(x, classes)
  names <- unique(curve$method)
  range <- range(curve$gap[is.finite(curve$gap)], 0)
  bars <- gap_bars(x, classes, range)
  colours <- colours_for(names)
  for (class in levels(curve$class)) {
    one <- curve[curve$class == class, ]
    below <- bars[bars$class == class, ]
    plot(NA, xlim = range(one$confidence), ylim = range(range, bars$bottom), main = join_title(title, class),
         xlab = if (x$notion == "top_label") "confidence" else "predicted probability",
         ylab = paste0("estimated gap", if (nlevels(curve$class) == 1) " (prediction - outcome)"))
    graphics::rect(below$left, below$bottom, below$right, below$top, col = "grey80", border = NA)
    graphics::abline(h = 0, col = "grey40")
    for (m in names) graphics::lines(gap ~ confidence, one[one$method == m, ], col = colours[[m]], lwd = 1.5)
    graphics::legend("topleft", names, col = colours, lwd = 1.5, bty = "n")
  }
}
