# From a fitted model to a data frame that every function takes: the new data with columns of predictions.

#' Predictions of a fitted model
#'
#' The predictions of a model for new data, in columns added to those data, in the form that every function of this
#' package takes: columns of probabilities, or a column of predictive distributions. The names of the columns say what
#' they are probabilities of.
#'
#' @section Models:
#' | Function | Package | Prediction | Needs |
#' | --- | --- | --- | --- |
#' | `glm()`, `lm()` | stats | event; number | |
#' | `gam()`, `bam()` | mgcv | event, classes, number | |
#' | `lrm()`, `Glm()`, `ols()` | rms | event, classes; number | |
#' | `glmnet()`, `cv.glmnet()` | glmnet | event, classes | one `s` |
#' | `glmer()` | lme4 | event | |
#' | `polr()`, `lda()`, `qda()` | MASS | event, classes | |
#' | `clm()` | ordinal | classes | |
#' | `multinom()`, `nnet()` | nnet | event, classes | a factor as outcome |
#' | `rpart()` | rpart | event, classes | `method = "class"` |
#' | `randomForest()` | randomForest | event, classes | |
#' | `ranger()`, its predictions | ranger | event, classes | `probability = TRUE` |
#' | `ranger()` | ranger | number | `quantreg = TRUE` |
#' | `gbm()` | gbm | event, classes | one `n.trees` |
#' | `svm()` | e1071 | event, classes | `probability = TRUE` |
#' | `naiveBayes()` | e1071 | event, classes | |
#' | `train()`, `knn3()` | caret | event, classes | |
#' | `train.kknn()` | kknn | event, classes | |
#' | predictions | mlr3 | event, classes | `predict_type = "prob"` |
#' | fits, workflows | tidymodels | event, classes | |
#' | `coxph()`, `survreg()` | survival | risk | `horizon` |
#' | `coxph()` of competing risks | survival | risk | `ce_horizon(t, cause = )` |
#' | `CSC()`, `FGR()` | riskRegression | risk | `ce_horizon(t, cause = )` |
#' | `cph()`; forests; fits | rms; ranger; tidymodels | risk | `horizon` |
#' | fits | rstanarm, brms | event, classes, number | |
#' | draws x rows (x classes) | any; `rvar` | event, classes | |
#'
#' The columns depend on what is predicted:
#' \describe{
#'   \item{Event}{One column, `.pred_{event}`: the probability of the event as the model has it, which is the
#'     second level of its outcome (`1`, `TRUE`; `.pred_event` where it has no name, as for counts of successes).}
#'   \item{Classes}{A column per class, `.pred_{level}`; of two classes that of the second.}
#'   \item{Number}{A column `.pred` of predictive distributions. [stats::lm()], and glm and gam of a Gaussian family:
#'     normal, with the sum of the variances of the residuals and of the fitted mean, as for `rms::ols()`. Families
#'     Poisson, Gamma and negative binomial: the distribution at the fitted mean. `gam(family = gaulss())`: its mean and
#'     standard deviation. `ranger(quantreg = TRUE)`: the quantiles 1%, 3%, ..., 99%. Models of rstanarm and brms: the
#'     draws of `posterior_predict()`.}
#'   \item{Risk}{A column `.pred_event`, the probability of the event by the time `horizon`; see [ce_horizon()]. With
#'     `horizon = ce_horizon(t, cause = )` the cumulative incidence of this cause.}
#' }
#' Models that were fitted to a matrix need its columns in `newdata`, by their names. Probabilities of rstanarm and brms
#' are posterior means of `posterior_epred()`, and so are those of draws that you give as the model: a matrix or array,
#' as `posterior_epred()` returns it, or an `rvar` of posterior.
#'
#' A list of models gives a list of such data frames, for [ce_models()] and [ce_curve()].
#'
#' A class that only inherits from one of these is refused, except those known to predict alike: `svyglm`, `negbin`,
#' `bam`, `rlm`, `aov`, `bayesglm`, `brglmFit`, `geeglm`, `cph` and penalised `coxph`. For another model add its
#' predictions to the data yourself, as a column named `.pred_{level}`, or write a method.
#'
#' Predict rows that the model has not seen: on those of its fit most models look better calibrated than they are, and
#' forests worse.
#'
#' @param model A fitted model, predictions or posterior draws of it, or a list of them.
#' @param newdata A data frame with the predictors, and best the outcome.
#' @param ... Passed on to the model's `predict()`, or to the generics of rstantools, such as `s` (of `cv.glmnet()` by
#'   default `"lambda.1se"`), `n.trees`, or `allow.new.levels` and `re.form` of lme4.
#' @param horizon For survival models: the time by which the event is predicted, or a [ce_horizon()].
#' @return `newdata` with columns `.pred_*` or `.pred`; of a list of models a list. Rows for which the model has no
#'   prediction have `NA`.
#' @section Errors:
#' `calibrisk_error_model` for models that are not known here or that predict no probabilities,
#' `calibrisk_error_columns` where `newdata` has the columns already, `calibrisk_error_argument`.
#' @concept logistic regression
#' @concept glm
#' @concept tidymodels
#' @concept Cox model
#' @concept predicted probability
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
  known <- !vapply(class(model), function(one) {
    is.null(utils::getS3method("ce_predictions", one, optional = TRUE))
  }, NA)
  # a fit of parsnip has its engine's class, as in "_glm"
  alike <- known[1] || class(model)[1] %in% good_heirs || startsWith(class(model)[1], "_")
  if (any(known) && !alike) return(ce_predictions.default(model))
  if ((any(known) || isS4(model)) && !is_bare_list(model)) {
    stop_if(
      missing(newdata) || !is.data.frame(newdata), "{.arg newdata} must be a data frame of rows to predict.",
      "x" = if (missing(newdata)) "It is missing." else "It is {.cls {class(newdata)[1]}}.",
      "i" = "Take rows that were not used to fit the model, with their outcomes.", arg = "newdata"
    )
    needed <- model_packages[vapply(names(model_packages), inherits, NA, x = model)]
    rlang::check_installed(unname(needed), reason = "to predict from its model.")
  }
  UseMethod("ce_predictions")
}

# The packages of models with their predict() methods, which a model read from a file does not load.
model_packages <- c(
  gam = "mgcv", coxph = "survival", survreg = "survival", CauseSpecificCox = "riskRegression", FGR = "riskRegression",
  cph = "rms", lrm = "rms", ols = "rms", Glm = "rms", ranger = "ranger", randomForest = "randomForest",
  rpart = "rpart", train = "caret", knn3 = "caret", multinom = "nnet", nnet.formula = "nnet", polr = "MASS",
  lda = "MASS", qda = "MASS", lognet = "glmnet", multnet = "glmnet", cv.glmnet = "glmnet", svm = "e1071",
  naiveBayes = "e1071", train.kknn = "kknn", gbm = "gbm", glmerMod = "lme4", clm = "ordinal", model_fit = "parsnip",
  workflow = "workflows", stanreg = "rstantools", brmsfit = "rstantools", PredictionClassif = "mlr3",
  rvar = "posterior"
)

# Subclasses of coxph whose risks are none of an event by the horizon.
unreadable_heirs <- c(
  clogit = "It is a conditional logistic regression, which has no probabilities: it estimates no intercepts."
)

# Subclasses whose predictions are those of the class they inherit from. Any other subclass is refused by its name,
# since predict() may have another meaning there.
good_heirs <- c("aov", "bam", "bayesglm", "brglmFit", "coxph.penal", "coxphms", "cph", "geeglm", "mlm", "negbin", "rlm",
                "svyglm", "train.formula", "train.recipe", "randomForest.formula", "svm.formula",
                names(unreadable_heirs))

#' @export
ce_predictions.default <- function(model, newdata, ...) {
  stop_input(
    "{.arg model} must be one of the models that {.fn ce_predictions} knows, see its help.",
    "x" = "It is {.cls {class(model)[1]}}.",
    "i" = if (is.data.frame(model)) "The model comes first, then {.arg newdata}.",
    "i" = "For another model, give the predictions as a column named {.code .pred_<level>}.",
    class = c("model", "argument"), arg = "model"
  )
}

#' @export
ce_predictions.list <- function(model, newdata, ...) {
  if (!is.null(attr(model, "class"))) return(ce_predictions.default(model))
  stop_if(length(model) == 0, "{.arg model} must hold at least one model.", "x" = "It is an empty list.", arg = "model")
  names(model) <- list_names(model, rep("model", length(model)))
  lapply(setNames(nm = names(model)), function(name) {
    in_model(ce_predictions(model[[name]], newdata, ...), name)
  })
}

# ---- what the methods share (R/model-types.R) ---------------------------------------------------------------------

# `predict`, whose errors say what the data lack.
predict_rows <- function(model, newdata, ..., predict = stats::predict) {
  rlang::try_fetch(predict(model, newdata, ...), error = function(cnd) {
    check_has_columns(newdata, predictors_of(model))
    stop_input("The model must predict the rows of {.arg newdata}.", class = "model", arg = "model", parent = cnd)
  })
}

predictors_of <- function(model) {
  tryCatch(all.vars(stats::delete.response(stats::terms(model))), error = function(cnd) character())
}

check_has_columns <- function(newdata, columns) {
  absent <- setdiff(columns, colnames(newdata))
  stop_if(length(absent) > 0, "{.arg newdata} must have the columns that the model was fitted to.",
          "x" = "It has no {.field {absent}}.", "i" = "Its columns are {.field {colnames(newdata)}}.",
          class = c("model", "columns"), arg = "newdata")
}

# The matrix of a model that was fitted to a matrix with these columns.
columns_of <- function(newdata, columns) {
  stop_if(is.null(columns), "The model must be fitted to columns that have names.", "x" = "They have none.",
          class = "model", arg = "model")
  check_has_columns(newdata, columns)
  x <- as.data.frame(newdata)[columns]
  other <- columns[!vapply(x, function(column) is.numeric(column) || is.logical(column), NA)]
  stop_if(length(other) > 0, "The model was fitted to a matrix of numbers.",
          "x" = "{.field {other[1]}} is {.cls {class(x[[other[1]]])[1]}}.", class = c("model", "columns"),
          arg = "newdata")
  as.matrix(x)
}

add_columns <- function(newdata, columns) {
  taken <- intersect(names(columns), names(newdata))
  stop_if(length(taken) > 0, "{.arg newdata} must not have the columns of predictions yet.",
          "x" = "It has {.field {taken}}.", class = "columns", arg = "newdata")
  if (!inherits(newdata, "grouped_df")) newdata <- ungroup_frame(newdata)
  for (name in names(columns)) newdata[[name]] <- columns[[name]]
  newdata
}

# The probability of the event.
add_event <- function(newdata, prob, event = "event") {
  add_columns(newdata, setNames(list(unname(as.vector(prob))), paste0(".pred_", event)))
}

# A column per class, in the order of the levels, for any order of the columns; of two classes the second, which may be
# all that there is.
add_classes <- function(newdata, probs, levels = NULL) {
  known <- colnames(probs)
  levels <- levels %||% known
  if (length(levels) == 2 && NCOL(probs) == 1) return(add_event(newdata, probs, levels[2]))
  # levels without rows of the fit may have no column
  if (!is.null(known) && all(known %in% levels)) levels <- intersect(levels, known)
  # of one row, or of one of several sizes, it may be no matrix
  probs <- as.numeric(as.matrix(probs))
  stop_if(length(probs) != nrow(newdata) * length(levels),
          "A model must predict a probability of each of its classes.",
          "x" = "The classes are {.val {levels}}, and there are {length(probs) / nrow(newdata)} columns.",
          class = "model", arg = "model")
  probs <- matrix(probs, nrow(newdata), length(levels))
  if (setequal(known, levels)) probs <- probs[, match(levels, known), drop = FALSE]
  if (length(levels) == 2) return(add_event(newdata, probs[, 2], levels[2]))
  add_columns(newdata, setNames(split_columns(probs), paste0(".pred_", levels)))
}

# Distributions of one family by their parameters, a missing one where the model has no prediction.
add_law <- function(newdata, family, ...) {
  parameters <- lapply(list(...), function(v) rep_len(unname(as.vector(v)), max(nrow(newdata), 1)))
  missing <- !stats::complete.cases(parameters)
  law <- do.call(family, lapply(parameters, function(v) replace(v, missing, c(v[!missing], 1)[1])))
  add_columns(newdata, list(.pred = law[replace(seq_along(law), missing, NA)][seq_len(nrow(newdata))]))
}

# Name of what a binomial model is the probability of: R's is the second level.
event_of <- function(model) {
  y <- tryCatch(stats::model.response(stats::model.frame(model)), error = function(cnd) NULL)
  if (is.character(y)) y <- factor(y)
  if (is.factor(y)) return(if (nlevels(y) == 2) levels(y)[2] else "event")
  if (is.logical(y)) return("TRUE")
  if (is.numeric(y) && is.null(dim(y)) && all(y %in% 0:1)) "1" else "event"
}

# An error where the model is none of those that can be read; `fact` and `instead`: texts.
refuse_model <- function(bad, fact, instead = NULL) {
  stop_if(bad, "The model must predict probabilities or distributions.", "x" = "{fact}",
          "i" = if (!is.null(instead)) "{instead}", class = "model", arg = "model")
}

# list(time, cause) at which a model predicts. `causes`: its kinds of event, NULL of a model of one kind.
model_horizon <- function(horizon, causes = NULL) {
  stop_if(is.null(horizon), "Survival models need a {.arg horizon}.",
          "i" = "{.code horizon = 5}: the probability of the event by time 5.", class = c("horizon", "argument"),
          arg = "horizon")
  horizon <- as_horizon(horizon)
  check_cause(horizon, if (is.null(causes)) "right" else "mright", causes, "model")
  horizon
}
