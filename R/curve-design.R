# Weighted and clustered rows of a curve count as fractions of independent rows. Their limits are those of counts with
# the effective number of rows (Kish's for weights; for clusters divided by the design effect of the mean outcome and
# by the squared ratio of Student's quantile to the normal one; Korn & Graubard 1998).

# NULL where rows are independent and count the same, else
#   w       numeric n, the weights
#   v       numeric n, what each row counts: the weights in units in which they sum to the effective number of rows
#   shrink  what that number was multiplied by because of clusters and few of them or few effective rows
# `noise`: outcomes less their fit.
row_counts <- function(noise, design, level, call = caller_env()) {
  if (is_plain(design)) return(NULL)
  check_clusters(design, call = call)
  apart <- new_design(design$n, design$w)
  effect <- if (!is.null(design$cluster)) (row_std_error(noise, design) / row_std_error(noise, apart))^2 else 1
  if (!is.finite(effect)) effect <- 1 # outcomes without noise
  z <- (1 + level) / 2
  shrink <- (qnorm(z) / design_quantile(z, design))^2 / max(effect, 1)
  w <- design_weights(design)
  list(w = w, v = row_shares(design) * shrink / weight_concentration(design), shrink = shrink)
}

# Weighted numbers of events per cell, for outcomes drawn from `prob`: [cells x times]. Their variance is that of the
# fractions of rows.
weighted_draws <- function(prob, counts, cell, times, most = 2e7) {
  n <- length(prob)
  v <- counts$v / sqrt(counts$shrink)
  mean <- as.vector(rowsum(counts$v * prob, cell))
  each <- max(1, floor(most / n))
  parts <- lapply(split(seq_len(times), (seq_len(times) - 1) %/% each), function(some) {
    drawn <- matrix(stats::runif(n * length(some)) < prob, n)
    mean + unname(rowsum(v * (drawn - prob), cell))
  })
  do.call(cbind, unname(parts))
}

# Upper edges of bins of equal weight, without the last.
weighted_edges <- function(p, w, n_bins) {
  sorted <- sort_values(p, 0 * p, w)
  unique(sorted$x[weighted_ends(sorted, seq_len(n_bins - 1) / n_bins)])
}

# Bins of weighted rows. Each has its own effective number of rows; the limits of calibrated models are those of the
# weighted sum of outcomes, with its skewness (Cornish and Fisher).
binned_points_weighted <- function(p, y, control, counts) {
  w <- counts$w
  edges <- if (control$bins == "mass") weighted_edges(p, w, control$n_bins) else bin_edges(p, control$n_bins, "width")
  bin <- findInterval(p, edges, left.open = TRUE) + 1L
  rows <- tabulate(bin, length(edges) + 1L)
  used <- which(rows > 0)
  sums <- rowsum(cbind(w, w * p, w * y, w^2, w^2 * p * (1 - p), w^3 * p * (1 - p) * (1 - 2 * p)), factor(bin, used))
  mean <- sums[, 2] / sums[, 1]
  share <- pmin(sums[, 3] / sums[, 1], 1)
  size <- counts$shrink * sums[, 1]^2 / sums[, 4]
  spread <- sqrt(sums[, 5] / counts$shrink) / sums[, 1]
  skewness <- ifelse(sums[, 5] > 0, sums[, 6] / pmax(sums[, 5], 1e-300)^1.5, 0)
  null <- function(level) {
    at <- function(z) mean + spread * (z + skewness * (z^2 - 1) / 6)
    list(low = at(qnorm((1 - level) / 2)), high = at(qnorm((1 + level) / 2)))
  }
  one <- control$level
  all <- one^(1 / length(used))
  out <- curve_frame(unname(mean), unname(share), rows[used], c(0, edges)[used], c(edges, 1)[used],
                     wilson_interval(share * size, size, one), clopper_pearson(share * size, size, (1 - all) / 2),
                     null(one), null(all))
  out[] <- lapply(out, unname)
  out
}

# pooled_outcomes() with fractions of rows; `rows` are whole ones.
pooled_weighted <- function(p, y, v) {
  pooled <- pooled_outcomes(p, y)
  at <- rep(seq_along(pooled$n), pooled$n)
  pooled$rows <- pooled$n
  pooled$n <- as.vector(rowsum(v[pooled$order], at))
  pooled$sum <- as.vector(rowsum((v * y)[pooled$order], at))
  pooled
}
