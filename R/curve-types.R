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

#' @export
curve_points.curve_binned <- function(curve, problem, values, control, counts) {
  if (is.null(counts)) return(binned_points(values, problem$labels, control, problem$design$copies))
  binned_points_weighted(values, problem$labels, control, counts)
}

# One row per bin that holds predictions. Intervals: Wilson; at once: Clopper-Pearson at the level that independent bins
# need together. Consistency: exact distribution of each bin's count; at once: one tail probability for all bins, the
# largest with which all counts are inside with probability `level`.
binned_points <- function(p, y, control, copies = NULL) {
  edges <- bin_edges(p, control$n_bins, control$bins, copies)
  bin <- findInterval(p, edges, left.open = TRUE) + 1L
  n <- copies_by_group(copies, bin, length(edges) + 1L)
  used <- which(n > 0)
  n <- n[used]
  cell <- cumsum(tabulate(bin, length(edges) + 1L) > 0)[bin]
  total <- function(values) sum_by_cluster(if (is.null(copies)) values else values * copies, cell)
  successes <- total(as.numeric(y))
  one <- control$level
  all <- one^(1 / length(used))
  share <- cpp_bin_count_limits(p, copies %||% numeric(), cell, length(used), one) / rep(n, each = 4)
  curve_frame(
    total(p) / n, successes / n, n, c(0, edges)[used], c(edges, 1)[used],
    wilson_interval(successes, n, one), clopper_pearson(successes, n, (1 - all) / 2),
    list(low = share[1, ], high = share[2, ]), list(low = share[3, ], high = share[4, ])
  )
}

# Isotonic regression at the ends of its steps and some places between. Pointwise limits: likelihood ratio; at once:
# honest_band(). Consistency: outcomes drawn from the predictions (inst/include/calibrisk/recal/isotonic.h).
#' @export
curve_points.curve_isotonic <- function(curve, problem, values, control, counts) {
  # a monotone map of outcomes' means is one of their isotonic fit
  k <- counts$k %||% 1
  order <- order(values)
  p <- values[order]
  check_interrupt()
  found <- cpp_isotonic_curve(p, as.numeric(problem$labels)[order], times_odds(p, 1 / k),
                              draw_counts(even_counts(counts), problem$design$copies, order),
                              isotonic_critical(1:2, control$level), control$times, control$level, draw_seed(),
                              thread_count())
  band <- honest_band(found$knots, found$x, control$level)
  out <- curve_frame(
    found$x, found$observed, found$rows, conf = found$conf,
    # the two are built differently; the whole curve's is never the narrower one
    band = list(low = pmin(band$low, found$conf$low), high = pmax(band$high, found$conf$high)), null = found$null,
    null_band = found$null_band
  )
  frame_times_odds(out, k)
}
