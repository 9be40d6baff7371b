#' Arguments that many functions share
#'
#' The arguments of functions that take predictions and outcomes, in short and then in full.
#'
#' @param x Predictions: a data frame, a matrix or a vector; see [ce_args].
#' @param truth Outcomes: a column of `x` or a vector; see [ce_args].
#' @param ... Probability columns of a data frame; see [ce_args].
#' @param notion Type of calibration; see [ce_args].
#' @param event_level The event: `"first"` or `"second"`; see [ce_args].
#' @param na_rm Whether to drop rows with missing values; see [ce_args].
#' @param .by Columns to group by (tidyselect); see [ce_args].
#' @param level Confidence level.
#' @param weights Weights of the rows; see [ce_args].
#' @param cluster Clusters of the rows; see [ce_args].
#' @param horizon Time horizon of survival outcomes; see [ce_args].
#' @concept weights
#' @concept cluster
#' @concept clustered data
#' @concept censoring
#' @concept horizon
#' @concept event level
#' @concept missing values
#' @concept class probabilities
#' @concept multiclass
#' @section Predictions and outcomes:
#' `x` is of one of three kinds. A data frame: `truth` is a column and `...` tidyselects the probability columns. A
#' numeric matrix with a row per observation and a column per class: `truth` is a factor or integers 1, ..., K. A
#' numeric vector of probabilities: `truth` is logical, 0/1 or a factor with two levels. It states whether the event
#' happened or whether the top label was right. Results of tune that kept their
#' predictions are read as a data frame of these. For fitted models see [ce_predictions()], for several models
#' [ce_models()]. Some functions also take a [ce_state()] or a table of a database, see [ce_source()].
#'
#' By default `...` (tidyselect) are the numeric columns that start with `.pred_` or, if there are none, those named
#' exactly as the levels of `truth`. They are matched to the levels of `truth` by name. A single column that is named
#' after a level (`Yes`, `.pred_Yes`, `prob_yes`) is the probability of that level, and takes precedence over
#' `event_level`. Otherwise the event of two classes is the first level (as in yardstick) unless `event_level =
#' "second"`.
#' @section Columns and levels:
#' Two or more columns of probabilities are matched to the levels of `truth` by their names. A name matches a level
#' exactly, or after removing a prefix or suffix that all columns share (`.pred_yes`, `prob_no`), ignoring letter case,
#' and with the characters that [make.names()] replaces. The match is used if every level has one column.
#' If only some names match a level, or two names match the same level, an error of class `calibrisk_error_columns`
#' lists columns and levels. If no name matches, the columns are taken in the order of the levels, with a message of
#' class `calibrisk_message_columns`. So are columns without names.
#'
#' If a class clearly becomes rarer as its predicted probability rises (area under the ROC curve below 1/2, z < -4), a
#' warning of class `calibrisk_warning_direction` names the class. The columns are then probably those of other classes.
#' @section Types of calibration:
#' `notion` names the prediction given which the outcome should have the predicted probability. `"top_label"`: the
#' confidence in the most probable class (is it right that often?). `"class_wise"`: the probability of each class on its
#' own; squared errors are summed over the classes. `"canonical"`: the whole vector of probabilities. `"binary"`: the
#' probability of one event. The default is `"binary"` for a single probability and for two classes, and `"top_label"`
#' otherwise. A single probability per row is used directly for `"binary"` and for `"top_label"` (the confidence in a
#' label that was right or not); for the other types it stands for two classes, (1 - p, p). See the vignette *Notation*.
#' @section Groups and missing values:
#' `.by` is an alternative to a grouped data frame. Groups come in the order of their levels, or sorted if they are not
#' factors. A group with too little data gets a row of `NA`, and a warning of class `calibrisk_warning_group` names it.
#'
#' Incomplete rows are dropped. With `na_rm = FALSE` a missing value makes a metric `NA`; other functions have no such
#' argument.
#' @section Weights, clusters and censoring:
#' `weights`, `cluster` and `horizon` are columns of `x`, or vectors if the other arguments are vectors. A `svydesign()`
#' as `x` has weights, first-stage clusters and strata (in standard errors alone), without other corrections.
#' * Integer weights (or `hardhat::frequency_weights()`) are frequencies: a row stands for as many equal ones, and
#'   estimate, standard error and test are those of the repeated rows. [ce_risk()] and others repeat them, up to 5e7.
#' * Doubles (or `hardhat::importance_weights()`) are importance weights `w`, whose scale does not matter: means are
#'   weighted, and standard errors are \eqn{\sqrt{n/(n-1) \sum w_i^2 (\psi_i - \bar\psi)^2} / \sum w_i} with the
#'   influence \eqn{\psi_i} of a row. Intervals use Student's t with the effective number of rows as degrees of freedom,
#'   `1 / df = sum(w^2) / sum(w)^2 - 1 / n`. Rows of weight 0 are left out. With so few events that
#'   `sum(w)^2 / sum(w^2)` of theirs is below ten, tests reject too often (6: 17%).
#' * With `cluster`, such as the centre of a patient, standard errors are those of the clusters' summed influences, and
#'   intervals use Student's t with `1 / df = 1 / (C - 1) + sum(W^2) / sum(W)^2 - 1 / C` for C clusters of weights W.
#'   Unbiased means over pairs use only pairs of rows from different clusters, and a bootstrap resamples clusters.
#' * For outcomes `Surv(time, status)`, `horizon` is the time by which an event is predicted. Rows are weighted by the
#'   inverse probability of censoring; see [ce_horizon()].
#' @section Errors:
#' Errors have the class `calibrisk_error_<what>`. Here `<what>` is `length`, `empty`, `method`, `argument` or one of
#' the following. `probs`: rows that are negative, infinite or do not sum to 1, `NaN`, logits. `truth`: outcomes that
#' are not classes of `x`. `columns`: none selected, unknown, not one per class, or names that match the levels only in
#' part. `missing`: missing values with `na_rm = FALSE`. `notion`: a type of calibration that the data or a method does
#' not have. `folds`: fewer rows than folds, or a vector of another length. `group`: an error in one group.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone. A model that predicts the same frequency for everybody is
#' calibrated. Tune by a proper score ([rbs()], [ce_score()]), then report the calibration error.
#' @name ce_args
NULL

# References, written once.
ref_gruber_bach <- paste0(
  "Gruber, S. G. and Bach, F. (2025). Optimizing estimators of squared calibration errors in ",
  "classification. *Transactions on Machine Learning Research*. \\doi{10.48550/arXiv.2410.07014}"
)
ref_widmann <- paste0(
  "Widmann, D., Lindsten, F. and Zachariah, D. (2021). Calibration tests beyond classification. ",
  "*International Conference on Learning Representations*. \\doi{10.48550/arXiv.2210.13355}"
)
ref_gruber_buettner <- paste0(
  "Gruber, S. G. and Buettner, F. (2022). Better uncertainty calibration via proper scores for ",
  "classification and beyond. *Advances in Neural Information Processing Systems* 35. ",
  "\\doi{10.48550/arXiv.2203.07835}"
)
ref_moskvichev <- paste0(
  "Moskvichev, P. and Sejdinovic, D. (2025). All models are miscalibrated, but some less so: comparing ",
  "calibration with conditional mean operators. Preprint. \\doi{10.48550/arXiv.2502.11465}"
)
