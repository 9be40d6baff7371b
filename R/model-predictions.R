# From a fitted model to a data frame that every function takes: the new data with columns of predictions.

#' Predictions of a fitted model
#'
#' The predictions of a model for new data, in columns added to those data, in the form that every function of this
#' package takes: columns of probabilities, or a column of predictive distributions. The names of the columns say what
#' they are probabilities of.
#'
#' @section Models:
#' \describe{
#'   \item{Two classes}{One column, `.pred_{event}`: the probability of the event as the model has it, which is the
#'     second level of its outcome (`1`, `TRUE`; `.pred_event` where it has no name, as for counts of successes).
#'     [stats::glm()] and mgcv's `gam()` of a binomial family; classifiers as in the next line.}
#'   \item{Several classes}{A column per class: `ranger(probability = TRUE)`, `randomForest()`, caret's `train()`,
#'     `nnet::multinom()`, `MASS::polr()`, `MASS::lda()`, `rpart()`, `gam(family = multinom())`, fits and workflows of
#'     tidymodels.}
#'   \item{Numbers}{A column `.pred` of predictive distributions. [stats::lm()], and glm and gam of a Gaussian family:
#'     normal, with the sum of the variances of the residuals and of the fitted mean. Families Poisson, Gamma and
#'     negative binomial: the distribution at the fitted mean. `gam(family = gaulss())`: its mean and standard
#'     deviation. `ranger(quantreg = TRUE)`: the quantiles 1%, 3%, ..., 99%.}
#'   \item{Survival}{With `horizon`: a column `.pred_event`, the probability of the event by this time.
#'     `survival::coxph()`, survival forests of ranger, censored regression of tidymodels; see [ce_horizon()].}
#'   \item{Posterior draws}{Models of rstanarm and brms, by the generics of rstantools: probabilities are posterior
#'     means of `posterior_epred()`, numbers have the draws of `posterior_predict()` as their distribution.}
#'   \item{Several models}{A list of models gives a list of such data frames, for [ce_compare()], [ce_rank()] and
#'     [ce_curve()].}
#' }
#' For another model add its predictions to the data yourself, as a column named `.pred_{level}`, or write a method.
#'
#' Predict rows that the model has not seen: on those of its fit most models look better calibrated than they are, and
#' forests worse.
#'
#' @param model A fitted model, or a list of them.
#' @param newdata A data frame with the predictors, and best the outcome.
#' @param ... Passed on to the model's `predict()`, or to the generics of rstantools.
#' @param horizon For survival models: the time by which the event is predicted.
#' @return `newdata` with columns `.pred_*` or `.pred`; of a list of models a list. Rows for which the model has no
#'   prediction have `NA`.
#' @section Errors:
#' `calibrisk_error_model` for models that are not known here or that predict no probabilities,
#' `calibrisk_error_columns` where `newdata` has the columns already, `calibrisk_error_argument`.
#' @export
#' @examples
#' cars <- transform(mtcars, am = factor(am, labels = c("automatic", "manual")))
#' set.seed(1)
#' train <- sample(nrow(cars), 20)
#' new <- ce_predictions(glm(am ~ wt, binomial, cars[train, ]), cars[-train, ])
#' new[c("am", ".pred_manual")]
#' ece(new, am, n_bins = 3)
#'
#' ce_score(ce_predictions(lm(mpg ~ wt, cars[train, ]), cars[-train, ]), mpg, score = "crps")
ce_predictions <- function(model, newdata, ...) {
  if (missing(newdata) && any(names(list(...)) %in% argument_words$newdata)) {
    check_dot_names(enquos(...), current_env(), "{.arg newdata} must be given.")
  }
  for (arg in c("model", "newdata")) {
    word <- bare_words(arg, current_env(), caller_env())
    stop_if(length(word) > 0, "{.arg {arg}} must be {if (arg == 'model') 'a fitted model' else 'a data frame'}.",
            "x" = "There is no object {.code {word[1]}}.",
            remedy("Fit the model first, then give it with rows that it has not seen, as in",
                   "ce_predictions(glm(outcome ~ ., binomial, train), test)"), arg = arg)
  }
  UseMethod("ce_predictions")
}

#' @export
ce_predictions.default <- function(model, newdata, ...) {
  stop_input(
    "{.arg model} must be one of the models that {.fn ce_predictions} knows, see its help.",
    "x" = "It is {.cls {class(model)[1]}}.",
    if (is.data.frame(model) && !missing(newdata) && is_model(newdata)) {
      remedy("The model comes first", swapped_model(current_env()))
    } else {
      c("i" = "For another model add its predictions as a column: {.code newdata$.pred_yes <- predict(...)}, named \\
               after the level of the outcome.")
    }, class = c("model", "argument"), arg = "model", call = NULL
  )
}

swapped_model <- function(call) {
  typed <- typed_call(call)
  mended_line(call, list(model = typed_argument(typed, "newdata"), newdata = typed_argument(typed, "model")))
}

#' @export
ce_predictions.list <- function(model, newdata, ...) {
  if (!is.null(attr(model, "class"))) return(ce_predictions.default(model))
  stop_if(length(model) == 0, "{.arg model} must hold at least one model.", "x" = "It is an empty list.", arg = "model",
          call = NULL)
  names(model) <- list_names(model, rep("model", length(model)))
  lapply(setNames(nm = names(model)), function(name) {
    in_model(ce_predictions(model[[name]], newdata, ...), name, NULL)
  })
}

# ---- what the methods share ---------------------------------------------------------------------------------------

# `package`: of the model, with its predict() method, which a model read from a file does not load.
check_newdata <- function(newdata, package = character()) {
  stop_if(
    missing(newdata) || !is.data.frame(newdata), "{.arg newdata} must be a data frame of rows to predict.",
    "x" = if (missing(newdata)) "It is missing." else "It is {.cls {class(newdata)[1]}}.",
    remedy("Give rows that were not used to fit the model, with their outcomes", "ce_predictions(model, newdata)"),
    arg = "newdata", call = NULL
  )
  rlang::check_installed(package, reason = "to predict from its model.")
}

# predict(), whose errors say what the data lack.
predict_rows <- function(model, newdata, ...) {
  rlang::try_fetch(stats::predict(model, newdata, ...), error = function(cnd) {
    used <- tryCatch(all.vars(stats::delete.response(stats::terms(model))), error = function(cnd) character())
    absent <- setdiff(used, names(newdata))
    stop_input("{.arg newdata} must have the columns that the model was fitted to.",
               "x" = if (length(absent) > 0) "It has no {.field {absent}}." else "The model's {.fn predict} failed.",
               "i" = "Its columns are {.field {names(newdata)}}.", class = c("model", "columns"), arg = "newdata",
               parent = if (length(absent) == 0) cnd, call = NULL)
  })
}

add_columns <- function(newdata, columns) {
  taken <- intersect(names(columns), names(newdata))
  stop_if(length(taken) > 0, "{.arg newdata} must not have the columns of predictions yet.",
          "x" = "It has {.field {taken}}.",
          remedy("Drop what it has, as in", paste0("subset(newdata, select = -", taken[1], ")")), class = "columns",
          arg = "newdata", call = NULL)
  if (!inherits(newdata, "grouped_df")) newdata <- tibble::as_tibble(newdata)
  for (name in names(columns)) newdata[[name]] <- columns[[name]]
  newdata
}

# The probability of the event.
add_event <- function(newdata, prob, event = "event") {
  add_columns(newdata, setNames(list(unname(as.vector(prob))), paste0(".pred_", event)))
}

# A matrix with a column per class: of two classes the second.
add_classes <- function(newdata, probs, levels = colnames(probs)) {
  probs <- unclass(as.matrix(probs))
  if (length(levels) == 2) return(add_event(newdata, probs[, 2], levels[2]))
  add_columns(newdata, setNames(lapply(seq_along(levels), function(k) unname(probs[, k])), paste0(".pred_", levels)))
}

add_law <- function(newdata, law) add_columns(newdata, list(.pred = law))

# Name of what a binomial model is the probability of: R's is the second level.
event_of <- function(model) {
  y <- tryCatch(stats::model.response(stats::model.frame(model)), error = function(cnd) NULL)
  if (is.character(y)) y <- factor(y)
  if (is.factor(y)) return(if (nlevels(y) == 2) levels(y)[2] else "event")
  if (is.logical(y)) return("TRUE")
  if (is.numeric(y) && is.null(dim(y)) && all(y %in% 0:1)) "1" else "event"
}

stop_no_probabilities <- function(what, remedy, .envir = parent.frame()) {
  stop_input("The model must predict probabilities or distributions.", "x" = what, "i" = remedy, class = "model",
             arg = "model", call = NULL, .envir = .envir)
}

check_horizon_given <- function(horizon) {
  stop_if(is.null(horizon), "Survival models need a {.arg horizon}.",
          "i" = "{.code horizon = 5}: the probability of the event by time 5.", class = c("horizon", "argument"),
          arg = "horizon", call = NULL)
  check_number(horizon, call = NULL)
}

# ---- R's own models -----------------------------------------------------------------------------------------------

#' @export
ce_predictions.glm <- function(model, newdata, ...) {
  check_newdata(newdata)
  add_family(model, newdata, stats::family(model), ...)
}

#' @export
ce_predictions.lm <- function(model, newdata, ...) {
  check_newdata(newdata)
  if (inherits(model, "mlm")) {
    stop_no_probabilities("It has several outcomes.", "Give one model for each.")
  }
  fit <- predict_rows(model, newdata, se.fit = TRUE, ...)
  add_law(newdata, pred_normal(unname(fit$fit), sqrt(fit$se.fit^2 + fit$residual.scale^2)))
}

#' @export
ce_predictions.gam <- function(model, newdata, ...) {
  check_newdata(newdata, "mgcv")
  family <- stats::family(model)
  mean <- function() predict_rows(model, newdata, type = "response", ...)
  if (family$family == "multinom") {
    probs <- mean()
    return(add_classes(newdata, probs, as.character(seq_len(ncol(probs)) - 1L)))
  }
  if (family$family == "gaulss") {
    fit <- mean()
    return(add_law(newdata, pred_normal(fit[, 1], 1 / fit[, 2])))
  }
  add_family(model, newdata, family, ...)
}

# For a generalised linear or additive model.
add_family <- function(model, newdata, family, ...) {
  name <- family$family
  mean <- function() unname(as.vector(predict_rows(model, newdata, type = "response", ...)))
  if (name %in% c("binomial", "quasibinomial")) return(add_event(newdata, mean(), event_of(model)))
  if (name == "poisson") return(add_law(newdata, pred_poisson(mean())))
  if (name == "Gamma") {
    shape <- 1 / (model$sig2 %||% summary(model)$dispersion)
    return(add_law(newdata, pred_gamma(shape, shape / mean())))
  }
  if (startsWith(name, "Negative Binomial")) {
    # of MASS::glm.nb(), else of mgcv::nb() and negbin()
    size <- if (is.numeric(model$theta)) model$theta else family$getTheta(TRUE)
    return(add_law(newdata, pred_negbin(mean(), size)))
  }
  if (name == "gaussian") {
    fit <- predict_rows(model, newdata, type = "response", se.fit = TRUE, ...)
    variance <- model$sig2 %||% summary(model)$dispersion
    return(add_law(newdata, pred_normal(unname(as.vector(fit$fit)), sqrt(as.vector(fit$se.fit)^2 + variance))))
  }
  stop_no_probabilities(
    "The family {.val {name}} has no distribution here.",
    "Known are binomial, gaussian, poisson, Gamma and negative binomial; for another give {.fn pred_draws}."
  )
}

#' @rdname ce_predictions
#' @export
ce_predictions.coxph <- function(model, newdata, ..., horizon = NULL) {
  check_newdata(newdata, "survival")
  check_horizon_given(horizon)
  used <- intersect(all.vars(stats::delete.response(stats::terms(model))), names(newdata))
  known <- stats::complete.cases(as.data.frame(newdata)[used])
  prob <- rep(NA_real_, nrow(newdata))
  if (any(known)) {
    curves <- survival::survfit(model, newdata = as.data.frame(newdata)[known, , drop = FALSE], ...)
    prob[known] <- 1 - as.vector(summary(curves, times = horizon, extend = TRUE)$surv)
  }
  add_event(newdata, prob)
}

# ---- classifiers --------------------------------------------------------------------------------------------------

#' @rdname ce_predictions
#' @export
ce_predictions.ranger <- function(model, newdata, ..., horizon = NULL) {
  check_newdata(newdata, "ranger")
  kind <- model$treetype
  if (kind == "Classification") {
    stop_no_probabilities("It is a forest of class votes.", "Fit it with {.code ranger(probability = TRUE)}.")
  }
  if (kind == "Regression") {
    if (is.null(model$random.node.values)) {
      stop_no_probabilities("It is a forest of means.", "Fit it with {.code ranger(quantreg = TRUE)}.")
    }
    levels <- seq(0.01, 0.99, by = 0.02)
    fit <- predict_rows(model, newdata, type = "quantiles", quantiles = levels, ...)
    return(add_law(newdata, pred_quantiles(unname(fit$predictions), levels)))
  }
  if (kind == "Survival") {
    check_horizon_given(horizon)
    fit <- predict_rows(model, newdata, ...)
    at <- findInterval(horizon, fit$unique.death.times)
    return(add_event(newdata, if (at == 0) rep(0, nrow(newdata)) else 1 - fit$survival[, at]))
  }
  add_ordered(newdata, predict_rows(model, newdata, ...)$predictions, model$forest$levels)
}

# Classes in the order of the outcome's levels, for any order of the columns.
add_ordered <- function(newdata, probs, levels = NULL) {
  if (!is.null(levels) && setequal(levels, colnames(probs))) probs <- probs[, levels, drop = FALSE]
  add_classes(newdata, probs)
}

#' @export
ce_predictions.randomForest <- function(model, newdata, ...) {
  check_newdata(newdata, "randomForest")
  if (model$type == "regression") {
    stop_no_probabilities("It is a forest of means.", "{.code ranger::ranger(quantreg = TRUE)} predicts distributions.")
  }
  add_ordered(newdata, predict_rows(model, newdata, type = "prob", ...), model$classes)
}

#' @export
ce_predictions.train <- function(model, newdata, ...) {
  check_newdata(newdata, "caret")
  if (model$modelType != "Classification") {
    stop_no_probabilities("It predicts means.", "Give the model itself, {.code model$finalModel}, where that is known.")
  }
  if (!is.function(model$modelInfo$prob)) {
    stop_no_probabilities("Its method {.val {model$method}} has none.", "Choose a method with class probabilities.")
  }
  add_ordered(newdata, predict_rows(model, newdata, type = "prob", na.action = stats::na.pass, ...), model$levels)
}

#' @export
ce_predictions.multinom <- function(model, newdata, ...) {
  check_newdata(newdata, if (inherits(model, "polr")) "MASS" else "nnet")
  probs <- predict_rows(model, newdata, type = "probs", ...)
  if (length(model$lev) == 2) return(add_event(newdata, probs, model$lev[2]))
  add_classes(newdata, matrix(probs, nrow(newdata), dimnames = list(NULL, model$lev)))
}

#' @export
ce_predictions.polr <- ce_predictions.multinom

#' @export
ce_predictions.lda <- function(model, newdata, ...) {
  check_newdata(newdata, "MASS")
  add_classes(newdata, predict_rows(model, newdata, ...)$posterior)
}

#' @export
ce_predictions.qda <- ce_predictions.lda

#' @export
ce_predictions.rpart <- function(model, newdata, ...) {
  check_newdata(newdata, "rpart")
  if (model$method != "class") {
    stop_no_probabilities("It is a tree of the method {.val {model$method}}.",
                          "Fit it with {.code method = \"class\"}.")
  }
  add_classes(newdata, predict_rows(model, newdata, type = "prob", ...))
}

# ---- tidymodels ---------------------------------------------------------------------------------------------------

#' @rdname ce_predictions
#' @export
ce_predictions.model_fit <- function(model, newdata, ..., horizon = NULL) {
  spec <- if (inherits(model, "workflow")) model$fit$actions$model$spec else model$spec
  add_parsnip(model, newdata, spec$mode, horizon, ...)
}

#' @rdname ce_predictions
#' @export
ce_predictions.workflow <- ce_predictions.model_fit

add_parsnip <- function(model, newdata, mode, horizon, ...) {
  check_newdata(newdata, if (inherits(model, "workflow")) "workflows" else "parsnip")
  if (mode == "classification") {
    probs <- predict_rows(model, newdata, type = "prob", ...)
    return(add_classes(newdata, probs, sub("^[.]pred_", "", names(probs))))
  }
  if (mode == "censored regression") {
    check_horizon_given(horizon)
    fit <- predict_rows(model, newdata, type = "survival", eval_time = horizon, ...)
    return(add_event(newdata, 1 - vapply(fit$.pred, function(one) one$.pred_survival[1], 0)))
  }
  stop_no_probabilities("It predicts means.",
                        "Give the model of its engine, {.code parsnip::extract_fit_engine(model)}.")
}

# ---- posterior draws ----------------------------------------------------------------------------------------------

#' @export
ce_predictions.stanreg <- function(model, newdata, ...) {
  check_newdata(newdata, "rstantools")
  draws <- function(generic) getExportedValue("rstantools", generic)(model, newdata = newdata, ...)
  family <- stats::family(model)$family
  if (family %in% c("binomial", "bernoulli")) {
    return(add_event(newdata, colMeans(draws("posterior_epred")), event_of(model)))
  }
  if (family %in% c("categorical", "cumulative", "acat", "sratio", "cratio")) {
    probs <- apply(draws("posterior_epred"), c(2, 3), mean) # draws x rows x classes
    return(add_classes(newdata, probs))
  }
  add_law(newdata, pred_draws(t(unclass(draws("posterior_predict")))))
}

#' @export
ce_predictions.brmsfit <- ce_predictions.stanreg
