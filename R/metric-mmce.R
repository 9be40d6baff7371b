#' Maximum mean calibration error
#'
#' The kernel calibration error of scalar predictions with a Laplace kernel, computed
#' exactly in the time of one sort.
#'
#' # Definition
#' With residuals `d_i = conf_i - outcome_i` and `k_ij = exp(-|conf_i - conf_j| / bandwidth)`
#' the squared error is `sum_ij d_i d_j k_ij / N^2` (`type = "biased"`, never negative), or
#' the mean over pairs `i != j` (`"unbiased"`, may be negative); Gruber and Buettner 2022,
#' Definition C.3. The estimate is its root. The default bandwidth 0.4 is the one behind
#' published values. Class-wise, the squared errors of the classes are added. Up to the root
#' this is [skce()] with [kernel_laplace()] on scalar predictions.
#'
#' # Value
#' A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`,
#' `power` (the squared error), `n`, and the choices `type`, `bandwidth`, `notion`,
#' `interval`, `level`. The analytic interval is that of a non-degenerate U-statistic, with a
#' standard error not below that of calibrated predictions. For a test see [ce_test()].
#'
#' # Cost
#' `O(n log n)` time and `O(n)` memory: on sorted predictions the kernel sums are two
#' recursions, not a matrix.
#' @inheritParams ks_error
#' @param bandwidth Of the Laplace kernel, in units of the predictions.
#' @param type `"biased"` (V-statistic) or `"unbiased"` (U-statistic).
#' @references Kumar, Sarawagi and Jain (2018),
#'   <https://proceedings.mlr.press/v80/kumar18a.html>.
#' @examples
#' mmce(c(0.7, 0.7, 0.5, 0.9), c(1, 0, 1, 1))
#' @export
mmce <- new_metric(function(x, truth, ..., bandwidth = 0.4, type = c("biased", "unbiased"),
                            notion = NULL, level = 0.95,
                            interval = c("analytic", "bootstrap"), times = 1000, .by = NULL,
                            event_level = "first", na_rm = TRUE) {
  check_number(bandwidth, lower = 0, open = TRUE)
  type <- check_choice(type, c("biased", "unbiased"))
  notion <- check_scalar_notion(notion)
  call <- current_env()
  interval <- check_interval(interval, level, times, call)
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), "mmce", function(predictions) {
    problems <- notion_problems(predictions, notion, call)
    if (type == "unbiased" && n_obs(predictions) < 2) stop_few_rows(2, n_obs(predictions), call)
    c(mmce_columns(problems, bandwidth, type, interval), list(n = n_obs(predictions)))
  }, event_level, na_rm, choices = list(type = type, bandwidth = bandwidth, notion = notion,
                                        interval = interval$type, level = level))
}, "minimize", c(0, Inf))

mmce_columns <- function(problems, bandwidth, type, interval) {
  projection <- Reduce(`+`, lapply(problems, function(problem) {
    sorted <- sort_problem(problem)
    rows <- laplace_projection(sorted, bandwidth, type)
    if (length(problems) == 1) return(rows)
    rows[sorted$order] <- rows
    rows
  }))
  std_error <- max(2 * row_error(projection), calibrated_mmce_error(problems, bandwidth))
  root_columns(
    mean(projection), std_error, 2, interval, problems,
    function(part) mmce_power(part, bandwidth, type)
  )
}

# d_i sum_j d_j k_ij / N (biased), without j = i and over N - 1 (unbiased): its mean is the
# squared error, half its influence is its deviation from that mean.
laplace_projection <- function(sorted, bandwidth, type) {
  rows <- sorted$d * cpp_laplace_row_sums(sorted$x, sorted$d, bandwidth)
  if (type == "biased") return(pmax_mean(rows / sorted$n))
  (rows - sorted$d^2) / (sorted$n - 1)
}

# Standard error of the squared error under calibration, where the projection vanishes:
# sqrt(2 sum_ij d_i^2 d_j^2 k_ij^2) / N^2; the squared kernel has half the bandwidth.
calibrated_mmce_error <- function(problems, bandwidth) {
  squares <- vapply(problems, function(problem) {
    sorted <- sort_problem(problem)
    sum(sorted$d^2 * cpp_laplace_row_sums(sorted$x, sorted$d^2, bandwidth / 2)) / sorted$n^4
  }, 0)
  sqrt(2 * sum(squares))
}

# A V-statistic is not negative; rounding can make its mean so where it is zero.
pmax_mean <- function(rows) if (mean(rows) < 0) rows - mean(rows) else rows

mmce_power <- function(problems, bandwidth, type) {
  sum(vapply(problems, function(problem) {
    mean(laplace_projection(sort_problem(problem), bandwidth, type))
  }, 0))
}

stop_few_rows <- function(needed, n, call) {
  stop_input(c(
    "At least {needed} observations are needed.",
    "x" = "There {cli::qty(n)}{?is/are} {n}."
  ), c("rows", "argument"), arg = "x", n = n, call = call)
}
