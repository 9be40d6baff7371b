# Whether tests reject at the level 1 - level. 1 - 0.95 is a little more than 0.05, and a p-value of simulated outcomes
# may be 100 / 2000.
rejects_at <- function(p_value, level) (p_value < 1 - level - 1e-12) %in% TRUE

# magnitude: of the terms that cancel in the statistic; rounding: of the statistic.
resampled_p <- function(statistic, null, add_one, magnitude = 0, rounding = 1e-12) {
  # >= up to rounding: resamples that repeat the observed data must count
  slack <- rounding * max(abs(statistic), abs(null)) + 1e-15 * magnitude
  reached <- sum(null >= statistic - slack)
  if (add_one) (1 + reached) / (length(null) + 1) else reached / length(null)
}
