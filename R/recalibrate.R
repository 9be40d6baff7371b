#' Recalibrate predictions
#'
#' Fits a map that turns predicted probabilities (or variances) into calibrated ones. Fit it on
#' data that trained no model, and judge it on other data again: [ce_gain()] gives the improvement
#' with its standard error, and `folds` gives every row a prediction by a map that has not seen it.
#'
#' @section Definition:
#' With \eqn{l = \log p} (or the log-softmax of logits) and \eqn{\sigma} the softmax:
#' \describe{
#'   \item{`"temperature"`}{\eqn{\sigma(l / T)}, \eqn{T > 0} (Guo et al. 2017). Newton's method on
#'     \eqn{1/T}, in which the log loss is convex.
#'     Predictive densities (`x` a vector or column of normal, multivariate normal or Laplace distributions, `truth` the
#'     outcome) become \eqn{p^{1/T}}, normalised: variances or covariances times T, Laplace scales times T (Widmann et
#'     al. 2021, appendix F). The best T of the log score is then a mean: of squared standardised residuals, over the
#'     dimension, or of the absolute residuals over the scale.}
#'   \item{`"ets"`}{\eqn{w_1 \sigma(l/T) + w_2\, p + w_3 / K} with weights on the simplex (Zhang et al. 2020).
#'     First \eqn{T}, then the weights: for the Brier score the exact solution of the quadratic
#'     programme, for the log score EM with a certificate for what is left to gain.}
#'   \item{`"diag"`}{\eqn{\sigma(m(l_1), \ldots, m(l_K))} with one increasing function \eqn{m}, the integral of a
#'     positive ReLU network (Rahimi et al. 2020), started at the temperature solution.}
#'   \item{`"vector"`, `"matrix"`}{\eqn{\sigma(w \circ l + b)} and \eqn{\sigma(W l + b)} (Guo et al. 2017).}
#'   \item{`"dirichlet"`}{As `"matrix"`, with off-diagonal and intercept regularisation (Kull et al. 2019);
#'     `penalty` defaults to 0.01.}
#'   \item{`"platt"`, `"beta"`}{The event's logit is \eqn{a\,\mathrm{logit}(p) + c}, resp.
#'     \eqn{a \log p - b \log(1-p) + c} with \eqn{a, b \ge 0} (Kull et al. 2017).}
#'   \item{`"isotonic"`, `"histogram"`}{The increasing least squares fit, linear between its steps' ends; the outcome's
#'     mean per bin (an empty bin keeps its midpoint).}
#'   \item{`"constant_confidence"`, `"label_frequency"`}{The top label gets the accuracy of the fit and the others share
#'     the rest equally, resp. every prediction becomes the label frequencies among the fitted rows with its top label
#'     (of all rows for a label that was never predicted; Gruber & Buettner 2022, Proposition D.2 and appendix E.1).
#'     Demonstrations, not remedies: the first makes ECE, TCE_p, KS and MMCE of the fitted rows zero, the second even
#'     CE_p, by throwing the predictions away.}
#'   \item{`"variance"`}{Regression: \eqn{\sigma^2 \to w \sigma^2 + b}, \eqn{w, b \ge 0}, mean unchanged, by the mean
#'     Dawid-Sebastiani score (Gruber & Buettner 2022, section 5 and appendix G.5). Here `x` holds two columns, mean and
#'     variance, and `truth` the outcome.}
#' }
#' `"platt"`, `"beta"`, `"isotonic"` and `"histogram"` treat more than two classes one against the rest and
#' divide by the sum (a row of zeros becomes uniform).
#'
#' All maps are functions of the predicted distribution: logits are centred first. Guo et al. apply
#' vector and matrix scaling to raw logits, which carry one number more per row than the prediction does.
#'
#' @section Injective maps:
#' Only for a map that is one to one, and fixed before seeing the data it is judged on, does a difference of proper
#' scores equal the difference of the proper calibration errors (Gruber & Buettner 2022, Proposition 4.5). Others
#' also lose sharpness. `glance()$injective` says which case it is, `x$injective$reason` why.
#'
#' @section Invariants:
#' Temperature, ETS and DIAG never change the order of the classes (ties aside), so accuracy stays. On the rows of the
#' fit and with the same `loss`, the objective never gets worse (except by the two demonstrations, and by
#' one-against-the-rest maps of more than two classes), and ETS and DIAG are at least as good as temperature. At the
#' temperature optimum of the log loss the mean of \eqn{\sum_k p_k l_k} equals the mean of \eqn{l_y}; at the optimum of
#' the variance map the mean squared residual over variance is 1.
#'
#' @section Errors:
#' Where the optimum is at infinity (labels that the predictions separate, a class that never
#' occurs), the result stands at the bound or where the iterations ended, `glance()$converged` is `FALSE` and a
#' warning of class `calibrisk_warning_convergence` says so; `penalty > 0` makes it finite (unless the diagonal of
#' `"matrix"` or `"dirichlet"`, which has no penalty, separates by itself). Logits of `-Inf`
#' and probabilities of 0 are floored at `floor`; `+Inf` is an error of class `calibrisk_error_logits`.
#'
#' @param x A data frame, a numeric matrix with one column per class, or a numeric vector of
#'   probabilities of the event; with `logits = TRUE` the logits instead.
#' @param truth The outcomes: a column of a data frame `x`, else a factor or integers `1..K`, or
#'   logical or 0/1 for a vector `x`.
#' @param ... <[`tidy-select`][tidyselect::language]> Probability columns of a data frame; by default those
#'   that start with `.pred_`.
#' @param method The map, see Definition.
#' @param logits Whether `x` holds logits.
#' @param loss `"log"` or `"brier"`, what to minimise; by default `"brier"` for `"ets"` and the two
#'   demonstrations (whose parameters are best for both), else `"log"`. `"isotonic"` and `"histogram"` always take
#'   `"brier"`, `"platt"` and `"beta"` `"log"`.
#' @param folds For a cross-fitted version: the number of folds, an integer vector with each
#'   row's fold, or an rsample `rset`.
#' @param penalty Regularisation of `"vector"`, `"matrix"`, `"dirichlet"`, `"platt"` and `"beta"`: the weights of
#'   the mean squared off-diagonal entry (deviation from 1 where there is none) and of the mean squared
#'   intercept; one number for both. For `"diag"` the weight of the parameters' mean squared
#'   deviation from the start (0.001), without which tiny probabilities can be driven to 0.
#' @param hidden Widths of the hidden layers for `"diag"`.
#' @param n_bins,type Number and type of bins for `"histogram"`: of equal `"mass"` or equal `"width"`.
#' @param range Smallest and largest temperature.
#' @param floor Smallest probability whose logarithm is taken.
#' @param event_level Which level of a two-level factor is the event.
#' @param na_rm Whether to drop incomplete rows.
#' @param .by <[`tidy-select`][tidyselect::language]> Groups, one map for each.
#' @param threads Number of threads, see [ce_threads].
#' @param weights,cluster What each row counts, and which rows belong together; see [ece()]. Losses are weighted means
#'   (for `"isotonic"` and `"histogram"` weighted means of outcomes), the rows of a cluster are in one fold, and
#'   standard errors of parameters are those of the scores' influences, by cluster. Rows of frequency 0 have no fitted
#'   prediction.
#' @return A `ce_recalibration`; with groups a [ce_grouped] of them. `tidy()` gives the parameters
#'   (`term, class, estimate, std.error`), `glance()` one row: `method, loss, objective_before,
#'   objective_after` (mean loss on the rows of the fit), `objective_crossfit` (of the cross-fitted predictions; `NA`
#'   without `folds`), `n, n_classes, n_parameters, converged, iterations, injective, folds`. See
#'   [predict.ce_recalibration()].
#' @references `r ref_gruber_buettner()`
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(500)
#' y <- rbinom(500, 1, plogis(0.5 * qlogis(p)))
#' map <- ce_recalibrate(p, y, method = "temperature")
#' map
#' predict(map, c(0.05, 0.5, 0.95))
ce_recalibrate <- function(x, truth, ..., method = "temperature", logits = FALSE, loss = NULL,
                           folds = NULL, penalty = NULL, hidden = c(10, 10), n_bins = 15,
                           type = c("mass", "width"), range = c(0.01, 100),
                           floor = .Machine$double.eps, event_level = "first", na_rm = TRUE,
                           .by = NULL, threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  call <- current_env()
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  spec <- recal_spec(method, loss, penalty, hidden, n_bins, type, range, threads, call)
  check_flag(logits)
  check_flag(na_rm)
  check_number(floor, lower = 0, upper = 0.1, open = TRUE)
  event_level <- check_choice(event_level, c("first", "second"))
  truth <- enquo(truth)
  dots <- column_dots(...)
  objects_by_groups(x, enquo(.by), function(part) {
    if (spec$method == "variance") return(recalibrate_variance(part, truth, dots, spec, folds, na_rm, design, call))
    laws <- if (spec$method == "temperature" && !logits) {
      numeric_laws(part, truth, dots, event_level, na_rm, call, design)
    }
    if (!is.null(laws$law)) {
      check_log_loss(spec, call)
      return(recalibrate_density(laws, spec, density_layout(part), folds, call))
    }
    read <- recal_data(part, truth, dots, logits, floor, event_level, na_rm, spec$threads, call, design)
    recalibrate_probs(read$data, read$layout, spec, folds, call)
  }, call)
}

check_log_loss <- function(spec, call) {
  if (spec$loss != "log") {
    stop_input(c("The temperature of densities is fitted by the log score.",
                 "x" = "{.arg loss} is {.val {spec$loss}}."),
               "argument", arg = "loss", value = spec$loss, call = call)
  }
}

recal_methods <- c("temperature", "vector", "matrix", "ets", "diag", "dirichlet", "beta", "platt",
                   "isotonic", "histogram", "constant_confidence", "label_frequency", "variance")

recal_spec <- function(method, loss, penalty, hidden, n_bins, type, range, threads, call) {
  method <- check_choice(method, recal_methods, call = call)
  natural <- switch(method, ets = , isotonic = , histogram = , constant_confidence = , label_frequency = "brier",
                    variance = "dss", "log")
  choices <- switch(method, isotonic = , histogram = "brier", beta = , platt = "log",
                    variance = "dss", c("log", "brier"))
  loss <- check_choice(loss %||% natural, choices, "loss", call)
  penalty <- penalty %||% switch(method, dirichlet = 0.01, diag = 1e-3, 0)
  check_numbers(penalty, "penalty", lower = 0, call = call)
  check_counts(hidden, "hidden", call = call)
  check_bins(n_bins, call = call)
  check_numbers(range, "range", lower = 0, open = TRUE, size = 2, call = call)
  if (range[1] >= range[2]) {
    stop_input(c(
      "{.arg range} must give the smallest and then the largest temperature.",
      "x" = "It is {range[1]}, {range[2]}."
    ), "argument", arg = "range", value = range, call = call)
  }
  list(method = method, loss = loss, penalty = rep_len(penalty, 2), hidden = as.integer(hidden),
       n_bins = as.integer(n_bins), type = check_choice(type, c("mass", "width"), "type", call),
       range = range, threads = resolve_threads(threads, call))
}

recalibrate_probs <- function(data, layout, spec, folds, call) {
  fit <- fit_map(spec$method, data, spec)
  probs <- map_probs(fit$map, data, spec$threads)
  out <- new_recalibration(
    spec, layout, fit,
    objective = c(before = probs_loss(data$probs, data, spec$loss),
                  after = probs_loss(probs, data, spec$loss)),
    n = length(data$truth), n_classes = ncol(data$probs), kind = data$kind,
    fingerprint = fingerprint(data$source), rows = data$rows, n_rows = data$n_rows
  )
  if (is.null(folds)) {
    out$fitted <- write_like(probs, layout, data$rows, data$n_rows)
  } else {
    out <- cross_fit(out, data, spec, layout, folds, call)
  }
  warn_convergence(fit, spec$method)
  out
}

new_recalibration <- function(spec, layout, fit, ...) {
  structure(
    list(method = spec$method, spec = spec, layout = layout, map = fit$map, terms = fit$terms,
         convergence = fit[c("converged", "iterations", "message")], injective = fit$injective, ...),
    class = "ce_recalibration"
  )
}

# What fit_map() methods return. `terms` is a tibble term, class, estimate, std.error.
new_map_fit <- function(map, terms, converged = TRUE, iterations = NA_integer_, message = "",
                        injective) {
  list(map = map, terms = terms, converged = converged, iterations = as.integer(iterations),
       message = message, injective = injective)
}

new_map <- function(type, ...) structure(list(...), class = c(paste0("ce_map_", type), "ce_map"))

is_injective <- function(value, reason) list(value = value, reason = reason)

map_terms <- function(term, estimate, class = NA_character_, std.error = NA_real_) {
  tibble::tibble(term = term, class = class, estimate = as.numeric(estimate), std.error = std.error)
}

fit_map <- function(method, data, spec) {
  switch(method,
    constant_confidence = fit_constant_confidence(data, spec), label_frequency = fit_label_frequency(data, spec),
    temperature = fit_temperature(data, spec), ets = fit_ets(data, spec),
    vector = , matrix = , dirichlet = fit_linear(data, spec),
    diag = fit_network(data, spec),
    platt = , beta = , isotonic = , histogram = fit_one_vs_rest(data, spec)
  )
}

# Recalibrated probabilities, n x K, of recal data.
map_probs <- function(map, data, threads) UseMethod("map_probs")

# Mean loss of given probabilities. log(0) is infinite: nothing is clipped.
probs_loss <- function(probs, data, loss) {
  p_y <- probs[cbind(seq_along(data$truth), data$truth)]
  row_mean(if (loss == "log") -log(p_y) else rowSums(probs^2) - 2 * p_y + 1, data$design)
}

warn_convergence <- function(fit, method) {
  if (fit$converged) return(invisible())
  warn_result(c(
    "The {.val {method}} map has not reached an optimum.",
    "x" = fit$message,
    "i" = "It is flagged: {.code glance(x)$converged} is {.val {FALSE}}."
  ), "convergence")
}

#' @export
print.ce_recalibration <- function(x, ...) {
  what <- if (x$method == "variance") "variances" else if (x$kind == "distribution") {
    paste("predictions", x$map$family)
  } else if (x$kind == "scalar") "probabilities of the event" else {
    paste(x$n_classes, "classes")
  }
  cat("<ce_recalibration> ", x$method, ", ", count_text(x$n), " predictions, ", what,
      if (!is.null(x$fold)) paste0(", cross-fitted in ", max(x$fold), " folds"), "\n", sep = "")
  names <- c(log = "log loss", brier = "Brier score (sum over classes)", dss = "Dawid-Sebastiani score")
  cat("mean ", names[[x$spec$loss]], " on the fitted rows: ", format(x$objective[["before"]], digits = 5), " -> ",
      format(x$objective[["after"]], digits = 5), "\n", sep = "")
  if (!is.null(x$objective_crossfit)) {
    cat("out of fold: ", format(x$objective_crossfit, digits = 5), "\n", sep = "")
  }
  if (nrow(x$terms) <= 8) {
    cat(paste0(x$terms$term, ifelse(is.na(x$terms$class), "", paste0("[", x$terms$class, "]")), " = ",
               format(x$terms$estimate, digits = 4), collapse = ", "), "\n", sep = "")
  } else {
    cat(nrow(x$terms), " parameters, see tidy()\n", sep = "")
  }
  cat(if (x$injective$value) "injective: " else "not injective: ", x$injective$reason, "\n", sep = "")
  if (!x$convergence$converged) cat("NOT CONVERGED: ", x$convergence$message, "\n", sep = "")
  invisible(x)
}

#' @export
tidy.ce_recalibration <- function(x, ...) x$terms

#' @export
glance.ce_recalibration <- function(x, ...) {
  tibble::tibble(
    method = x$method, loss = x$spec$loss,
    objective_before = x$objective[["before"]], objective_after = x$objective[["after"]],
    objective_crossfit = x$objective_crossfit %||% NA_real_,
    n = x$n, n_classes = x$n_classes, n_parameters = nrow(x$terms),
    converged = x$convergence$converged, iterations = x$convergence$iterations,
    injective = x$injective$value, folds = if (is.null(x$fold)) NA_integer_ else max(x$fold)
  )
}
