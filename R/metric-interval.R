# Intervals of errors that are roots (R/influence.R). `analytic`: from the influence of the rows. `bootstrap`: rows, or
# whole clusters, are resampled.

check_interval <- function(interval, level, times, call) {
  interval <- check_choice(interval, c("analytic", "bootstrap"), "interval", call)
  check_level(level, call)
  check_count(times, "times", lower = 20, call = call)
  list(type = interval, level = level, times = times)
}

# statistic(problems) -> value of every estimate
error_columns <- function(estimates, interval, problems = NULL, statistic = NULL) {
  draws <- if (interval$type == "bootstrap") bootstrap_values(problems, statistic, interval$times)
  c(summarise_estimates(estimates, interval$level, draws), list(.estimates = estimates))
}

bootstrap_values <- function(problems, statistic, times) {
  problems <- lapply(problems, function(problem) {
    problem$sorted <- NULL
    problem
  })
  one <- function(b) statistic(lapply(problems, subset_problem, rows = resampled_rows(problems[[1]]$design)))
  draws <- lapply(seq_len(times), one)
  matrix(unlist(draws), ncol = times)
}
