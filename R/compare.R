#' Compare fitted calibration estimation functions by their risk
#'
#' Risks of several fits on the same rows, best first, with the difference to the best and
#' the standard error of that difference. Differences between good estimators are tiny
#' (skill is at most \eqn{CE^4/R(0)}), while the risks share most of their noise: only the
#' paired standard error says whether two methods can be told apart.
#'
#' @inheritParams ce_args
#' @param objects A named list of `ce_fit` or `ce_tune` objects for the same notion, of one model's predictions.
#' @return One row per method (and group), ordered by risk: `method`, `risk`, `root_risk`,
#'   `std.error` (of `risk`), `difference` (to the best), `difference_std.error` (paired),
#'   `skill`, `n` and `diagnosis`: `"best"`, `"worse"` where the difference exceeds its
#'   one-sided bound at `level`, else `"not distinguishable"`.
#' @section Definition:
#' See [ce_risk()]. The paired standard error is that of the U-statistic's Hájek projections'
#' differences \eqn{r_i^A - r_i^B}. Choosing the best of several on these rows makes its own
#' risk optimistic, and the comparison is not corrected for the number of methods.
#' @section Errors:
#' `calibrisk_error_model` where two fits were clearly fitted on predictions of different models (different
#' predictions of the same outcomes, or no row in common): their risks are for different targets. Models are compared
#' by [ce_rank()] and [ce_gain()].
#' @references `r ref_gruber_bach()`
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
ce_compare <- function(objects, x, truth, ..., .by = NULL, level = 0.95, event_level = NULL,
                       na_rm = TRUE, threads = NULL) {
  call <- current_env()
  check_level(level)
  threads <- resolve_threads(threads)
  fits <- check_fits(objects)
  truth <- enquo(truth)
  dots <- column_dots(...)
  out <- by_groups(x, enquo(.by), function(part) {
    predictions <- lapply(fits, predictions_for, part, truth, dots, event_level, na_rm, call)
    out <- compare_risks(Map(fit_risk, fits, predictions, threads), level)
    if (predictions[[1]]$na) missing_comparison(out, predictions[[1]]) else out
  })
  fit <- fits[[1]]
  new_table(out, c("Calibration risks" = notion_label(fit)), "ce_compare")
}

check_fits <- function(objects, call = caller_env()) {
  if (inherits(objects, c("ce_fit", "ce_tune"))) objects <- list(objects)
  if (!is.list(objects) || length(objects) == 0) {
    stop_input(c(
      "{.arg objects} must be a list of fits.",
      "x" = "It is {.val {describe(objects)}}."
    ), "argument", arg = "objects", value = objects, call = call)
  }
  fits <- lapply(objects, as_fit, arg = "objects", call = call)
  notions <- unique(vapply(fits, `[[`, "", "notion"))
  if (length(notions) > 1) {
    stop_input(c(
      "All fits must be for the same notion.",
      "x" = "They are for {.val {notions}}."
    ), "notion", arg = "objects", call = call)
  }
  names(fits) <- list_names(fits, vapply(fits, `[[`, "", "method"))
  check_one_model(fits, call)
  fits
}

# The names of a list, defaults where there are none, made unique.
list_names <- function(x, defaults) {
  names <- names(x) %||% rep("", length(x))
  names[names == ""] <- defaults[names == ""]
  make.unique(names, sep = "_")
}

compare_risks <- function(risks, level) {
  value <- unname(vapply(risks, `[[`, 0, "risk"))
  order <- order(value)
  best <- risks[[order[1]]]
  to_best <- lapply(risks, function(r) paired_difference(r$projections, best$projections))
  difference <- unname(vapply(to_best, `[[`, 0, "difference"))
  std_error <- unname(vapply(to_best, `[[`, 0, "std.error"))
  diagnosis <- ifelse(difference > qnorm(level) * std_error, "worse", "not distinguishable")
  diagnosis[order[1]] <- if (is.na(best$risk)) NA else "best"
  out <- tibble::tibble(
    method = names(risks),
    risk = value,
    root_risk = sqrt(pmax(value, 0)),
    std.error = unname(vapply(risks, function(r) risk_std_error(r$projections), 0)),
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
