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
    risk = , estimate = rep(1L, length(panels)),
    gap = vapply(panels, function(x) length(gap_parts(x, classes, call)), 0L)
  )
  margins <- c(4, if (type == "estimate") 6 else 4, 2, 1)
  old <- graphics::par(mfrow = grDevices::n2mfrow(sum(counts)), mar = margins)
  on.exit(graphics::par(old))
  for (g in seq_along(panels)) {
    title <- names(panels)[g] %||% ""
    switch(type,
      risk = plot_risk(panels[[g]], title, call),
      estimate = plot_estimate(panels[[g]], title),
      gap = plot_gap(panels[[g]], classes, title)
    )
  }
}

join_title <- function(...) {
  parts <- c(...)
  paste(parts[nzchar(parts)], collapse = ": ")
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

plot_gap <- function(x, classes, title, call = caller_env()) {
  shown <- gap_shown(list(x), classes, call)
  colours <- c(colours_for(shown$chosen), setNames(rep("grey60", length(shown$others)), shown$others))
  for (class in levels(shown$curve$class)) {
    one <- shown$curve[shown$curve$class == class, ]
    front <- one[one$chosen & is.finite(one$low), ]
    below <- shown$bars[shown$bars$class == class, ]
    plot(NA, xlim = range(one$confidence), ylim = range(shown$range, below$bottom), main = join_title(title, class),
         xlab = gap_axis(x),
         ylab = paste0("estimated gap", if (nlevels(shown$curve$class) == 1) " (prediction - outcome)"))
    graphics::rect(below$left, below$bottom, below$right, below$top, col = "grey80", border = NA)
    graphics::abline(h = 0, col = "grey40")
    for (m in shown$others) graphics::lines(gap ~ confidence, one[one$method == m, ], col = "grey60")
    graphics::polygon(c(front$confidence, rev(front$confidence)), c(front$low, rev(front$high)), border = NA,
                      col = grDevices::adjustcolor(colours[[1]], 0.2))
    graphics::lines(gap ~ confidence, one[one$chosen, ], col = colours[[1]], lwd = 2)
    graphics::legend("topleft", names(colours), col = colours, lwd = 1.5, bty = "n", cex = 0.8)
  }
}
