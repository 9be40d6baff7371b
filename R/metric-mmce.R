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
#' published values. Class-wise, it is the root of the mean of the classes' squared errors. Up to
#' the root this is [skce()] with [kernel_laplace()] on scalar predictions.
#'
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ks_error
#' @param bandwidth Bandwidth of the Laplace kernel, in units of the predictions.
#' @param type `"biased"` (V-statistic) or `"unbiased"` (U-statistic).
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`,
#' `power` (the squared error), `n`, and the choices `type`, `bandwidth`, `notion`,
#' `interval`, `level`. The analytic interval is the root of that of [skce()]: of both types around the
#' `"unbiased"` mean, honest near calibration too. For a test see [ce_test()].
#' @references Kumar, Sarawagi and Jain (2018),
#'   <https://proceedings.mlr.press/v80/kumar18a.html>.
#' @concept maximum mean calibration error
#' @examples
#' mmce(c(0.7, 0.7, 0.5, 0.9), c(1, 0, 1, 1))
#' @export
mmce <- new_metric("mmce", function(x, truth, ..., bandwidth = 0.4, type = c("biased", "unbiased"),
                            notion = NULL, level = 0.95, times = NULL, .by = NULL,
                            event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  check_number(bandwidth, lower = 0, open = TRUE)
  type <- check_choice(type, c("biased", "unbiased"))
  notion <- check_scalar_notion(notion)
  interval <- check_interval(level, times)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "mmce", function(predictions) {
    problems <- notion_problems(predictions, notion)
    if (type == "unbiased") {
      check_rows(n_obs(predictions), 2)
      check_clusters(predictions$design)
    }
    c(mmce_columns(problems, bandwidth, type, interval), list(n = n_obs(predictions)))
  }, choices = list(type = type, bandwidth = bandwidth, notion = notion, interval = interval$type, level = level))
}, "minimize", c(0, Inf))

mmce_columns <- function(problems, bandwidth, type, interval) {
  estimate <- class_mean(lapply(problems, mmce_estimate, bandwidth, type))
  error_columns(list(estimate), interval, problems, function(part) {
    class_mean(lapply(part, mmce_estimate, bandwidth, type))$value
  })
}

# The squared error: a mean over pairs of d_i d_j k_ij, without pairs of a row with itself where it is unbiased.
mmce_estimate <- function(problem, bandwidth, type) {
  sums <- cpp_mmce_sums(sort_problem(problem), problem$design, type == "unbiased", bandwidth)
  sums <- with_clusters(sums, problem$design, problem_pairs(problem, kernel_laplace(bandwidth), NULL))
  out <- pair_estimate(sums, type, problem$design)
  out[c("power", "largest")] <- list(2, 1)
  # a V-statistic is not negative; rounding can make it so where it is zero
  if (type == "biased") out$value <- max(out$value, 0)
  out
}
