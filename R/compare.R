#' Compare models by a metric, or fitted estimators by their risk
#'
#' Compares *models* (their predictions) by any `metric`, or *fits* of calibration estimation functions for one model by
#' their risk. Differences are paired: they are taken on the same rows, so most of the noise cancels.
#'
#' @section Models:
#' Each model gets the value of the metric, and each pair of models the difference, with a standard error from the
#' differences of the rows' influences. Metrics without influences ([ici], functions of your own) use a bootstrap of the
#' rows. Its interval and p-value cover the difference both with and without a correction for the bias seen in the
#' resamples. If both models have the same predictions, the difference is 0 and the p-value 1. `metric = ce_estimate`
#' compares the main estimates. To order many models, and to see how certain the order is, use [ce_rank()].
#'
#' *Roots.* The test is on the scale on which the metric is a mean over rows. For a root this is the mean power, which
#' behaves well near 0 too. A root cannot be distinguished from 0 if its power is below twice its standard error. If
#' that holds for either root, the interval of their difference contains all differences within the models' own limits.
#' It still excludes 0 exactly if the p-value is below 1 - `level`: the end next to 0 then comes from the paired limits
#' of the difference of the powers. The root of an unbiased estimate of a squared error is biased downwards, except near
#' 0, where it is biased upwards because negative estimates are set to 0.
#'
#' *Bias.* Two estimates by the same binning or kernel have the same bias only if both models are equally far from
#' calibrated and fill as many bins. The metrics [ece], [ks_error] and [smooth_ece] also have a
#' conservative lower bound, whose bias is in the other direction and 0 for calibrated models. The p-value is the larger
#' one of the tests of the two differences, of errors and of bounds (1 if these have opposite signs). Where it rejects,
#' the end next to 0 is that of the two intervals; the other ends hold all differences within the models' own limits.
#' Simulations show the effect. Two calibrated models, one with three distinct predictions and one with 500, differ
#' significantly at the 5% level in 2% of samples of 500 rows (from the errors alone: 14%). In seven pairs of laws (300
#' and 1,000 rows; rare events, ties and predictions of 0 and 1 among them) an end missed the difference of their errors
#' in at most 4% of samples; the paired intervals alone in up to 14%. The squares of
#' `ce_estimate` and `ce_metric(ece, p = 2, debias = TRUE)`, and [skce], do not have that bias; their roots do.
#'
#' *Models that predict a number* are vectors or columns of predictive distributions ([pred]), or expressions that make
#' them, such as `pred_normal(mu, sigma)`. They are compared by scores (`"crps"`, `"log"`, `"dss"`, `"mse"`), by [skce],
#' [ckce], and by functions of your own. Each model has its own median bandwidth and, in `"ucme"`, its
#' own random locations. For shared ones, give `ce_metric()` a kernel with a bandwidth, and `locations`.
#'
#' @section Superiority and non-inferiority:
#' A `margin` m > 0 is for metrics of which smaller values are better. Let \eqn{[l, u]} be the interval of the
#' difference a minus b. Model a is *superior* to b if \eqn{u < 0}, and b to a if \eqn{l > 0}. Model a is *non-inferior*
#' to b if \eqn{u < m}, so its metric is worse by less than the margin, and b to a if \eqn{l > -m}. If both are
#' non-inferior, the models differ by less than m. Of two models each statement is a one-sided test at the level
#' (1 - `level`) / 2; of several, all statements hold together, as the intervals do. The margin is on the scale of
#' `difference`. Choose it before you see the data. If larger values of a metric are better, pass a function that
#' returns its negative.
#'
#' @section Several models:
#' Of three models and more, `p.adjusted` is Holm's: if all models are equal, a difference is found in at most 5% of
#' samples (five equal models, 200 rows, Brier score and log loss: 0 to 4%; without adjustment 18 to 35%). The intervals
#' are simultaneous: each has the level 1 - (1 - `level`) / m for m pairs (Bonferroni), so all of them hold together
#' with probability `level`. They are about 3% wider than those of the largest of the m correlated statistics. Holm's
#' test steps down and may reject where such an interval contains 0; its end then is 0. Groups are adjusted one by one.
#' `adjust = "none"` gives each pair its own test and interval.
#'
#' @section Fits:
#' The risks of all fits on the same rows (see [ce_risk()]), best first, with the difference to the best and the
#' standard error of that difference. Differences between good estimators are tiny, since the skill is at most
#' \eqn{CE^4/R(0)}; only the paired standard error shows whether two methods differ. It is computed from the differences
#' \eqn{r_i^A - r_i^B} of the Hájek projections of the two U-statistics. If you choose the best of several fits on these
#' rows, its risk is optimistic. The comparison is not corrected for the number of methods.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param objects For models: a named list of predictions, or a data frame with a column of probabilities (or
#'   distributions) for every model. For fits: a named list of `ce_fit` or `ce_tune` objects of the same type of
#'   calibration, for the predictions of one model.
#' @param x For fits: the predictions on which they are compared.
#' @param truth The outcomes: a vector, or a column of the data frame or of every data frame in the list. For models it
#'   is the second argument, after `objects`.
#' @param ... For models in a data frame: their columns, or expressions that make distributions, which may be named:
#'   `wide = pred_normal(mu, 2 * sigma)`. For fits: the probability columns of `x`.
#' @param metric For models, required: a metric such as [ece] or [ce_estimate], or its name; a score such as
#'   [score_log()]; or [ce_metric()] with options.
#' @param adjust For three models or more: a method of [stats::p.adjust()] for the column `p.adjusted`, or `"none"`.
#' @param margin For models: `NULL`, or a positive number, the largest difference that does not matter; see *Superiority
#'   and non-inferiority*.
#' @param times Number of bootstrap samples, for metrics without influences.
#' @param level Confidence level: of the intervals for models, and of the one-sided bound in `diagnosis` for fits.
#' @return For models, one row per pair (and group): `a`, `b`, `.metric`, `notion` (if the metric has one),
#'   `estimate_a`, `estimate_b`, `difference` (a minus b), `std.error`, `conf.low`, `conf.high`, `p.value`, `p.adjusted`
#'   (of three models or more) and `n`; with `margin` also `superior` (`"a"`, `"b"` or `"neither"`) and `noninferior`
#'   (these, or `"both"`). The standard error of a difference of roots is `NA` if one of them cannot be distinguished
#'   from 0.
#'
#'   For fits, one row per method (and group), ordered by risk: `method`, `risk`, `root_risk`, `std.error` (of `risk`),
#'   `difference` (to the best), `difference_std.error` (paired), `skill`, `n` and `diagnosis`. The diagnosis is
#'   `"best"`, `"worse"` if the difference exceeds its one-sided bound at `level`, else `"not distinguishable"`.
#' @section Cost:
#' The cost of the metric or the risk, for every model. Under a [future::plan()] of several workers, risks of fits, and
#' metrics from packages that draw no random numbers, are computed on the workers, with the same digits. Bootstrap
#' samples and functions of your own are not.
#' @section Errors:
#' `calibrisk_error_model` if two fits are clearly for predictions of different models (different predictions of the
#' same outcomes, or no row in common), because their risks have different targets. `_argument` if models come without a
#' metric or with one that is not for their kind. `_columns`, `_length`, `_truth`, and the errors of the metric.
#' @references `r ref_gruber_bach()`
#' @seealso [ce_rank()], [ce_gain()].
#' @export
#' @examples
#' train <- vehicle_predictions[1:250, ]
#' test <- vehicle_predictions[251:423, ]
#' ce_compare(
#'   list(
#'     bins = ce_fit(train, truth, method = method_bins(10)),
#'     kde = ce_fit(train, truth, method = method_kde(0.1))
#'   ),
#'   test, truth
#' )
#'
#' # three models' probabilities of one event
#' p <- plogis(seq(-2, 2, length.out = 300))
#' y <- as.numeric((1:300 * 0.618) %% 1 < p)
#' data <- data.frame(y, p, sharp = plogis(3 * qlogis(p)), flat = p / 2)
#' ce_compare(data, y, p, sharp, flat, metric = ece)
#' ce_compare(list(p = data$p, flat = data$flat), data$y, metric = rbs)
#' # is the sharp one worse by less than .05?
#' ce_compare(data, y, sharp, p, metric = rbs, margin = 0.05)
#'
#' # two models of a number
#' ce_compare(cars, dist, pred_normal(3 * speed, 15), pred_poisson(3 * speed), metric = "crps")
ce_compare <- function(objects, x, truth, ..., metric = NULL, adjust = "holm", margin = NULL, times = 200,
                       .by = NULL, level = 0.95, event_level = NULL, na_rm = TRUE,
                       weights = NULL, cluster = NULL, horizon = NULL) {
  check_has_rows(objects, "objects")
  check_level(level)
  check_number(margin, lower = 0, open = TRUE, null = TRUE)
  if (is.null(metric) && is_fits(objects)) {
    check_no_margin(margin)
    return(compare_fits(objects, x, rows_input(), level))
  }
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  if (is.null(metric)) {
    is_data <- function(object) is.data.frame(object) && !is_result(object)
    if (rlang::is_bare_list(objects) && length(objects) > 0 && all(vapply(objects, is_data, NA))) {
      rank_truth(objects, if ("truth" %in% names(sys.call())) enquo(truth) else enquo(x))
    }
    stop_input("{.arg metric} must be given to compare models.",
               "x" = "{.arg objects} is {describe(objects)}, not a list of fits.", arg = "metric")
  }
  # models have no `x`: the second argument is the truth, unless that has its name
  if (!is.list(objects)) check_models(objects, NULL)
  first <- enquo(x)
  second <- enquo(truth)
  named <- "truth" %in% names(sys.call())
  columns <- Filter(Negate(rlang::quo_is_missing), c(if (named) first else second, model_dots(...)))
  check_flag(na_rm)
  check_choice(adjust, stats::p.adjust.methods)
  check_count(times, lower = 20)
  settings <- list(
    by = enquo(.by), design = design, level = level, event_level = event_level %||% "first", adjust = adjust,
    margin = margin, times = times, incomplete = function(models) !na_rm && any(vapply(models, `[[`, 0, "dropped") > 0)
  )
  check_models(objects, columns)
  out <- as_counted(collect_kept(compare_models(objects, if (named) second else first, columns, metric, settings),
                            "reads"))
  if (!is.null(margin)) attr(out, "margin") <- list(margin = margin, level = level)
  new_differences(out, adjust, level)
}

new_differences <- function(out, adjust, level) {
  several <- !is.null(out[["p.adjusted"]])
  if (several) attr(out, "adjust") <- list(method = adjust, level = level)
  new_table(out, c("Differences" = paste0("a minus b, on the same rows; ", if (several) "simultaneous ",
                                          percent_text(level), " intervals"),
                   "Metric" = paste(unique(c(out$.metric, out[["notion"]])), collapse = ", ")), "ce_differences")
}

check_no_margin <- function(margin) {
  stop_if(!is.null(margin), "{.arg margin} is for models.",
          "x" = "{.arg objects} are fits, which are compared by their risk.", arg = "margin", value = margin)
}

is_fits <- function(objects) {
  inherits(objects, c("ce_fit", "ce_tune")) ||
    (is.list(objects) && !is.data.frame(objects) && any(vapply(objects, inherits, NA, c("ce_fit", "ce_tune"))))
}

check_models <- function(objects, columns) {
  stop_if(!is.list(objects) || is_law(objects) || is_fits(objects),
          "{.arg objects} must be a list of predictions, or a data frame with a column for every model.",
          "x" = "It is {describe(objects)}.",
          "i" = if (is_fits(objects)) "Fits are compared by their risk, without {.arg metric}.", arg = "objects")
  stop_if(!is.data.frame(objects) && length(columns) > 0,
          "{.arg ...} must be empty where {.arg objects} is a list of models.",
          "x" = "{length(columns)} extra argument{?s} given.", arg = "...")
}

compare_fits <- function(objects, x, input, level) {
  fits <- check_fits(objects)
  input <- evaluate_input_once(input, x)
  out <- by_groups(x, input$by, function(part) {
    predictions <- told_once(lapply(fits, predictions_for, part, input))
    out <- compare_risks(fit_risks(fits, predictions), level, predictions[[1]]$design)
    if (predictions[[1]]$na) missing_comparison(out, predictions[[1]]) else out
  })
  new_table(out, c("Calibration risks" = notion_label(fits[[1]])), "ce_compare")
}

fit_risks <- function(fits, predictions) {
  jobs <- unname(Map(function(fit, rows) list(fit = fit, predictions = rows), fits, predictions))
  setNames(over_some_workers(jobs, risk_of_fit, risk_of_fit), names(fits))
}

risk_of_fit <- function(job) fit_risk(job$fit, job$predictions)

check_fits <- function(objects) {
  if (inherits(objects, c("ce_fit", "ce_tune"))) objects <- list(objects)
  stop_if(!is.list(objects) || length(objects) == 0, "{.arg objects} must be a list of fits.",
          "x" = "It is {describe(objects)}.", arg = "objects", value = objects)
  fits <- lapply(objects, as_fit, arg = "objects")
  notions <- unique(vapply(fits, `[[`, "", "notion"))
  stop_if(length(notions) > 1, "All fits must be for the same type of calibration.",
          "x" = "They are for {.val {notions}}.", class = "notion", arg = "objects")
  names(fits) <- list_names(fits, vapply(fits, `[[`, "", "method"))
  check_one_model(fits)
  fits
}

compare_risks <- function(risks, level, design) {
  value <- unname(vapply(risks, `[[`, 0, "risk"))
  order <- order(value)
  best <- risks[[order[1]]]
  to_best <- lapply(risks, function(r) paired_difference(r$projections, best$projections, design))
  difference <- unname(vapply(to_best, `[[`, 0, "difference"))
  std_error <- unname(vapply(to_best, `[[`, 0, "std.error"))
  diagnosis <- ifelse(difference > design_quantile(level, design) * std_error, "worse", "not distinguishable")
  diagnosis[order[1]] <- if (is.na(best$risk)) NA else "best"
  out <- columns_frame(
    method = names(risks),
    risk = value,
    root_risk = sqrt(pmax(value, 0)),
    std.error = unname(vapply(risks, function(r) risk_std_error(r$projections, design), 0)),
    difference = difference,
    difference_std.error = std_error,
    diagnosis = diagnosis,
    skill = skill_of(value, best$zero_risk),
    n = length(best$squared)
  )
  out[order, ]
}

# na_rm = FALSE with a missing value.
missing_comparison <- function(out, predictions) {
  kept <- c("method", "n")
  for (name in setdiff(names(out), kept)) out[[name]] <- vctrs::vec_init(out[[name]], nrow(out))
  out$n <- out$n + predictions$dropped
  out
}
