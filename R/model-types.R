# ce_predictions() by the type of the model; what the methods share is in R/model-predictions.R.

# ---- R's own models -----------------------------------------------------------------------------------------------

#' @export
ce_predictions.glm <- function(model, newdata, ...) {
  add_family(model, newdata, stats::family(model), ...)
}

#' @export
ce_predictions.lm <- function(model, newdata, ...) {
  refuse_model(inherits(model, "mlm"), "It has several outcomes.", "Give one model for each.")
  fit <- predict_rows(model, newdata, se.fit = TRUE, ...)
  add_law(newdata, pred_normal, fit$fit, sqrt(fit$se.fit^2 + fit$residual.scale^2))
}

#' @export
ce_predictions.gam <- function(model, newdata, ...) {
  family <- stats::family(model)
  mean <- function() predict_rows(model, newdata, type = "response", ...)
  if (family$family == "multinom") {
    probs <- mean()
    return(add_classes(newdata, probs, as.character(seq_len(ncol(probs)) - 1L)))
  }
  if (family$family == "gaulss") {
    fit <- mean()
    return(add_law(newdata, pred_normal, fit[, 1], 1 / fit[, 2]))
  }
  add_family(model, newdata, family, ...)
}

# For a generalised linear or additive model. `predicted`: a function like predict_rows().
add_family <- function(model, newdata, family, ..., predicted = predict_rows,
                       dispersion = model$sig2 %||% summary(model)$dispersion) {
  name <- family$family
  mean <- function() as.vector(predicted(model, newdata, type = "response", ...))
  if (name %in% c("binomial", "quasibinomial")) return(add_event(newdata, mean(), event_of(model)))
  if (name == "poisson") return(add_law(newdata, pred_poisson, mean()))
  if (name == "Gamma") {
    shape <- 1 / dispersion
    return(add_law(newdata, pred_gamma, shape, shape / mean()))
  }
  if (startsWith(name, "Negative Binomial")) {
    # of MASS::glm.nb(), else of mgcv::nb() and negbin()
    size <- if (is.numeric(model$theta)) model$theta else family$getTheta(TRUE)
    return(add_law(newdata, pred_negbin, mean(), size))
  }
  if (name == "gaussian") {
    fit <- predicted(model, newdata, type = "response", se.fit = TRUE, ...)
    return(add_law(newdata, pred_normal, fit$fit, sqrt(fit$se.fit^2 + dispersion)))
  }
  refuse_model(
    TRUE, cli::format_inline("The family {.val {name}} has no distribution here."),
    "Known are binomial, gaussian, poisson, Gamma and negative binomial; for another give `pred_draws()`."
  )
}

#' @rdname ce_predictions
#' @export
ce_predictions.coxph <- function(model, newdata, ..., horizon = NULL) {
  other <- intersect(class(model), names(unreadable_heirs))
  refuse_model(length(other) > 0, unreadable_heirs[[other[1]]])
  # with risks from other states than the first, being in a state is not the event
  refuse_model(NROW(model$transitions) > 0 && any(model$transitions[-1, ] > 0), "Its rows pass through several states.")
  refuse_model(!is.null(model$frail), "It has frailty terms, which new rows do not have.")
  horizon <- model_horizon(horizon, model$states[-1])
  used <- intersect(all.vars(stats::delete.response(stats::terms(model))), names(newdata))
  known <- stats::complete.cases(as.data.frame(newdata)[used])
  prob <- rep(NA_real_, nrow(newdata))
  if (any(known)) {
    rows <- as.data.frame(newdata)[known, , drop = FALSE]
    curves <- predict_rows(model, rows, ..., predict = survival::survfit)
    at <- summary(curves, times = horizon$time, extend = TRUE)
    state <- match(horizon$cause, at$states)
    prob[known] <- if (is.null(model$states)) 1 - as.vector(at$surv) else at$pstate[1, , state]
  }
  add_event(newdata, prob)
}

#' @export
ce_predictions.CauseSpecificCox <- function(model, newdata, ..., horizon = NULL) { # nolint: object_length_linter.
  horizon <- model_horizon(horizon, model$causes %||% model$cause)
  cause <- horizon$cause %||% model$cause
  add_event(newdata, predict_rows(model, newdata, times = horizon$time, cause = cause, ...,
                                  predict = getExportedValue("riskRegression", "predictRisk")))
}

#' @export
ce_predictions.FGR <- ce_predictions.CauseSpecificCox

# ---- rms ----------------------------------------------------------------------------------------------------------

#' @export
ce_predictions.lrm <- function(model, newdata, ...) {
  levels <- names(model$freq)
  type <- if (length(levels) > 2) "fitted.ind" else "fitted"
  add_classes(newdata, predict_rows(model, newdata, type = type, ...), levels)
}

#' @export
ce_predictions.ols <- function(model, newdata, ...) {
  fit <- predict_rows(model, newdata, se.fit = TRUE, ...)
  add_law(newdata, pred_normal, fit$linear.predictors, sqrt(fit$se.fit^2 + model$stats["Sigma"]^2))
}

#' @export
ce_predictions.Glm <- function(model, newdata, ...) {
  add_family(model, newdata, model$family, ..., predicted = predict_link,
             dispersion = stats::summary.glm(model)$dispersion)
}

# rms predicts on the scale of the link alone.
predict_link <- function(model, newdata, type, ..., se.fit = FALSE) {
  fit <- predict_rows(model, newdata, type = "lp", se.fit = TRUE, ...)
  mean <- model$family$linkinv(fit$linear.predictors)
  if (se.fit) list(fit = mean, se.fit = fit$se.fit * abs(model$family$mu.eta(fit$linear.predictors))) else mean
}

# ---- classifiers --------------------------------------------------------------------------------------------------

#' @rdname ce_predictions
#' @export
ce_predictions.ranger <- function(model, newdata, ..., horizon = NULL) {
  kind <- model$treetype
  refuse_model(kind == "Classification", "It is a forest of class votes.", "Fit it with `ranger(probability = TRUE)`.")
  if (kind == "Regression") {
    refuse_model(is.null(model$random.node.values), "It is a forest of means.",
                 "Fit it with `ranger(quantreg = TRUE)`.")
    levels <- seq(0.01, 0.99, by = 0.02)
    fit <- predict_rows(model, newdata, type = "quantiles", quantiles = levels, ...)
    return(add_columns(newdata, list(.pred = pred_quantiles(unname(fit$predictions), levels))))
  }
  if (kind == "Survival") {
    return(add_forest_risk(newdata, predict_rows(model, newdata, ...), horizon))
  }
  add_classes(newdata, predict_rows(model, newdata, ...)$predictions, model$forest$levels)
}

add_forest_risk <- function(newdata, fit, horizon) {
  horizon <- model_horizon(horizon)
  at <- findInterval(horizon$time, fit$unique.death.times)
  add_event(newdata, if (at == 0) rep(0, nrow(newdata)) else 1 - fit$survival[, at])
}

#' @export
ce_predictions.randomForest <- function(model, newdata, ...) {
  refuse_model(model$type == "regression", "It is a forest of means.",
               "`ranger::ranger(quantreg = TRUE)` predicts distributions.")
  add_classes(newdata, predict_rows(model, newdata, type = "prob", ...), model$classes)
}

#' @export
ce_predictions.train <- function(model, newdata, ...) {
  refuse_model(model$modelType != "Classification", "It predicts means.",
               "Give the model itself, `model$finalModel`, where that is known.")
  refuse_model(!is.function(model$modelInfo$prob), cli::format_inline("Its method {.val {model$method}} has none."),
               "Choose a method with class probabilities.")
  add_classes(newdata, predict_rows(model, newdata, type = "prob", na.action = stats::na.pass, ...), model$levels)
}

#' @export
ce_predictions.multinom <- function(model, newdata, ...) {
  add_classes(newdata, predict_rows(model, newdata, type = "probs", ...), model$lev)
}

#' @export
ce_predictions.polr <- ce_predictions.multinom

#' @export
ce_predictions.lda <- function(model, newdata, ...) {
  add_classes(newdata, predict_rows(model, newdata, ...)$posterior)
}

#' @export
ce_predictions.qda <- ce_predictions.lda

#' @export
ce_predictions.rpart <- function(model, newdata, ...) {
  refuse_model(model$method != "class", cli::format_inline("It is a tree of the method {.val {model$method}}."),
               "Fit it with `method = \"class\"`.")
  add_classes(newdata, predict_rows(model, newdata, type = "prob", ...))
}

# ---- tidymodels ---------------------------------------------------------------------------------------------------

#' @rdname ce_predictions
#' @export
ce_predictions.model_fit <- function(model, newdata, ..., horizon = NULL) {
  spec <- if (inherits(model, "workflow")) model$fit$actions$model$spec else model$spec
  if (spec$mode == "classification") {
    probs <- predict_rows(model, newdata, type = "prob", ...)
    return(add_classes(newdata, probs, sub("^[.]pred_", "", names(probs))))
  }
  if (spec$mode == "censored regression") {
    horizon <- model_horizon(horizon)
    fit <- predict_rows(model, newdata, type = "survival", eval_time = horizon$time, ...)
    return(add_event(newdata, 1 - vapply(fit$.pred, function(one) one$.pred_survival[1], 0)))
  }
  refuse_model(TRUE, "It predicts means.", "Give the model of its engine, `parsnip::extract_fit_engine(model)`.")
}

#' @rdname ce_predictions
#' @export
ce_predictions.workflow <- ce_predictions.model_fit

# ---- posterior draws ----------------------------------------------------------------------------------------------

#' @export
ce_predictions.stanreg <- function(model, newdata, ...) {
  draws <- function(generic) getExportedValue("rstantools", generic)(model, newdata = newdata, ...)
  family <- stats::family(model)$family
  if (family %in% c("binomial", "bernoulli")) {
    return(add_event(newdata, colMeans(draws("posterior_epred")), event_of(model)))
  }
  if (family %in% c("categorical", "cumulative", "acat", "sratio", "cratio")) {
    probs <- apply(draws("posterior_epred"), c(2, 3), mean) # draws x rows x classes
    return(add_classes(newdata, probs))
  }
  add_columns(newdata, list(.pred = pred_draws(t(unclass(draws("posterior_predict"))))))
}

#' @export
ce_predictions.brmsfit <- ce_predictions.stanreg
