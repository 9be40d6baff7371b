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
  cell <- integer_cells(bin - 1L)
  total <- function(values) sum_by_cluster(values * (copies %||% 1), cell)
  successes <- total(y)
  probs <- split_by_cell(p, cell, length(used))
  each <- if (is.null(copies)) list(NULL) else split_by_cell(copies, cell, length(used))
  one <- control$level
  all <- one^(1 / length(used))
  tails <- c((1 - one) / 2, joint_tail(probs, one, n, each))
  counts <- mapply(count_quantiles, probs, list(c(rbind(tails, 1 - tails))), each)
  share <- counts / rep(n, each = 4)
  curve_frame(
    total(p) / n, successes / n, n, c(0, edges)[used], c(edges, 1)[used],
    wilson_interval(successes, n, one), clopper_pearson(successes, n, (1 - all) / 2),
    list(low = share[1, ], high = share[2, ]), list(low = share[3, ], high = share[4, ])
  )
}

# The values of each of the cells 1, ..., m. split() by numbers would sort and name them first.
split_by_cell <- function(values, cell, m) {
  check_interrupt()
  unname(split(values, structure(cell, levels = as.character(seq_len(m)), class = "factor")))
}

# Isotonic regression at the ends of its steps and some places between. Pointwise limits: likelihood
# ratio; at once: honest_band(). Consistency: outcomes drawn from the predictions.
#' @export
curve_points.curve_isotonic <- function(curve, problem, values, control, counts) {
  p <- values
  y <- problem$labels
  # a monotone map of outcomes' means is one of their isotonic fit
  k <- counts$k %||% 1
  counts <- even_counts(counts)
  copies <- problem$design$copies
  pooled <- pooled_outcomes(p, y, copies, counts$v)
  rows <- pooled$rows
  fit <- cpp_isotonic_blocks(pooled$sum, pooled$n)
  # a null band at places that depend on the outcomes would hold fewer calibrated curves than it says
  fixed <- isotonic_places(pooled)
  check_interrupt()
  at <- sort(unique(c(fixed, step_ends(fit, length(fixed) < length(pooled$x)))))
  x <- pooled$x[at]
  limits <- cpp_isotonic_limits(pooled$sum, pooled$n, at - 1L, isotonic_critical(rows[at], control$level),
                                thread_count())
  check_interrupt()
  band <- honest_band(pooled, x, control$level)
  draws <- if (is.null(counts)) {
    isotonic_draws(p, copies, pooled, fixed, control)
  } else {
    cell <- integer(length(p))
    cell[pooled$order] <- rep(seq_along(pooled$x), diff(c(0, pooled$end)))
    sums <- weighted_draws(times_odds(p, 1 / k), counts, cell, control$times)
    matrix(apply(sums, 2, cpp_isotonic_blocks, pooled$n), nrow(sums))[fixed, , drop = FALSE]
  }
  null <- monotone_band(simulated_band(draws, control$level), fixed, at)
  out <- curve_frame(
    x, fit[at], rows[at], conf = list(low = limits[, 1], high = limits[, 2]),
    # the two are built differently; the whole curve's is never the narrower one
    band = list(low = pmin(band$low, limits[, 1]), high = pmax(band$high, limits[, 2])), null = null,
    null_band = list(low = null$band_low, high = null$band_high)
  )
  frame_times_odds(out, k)
}

# Distinct predictions in increasing order. For each: `rows`, the number of its rows with their copies; `n`, what these
# count (by default each 1); and the sum of its outcomes. `order` sorts the rows; `end` is the last sorted row of each.
pooled_outcomes <- function(p, outcome, copies = NULL, v = NULL) {
  v <- v %||% copies
  at <- order(p)
  check_interrupt()
  sorted <- p[at]
  first <- c(TRUE, sorted[-1] != sorted[-length(sorted)])
  block <- cumsum(first)
  end <- cumsum(tabulate(block))
  check_interrupt()
  total <- function(values) sum_by_cluster(as.numeric(values)[at], block)
  rows <- if (is.null(copies)) diff(c(0, end)) else total(copies)
  list(x = sorted[first], rows = rows, n = if (is.null(v)) rows else total(v),
       sum = total(if (is.null(v)) outcome else v * outcome), order = at, end = end)
}

isotonic_draws <- function(prob, copies, pooled, at, control) {
  cpp_isotonic_draws(prob[pooled$order], copies[pooled$order] %||% numeric(), pooled$end, at - 1L, control$times,
                     draw_seed(), thread_count())
}

# Evenly spaced quantiles and evenly spaced values, which depend on the predictions alone; all where these are few.
isotonic_places <- function(pooled, most = 256) {
  m <- length(pooled$x)
  if (m <= most) return(seq_len(m))
  reached <- cumsum(pooled$rows)
  quantiles <- findInterval(seq(0, 1, length.out = most / 2), reached / reached[m]) + 1L
  values <- findInterval(seq(pooled$x[1], pooled$x[m], length.out = most / 2), pooled$x)
  sort(unique(pmin(pmax(c(quantiles, values), 1L), m)))
}

step_ends <- function(fit, some) {
  m <- length(fit)
  if (some) which(c(TRUE, fit[-1] != fit[-m]) | c(fit[-m] != fit[-1], TRUE))
}

# A band of increasing curves, from the places `fixed` to the places `at` among which these are: an increasing curve
# that is within the band at `fixed` is within it everywhere.
monotone_band <- function(band, fixed, at) {
  left <- findInterval(at, fixed)
  right <- findInterval(at, fixed, left.open = TRUE) + 1L
  low <- function(v) cummax(v)[left]
  high <- function(v) rev(cummin(rev(v)))[right]
  list(low = low(band$low), high = high(band$high), band_low = low(band$band_low), band_high = high(band$band_high))
}
