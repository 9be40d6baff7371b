# Binned and isotonic curves: from predictions p and outcomes y (0/1) to a tibble with a row per place.

curve_frame <- function(confidence, observed, n = NA_real_, left = NA_real_, right = NA_real_,
                        conf = NULL, band = NULL, null = NULL, null_band = NULL, upper = 1) {
  clip <- function(v) if (is.null(v)) NA_real_ else pmin(pmax(v, 0), upper)
  columns_frame(
    confidence = confidence, observed = clip(observed), n = n, left = left, right = right,
    conf.low = clip(conf$low), conf.high = clip(conf$high), band.low = clip(band$low), band.high = clip(band$high),
    null.low = clip(null$low), null.high = clip(null$high),
    null_band.low = clip(null_band$low), null_band.high = clip(null_band$high)
  )
}

# One row per bin that holds predictions. Intervals: Wilson; at once: Clopper-Pearson at the level that independent bins
# need together. Consistency: exact distribution of each bin's count; at once: one tail probability for all bins, the
# largest with which all counts are inside with probability `level`.
#' @export
curve_points.curve_binned <- function(curve, problem, values, control, counts) {
  if (!is.null(counts)) return(binned_points_weighted(values, problem$labels, control, counts))
  copies <- problem$design$copies
  edges <- bin_edges(values, control$n_bins, control$bins, copies)
  bin <- findInterval(values, edges, left.open = TRUE) + 1L
  n <- copies_by_group(copies, bin, length(edges) + 1L)
  used <- which(n > 0)
  n <- n[used]
  cell <- cumsum(tabulate(bin, length(edges) + 1L) > 0)[bin]
  total <- function(v) sum_by_cluster(if (is.null(copies)) v else v * copies, cell)
  successes <- total(as.numeric(problem$labels))
  one <- control$level
  all <- one^(1 / length(used))
  share <- cpp_bin_count_limits(values, copies %||% numeric(), cell, length(used), one) / rep(n, each = 4)
  curve_frame(
    total(values) / n, successes / n, n, c(0, edges)[used], c(edges, 1)[used],
    wilson_interval(successes, n, one), clopper_pearson(successes, n, (1 - all) / 2),
    list(low = share[1, ], high = share[2, ]), list(low = share[3, ], high = share[4, ])
  )
}

# Isotonic regression at the ends of its steps and some places between. Pointwise limits: likelihood ratio; at once:
# honest_band() of src/curve.cpp. Consistency: outcomes drawn from the predictions. See
# inst/include/calibrisk/recal/isotonic.h.
#' @export
curve_points.curve_isotonic <- function(curve, problem, values, control, counts) {
  # a monotone map of outcomes' means is one of their isotonic fit
  k <- counts$k %||% 1
  order <- order(values)
  p <- values[order]
  check_interrupt()
  # Critical values of twice the log likelihood ratio at one place: chi-squared where the prediction repeats; for
  # continuous predictions the distribution of Banerjee & Wellner (2001), which has no closed form. 0.59 chi-squared
  # gives its 0.95-quantile 2.27 and is within 0.01 of its simulated distribution function above 0.7.
  critical <- stats::qchisq(control$level, 1) * c(0.59, 1)
  found <- cpp_isotonic_curve(p, as.numeric(problem$labels)[order], times_odds(p, 1 / k),
                              draw_counts(even_counts(counts), problem$design$copies, order),
                              critical, control$times, control$level, draw_seed(), thread_count())
  out <- curve_frame(found$x, found$observed, found$rows, conf = found$conf, band = found$band, null = found$null,
                     null_band = found$null_band)
  frame_times_odds(out, k)
}
