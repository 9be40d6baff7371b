#' Recalibrate predictions
#'
#' Fits a map that turns predicted probabilities (or variances) into calibrated ones. Fit the map on data that the model
#' was not trained on, and evaluate it on a third data set ([ce_gain()]). With `folds`, every row also gets a prediction
#' from a map that was fitted without it.
#'
#' @section Definition:
#' Let \eqn{l = \log p} (or the log-softmax of the logits), and let \eqn{\sigma} be the softmax function.
#' \describe{
#'   \item{`"temperature"`}{\eqn{\sigma(l / T)}, \eqn{T > 0}. `x` may also be a vector or column of normal, multivariate
#'     normal or Laplace distributions, whose variances, covariances or scales are multiplied by T.}
#'   \item{`"ets"`}{\eqn{w_1 \sigma(l/T) + w_2\, p + w_3 / K} with weights on the simplex.}
#'   \item{`"diag"`}{\eqn{\sigma(m(l_1), \ldots, m(l_K))} with one increasing function \eqn{m}. The objective
#'     has many minima: integer weights and the repeated rows may lead to different ones.}
#'   \item{`"vector"`, `"matrix"`, `"dirichlet"`}{\eqn{\sigma(w \circ l + b)}, \eqn{\sigma(W l + b)}, and this with a
#'     penalty.}
#'   \item{`"platt"`, `"beta"`}{The event's logit is \eqn{a\,\mathrm{logit}(p) + c}, or \eqn{a \log p - b \log(1-p) + c}
#'     with \eqn{a, b \ge 0}.}
#'   \item{`"update"`}{The smallest change that the data support; see *Updating*.}
#'   \item{`"isotonic"`, `"histogram"`}{The increasing least squares fit; the mean outcome of each bin.}
#'   \item{`"constant_confidence"`, `"label_frequency"`}{Demonstrations, not remedies: they discard the predictions.}
#'   \item{`"variance"`}{For regression: \eqn{\sigma^2 \to w \sigma^2 + b}. `x` has columns for mean and variance.}
#' }
#' `"platt"` to `"histogram"` treat each of more than two classes against the rest, and then divide by the sum.
#' *Notation* has the details.
#' @section Updating:
#' `"update"` compares a restricted cubic spline of the logit with each smaller model, in this order and each at the
#' level `alpha`: no change, the intercept alone, intercept and slope. The first one that is not significantly worse is
#' chosen; if all are worse, the flexible one (closed testing, Vergouwe et al. 2017). Predictions that need no change
#' are left alone with probability 1 - `alpha`.
#' @section Injective maps:
#' A difference of proper scores is the difference of the calibration errors only for a one-to-one map that was fitted
#' on other data: `glance(map)$injective`.
#' @section Errors:
#' Those of [ce_args]. If the predictions separate the labels or a class never occurs, the optimum may be at infinity:
#' `glance()$converged` is `FALSE`, with a warning of class `calibrisk_warning_convergence`.
#' @param x Predictions, see [ce_args]; logits, or distributions.
#' @param method A map such as `map_beta()`, or its name; see [ce_maps].
#' @param logits Whether `x` holds logits.
#' @param folds `NULL`, or folds for cross-fitted predictions: a number, a vector or an `rset`.
#' @param floor Smallest probability whose logarithm is taken.
#' @inheritParams ce_args
#' @return A `ce_recalibration`; with groups a [ce_grouped] of them. `tidy()` returns the parameters (`term`, `class`,
#'   `estimate`, `std.error`), or for `"update"` the tests. The `std.error` of a temperature T is that of \eqn{\log T}:
#'   an interval is `exp(log(T) + c(-1, 1) * 1.96 * std.error)`. `glance()` returns one row with `method`, `loss`,
#'   `objective_before`, `objective_after` and `objective_crossfit` (mean losses), `n`,
#'   `n_classes`, `n_parameters`, `converged`, `iterations`, `injective` and `folds`. See [predict.ce_recalibration()].
#' @references `r ref_gruber_buettner`
#'
#' Vergouwe et al. (2017). A closed testing procedure. *Statistics in Medicine* 36, 4529-4539. \doi{10.1002/sim.7179}
#' @concept temperature scaling
#' @concept Platt scaling
#' @concept isotonic regression
#' @concept recalibration
#' @concept model updating
#' @concept logits
#' @concept overconfidence
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(500)
#' y <- rbinom(500, 1, plogis(0.5 * qlogis(p)))
#' map <- ce_recalibrate(p, y, method = "temperature")
#' map
#' predict(map, c(0.05, 0.5, 0.95))
#' tidy(ce_recalibrate(p, y, method = "update"))
ce_recalibrate <- function(x, truth, ..., method = "temperature", logits = FALSE, folds = NULL,
                           floor = .Machine$double.eps, event_level = "first", .by = NULL, weights = NULL,
                           cluster = NULL, horizon = NULL) {
  method <- as_choice(method, "map")
  check_flag(logits)
  check_number(floor, lower = 0, upper = 0.1, open = TRUE)
  event_level <- check_choice(event_level, c("first", "second"))
  input <- c(rows_input(copies = TRUE), list(logits = logits, floor = floor, folds = folds))
  objects_by_groups(x, input$by, function(part) recalibrate(method, part, input))
}

# The map of a data set or a group; `input`: the other arguments of ce_recalibrate().
recalibrate <- function(method, part, input) UseMethod("recalibrate")

# Probabilities of classes.
#' @export
recalibrate.ce_choice <- function(method, part, input) {
  read <- recal_data(part, input)
  data <- deal_copies(read$data, input$folds)
  loss <- map_loss(method)
  of <- c(map_of_rows(method, data), list(
    before = function() row_mean(of_given(cpp_class_losses, data, data$truth, loss), data$design),
    # log(0) is infinite: nothing is clipped
    loss = function(probs) {
      losses <- if (loss == "log") cpp_log_rows(probs, data$truth, 0) else cpp_brier_rows(probs, data$truth)
      row_mean(losses, data$design)
    },
    write = function(probs) write_like(probs, read$layout, data$rows, data$n_rows)
  ))
  with_read(fit_recalibration(method, of, data, read$layout, input$folds, n_classes = class_count(data),
                              kind = if (is_scalar(data)) "scalar" else "matrix",
                              fingerprint = fingerprint(data$given)), read$predictions)
}

# The map of some rows of recal data, and the probabilities that it makes of others.
map_of_rows <- function(method, data) {
  force(list(method))
  some <- function(rows) if (length(rows) == data$design$n) data else take_rows(data, rows)
  list(fit = function(rows) fit_map(method, some(rows)), apply = function(fit, rows) map_probs(fit$map, some(rows)))
}

# A map fitted to all rows. With `folds` a row's prediction is of a map that was fitted to the other folds.
#   of      list(fit(rows), apply(fit, rows): predictions, a matrix, loss(predictions), before(): the loss of those that
#           were given, write(predictions): as they were given)
#   data    list(design, rows, n_rows), as recal data; `fold` where copies have been dealt to folds
fit_recalibration <- function(method, of, data, layout, folds, ...) {
  n <- data$design$n
  fit <- of$fit(seq_len(n))
  after <- of$apply(fit, seq_len(n))
  out <- structure(
    list(method = method$name, choice = method, loss = map_loss(method), layout = layout, map = fit$map,
         terms = fit$terms, covariance = fit$covariance, tests = fit$tests,
         convergence = fit[c("converged", "iterations", "message")],
         injective = fit$injective, counted = design_sentence(list(data$design)),
         objective = c(before = of$before(), after = of$loss(after)), n = copy_count(data$design), ...,
         rows = data$rows, n_rows = data$n_rows),
    class = c("ce_recalibration", "ce_result")
  )
  if (!is.null(folds)) {
    cluster <- data$design$cluster
    out$fold <- data$fold %||% given_folds(folds, n, data$rows, data$n_rows, cluster) %||%
      make_split(n, folds, test = integer(), cluster = cluster)$fold
    found <- cross_fit(out$fold, after, of)
    after <- found$values
    out$fold_terms <- lapply(found$fits, `[[`, "terms")
    for (f in which(!vapply(found$fits, `[[`, NA, "converged"))) {
      out$convergence <- found$fits[[f]][c("converged", "iterations", "message")]
      out$convergence$message <- paste0("Fold ", f, ": ", out$convergence$message)
      warn_convergence(out$convergence, method$name)
    }
    out$objective_crossfit <- of$loss(after)
    if (!is.null(data$fold)) {
      # a row has the mean of its copies
      row <- cluster_codes(data$rows)
      after[] <- (sum_by_cluster(data$design$w * after, row) / sum_by_cluster(data$design$w, row))[row, ]
    }
  }
  out$fitted <- of$write(after)
  warn_convergence(fit, method$name)
  out
}

# The result of fit_map() methods. `terms` is a tibble term, class, estimate, std.error; `tests` are those by which the
# map was chosen, or NULL, `covariance` that of the estimates.
new_map_fit <- function(map, terms, converged = TRUE, iterations = NA_integer_, message = "",
                        injective, tests = NULL, covariance = NULL) {
  list(map = map, terms = terms, converged = converged, iterations = as.integer(iterations),
       message = message, injective = injective, tests = tests, covariance = covariance)
}

new_map <- function(type, ...) structure(list(...), class = c(paste0("ce_map_", type), "ce_map"))

injectivity <- function(value, yes, no = yes) list(value = value, reason = if (value) yes else no)

map_terms <- function(term, estimate, class = NA_character_, std.error = NA_real_) {
  n <- length(estimate)
  columns_frame(term = rep_len(term, n), class = rep_len(class, n), estimate = as.numeric(estimate),
                std.error = rep_len(std.error, n))
}

# new_map_fit() of recal data.
fit_map <- function(method, data) UseMethod("fit_map")

# The loss that a map minimises, and by which it is reported.
map_loss <- function(method) {
  method$loss %||% switch(method$name, isotonic = , histogram = "brier", variance = "dss", "log")
}

# Recalibrated probabilities, n x K, of recal data.
map_probs <- function(map, data) UseMethod("map_probs")

warn_convergence <- function(fit, method) {
  warn_if(!fit$converged, "The {.val {method}} map has not reached an optimum.", "x" = "{fit$message}",
          "i" = "It is flagged: {.code glance(x)$converged} is {.val {FALSE}}.", class = "convergence")
}

#' @rdname predict.ce_recalibration
#' @export
tidy.ce_recalibration <- function(x, type = NULL, ...) {
  type <- check_choice(type %||% if (is.null(x$tests)) "parameters" else "tests", c("parameters", "tests"))
  if (type == "parameters") return(x$terms)
  stop_if(is.null(x$tests), "Only the map {.val update} is chosen by tests.", "x" = "It is {.val {x$method}}.",
          arg = "type", value = type)
  x$tests
}

# The parameters of the map; with a logistic model whose logits it stretches and moves, the coefficients of both in one.
#' @rdname predict.ce_recalibration
#' @importFrom stats coef
#' @export
coef.ce_recalibration <- function(object, model = NULL, ...) {
  check_empty(...)
  terms <- object$terms
  own <- setNames(terms$estimate, paste0(terms$term, ifelse(is.na(terms$class), "", paste0("[", terms$class, "]"))))
  if (is.null(model)) return(own)
  beta <- line_coefficients(object, own, model)
  at <- function(name, default) if (name %in% names(own)) own[[name]] else default
  out <- at("slope", 1) * beta
  out["(Intercept)"] <- out["(Intercept)"] + at("intercept", 0)
  out
}

# The covariance of the same numbers. Those of the model, which is fitted to other rows, are taken as known.
#' @rdname predict.ce_recalibration
#' @importFrom stats vcov
#' @export
vcov.ce_recalibration <- function(object, model = NULL, ...) {
  check_empty(...)
  own <- stats::coef(object)
  # the error of a temperature is that of its logarithm
  v <- if (identical(names(own), "temperature")) matrix((own * object$terms$std.error)^2) else object$covariance
  stop_if(is.null(v), "The parameters of this map have no covariance matrix.",
          "x" = "The map is {.val {object$method}} of {object$n_classes %||% 'no'} classes.", class = "unsupported",
          arg = "object")
  dimnames(v) <- list(names(own), names(own))
  if (is.null(model)) return(v)
  beta <- line_coefficients(object, own, model)
  by <- cbind(slope = beta, intercept = as.numeric(names(beta) == "(Intercept)"))[, names(own), drop = FALSE]
  by %*% v %*% t(by)
}

# The coefficients of a model whose linear predictor the map moves along a line.
line_coefficients <- function(object, own, model) {
  linear <- object$method %in% c("update", "platt") && all(names(own) %in% c("slope", "intercept"))
  stop_if(!linear, "Only a line in the logit has an equation on the terms of a model.",
          "x" = "The map is {.val {object$method}} with the parameters {.field {names(own)}}.", class = "unsupported",
          arg = "object")
  logistic <- inherits(model, "glm") && identical(model$family$link, "logit") && is.null(model$offset)
  stop_if(!logistic || !"(Intercept)" %in% names(stats::coef(model)),
          "{.arg model} must be a logistic {.fn glm} with an intercept, and without an offset.",
          "x" = "It is {.cls {class(model)[1]}}.", arg = "model")
  stats::coef(model)
}

#' @export
glance.ce_recalibration <- function(x, ...) {
  columns_frame(
    method = x$method, loss = x$loss,
    objective_before = x$objective[["before"]], objective_after = x$objective[["after"]],
    objective_crossfit = x$objective_crossfit %||% NA_real_,
    n = x$n, n_classes = x$n_classes, n_parameters = nrow(x$terms),
    converged = x$convergence$converged, iterations = x$convergence$iterations,
    injective = x$injective$value, folds = if (is.null(x$fold)) NA_integer_ else max(x$fold)
  )
}
