# ce_predictions() of models and predictions of further packages; what the methods share is in R/model-predictions.R.

# ---- what is fitted to a matrix -----------------------------------------------------------------------------------

# `s`: one value of the penalty.
#' @export
ce_predictions.lognet <- function(model, newdata, ..., s = NULL) {
  stop_if(is.null(s) || length(s) != 1, "A path of penalised models needs one value of {.arg s}, its penalty.",
          "x" = if (is.null(s)) "It is missing." else "It has {length(s)} values.", class = "argument", arg = "s")
  beta <- if (is.list(model$beta)) model$beta[[1]] else model$beta
  x <- columns_of(newdata, rownames(beta))
  add_classes(newdata, predict_rows(model, x, type = "response", s = s, ...), model$classnames)
}

#' @export
ce_predictions.multnet <- ce_predictions.lognet

#' @export
ce_predictions.cv.glmnet <- function(model, newdata, ..., s = "lambda.1se") {
  path <- model$glmnet.fit
  refuse_model(!class(path)[1] %in% c("lognet", "multnet"),
               cli::format_inline("It has a path of the class {.cls {class(path)[1]}}."),
               "Fit it with `family = \"binomial\"` or `\"multinomial\"`.")
  if (identical(s, "lambda.1se") || identical(s, "lambda.min")) s <- model[[s]]
  ce_predictions(path, newdata, s = s, ...)
}

#' @export
ce_predictions.svm <- function(model, newdata, ...) {
  refuse_model(model$type > 1, "It is not a classification.")
  refuse_model(!model$compprob, "It has class votes.", "Fit it with `svm(probability = TRUE)`.")
  levels <- model$levels[sort(model$labels)] # those with rows of the fit
  add_classes(newdata, of_complete_rows(model, newdata, colnames(model$SV), levels, function(rows) {
    attr(predict_rows(model, rows, probability = TRUE, ...), "probabilities")
  }))
}

#' @export
ce_predictions.knn3 <- function(model, newdata, ...) {
  levels <- levels(factor(model$learn$y))
  add_classes(newdata, of_complete_rows(model, newdata, colnames(model$learn$X), levels, function(rows) {
    predict_rows(model, rows, type = "prob", ...)
  }))
}

#' @export
ce_predictions.train.kknn <- function(model, newdata, ...) {
  refuse_model(model$response == "continuous", "It predicts means.")
  add_classes(newdata, of_complete_rows(model, newdata, NULL, levels(model$fitted.values[[1]]), function(rows) {
    predict_rows(model, rows, type = "prob", ...)
  }))
}

# Probabilities of the rows without missing predictors, NA of the others, where predict() stops at one or drops its
# row. `columns`: of the matrix that was fitted, if no formula was.
of_complete_rows <- function(model, newdata, columns, levels, predict) {
  used <- intersect(predictors_of(model), names(newdata))
  rows <- if (is.null(model$terms)) columns_of(newdata, columns) else as.data.frame(newdata)
  known <- rowSums(is.na(if (is.null(model$terms)) rows else rows[used])) == 0
  out <- matrix(NA_real_, nrow(newdata), length(levels), dimnames = list(NULL, levels))
  if (any(known)) out[known, ] <- predict(rows[known, , drop = FALSE])[, levels]
  out
}

# ---- with a formula -----------------------------------------------------------------------------------------------

#' @export
ce_predictions.gbm <- function(model, newdata, ...) {
  kind <- model$distribution$name
  refuse_model(!kind %in% c("bernoulli", "adaboost", "multinomial"),
               cli::format_inline("Its distribution is {.val {kind}}."), "Fit it to 0/1 outcomes.")
  rows <- as.data.frame(newdata)
  if (is.null(model$Terms)) {
    check_has_columns(newdata, model$var.names)
    rows <- rows[model$var.names]
  }
  probs <- predict_rows(model, rows, type = "response", ...)
  several <- c(dim(probs), 1, 1)[if (kind == "multinomial") 3 else 2]
  stop_if(several > 1, "{.arg n.trees} must be one number.", "x" = "It has {several} values.", arg = "n.trees")
  add_classes(newdata, probs, if (kind == "multinomial") colnames(probs) else 0:1)
}

#' @export
ce_predictions.glmerMod <- function(model, newdata, ...) {
  family <- stats::family(model)$family
  refuse_model(family != "binomial", cli::format_inline("The family {.val {family}} has no distribution here."))
  add_event(newdata, predict_rows(model, newdata, type = "response", ...), event_of(model))
}

#' @export
ce_predictions.clm <- function(model, newdata, ...) {
  outcome <- stats::formula(model$terms)[[2]]
  refuse_model(is.call(outcome), cli::format_inline("Its outcome is computed, {.code {rlang::as_label(outcome)}}."),
               "Fit it to a column that is a factor.")
  # with the outcome predict() would give the probability of the observed class
  rows <- as.data.frame(newdata)[setdiff(names(newdata), as.character(outcome))]
  add_classes(newdata, predict_rows(model, rows, type = "prob", ...)$fit, model$y.levels)
}

#' @export
ce_predictions.nnet.formula <- function(model, newdata, ...) {
  refuse_model(is.null(model$lev), "Its outcome is not a factor.")
  add_classes(newdata, predict_rows(model, newdata, type = "raw", ...), model$lev)
}

#' @export
ce_predictions.naiveBayes <- function(model, newdata, ...) {
  check_has_columns(newdata, names(model$tables)) # predict() leaves out those that are absent
  add_classes(newdata, predict_rows(model, as.data.frame(newdata), type = "raw", ...), model$levels)
}

#' @export
ce_predictions.survreg <- function(model, newdata, ..., horizon = NULL) {
  horizon <- model_horizon(horizon)
  refuse_model(length(model$scale) > 1 || !is.character(model$dist),
               "It has several scales, or a distribution of its own.")
  place <- predict_rows(model, newdata, type = "lp", na.action = stats::na.pass, ...)
  add_event(newdata, survival::psurvreg(horizon$time, place, model$scale, model$dist, model$parms))
}

# ---- predictions --------------------------------------------------------------------------------------------------

#' @export
ce_predictions.ranger.prediction <- function(model, newdata, ..., horizon = NULL) { # nolint: object_length_linter.
  check_predicted_rows(newdata, NROW(model$predictions %||% model$survival))
  if (model$treetype == "Survival") return(add_forest_risk(newdata, model, horizon))
  refuse_model(model$treetype != "Probability estimation", "It has no probabilities.")
  add_classes(newdata, model$predictions)
}

# mlr3's positive class is the first one. Resampling predicts rows in another order.
#' @export
ce_predictions.PredictionClassif <- function(model, newdata, ...) { # nolint: object_length_linter.
  refuse_model(is.null(model$prob), "It has classes.", "Set `predict_type = \"prob\"` in the learner.")
  rows <- order(model$row_ids)
  check_predicted_rows(newdata, length(rows))
  stop_if(!identical(as.numeric(model$row_ids[rows]), as.numeric(seq_len(nrow(newdata)))),
          "Predictions must be of the rows of {.arg newdata}.",
          "x" = "Its {.field row_ids} are not 1 to {nrow(newdata)}.", class = "model", arg = "newdata")
  probs <- model$prob[rows, , drop = FALSE]
  if (ncol(probs) == 2) add_event(newdata, probs[, 1], colnames(probs)[1]) else add_classes(newdata, probs)
}

# Means of posterior draws: draws x rows, or draws x rows x classes.
#' @export
ce_predictions.array <- function(model, newdata, ...) {
  size <- dim(model)
  stop_if(!is.numeric(model) || !length(size) %in% 2:3,
          "Posterior draws of probabilities must be numbers, draws x rows (x classes).",
          "x" = "They are of type {typeof(model)}, {paste(size, collapse = ' x ')}.", class = "model", arg = "model")
  check_predicted_rows(newdata, size[2])
  outside <- sum(model < 0 | model > 1, na.rm = TRUE)
  stop_if(outside > 0, "Posterior draws of probabilities must lie between 0 and 1.",
          "x" = "{outside} of {length(model)} are outside.", class = c("model", "probs"), arg = "model")
  mean <- colMeans(model)
  if (is.matrix(mean)) add_classes(newdata, mean, colnames(mean) %||% seq_len(size[3])) else add_event(newdata, mean)
}

#' @export
ce_predictions.matrix <- ce_predictions.array

#' @export
ce_predictions.rvar <- function(model, newdata, ...) {
  ce_predictions.array(posterior::draws_of(model), newdata)
}

check_predicted_rows <- function(newdata, n) {
  stop_if(n != nrow(newdata), "Predictions must be of the rows of {.arg newdata}.",
          "x" = "They are of {n} row{?s}, {.arg newdata} has {nrow(newdata)}.", class = c("model", "length"),
          arg = "newdata")
}
