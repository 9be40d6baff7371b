# Intervals and bands of calibration curves.
#   conf       for the conditional event frequency at one prediction (pointwise)
#   band       for the whole curve at once (simultaneous)
#   null       where the curve lies if the predictions are calibrated (consistency), pointwise
#   null_band  the same for the whole curve at once

band_columns <- c("conf.low", "conf.high", "band.low", "band.high", "null.low", "null.high",
                  "null_band.low", "null_band.high")

# Wilson's score interval of a share.
wilson_interval <- function(successes, trials, level = 0.95, z = qnorm((1 + level) / 2)) {
  # sums of weights are so up to rounding
  successes <- pmin(successes, trials)
  share <- successes / trials
  centre <- share + z^2 / (2 * trials)
  half <- z * sqrt(share * (1 - share) / trials + z^2 / (4 * trials^2))
  # at the ends the two terms cancel exactly, but not in floating point
  low <- ifelse(successes == 0, 0, (centre - half) / (1 + z^2 / trials))
  high <- ifelse(successes == trials, 1, (centre + half) / (1 + z^2 / trials))
  list(share = share, low = low, high = high)
}

# Quantiles of the number of events of independent trials: exact while that is cheap (n sd up to 3e7), else normal with
# a correction for skewness (Cornish and Fisher). `copies`: of each trial; NULL: 1.
count_quantiles <- function(prob, levels, copies = NULL) {
  each <- copies %||% 1
  variance <- sum(each * prob * (1 - prob))
  if (total_copies(length(prob), copies) * sqrt(variance + 1) <= 3e7) {
    return(cpp_poisson_binomial_quantiles(repeat_values(prob, copies), levels))
  }
  z <- qnorm(levels)
  skewness <- sum(each * prob * (1 - prob) * (1 - 2 * prob)) / variance^1.5
  round(sum(each * prob) + sqrt(variance) * (z + skewness * (z^2 - 1) / 6))
}

# The tail probability, at most that of one bin, beyond which no bin's count lies with probability `level`. Counts are
# discrete, so bins have less in their tails than that. `groups`: the probabilities of every bin's rows; `size`: their
# number, with the `copies` of each (lists of NULL: 1). A bin of many rows counts as if its tails were full.
joint_tail <- function(groups, level, size = lengths(groups), copies = list(NULL), many = 500) {
  few <- size <= many
  cumulative <- Map(function(prob, each) cumsum(count_mass(repeat_values(prob, each))), groups[few],
                    rep_len(copies, length(groups))[few])
  larger <- length(groups) - length(cumulative)
  # a column for each bin, its distribution function from 0 on
  most <- max(0, lengths(cumulative))
  below <- matrix(as.numeric(unlist(lapply(cumulative, function(x) c(x, rep(Inf, most - length(x)))))), most)
  at <- rbind(rep(0, ncol(below)), below)
  bin <- seq_len(ncol(below))
  inside <- function(tail) {
    low <- colSums(below < tail)
    high <- pmin(colSums(below < 1 - tail) + 1, lengths(cumulative))
    (1 - 2 * tail)^larger * prod(at[cbind(high + 1, bin)] - at[cbind(low + 1, bin)])
  }
  # tails that independent bins with full tails need, and those of one bin
  tail <- c((1 - level^(1 / length(groups))) / 2, (1 - level) / 2)
  if (inside(tail[2]) >= level) return(tail[2])
  for (step in 1:30) {
    middle <- mean(tail)
    tail[if (inside(middle) >= level) 1 else 2] <- middle
  }
  tail[1]
}

# Probabilities of 0, 1, ... events.
count_mass <- function(prob) {
  mass <- 1
  for (p in prob) mass <- c(mass * (1 - p), 0) + c(0, mass * p)
  mass
}

# A band from simulated curves (rows: places, columns: draws): pointwise quantiles, widened on each side by one factor
# so that the share `level` of whole curves is inside. Quantiles come from one half of the draws and the factor from the
# other. A curve of the same distribution as the draws is then inside with exactly that probability, however few they
# are.
simulated_band <- function(draws, level) {
  tail <- (1 - level) / 2
  limits <- row_quantiles(draws, c(tail, 1 - tail))
  half <- seq_len(ncol(draws) %/% 2)
  shape <- draws[, half, drop = FALSE]
  quantiles <- row_quantiles(shape, c(tail, 0.5, 1 - tail))
  middle <- quantiles[, 2]
  # places where the draws hardly move must not decide on the factor
  spread <- sqrt(pmax(rowMeans(shape^2) - rowMeans(shape)^2, 0))
  least <- pmax(spread, 0.1 * max(spread), 1e-12)
  below <- pmax(middle - quantiles[, 1], least)
  above <- pmax(quantiles[, 3] - middle, least)
  gap <- draws[, -half, drop = FALSE] - middle
  excess <- sort(cpp_column_maxima(pmax(gap / above, -gap / below)))
  factor <- excess[min(ceiling((length(excess) + 1) * level), length(excess))]
  list(low = limits[, 1], high = limits[, 2], band_low = pmin(middle - factor * below, limits[, 1]),
       band_high = pmax(middle + factor * above, limits[, 2]))
}

# The quantiles of each row at ascending probabilities: a column for each.
row_quantiles <- function(x, probs) {
  cpp_row_ranks(x, as.integer(pmax(1, pmin(ncol(x), ceiling(ncol(x) * probs)))))
}

# Honest simultaneous band of an increasing event frequency (Yang & Barber 2019; Dimitriadis et al. 2023, here over the
# intervals between G knots instead of all). For rows j..k the number of events lies above Binomial(n_jk, pi_j) and
# below Binomial(n_jk, pi_k). So Clopper-Pearson limits hold for every row left of j and right of k. No asymptotics.
honest_band <- function(pooled, at, level) {
  n_total <- sum(pooled$n)
  n_knots <- min(length(pooled$x), max(20, min(200, round(3 * n_total^(1 / 3)))))
  # blocks of consecutive values with about equally many rows
  sums <- cumsum(pooled$n)
  block <- pmin(ceiling(sums / n_total * n_knots - 1e-9), n_knots)
  ends <- c(which(block[-1] != block[-length(block)]), length(block))
  g <- length(ends)
  first <- pooled$x[c(1, ends[-g] + 1)]
  last <- pooled$x[ends]
  cum_n <- c(0, sums[ends])
  cum_s <- c(0, cumsum(pooled$sum)[ends])
  j <- rep(seq_len(g), times = g + 1 - seq_len(g))
  k <- unlist(lapply(seq_len(g), function(i) i:g))
  limits <- clopper_pearson(cum_s[k + 1] - cum_s[j], cum_n[k + 1] - cum_n[j], (1 - level) / (g * (g + 1)))
  upper <- vapply(split(limits$high, j), min, 0)
  lower <- vapply(split(limits$low, factor(k, seq_len(g))), max, 0)
  upper <- rev(cummin(rev(upper)))
  lower <- cummax(lower)
  # rows at or right of x for the upper limit, at or left of it for the lower
  right <- findInterval(at, first, left.open = TRUE) + 1L
  left <- findInterval(at, last)
  list(low = c(0, lower)[left + 1L], high = c(upper, 1)[right])
}

# Critical values of twice the log likelihood ratio at one place: chi-squared where the prediction repeats; for
# continuous predictions the distribution of Banerjee & Wellner (2001), which has no closed form. 0.59 chi-squared gives
# its 0.95-quantile 2.27 and is within 0.01 of its simulated distribution function above 0.7.
isotonic_critical <- function(n, level) stats::qchisq(level, 1) * ifelse(n > 1, 1, 0.59)

band_rounding <- 1e-12

# By how much the curve is outside of where those of calibrated models lie; negative inside.
leaves_null_band <- function(points) {
  pmax(points$observed - points$null_band.high, points$null_band.low - points$observed)
}

# One decision for both bands: the curve's own holds `target` (the diagonal) everywhere exactly if the curve stays
# within the null band. A band that is widened covers as before. A curve may leave the null band while its own band
# holds the target. Its own band then ends at the target where the curve leaves, since the null band says no more than
# on which side the frequency is.
agreeing_band <- function(points, target) {
  leaves <- leaves_null_band(points) > band_rounding
  if (!isTRUE(any(leaves))) {
    points$band.low <- pmin(points$band.low, target)
    points$band.high <- pmax(points$band.high, target)
    return(points)
  }
  if (any(off_band(points, target))) return(points)
  beside <- 10 * band_rounding
  up <- leaves & points$observed >= target
  down <- leaves & !up
  for (end in c("band.low", "conf.low")) points[[end]][up] <- pmax(points[[end]], target + beside)[up]
  for (end in c("band.high", "conf.high")) points[[end]][down] <- pmin(points[[end]], target - beside)[down]
  points
}

off_band <- function(points, target) {
  target < points$band.low - band_rounding | target > points$band.high + band_rounding
}
