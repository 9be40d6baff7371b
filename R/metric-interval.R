# Intervals of errors that are roots: built for the mean p-th power, where the estimate may
# be negative, and mapped to the root at the end. `analytic`: normal, with the standard
# error of the influence values. `bootstrap`: rows are resampled, basic interval (twice the
# estimate minus the upper and lower quantile), which also moves against the upward bias.

check_interval <- function(interval, level, times, call) {
  interval <- check_choice(interval, c("analytic", "bootstrap"), "interval", call)
  check_level(level, call)
  check_count(times, "times", lower = 20, call = call)
  list(type = interval, level = level, times = times)
}

# statistic(problems) -> power (one number, or one per binning)
# bound: a lower limit of the power that is honest near calibration, see R/crossfit.R
root_columns <- function(power, std.error, p, interval, problems = NULL, statistic = NULL, bound = Inf) {
  p <- if (is.infinite(p)) 1 else p
  tail <- (1 - interval$level) / 2
  if (interval$type == "bootstrap") {
    draws <- bootstrap_power(problems, statistic, interval$times)
    std.error <- apply(draws, 1, sd)
    low <- 2 * power - apply(draws, 1, quantile, 1 - tail, names = FALSE)
    high <- 2 * power - apply(draws, 1, quantile, tail, names = FALSE)
  } else {
    low <- pmin(power + qnorm(tail) * std.error, bound)
    high <- power - qnorm(tail) * std.error
  }
  root <- function(v) pmax(v, 0)^(1 / p)
  estimate <- root(power)
  list(
    .estimate = estimate,
    std.error = if (p == 1) std.error else ifelse(estimate > 0, std.error / (p * estimate^(p - 1)), NA_real_),
    conf.low = root(low), conf.high = root(high),
    power = power
  )
}

bootstrap_power <- function(problems, statistic, times) {
  n <- length(problems[[1]]$labels)
  problems <- lapply(problems, function(problem) {
    problem$sorted <- NULL
    problem
  })
  one <- function(b) {
    rows <- sample.int(n, n, replace = TRUE)
    statistic(lapply(problems, subset_problem, rows = rows))
  }
  draws <- lapply(seq_len(times), one)
  matrix(unlist(draws), ncol = times)
}
