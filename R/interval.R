# Intervals of a calibration error: built on the squared scale, where the estimate may be
# negative, and mapped to the root scale at the end. Never NaN.

# squared: numeric, an estimate of CE^2; std_error its standard error.
root_interval <- function(squared, std_error, level = 0.95) {
  z <- qnorm((1 + level) / 2)
  root <- sqrt(pmax(squared, 0))
  list(
    estimate = root,
    std.error = ifelse(root > 0, std_error / (2 * root), NA_real_),
    conf.low = sqrt(pmax(squared - z * std_error, 0)),
    conf.high = sqrt(pmax(squared + z * std_error, 0))
  )
}

mean_std_error <- function(x) {
  if (length(x) < 2) NA_real_ else sd(x) / sqrt(length(x))
}
