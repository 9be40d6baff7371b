#' Smooth calibration error
#'
#' The ECE with a kernel instead of bins, at the one bandwidth that equals the error itself: no tuning.
#'
#' # Definition
#' `smECE_s = int_0^1 | (1/N) sum_i (conf_i - outcome_i) K_s(t, conf_i) | dt` with the
#' Gaussian kernel of standard deviation `s` reflected at 0 and 1; the smooth calibration
#' error is the value at the unique `s` with `smECE_s = s` (Blasiok and Nakkiran 2023). It is a
#' consistent calibration measure: within constant factors of the distance to the nearest calibrated
#' predictor, and continuous in the predictions, which binned errors are not.
#'
#' Residuals are shared between their two neighbours on a grid of 2^13 intervals, where the
#' reflected kernel acts by the fast Fourier transform. Class-wise, it is the mean of the classes' errors.
#'
#' # Intervals
#' `"analytic"`: the influence of each row, also through the bandwidth. The lower limit is at most the cross-fitted
#' limit of [ece()], with the sign of the smoothed residuals of the other folds instead of the bins' signs. It is a
#' lower bound of the smooth error at any bandwidth. The bootstrap: with the standard error of the samples.
#'
#' # Cost
#' Linear in `n`.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ks_error
#' @param bandwidth `NULL` for the fixed point, or a number.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power`,
#' `bandwidth`, `n`, `notion`, `interval`, `level`.
#' @references Blasiok and Nakkiran (2023) \doi{10.48550/arXiv.2309.12236}.
#' @concept smooth ECE
#' @concept expected calibration error
#' @examples
#' smooth_ece(c(0.7, 0.75, 0.8, 0.5, 0.55, 0.6, 0.9), c(1, 1, 0, 1, 0, 1, 1))
#' @export
smooth_ece <- new_metric("smooth_ece", function(x, truth, ..., bandwidth = NULL, notion = NULL,
                                  level = 0.95, times = NULL, .by = NULL, event_level = "first",
                                  na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  check_number(bandwidth, lower = 0, open = TRUE, null = TRUE)
  notion <- check_scalar_notion(notion)
  interval <- check_interval(level, times)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "smooth_ece", function(predictions) {
    c(smooth_columns(notion_problems(predictions, notion), bandwidth, interval), list(n = n_obs(predictions)))
  }, choices = list(notion = notion, interval = interval$type, level = level))
}, "minimize", c(0, Inf))

smooth_columns <- function(problems, bandwidth, interval) {
  of_folds <- lapply(problems, fold_copies)
  parts <- lapply(of_folds, smooth_value, bandwidth = bandwidth)
  estimates <- Map(function(problem, part) {
    new_estimate(part$value, part$influence, problem$design, honest = multiple_bound(problem, part$bound), largest = 1)
  }, of_folds, parts)
  columns <- error_columns(
    list(class_mean(unname(estimates))), interval, problems,
    function(part) mean(vapply(part, function(q) smooth_value(q, bandwidth, FALSE)$value, 0))
  )
  c(columns, list(bandwidth = if (length(parts) == 1) parts[[1]]$bandwidth else NA_real_))
}

# value, bandwidth and, per row, its influence and its term of the lower bound
# (inst/include/calibrisk/classical/smooth_ece.h).
smooth_value <- function(problem, bandwidth = NULL, influence = TRUE) {
  fold <- if (influence) problem_folds(problem) else integer()
  cpp_smooth_ece(problem$features[, 1], problem$residuals[, 1], row_shares(problem$design), bandwidth %||% NA, fold)
}
