#' Compare models by a metric, or fitted estimators by their risk
#'
#' Compares *models* (their predictions) by any `metric`, or *fits* of calibration estimation functions for one model by
#' their risk. Differences are paired: they are taken on the same rows, so most of the noise cancels.
#'
#' @section Models:
#' Each pair of models gets the difference of the metric, with a standard error from the differences of the rows'
#' influences, for the AUROC that of DeLong et al. (1988), or from a bootstrap ([ici], functions of your own). With
#' fewer than 30 events, non-events, or effective rows, they have one degree of freedom less. [ce_rank()] orders models.
#'
#' The test is on the scale on which the metric is a mean over rows. [ece], [ks_error] and [smooth_ece] are biased,
#' differently for different models: their p-value is the larger one of the tests of the differences of errors and of
#' lower bounds. Models that predict a number ([pred]) are compared by scores, [skce], [ckce] and functions of your own.
#' *Notation* has the details.
#' @section Superiority and non-inferiority:
#' For a `margin` m > 0 let \eqn{[l, u]} be the interval of the difference a minus b (of b minus a for the AUROC, of
#' which larger values are better). Model a is *superior* if \eqn{u < 0}, and *non-inferior* if \eqn{u < m}, so its
#' metric is worse by less than the margin; b is superior if \eqn{l > 0} and non-inferior if \eqn{l > -m}. Of two models
#' each statement is a one-sided test at the level (1 - `level`) / 2. Choose the margin before you see the data.
#' @section Several models:
#' Of three models and more, `p.adjusted` is Holm's, and the intervals are simultaneous (Bonferroni). Groups are
#' adjusted one by one.
#' @section Fits:
#' The risks of all fits on the same rows ([ce_risk()]), best first. Only the paired standard error shows whether two
#' methods differ. The risk of the best of several fits is optimistic.
#' @inheritParams ce_args
#' @inheritParams ece
#' @param objects Several models from [ce_models()]; or a named list of predictions, or a data frame with a column for
#'   every model; or a named list of `ce_fit` or `ce_tune` objects.
#' @param x For fits: the predictions on which they are compared.
#' @param truth The outcomes; for models the second argument, and not with [ce_models()].
#' @param ... For models in a data frame: columns, or expressions such as `pred_normal(mu, sigma)`. For fits: the
#'   probability columns of `x`.
#' @param metric For models, required: a metric such as [ece], its name, a score such as [score_log()], or [ce_metric()]
#'   with options.
#' @param adjust `"none"`, or a method of [stats::p.adjust()].
#' @param margin `NULL`, or the largest difference that does not matter.
#' @param times Number of bootstrap samples, for metrics without influences.
#' @param level Confidence level.
#' @return For models, one row per pair (and group): `a`, `b`, `.metric`, `notion`, `estimate_a`, `estimate_b`,
#'   `difference` (a minus b), `std.error`, `conf.low`, `conf.high`, `p.value`, `p.adjusted` and `n`; with `margin` also
#'   `superior` (`"a"`, `"b"` or `"neither"`) and `noninferior` (these, or `"both"`). The standard error of a difference
#'   of roots is `NA` if one of them cannot be distinguished from 0.
#'
#' For fits, one row per method (and group): `method`, `risk`, `root_risk`, `std.error`, `difference` (to the best),
#'   `difference_std.error` (paired), `skill`, `n` and `diagnosis`: `"best"`, `"worse"` if the difference exceeds its
#'   one-sided bound at `level`, else `"not distinguishable"`.
#' @section Errors:
#' Those of [ce_args], and `calibrisk_error_model` if two fits are for predictions of different models.
#' @references `r ref_gruber_bach`
#' @concept model comparison
#' @concept paired difference
#' @concept non-inferiority
#' @concept compare models
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
#' # two models of a number
#' ce_compare(cars, dist, pred_normal(3 * speed, 15), pred_poisson(3 * speed), metric = "crps")
ce_compare <- function(objects, x, truth, ..., metric = NULL, adjust = "holm", margin = NULL, times = 200,
                       .by = NULL, level = 0.95, event_level = NULL,
                       weights = NULL, cluster = NULL, horizon = NULL) {
  check_has_rows(objects, "objects")
  objects <- read_table(objects)
  check_level(level)
  check_number(margin, lower = 0, open = TRUE, null = TRUE)
  if (is.null(metric) && is_fits(objects)) {
    stop_if(!is.null(margin), "{.arg margin} is for models.",
            "x" = "{.arg objects} are fits, which are compared by their risk.", arg = "margin", value = margin)
    return(compare_fits(objects, x, rows_input(), level))
  }
  design <- design_input(enquo(weights), enquo(cluster), horizon, copies = TRUE)
  # models have no `x`: the second argument is the truth, unless that has its name
  named <- "truth" %in% names(sys.call())
  outcome <- if (named) enquo(truth) else enquo(x)
  if (is.null(metric)) {
    is_data <- function(object) is.data.frame(object) && !is_result(object)
    if (is_bare_list(objects) && length(objects) > 0 && all(vapply(objects, is_data, NA))) {
      rank_truth(objects, outcome)
    }
    stop_input("{.arg metric} must be given to compare models.",
               "x" = "{.arg objects} is {describe(objects)}, not a list of fits.", arg = "metric")
  }
  if (!is.list(objects)) check_models(objects, NULL)
  columns <- Filter(Negate(rlang::quo_is_missing), c(if (named) enquo(x) else enquo(truth), model_dots(...)))
  check_choice(adjust, stats::p.adjust.methods)
  check_count(times, lower = 20)
  settings <- list(
    by = enquo(.by), design = design, level = level, event_level = event_level %||% "first", adjust = adjust,
    margin = margin, times = times
  )
  check_models(objects, columns)
  out <- compare_models(objects, outcome, columns, metric, settings)
  if (!is.null(margin)) attr(out, "margin") <- list(margin = margin, level = level)
  several <- !is.null(out[["p.adjusted"]])
  if (several) attr(out, "adjust") <- list(method = adjust, level = level)
  new_table(out, c("Differences" = paste0("a minus b, on the same rows; ", if (several) "simultaneous ",
                                          percent_text(level), " intervals"),
                   "Metric" = paste(unique(c(out$.metric, out[["notion"]])), collapse = ", ")), "ce_differences")
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
    predictions <- said_once(lapply(fits, predictions_for, part, input))
    jobs <- unname(Map(function(fit, rows) list(fit = fit, predictions = rows), fits, predictions))
    risks <- setNames(over_some_workers(jobs, sealed(function(job) fit_risk(job$fit, job$predictions))), names(fits))
    with_read(compare_risks(risks, level, predictions[[1]]$design), predictions)
  })
  new_table(out, c("Calibration risks" = notion_label(fits[[1]])), "ce_compare")
}

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
  value <- number_of(risks, "risk")
  order <- order(value)
  best <- risks[[order[1]]]
  to_best <- lapply(risks, function(r) paired_difference(r$projections, best$projections, design))
  difference <- number_of(to_best, "difference")
  std_error <- number_of(to_best, "std.error")
  diagnosis <- ifelse(difference > design_quantile(level, design) * std_error, "worse", "not distinguishable")
  diagnosis[order[1]] <- if (is.na(best$risk)) NA else "best"
  out <- columns_frame(
    method = names(risks),
    risk = value,
    root_risk = sqrt(pmax(value, 0)),
    std.error = number_of(risks, function(r) risk_std_error(r$projections, design)),
    difference = difference,
    difference_std.error = std_error,
    diagnosis = diagnosis,
    skill = skill_of(value, best$zero_risk),
    n = length(best$squared)
  )
  out[order, ]
}
