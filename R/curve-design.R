# Weighted and clustered rows of a curve count as fractions of independent rows. Their limits are those of counts with
# the effective number of rows, Kish's for weights. For clusters it is divided by the design effect of the mean outcome
# and by the squared ratio of Student's quantile to the normal one (Korn & Graubard 1998).
#
# Weights that depend on the outcome are u k^y, with u of rows whose events are as frequent as at k times lower odds.
# Shares of events are computed, with their limits, from u, and get the k-fold odds: of samples that were drawn by
# outcome that is exact. The smooth curve, no function of shares, has the variance that such weights give.

# NULL for independent, unweighted rows or copies of them, else
#   w       numeric n, the weights
#   v       numeric n, what each row counts: the weights in units in which they sum to the effective number of rows
#   copies  numeric n, how many each row stands for, NULL: 1
#   shrink  what that number was multiplied by because of clusters and few of them or few effective rows
#   k       how many times as large weights are with an event as without one
#   rate    `rate`, the outcomes' fit, NULL where they are values of the probability integral transform.
row_counts <- function(values, y, rate, design, level) {
  # values of the transform have counts wherever rows do
  if (is_plain(design) || is_unweighted(design) && !is.null(rate)) return(NULL)
  check_clusters(design)
  noise <- if (is.null(rate)) values else y - rate
  alone <- cpp_row_std_error(noise, replace(design, "cluster", list(NULL))) # of outcomes without noise 0 up to rounding
  noisy <- !is.null(design$cluster) && isTRUE(alone > 1e-12 * max(abs(noise)))
  effect <- if (noisy) (cpp_row_std_error(noise, design) / alone)^2 else 1
  z <- (1 + level) / 2
  shrink <- (qnorm(z) / design_quantile(z, design))^2 / max(effect, 1)
  w <- design_weights(design)
  k <- if (is.null(rate) || is.null(design$w)) 1 else {
    # over ten bins of equal weight; the squares are those of the weights of all copies
    squares <- copy_powers(design, 2)
    sums <- rowsum(cbind(squares, w * y, w), findInterval(values, weighted_edges(values, w, 10), left.open = TRUE))
    cpp_outcome_weighting(sums[, 1], sums[, 2], sums[, 3], sum(squares * y))
  }
  list(w = w, copies = design$copies, v = row_shares(design) * shrink / weight_concentration(design), shrink = shrink,
       k = k, rate = rate)
}

# Upper edges of bins of equal weight, without the last.
weighted_edges <- function(p, w, n_bins) {
  sorted <- sort_values(p, 0 * p, w)
  unique(sorted$x[weighted_ends(sorted, seq_len(n_bins - 1) / n_bins)])
}
