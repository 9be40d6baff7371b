#' Shared arguments
#'
#' @param x Predictions, of one of three kinds. A data frame: `truth` is a column and `...` tidyselects the probability
#'   columns. A numeric matrix with a row per observation and a column per class: `truth` is a factor or integers 1,
#'   ..., K. A numeric vector of probabilities: `truth` is logical, 0/1 or a factor with two levels. It states whether
#'   the event happened or whether the top label was right. Results of `tune::fit_resamples()`, `tune_grid()` and
#'   `last_fit()` that kept their predictions are read as a data frame of these predictions; for fitted models see
#'   [ce_predictions()].
#' @param truth The outcomes; see `x`.
#' @param ... For a data frame: the probability columns (tidyselect). By default these are the numeric columns that
#'   start with `.pred_` or, if there are none, those named exactly as the levels of `truth`. They are matched to the
#'   levels of `truth` by name; see *Columns and levels*. A single column that is named after a level (`Yes`,
#'   `.pred_Yes`, `prob_yes`) is the probability of that level.
#' @param notion Type of calibration: the prediction given which the outcome should have the predicted probability.
#'   `"top_label"`: the confidence in the most probable class (is it right that often?). `"class_wise"`: the
#'   probability of each class on its own; squared errors are summed over the classes. `"canonical"`: the whole vector
#'   of probabilities. `"binary"`: the probability of one event. The default is `"binary"` for a single probability
#'   and for two classes, and `"top_label"` otherwise. A single probability per row is used directly for `"binary"`
#'   and for `"top_label"` (the confidence in a label that was right or not); for the other types it stands for two
#'   classes, (1 - p, p). See the vignette *Notation*.
#' @param event_level For two classes: the level of `truth` that is the event, `"first"` (as in yardstick) or
#'   `"second"`. A single column that is named after a level, such as `.pred_<level>`, takes precedence.
#' @param na_rm Whether to drop rows with a missing value. If `FALSE`, a missing value makes the result `NA`; functions
#'   that fit something then raise an error.
#' @param .by Columns to group by (tidyselect), as an alternative to a grouped data frame. Groups come in the order of
#'   their levels, or sorted if they are not factors. A group with too little data gets a row of `NA`, and a warning of
#'   class `calibrisk_warning_group` names it.
#' @param level Confidence level of intervals and bounds.
#' @section Columns and levels:
#' Two or more columns of probabilities are matched to the levels of `truth` by their names. A name matches a level
#' exactly, or after removing a prefix or suffix that all columns share (`.pred_yes`, `prob_no`), ignoring letter case,
#' and with the characters that [make.names()] replaces. The match is used if every level has one column.
#' * If only some names match a level, or two names match the same level, an error of class `calibrisk_error_columns`
#'   lists columns and levels.
#' * If no name matches, the columns are taken in the order of the levels. A message of class
#'   `calibrisk_message_columns` lists which column was read as which level.
#' * Columns without names are taken in the order of the levels.
#'
#' If a class clearly becomes rarer as its predicted probability rises (area under the ROC curve below 1/2, z < -4), a
#' warning of class `calibrisk_warning_direction` names the class. The columns are then probably those of other classes.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone. A model that predicts the same frequency for everybody is
#' calibrated, so the error is smallest for a tree without a split or for the largest penalty. We simulated 100 samples
#' of 500 rows for fitting and 500 for choosing. The candidates were the constant frequency, the correct logistic
#' regression and one with twice its logits. `ece()` chose the constant 95 times and the correct model 5 times, the main
#' estimate of [ce_estimate()] 79 and 21 times. [rbs()] chose the correct model 97 times and the constant never. Tune by
#' a proper score ([rbs()], [ce_score()]), which pays for sharpness and calibration, then report the calibration error
#' of what was chosen; recalibrate it if need be ([ce_recalibrate()]).
#' @name ce_args
#' @keywords internal
NULL

# References, written once.
ref_gruber_bach <- function() {
  paste0(
    "Gruber, S. G. and Bach, F. (2025). Optimizing estimators of squared calibration errors in ",
    "classification. *Transactions on Machine Learning Research*. \\doi{10.48550/arXiv.2410.07014}"
  )
}
ref_widmann <- function() {
  paste0(
    "Widmann, D., Lindsten, F. and Zachariah, D. (2021). Calibration tests beyond classification. ",
    "*International Conference on Learning Representations*. \\doi{10.48550/arXiv.2210.13355}"
  )
}
ref_gruber_buettner <- function() {
  paste0(
    "Gruber, S. G. and Buettner, F. (2022). Better uncertainty calibration via proper scores for ",
    "classification and beyond. *Advances in Neural Information Processing Systems* 35. ",
    "\\doi{10.48550/arXiv.2203.07835}"
  )
}
ref_moskvichev <- function() {
  paste0(
    "Moskvichev, P. and Sejdinovic, D. (2025). All models are miscalibrated, but some less so: comparing ",
    "calibration with conditional mean operators. Preprint. \\doi{10.48550/arXiv.2502.11465}"
  )
}
