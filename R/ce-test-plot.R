#' Plot a calibration test
#'
#' Draws the statistic of [ce_test()] with its distribution under calibration. For tests that simulate outcomes or
#' resample rows this is a histogram of the resampled statistics. Other tests have the density of their reference
#' distribution: a normal one for the block test, that of \eqn{Q} for the mean embedding test with `reference = "chisq"`
#' or `"f"` (a rescaled F distribution). The cumulative test draws its walk instead: the cumulated residual, observed
#' less predicted events in standard deviations, against the prediction. The axis is stretched: equal distances have the
#' same variance under calibration. In steep stretches predictions are too low (rising) or too high (falling).
#' The dashed lines are the critical values of `"ks"`; `"bridge"` has the line from the start to the end of the walk.
#'
#' @section Definition:
#' The test rejects at level `alpha` where the statistic lies right of the critical value: for R resampled statistics
#' the \eqn{\lfloor \alpha (R + 1) \rfloor}-th largest (with `add_one = FALSE` the \eqn{(\lfloor \alpha R \rfloor +
#' 1)}-th), else the \eqn{1 - \alpha} quantile of the reference distribution. With too few resamples to reject at
#' `alpha` there is none.
#'
#' @section Errors:
#' `test = "bound"` bounds a p-value without a null distribution, and a test whose p-value is `NA` has none: both are
#' errors of class `calibrisk_error_test`.
#'
#' @param object A `ce_test`.
#' @param alpha Level of the test whose critical value is drawn; `NULL` for none.
#' @param ... Not used.
#' @return A ggplot object.
#' @name autoplot.ce_test
#' @method autoplot ce_test
#' @exportS3Method ggplot2::autoplot ce_test
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' p <- runif(200)
#' plot(ce_test(p, rbinom(200, 1, p^2), test = test_conditional(199)))
autoplot.ce_test <- function(object, alpha = 0.05, ...) {
  check_empty(...)
  check_number(alpha, lower = 0, upper = 1, open = TRUE, null = TRUE)
  if (object$test == "cumulative" && !is.null(object$details$walk)) return(draw_walk(object, alpha))
  stop_if(is.na(object$p.value), "A test without a p-value cannot be drawn.",
          "x" = "{.val {object$method}} has a missing p-value.", class = "test")
  law <- reference_law(object)
  stop_if(is.null(object$null) && is.null(law), "Only tests with a null distribution can be drawn.",
          "x" = "{.code test = \"{object$test}\"} bounds the p-value without one.",
          "i" = "Use {.code test = \"conditional\"}.", class = "test")
  statistic <- unname(object$statistic)
  critical <- if (is.null(alpha)) NULL else if (is.null(law)) critical_draw(object, alpha) else law$quantile(1 - alpha)
  labels <- c("observed", if (!is.null(critical)) paste("critical value, level", percent_text(alpha)))
  lines <- data.frame(at = c(statistic, critical), line = factor(labels, labels))
  ggplot2::ggplot() +
    (if (is.null(law)) {
      ggplot2::geom_rect(ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = 0, ymax = .data$height),
                         null_bars(object$null), fill = ce_colours[1], alpha = 0.35, colour = "white", linewidth = 0.1)
    } else {
      ggplot2::geom_area(ggplot2::aes(x = .data$x, y = .data$height), null_curve(law, statistic), fill = ce_colours[1],
                         alpha = 0.35)
    }) +
    ggplot2::geom_vline(ggplot2::aes(xintercept = .data$at, colour = .data$line, linetype = .data$line), lines,
                        linewidth = 0.7, key_glyph = "path") +
    ggplot2::scale_colour_manual(values = c(ce_colours[2], "grey20")) +
    ggplot2::scale_linetype_manual(values = c("solid", "dashed")) +
    ggplot2::scale_y_continuous(expand = ggplot2::expansion(c(0, 0.05))) +
    ggplot2::labs(x = statistic_axis(object), y = "null density", subtitle = paste0(
      test_subtitle(object), if (is.null(law)) paste0(", ", length(object$null), " resamples")
    )) +
    theme_ce()
}

draw_walk <- function(x, alpha) {
  details <- x$details
  walk <- data.frame(time = c(0, details$walk$time), value = c(0, details$walk$walk))
  end <- walk$value[nrow(walk)]
  shares <- c(0.02, 0.25, 0.5, 0.75, 0.98)
  at <- unique(vapply(shares, function(share) which.min(abs(details$walk$time - share)), 0L))
  critical <- if (!is.null(alpha) && details$cumulative == "ks") critical_draw(x, alpha)
  place <- details$walk$time[match(details$place, details$walk$place)]
  place[is.na(place)] <- 0
  # of many rows the lowest and highest points in strips narrower than a pixel, which look the same
  strip <- if (nrow(walk) > 2e4) floor(5000 * walk$time) else seq_len(nrow(walk))
  by_value <- order(strip, walk$value)
  ends <- !duplicated(strip[by_value]) | !duplicated(strip[by_value], fromLast = TRUE)
  ggplot2::ggplot(walk[sort(by_value[ends]), ], ggplot2::aes(x = .data$time, y = .data$value)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey60", linewidth = 0.3) +
    (if (details$cumulative == "bridge") {
      ggplot2::annotate("segment", x = 0, y = 0, xend = 1, yend = end, colour = "grey40", linetype = "dotted")
    }) +
    (if (!is.null(critical)) {
      ggplot2::geom_hline(yintercept = c(-critical, critical), colour = "grey20", linetype = "dashed", linewidth = 0.4)
    }) +
    ggplot2::geom_vline(xintercept = place, colour = ce_colours[2], linetype = "dashed", linewidth = 0.4) +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.6) +
    ggplot2::scale_x_continuous(breaks = details$walk$time[at],
                                labels = format(details$walk$place[at], digits = 2, trim = TRUE)) +
    ggplot2::labs(x = "prediction (stretched to equal variance)", y = "cumulated residual, in standard deviations",
                  subtitle = test_subtitle(x)) +
    theme_ce()
}

test_subtitle <- function(x) {
  method <- first_upper(sub("^Calibration test: ", "", x$method))
  paste0(wrap_text(method, 80), "\np = ", format.pval(x$p.value, digits = 3))
}

# Density and quantile function of the statistic under calibration, where it has a distribution.
reference_law <- function(x) {
  j <- unname(x$parameter[1])
  stretch <- j * (x$n - 1) / (x$n - j)
  switch(paste(x$test, x$details$reference),
    "block blocks" = , "block pairs" = list(density = stats::dnorm, quantile = stats::qnorm),
    "cme chisq" = list(density = function(q) stats::dchisq(q, j), quantile = function(p) stats::qchisq(p, j)),
    "cme f" = list(density = function(q) stats::df(q / stretch, j, x$n - j) / stretch,
                   quantile = function(p) stretch * stats::qf(p, j, x$n - j))
  )
}

null_curve <- function(law, statistic) {
  ends <- range(law$quantile(c(0.0005, 0.999)), statistic)
  x <- seq(ends[1], ends[2], length.out = 401)
  height <- law$density(x)
  data.frame(x = x, height = pmin(height, 2 * max(height[-1], law$density(law$quantile(0.5)))))
}


# Singular redraws of the mean embedding test are infinite and not drawn. Redraws that are all equal, or differ by
# rounding, are one bar.
null_bars <- function(null) {
  null <- null[is.finite(null)]
  stop_if(length(null) == 0, "A null distribution must have finite values to be drawn.",
          "x" = "All resamples are infinite.", class = "test")
  middle <- mean(range(null))
  if (diff(range(null)) <= 1e-12 * max(abs(null), 1e-12)) {
    half <- max(0.01 * abs(middle), 1e-12)
    return(data.frame(left = middle - half, right = middle + half, height = 1 / (2 * half)))
  }
  bars <- graphics::hist(null, breaks = min(40, max(10, grDevices::nclass.FD(null))), plot = FALSE)
  k <- length(bars$breaks)
  data.frame(left = bars$breaks[-k], right = bars$breaks[-1], height = bars$density)
}


# The smallest statistic that is not rejected; NULL where the resamples are too few.
critical_draw <- function(x, alpha) {
  rank <- if (isFALSE(x$details$add_one)) floor(alpha * length(x$null)) + 1 else floor(alpha * (length(x$null) + 1))
  if (rank < 1 || rank > length(x$null)) return(NULL)
  value <- sort(x$null, decreasing = TRUE)[rank]
  if (is.finite(value)) value
}

statistic_axis <- function(x) {
  switch(names(x$statistic),
    T = "T = n / (n - 1) U - V, of the unbiased and biased estimates U and V",
    U = "unbiased squared kernel calibration error",
    evidence = "-log10 of the strongest part's p-value over its share of the level",
    z = "z = mean of the blocks / standard error", Q = "Q", names(x$statistic)
  )
}
