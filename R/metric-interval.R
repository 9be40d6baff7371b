# Intervals of errors that are roots (R/influence.R). `analytic`: from the influence of the rows. `bootstrap`: rows, or
# whole clusters, are resampled `times` times.

check_interval <- function(level, times) {
  check_level(level)
  check_count(times, "times", lower = 20, null = TRUE)
  list(type = if (is.null(times)) "analytic" else "bootstrap", level = level, times = times)
}

# statistic(problems) -> value of every estimate
error_columns <- function(estimates, interval, problems = NULL, statistic = NULL) {
  draws <- if (interval$type == "bootstrap") bootstrap_values(problems, statistic, interval$times)
  c(summarise_estimates(estimates, interval$level, draws), list(.estimates = estimates))
}

# A sample is how often each row was drawn. Scalar problems are sorted once: a sample repeats rows of the sorted ones,
# or counts them where rows stand for several.
bootstrap_values <- function(problems, statistic, times) {
  design <- problems[[1]]$design
  ordered <- lapply(problems, order_problem)
  draws <- lapply(seq_len(times), function(b) {
    counts <- resampled_copies(design)
    statistic(lapply(ordered, function(problem) sampled_problem(problem, counts[problem$order])))
  })
  matrix(unlist(draws), ncol = times)
}

# A problem with its rows in ascending order of a scalar feature; of several they stay as they are.
order_problem <- function(problem) {
  scalar <- ncol(problem$features) == 1
  order <- if (scalar) sort_problem(problem)$order else seq_along(problem$labels)
  problem$sorted <- NULL
  problem <- take_rows(problem, order)
  problem$order <- order
  problem$scalar <- scalar
  problem
}

# The rows of a bootstrap sample that has each so often: repeated, or counted where rows stand for several.
sampled_rows <- function(data, counts) {
  counted <- !is.null(data$design$copies)
  out <- take_rows(data, if (counted) which(counts > 0) else rep(seq_along(counts), counts))
  if (counted) out$design <- recounted(out$design, as.numeric(counts[counts > 0]))
  out
}

sampled_problem <- function(problem, counts) {
  out <- sampled_rows(problem, counts)
  if (problem$scalar) {
    # its rows are those of a sorted problem, in ascending order
    sorted <- cpp_sorted_rows(out$features[, 1], out$labels, out$design$w, TRUE, out$design$copies)
    out$sorted <- replace(sorted, "order", list(seq_along(out$labels)))
  }
  out
}
