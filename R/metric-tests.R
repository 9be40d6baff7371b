#' Classical regression and test statistics of calibration
#'
#' Cox's intercept and slope, Spiegelhalter's z and the Hosmer-Lemeshow statistic, for scalar predictions.
#'
#' # Definition
#' * `cox_calibration()`: the logistic regression `logit P(Y = 1) = a + b logit(p)`; calibrated
#'   predictions have `a = 0`, `b = 1`. Rows: `"cox_intercept"` and `"cox_slope"` of that model,
#'   `"cox_in_the_large"`, the intercept with the slope held at 1, and `"cox_joint"`, twice the log likelihood ratio of
#'   that model to `a = 0, b = 1` (Cox 1958). Each row's `p.value` is of its own likelihood ratio test: of `a = 0`
#'   with any slope, of `b = 1` with any intercept, of `a = 0` given `b = 1`, of both at once (two degrees of freedom).
#' * `spiegelhalter()`: `z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p))`, standard
#'   normal for calibrated predictions (Spiegelhalter 1986); `p.value` is two-sided.
#' * `hosmer_lemeshow()`: `sum_g (O_g - E_g)^2 / (E_g (1 - E_g / N_g))` over `n_groups` groups of
#'   nearly equal size, ties kept together. Degrees of freedom are the number of groups, or two less
#'   where the predictions were fitted to the same outcomes (`fitted = TRUE`).
#'
#' The Hosmer-Lemeshow test depends on the arbitrary number of groups, has little power in small samples and
#' rejects every useful model in large ones; a note says so once per session. Prefer an estimate
#' with an interval, such as [ce_estimate()].
#'
#' # Value
#' Tibbles with `.metric`, `.estimator`, `.estimate`, `p.value`, `n` and `notion`; for Cox also
#' `std.error`, `conf.low`, `conf.high` (Wald), `converged` and `level`; for Hosmer-Lemeshow
#' also `df` and `n_groups`.
#'
#' # Errors
#' `calibrisk_error_logit` where a prediction is exactly 0 or 1 and no `floor` is given. Separated data,
#' outcomes all equal and constant predictions have no finite estimate: the result is `NA`,
#' `converged` is `FALSE`, and a warning of class `calibrisk_warning_convergence` says so.
#' @inheritParams ks_error
#' @param notion `"top_label"` or `"binary"`; by default `"binary"` for a single probability and
#'   for two classes, else `"top_label"`.
#' @param floor `NULL`, or the number to which predictions of exactly 0 (and, mirrored, 1) are raised.
#' @references Cox (1958) Two further applications of a model for binary regression, *Biometrika* 45;
#'   Spiegelhalter (1986) \doi{10.1002/sim.4780050506};
#'   Hosmer and Lemeshow (1980) \doi{10.1080/03610928008827941}.
#' @name classical_tests
#' @examples
#' p <- c(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.5)
#' y <- c(0, 0, 1, 0, 1, 0, 1, 1, 1, 0)
#' cox_calibration(p, y)
#' spiegelhalter(p, y)
NULL

#' @rdname classical_tests
#' @export
cox_calibration <- new_metric(function(x, truth, ..., floor = NULL, notion = NULL,
                                       level = 0.95, .by = NULL, event_level = "first",
                                       na_rm = TRUE) {
  notion <- check_one_problem(notion)
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_level(level)
  call <- current_env()
  names <- c("cox_intercept", "cox_slope", "cox_in_the_large", "cox_joint")
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), names, function(predictions) {
    problem <- notion_problems(predictions, notion, call)[[1]]
    c(cox_columns(problem, floor, level, call), list(n = n_obs(predictions)))
  }, event_level, na_rm, choices = list(notion = notion, level = level))
}, "zero", c(-Inf, Inf))

cox_columns <- function(problem, floor, level, call) {
  p <- problem$features[, 1]
  y <- as.numeric(problem$labels)
  if (!is.null(floor)) p <- pmin(pmax(p, floor), 1 - floor)
  bad <- which(p == 0 | p == 1)
  if (length(bad) > 0) {
    stop_input(c(
      "Cox's regression needs predictions strictly between 0 and 1: others have infinite logits.",
      "x" = "Prediction {bad[1]} is {.val {p[bad[1]]}}; {length(bad)} of {length(p)} are 0 or 1.",
      "i" = "Give {.arg floor}, for example {.code floor = 1e-6}; the estimate will depend on it."
    ), "logit", arg = "x", row = bad[1], call = call)
  }
  z <- stats::qlogis(p)
  both <- cpp_logistic(z, y, TRUE, TRUE)
  large <- cpp_logistic(z, y, TRUE, FALSE)
  slope <- cpp_logistic(z, y, FALSE, TRUE)
  at_null <- -sum(y * stats::plogis(z, log.p = TRUE) + (1 - y) * stats::plogis(-z, log.p = TRUE))
  # with one predictor the likelihood has no maximum exactly where its two groups do not overlap
  apart <- all(y == y[1]) || max(z[y == 0]) <= min(z[y == 1]) || min(z[y == 0]) >= max(z[y == 1])
  two <- both$converged && !apart
  ok <- c(two, two, large$converged && !all(y == y[1]), two)
  if (!all(ok)) {
    warn_result(c(
      "Cox's regression has no finite estimate.",
      "i" = if (all(y == y[1])) {
        "All outcomes are equal."
      } else if (all(z == z[1])) {
        "All predictions are equal: the slope is not defined."
      } else if (apart) {
        "Predictions separate the outcomes perfectly."
      } else {
        "Newton's method did not converge."
      }
    ), "convergence")
  }
  keep <- function(v) ifelse(ok, v, NA_real_)
  # twice the log likelihood ratio: without an intercept, with slope 1, without an intercept given slope 1, both
  ratio <- 2 * pmax(c(slope$loss - both$loss, large$loss - both$loss, at_null - large$loss, at_null - both$loss), 0)
  estimate <- keep(c(both$intercept, both$slope, large$intercept, ratio[4]))
  std.error <- keep(sqrt(pmax(c(both$var_intercept, both$var_slope, large$var_intercept, NA), 0)))
  test <- keep(stats::pchisq(ratio, c(1, 1, 1, 2), lower.tail = FALSE))
  half <- qnorm((1 + level) / 2) * std.error
  list(.estimate = estimate, std.error = std.error, conf.low = estimate - half,
       conf.high = estimate + half, p.value = test, converged = ok)
}

#' @rdname classical_tests
#' @export
spiegelhalter <- new_metric(function(x, truth, ..., notion = NULL, .by = NULL,
                                     event_level = "first", na_rm = TRUE) {
  notion <- check_one_problem(notion)
  call <- current_env()
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), "spiegelhalter", function(predictions) {
    c(spiegelhalter_columns(notion_problems(predictions, notion, call)[[1]]),
      list(n = n_obs(predictions)))
  }, event_level, na_rm, choices = list(notion = notion))
}, "zero", c(-Inf, Inf))

spiegelhalter_columns <- function(problem) {
  p <- problem$features[, 1]
  variance <- sum((1 - 2 * p)^2 * p * (1 - p))
  z <- sum((problem$labels - p) * (1 - 2 * p)) / sqrt(variance)
  if (variance == 0) {
    z <- NA_real_
    warn_result("Spiegelhalter's statistic is not defined: all predictions are 0, 0.5 or 1.",
                "convergence")
  }
  list(.estimate = z, p.value = 2 * pnorm(-abs(z)))
}

#' @rdname classical_tests
#' @param n_groups Number of groups.
#' @param fitted Were the predictions fitted to these outcomes?
#' @export
hosmer_lemeshow <- new_metric(function(x, truth, ..., n_groups = 10, fitted = FALSE,
                                       notion = NULL, .by = NULL,
                                       event_level = "first", na_rm = TRUE) {
  notion <- check_one_problem(notion)
  check_count(n_groups, lower = 3)
  check_flag(fitted)
  call <- current_env()
  note(c(
    "i" = "The Hosmer-Lemeshow test depends on the number of groups, and on the number of rows \\
           more than on the model; prefer an estimate with an interval."
  ), "hosmer_lemeshow", .frequency = "once", .frequency_id = "calibrisk_hosmer_lemeshow")
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), "hosmer_lemeshow", function(predictions) {
    c(hosmer_columns(notion_problems(predictions, notion, call)[[1]], n_groups, fitted),
      list(n = n_obs(predictions)))
  }, event_level, na_rm, choices = list(notion = notion))
}, "minimize", c(0, Inf))

hosmer_columns <- function(problem, n_groups, fitted) {
  sorted <- sort_problem(problem)
  bins <- bin_table(sorted, mass_ends(sorted, n_groups))
  expected <- bins$size * (bins$accuracy + bins$gap)
  groups <- length(bins$size)
  difference <- bins$size * bins$gap
  variance <- expected * (1 - expected / bins$size)
  # a group of certain predictions that all came true adds nothing
  statistic <- sum(ifelse(abs(difference) < 1e-12 * bins$size, 0, difference^2 / variance))
  df <- max(groups - if (fitted) 2 else 0, 1)
  list(.estimate = statistic, p.value = stats::pchisq(statistic, df, lower.tail = FALSE), df = df,
       n_groups = groups)
}
