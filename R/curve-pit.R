# Regression: is the outcome a draw from its predicted distribution? The probability integral
# transform u = F(y) is then uniform. Where F jumps at y (counts, ensembles) the outcome is spread evenly over
# the jump (Czado, Gneiting & Held 2009), without randomisation. Bands come from outcomes redrawn from the
# predictions, since the spread is not that of a binomial count.

# Weighted and clustered rows (`counts`, R/curve-design.R): n is how many they are effectively.
#' @export
curve_points.curve_pit <- function(curve, problem, values, control, counts) {
  pit <- problem$pit
  upper <- pit_edges(pit, control$n_bins)
  m <- length(upper)
  lower <- c(0, upper[-m])
  n <- if (is.null(counts)) length(pit$low) else sum(counts$v)
  expected <- upper - lower
  tail <- (1 - control$level) / (2 * m) # at once: Bonferroni, whose loss is small for shares that sum to 1
  if (is.null(pit$jumps) || isTRUE(pit$whole)) {
    bin <- findInterval(pit$low, upper[-m] + level_rounding, left.open = TRUE) + 1L
    share <- if (is.null(counts)) tabulate(bin, m) / n else as.vector(rowsum(c(counts$v, numeric(m)), c(bin, 1:m))) / n
    size <- rep(n, m)
    null <- c(binomial_limits((1 - control$level) / 2, n, expected),
              stats::setNames(binomial_limits(tail, n, expected), c("band_low", "band_high")))
    # of counts no share between two levels is known
    if (isTRUE(pit$whole)) null[] <- list(numeric(m), rep(1, m))
  } else {
    sums <- cpp_pit_sums(pit$low, pit$high, upper, counts$v)[, 3:4] / n
    share <- sums[, 1]
    draws <- pit_null_draws(pit, upper, control, counts)
    draws <- draws - rbind(0, draws[-m, , drop = FALSE])
    null <- cpp_simulated_band(draws, control$level)
    size <- effective_size(sums, expected, draws, n)
  }
  limits <- function(v) lapply(v, `/`, expected)
  curve_frame((lower + upper) / 2, share / expected, share * copy_count(problem$design), lower, upper,
              conf = limits(wilson_interval(share * size, size, control$level)),
              band = limits(clopper_pearson(share * size, size, tail)), null = limits(null[c("low", "high")]),
              null_band = limits(list(low = null$band_low, high = null$band_high)), upper = Inf)
}

# A distribution function at its own quantile is the level up to rounding.
level_rounding <- 1e-12

# Upper ends of the bars, of equal width. A small ensemble has a bar for each rank of the outcome among its members.
# Forecasts that give quantiles have ends at some of their levels, since outcomes between two cannot be placed.
pit_edges <- function(pit, n_bins) {
  m <- as.integer(n_bins %||% if (!is.null(pit$members) && pit$members < 30) pit$members + 1 else 15)
  even <- seq_len(m) / m
  if (is.null(pit$levels)) return(even)
  nearest <- vapply(even[-m], function(level) which.min(abs(pit$levels - level)), 0L)
  c(if (length(pit$levels) < m) pit$levels else pit$levels[unique(nearest)], 1)
}

# Share of outcomes below the predicted quantile of each level; at once, for continuous predictions: Dvoretzky,
# Kiefer & Wolfowitz with Massart's constant; for a few given levels Bonferroni's rule.
#' @export
curve_points.curve_quantile <- function(curve, problem, values, control, counts) {
  pit <- problem$pit
  n <- if (is.null(counts)) length(pit$low) else sum(counts$v)
  levels <- pit$levels %||% seq(0, 1, length.out = 101L)
  if (is.null(pit$jumps) || isTRUE(pit$whole)) {
    at <- levels + level_rounding
    order <- order(pit$low)
    # rows, or their weights, at or below each level
    below <- findInterval(at, pit$low[order])
    if (!is.null(counts)) below <- c(0, cumsum(counts$v[order]))[below + 1]
    half <- sqrt(log(2 / (1 - control$level)) / (2 * n))
    null_band <- list(low = levels - half, high = levels + half)
    band <- list(low = below / n - half, high = below / n + half)
    if (length(pit$levels) %in% 1:10) {
      tail <- (1 - control$level) / (2 * length(levels))
      null_band <- binomial_limits(tail, n, levels)
      band <- clopper_pearson(below, n, tail)
    }
    null <- binomial_limits((1 - control$level) / 2, n, levels)
    # right quantiles of counts have at least their level at or below them
    if (isTRUE(pit$whole)) null$high <- null_band$high <- rep(1, length(levels))
    return(curve_frame(levels, below / n, conf = wilson_interval(below, n, control$level), band = band, null = null,
                       null_band = null_band))
  }
  inner <- setdiff(levels, 0)
  start <- if (length(inner) < length(levels)) 0
  upper <- c(inner, if (inner[length(inner)] < 1) 1)
  kept <- seq_along(levels)
  sums <- rbind(start, cpp_pit_sums(pit$low, pit$high, upper, counts$v)[, 1:2] / n)[kept, , drop = FALSE]
  draws <- rbind(start, pit_null_draws(pit, upper, control, counts))[kept, , drop = FALSE]
  null <- cpp_simulated_band(draws, control$level)
  size <- effective_size(sums, levels, draws, n)
  # the largest of the standardised deviations of redrawn curves
  spread <- sqrt(rowMeans((draws - levels)^2))
  largest <- apply(abs(draws - levels) / ifelse(spread > 1e-9, spread, Inf), 2, max)
  z <- max(stats::quantile(largest, control$level, names = FALSE), qnorm((1 + control$level) / 2))
  curve_frame(levels, sums[, 1], conf = wilson_interval(sums[, 1] * size, size, control$level),
              band = wilson_interval(sums[, 1] * size, size, z = z), null = null,
              null_band = list(low = null$band_low, high = null$band_high))
}

# An effective number of rows is rounded.
binomial_limits <- function(tail, n, prob) {
  n <- max(round(n), 1)
  list(low = stats::qbinom(tail, n, prob) / n, high = stats::qbinom(tail, n, prob, lower.tail = FALSE) / n)
}

# Number of independent trials whose share would be as uncertain as this mean of terms between 0 and 1. `sums`:
# mean and mean square of the terms. Their variance is that observed, or that of redrawn outcomes where it is larger.
effective_size <- function(sums, expected, draws, n) {
  observed <- (sums[, 2] - sums[, 1]^2) / (sums[, 1] * (1 - sums[, 1]))
  null <- n * rowMeans((draws - expected)^2) / (expected * (1 - expected))
  n / pmin(pmax(observed, null, 1e-6, na.rm = TRUE), 1)
}

# Means over the rows of F(level | Y) for outcomes drawn from the predictions, [levels x times]. Many rows are
# represented by evenly spaced ones: the spread of a mean is known from 20,000 as well. Weighted rows stand at evenly
# spaced sums of their weights.
pit_null_draws <- function(pit, levels, control, counts = NULL, most = 20000) {
  n <- total_copies(length(pit$low), counts$copies)
  most <- max(1000, min(most, 2e7 / (pit$members %||% 1)))
  if (is.null(counts)) {
    rows <- if (n <= most) seq_len(n) else round(seq(1, n, length.out = most))
  } else {
    places <- (seq_len(min(n, most)) - 0.5) / min(n, most)
    rows <- pmin(findInterval(places, cumsum(counts$v) / sum(counts$v)) + 1, n)
    n <- sum(counts$v)
  }
  seed <- draw_seed()
  total <- matrix(0, length(levels), control$times)
  # tables of jumps are held for some rows at a time
  for (at in split(seq_along(rows), (seq_along(rows) - 1) %/% 2000)) {
    table <- pit$jumps(rows[at])
    # draws of a row that is taken several times are different ones
    first <- if (is.null(counts$copies)) rows[at[1]] else at[1]
    total <- total + cpp_pit_draws(table$start, table$low, table$high, levels, control$times, seed, first,
                                   thread_count())
  }
  levels + (total / length(rows) - levels) * sqrt(length(rows) / n)
}
