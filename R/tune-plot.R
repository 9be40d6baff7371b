#' Plot a tuning result
#'
#' For grouped results, every group has its panels.
#'
#' @param object A `ce_tune`, or a [ce_grouped] list of them.
#' @param type `"risk"`: the smallest mean risk of each method minus the smallest of all, with the standard error over
#'   folds of that paired difference. The line below a dot is the same difference along the method's grid, from smooth
#'   to flexible, and the dashed line the risk of \eqn{h = 0} if it is near. Class-wise: the same value in all
#'   classes. `"estimate"`: the calibration error that each method
#'   reports for the test rows, with limits from those rows' standard error alone. Line and band are the estimate from
#'   all rows with its interval (see [ce_estimate()]). `"gap"`: the estimated calibration gap, prediction minus
#'   outcome, over the confidence, with the density of the predictions in a strip below: the selected method with its
#'   pointwise band, the others in grey. It is drawn for scalar types of calibration, and per class for class-wise;
#'   kkr, which estimates only products, has the root of the positive part of \eqn{h(p, p)}. The band is the delete-
#'   one-fold jackknife's: it knows noise, not what a method smooths away.
#' @param methods Which methods to draw, by name; all by default.
#' @param classes For class-wise calibration gaps: which classes to draw, by name; all by default.
#' @param ... Not used.
#' @return A ggplot object.
#' @section Errors:
#' `calibrisk_error_argument` for unknown methods or classes, `calibrisk_error_risk` if no fold has two held-out rows,
#' `calibrisk_error_notion` for the calibration gap of a canonical result.
#' @name autoplot.ce_tune
#' @method autoplot ce_tune
#' @exportS3Method ggplot2::autoplot ce_tune
autoplot.ce_tune <- function(object, type = c("risk", "estimate", "gap"), methods = NULL, classes = NULL, ...) {
  check_empty(...)
  autoplot_tunes(list(object), type, methods, classes)
}

# `panels`: tuning results, named by group where there are several.
autoplot_tunes <- function(panels, type = tune_plots, methods = NULL, classes = NULL) {
  type <- check_choice(type, tune_plots)
  panels <- lapply(panels, keep_methods, methods)
  switch(type, risk = autoplot_risk(panels), estimate = autoplot_estimate(panels), gap = autoplot_gap(panels, classes))
}

tune_plots <- c("risk", "estimate", "gap")

keep_methods <- function(x, methods) {
  if (is.null(methods)) return(x)
  check_among(methods, x$glance$method, "result")
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

# The methods' numbers on the test rows, against the headline of all rows.
autoplot_estimate <- function(panels) {
  rows <- bind_panels(panels, function(x) as.data.frame(x$glance))
  rows$method <- factor(rows$method, levels = rev(unique(rows$method)))
  levels(rows$method) <- method_words(levels(rows$method))
  rows$chosen <- ifelse(rows$selected %in% TRUE, "smallest risk", "other")
  headline <- bind_panels(panels, function(x) as.data.frame(x$headline))
  level <- panels[[1]]$level
  half <- qnorm((1 + level) / 2) * rows$std.error_holdout
  rows$low <- pmax(0, rows$estimate_holdout - half)
  rows$high <- rows$estimate_holdout + half
  ggplot2::ggplot(rows) +
    ggplot2::geom_rect(data = headline, ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), ymin = -Inf,
                       ymax = Inf, fill = "grey88", na.rm = TRUE) +
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
      caption = wrap_text(paste0(
        "Points: each method on the test rows (bars: sampling error of these rows alone). Line and band: estimate of ",
        "all rows and its ", percent_text(level), " interval."
      ), 58)
    ) +
    theme_rows() +
    panels_by(rows, "panel")
}
