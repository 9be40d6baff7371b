#' Risk of a fitted calibration estimation function
#'
#' Estimates the mean squared error of \eqn{h(p, p')} as an estimate of products of calibration gaps. The estimate is
#' unbiased if the rows were not used to fit \eqn{h}. Calibration estimators are compared by this risk; smaller is
#' better.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param object A `ce_fit`, or a `ce_tune`, which stands for the averaged function of its selected method.
#' @return One row (per group) with `risk`, `root_risk`, `std.error` (of `risk`), `n` and `root_std.error`. `zero_risk`
#'   is the risk of \eqn{h = 0}, and `skill = 1 - risk / zero_risk` is at most \eqn{CE^4 / R(0)}, so it is small even
#'   for the best estimator. `estimate` is the root of the mean \eqn{h(p, p)} (0 if that is negative), corrected for
#'   bias. `lower_bound` is a one-sided bound at `level` for the calibration error; the one of [ce_estimate()] uses all
#'   rows and is usually larger.
#'
#' @section Definition:
#' \eqn{R(h) = E(\langle e, e'\rangle - h(p, p'))^2} over two independent samples (Gruber & Bach 2025, Eq. 17), where
#' \eqn{e} is the residual of a row, prediction minus outcome. It is estimated by its U-statistic over all ordered pairs
#' \eqn{i \ne j} of the \eqn{m} rows (Eq. 20). `std.error` is that of the Hájek projections, \eqn{se^2 = 4/(m(m-1))
#' \sum_i (r_i - R)^2}. For every fixed \eqn{h}, \eqn{R(0) - R(h) \le CE^4}; the bound is \eqn{\max(0, R(0) - R(h) - z\,
#' se)^{1/4}} with the paired standard error. Class-wise risks are sums over the classes.
#'
#' @section Weights and clusters:
#' With importance weights \eqn{w}, a pair has the weight \eqn{w_i w_j}. With clusters, only pairs of rows from
#' different clusters are used. The standard error is computed from the influences \eqn{2 W P_i (r_i - R) / \sum_k w_k
#' P_k}, where \eqn{W} is the sum of all weights and \eqn{P_i} the sum of the weights of the partners of row i.
#'
#' @section Invariants:
#' The result does not depend on the order of the rows, the labels of the classes or the number of threads.
#'
#' @section Cost:
#' Time \eqn{O(m (d + r)^2)} for \eqn{m} rows, \eqn{r} features and residuals of dimension \eqn{d}. Only
#' [method_function()] takes time quadratic in \eqn{m}.
#' @references `r ref_gruber_bach`
#' @seealso [ce_compare()] for differences between fits.
#' @export
#' @examples
#' fit <- ce_fit(vehicle_predictions[1:250, ], truth, method = method_bins(10))
#' ce_risk(fit, vehicle_predictions[251:423, ], truth)
ce_risk <- function(object, x, truth, ..., .by = NULL, level = 0.95, event_level = NULL,
                    weights = NULL, cluster = NULL, horizon = NULL) {
  check_level(level)
  fit <- as_fit(object)
  input <- rows_input()
  out <- by_groups(x, input$by, function(part) {
    predictions <- predictions_for(fit, part, input)
    with_read(risk_row(fit_risk(fit, predictions), level, predictions), predictions)
  })
  new_table(out, c("Calibration risk" = notion_label(fit), "Method" = fit$label), "ce_risk")
}

# Predictions to evaluate a fit on: same classes, same event.
predictions_for <- function(fit, x, input) {
  given <- !is.null(input$event_level)
  input$event_level <- input$event_level %||% if (fit$event == 1L || fit$scalar) "first" else "second"
  predictions <- predictions_of(x, input, direction = FALSE)
  stop_if(!fit$notion %in% c("top_label", "binary") && n_classes(predictions) != length(fit$levels),
          "{.arg x} must have the classes of the fit.",
          "x" = "It has {n_classes(predictions)}, the fit {length(fit$levels)}.", class = "columns", arg = "x")
  predictions <- align_levels(predictions, fit, given)
  warn_direction(predictions)
  predictions
}

# Predictions with the classes in the fit's order and the fit's event (unless the user gave event_level), if their
# levels have the same names; otherwise positions count.
align_levels <- function(predictions, fit, event_given) {
  if (!setequal(predictions$levels, fit$levels)) return(predictions)
  if (is.null(predictions$probs)) {
    keep <- event_given && !predictions$named
    return(if (keep) predictions else align_event(predictions, fit$levels[fit$event]))
  }
  order <- match(fit$levels, predictions$levels)
  predictions$probs <- predictions$probs[, order, drop = FALSE]
  predictions$truth <- match(predictions$truth, order)
  predictions$event <- if (event_given) match(predictions$event, order) else fit$event
  predictions$levels <- fit$levels
  predictions
}

as_fit <- function(object, arg = "object") {
  if (inherits(object, "ce_fit")) return(object)
  if (inherits(object, "ce_tune")) return(tune_fit(object))
  stop_input("{.arg {arg}} must be made by {.fn ce_fit} or {.fn ce_tune}.", "x" = "It is {.cls {class(object)[1]}}.",
             "i" = if (inherits(object, "ce_grouped")) "{.field results} holds one for each group.", arg = arg,
             value = object)
}

# Sums over problems (classes): risk and projections of h and of h = 0, h(p, p) per row.
fit_risk <- function(fit, predictions) {
  parts <- Map(function(form, problem) {
    form_risk(form, problem$features, problem$residuals, problem$design)
  }, fit$forms, notion_problems(predictions, fit$notion))
  add_risks(parts)
}

add_risks <- function(parts) {
  fields <- c("risk", "projections", "zero_risk", "zero_projections", "squared")
  sums <- parts[[1]][fields]
  for (part in parts[-1]) sums <- Map(`+`, sums, part[fields])
  # missing values of a user's function are left out where it says so (a form or its risk)
  if (isTRUE(parts[[1]]$na_rm)) sums$squared <- sums$squared[!is.na(sums$squared)]
  sums$design <- parts[[1]]$design
  sums
}

# NA where h = 0 has no risk: nothing can be gained over it.
skill_of <- function(risk, zero_risk) if (isTRUE(zero_risk > 0)) 1 - risk / zero_risk else NA_real_ * risk

risk_row <- function(parts, level, predictions) {
  design <- predictions$design
  std_error <- risk_std_error(parts$projections, design)
  root <- sqrt(max(parts$risk, 0))
  columns_frame(
    risk = parts$risk,
    root_risk = root,
    std.error = std_error,
    n = length(parts$squared),
    root_std.error = if (isTRUE(root > 0)) std_error / (2 * root) else NA_real_,
    zero_risk = parts$zero_risk,
    skill = skill_of(parts$risk, parts$zero_risk),
    estimate = sqrt(max(mean_squared(parts$squared, design = design), 0)),
    lower_bound = ce_lower_bound(paired_difference(parts$zero_projections, parts$projections, design), level, design)
  )
}
