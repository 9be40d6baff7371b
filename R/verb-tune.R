#' Choose and tune a calibration error estimator by its risk
#'
#' Fits every method at every value of its hyperparameter on the training part of each fold, estimates the risk on the
#' held-out part, and selects the value with the smallest mean risk. The calibration error of the folds' averaged
#' functions is then computed on test rows that no fit has seen (Gruber & Bach 2025, Algorithm 1). The printed result
#' ends with the estimate and interval of [ce_estimate()]. For rows that are not in one place, pass a [ce_state()] as
#' `x`; only `level` can then be set.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param methods A list of methods, see [ce_methods]. Its names are the column `method`; a method without a name has
#'   that of its constructor.
#' @param folds Number of folds, or an integer vector with the fold of each non-test row (or of every row, with 0 for
#'   the test rows), or an rsample `rset` that holds out every row once.
#' @param test Share of rows kept for the estimate, or their row numbers. If 0, the estimate is computed on the held-out
#'   rows of the folds.
#' @param repeats Number of random splits that risks are averaged over; `NULL` means 10 below 500 rows, 5 below 2,000
#'   and otherwise 1; it also means 1 if there is a single method or if the split is given.
#' @return A `ce_tune`. `tidy()` has one row per method, value and fold (of each split), `glance()` one row per method,
#'   and [autoplot()][autoplot.ce_tune] draws risks, estimates and estimated miscalibration. `predict()` and [ce_risk()]
#'   use the averaged functions. For grouped data, a `ce_grouped` list of such results.
#' @section Definition:
#' Rows are shuffled once with R's random numbers. The first rows, by default 80% of them, are for tuning and the others
#' for the test; folds are consecutive blocks of the former. The selected value of the hyperparameter has the smallest
#' mean risk over the folds, \eqn{h} is the average of the folds' functions with that value, and \eqn{CE^2} is the mean
#' of \eqn{h(p,p)} over the test rows. With few rows the choice depends on the split: risks are then averaged over
#' `repeats` splits, and `won` is the share of splits in which a method had the smallest risk.
#'
#' The risk shows *which function* describes the miscalibration best. The *size* of the miscalibration is estimated by
#' [ce_estimate()], with its interval, from all rows. That estimate uses no method, so `estimate_holdout` may lie
#' outside.
#' @section Errors:
#' Those of [ce_args]. An estimate that is larger than every residual (kkr on a few rows) gives a warning of class
#' `calibrisk_warning_impossible_estimate`.
#' @section Cost:
#' Time linear in the number of rows for binary, top-label and class-wise calibration; the vignettes give measured
#' times. You can interrupt long work. Under a [future::plan()] of several workers, methods and classes are tuned on the
#' workers, with the same digits (unless a function of [method_function()] draws random numbers); a lost worker is an
#' error of class `calibrisk_error_worker`.
#' @references `r ref_gruber_bach`
#' @concept hyperparameter tuning
#' @concept cross-validation
#' @concept calibration estimator
#' @concept risk
#' @export
#' @examples
#' set.seed(1)
#' tuned <- ce_tune(vehicle_predictions, truth)
#' tuned
#' glance(tuned)
ce_tune <- function(x, truth, ..., notion = NULL, methods = ce_methods(notion), folds = 5,
                    test = 0.2, repeats = NULL, .by = NULL, level = 0.95, event_level = "first", weights = NULL,
                    cluster = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  notion <- check_notion(notion)
  check_count(repeats, null = TRUE)
  check_level(level)
  x <- read_table(x, FALSE)
  # copies of one random split are counted, of several they are rows
  random <- length(folds) == 1 && is_share(test)
  input <- rows_input(copies = random && !isTRUE(repeats > 1), clustered = FALSE)
  sums <- has_sums(x)
  methods <- if (!missing(methods) || !sums) check_methods(methods)
  check_bins_notion(methods, notion)
  if (sums) {
    given <- c("methods", "folds", "test")[c(!is.null(methods), !missing(folds), !missing(test))]
    split <- list(given = c(given, if (!is.null(repeats)) "repeats"), folds = enquo(folds), test = test,
                  repeats = repeats)
    return(tune_sums(x, input, notion, methods, split, level))
  }
  fit_groups(x, input, function(predictions) {
    rows <- split_rows(predictions, folds, test, repeats, length(methods))
    said_once(tune_predictions(rows$predictions, notion, methods, rows$splits, level))
  })
}
