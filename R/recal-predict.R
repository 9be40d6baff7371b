#' Recalibrated predictions
#'
#' `predict()` applies the map to new predictions and gives probabilities in the shape of its
#' input: a matrix, a vector, or a tibble with the same probability columns. `augment()` appends them to a data frame
#' as `.recal_*`. Without `new`, both give the rows of the fit: out-of-fold predictions of a
#' cross-fitted map, else the fitted ones with a warning.
#'
#' @section Errors:
#' A map looks too good on the rows it was fitted to. Those are recognised by their values, where more
#' of them agree than repeats within the data explain, and a warning of class `calibrisk_warning_same_rows` counts them.
#'
#' @param object,x A `ce_recalibration`.
#' @param new New predictions, in the shape of the data of the fit. A map of logits takes logits or probabilities: rows
#'   that sum to 1 are probabilities, and so are numbers between 0 and 1 if so many of them would be very unlikely
#'   as logits of the fit. A message says which they were taken for.
#'   A matrix' columns are matched by name where they carry those of the fit or of the classes, else by position.
#'   Rows with missing values give `NA`.
#' @param type `"parameters"`, or, of the map `"update"` whose default it is, `"tests"`.
#' @param model A logistic [stats::glm()] whose predictions the map takes.
#' @param ... Not used.
#' @return `coef()`: the parameters, or with `model` the coefficients of the recalibrated model, for the maps `"update"`
#'   and `"platt"` of its logits. `vcov()`: their covariance matrix, for `"temperature"` and, of one event, `"update"`,
#'   `"platt"` and `"beta"`, robust for weighted and clustered rows. It takes the choice of a model by `"update"` and
#'   the coefficients of `model` as given. Probabilities
#'   in the shape of `new`; for `augment()` `new` with added columns.
#'   `tidy()`: parameters are `term, class, estimate, std.error`; tests have a row per model: `model, class,
#'   n_parameters, log_likelihood` (of weighted rows times weights of mean 1), `test` (`"likelihood ratio"` or
#'   `"Rao-Scott"`), `statistic, df, p.value` (of the largest model against this one), `chosen`.
#' @export
predict.ce_recalibration <- function(object, new = NULL, ...) {
  check_empty(...)
  if (is.null(new)) {
    if (is.null(object$fold)) warn_same_rows(object$n, object$n)
    return(object$fitted)
  }
  new <- read_results(new)
  if (inherits(object$map, "ce_map_density")) return(predict_density(object, new))
  if (object$kind == "distribution") return(predict_variance(object, new))
  read <- in_argument(read_new_probs(new, object$layout, fitted = object$fingerprint), "new")
  warn_fitted_rows(fingerprint(read$data$given), object$fingerprint)
  probs <- map_probs(object$map, read$data)
  write_like(probs, object$layout, read$keep, read$n)
}

warn_same_rows <- function(same, n) {
  warn_result(
    "Judge a map on rows that were not used to fit it.", "x" = "{same} of {n} row{?s} {?was/were} used in the fit.",
    "i" = "Use other data, or {.arg folds} for out-of-fold predictions: {.code predict(x)} without {.arg new}.",
    class = "same_rows"
  )
}

#' @rdname predict.ce_recalibration
#' @export
augment.ce_recalibration <- function(x, new = NULL, ...) {
  check_empty(...)
  new <- read_results(new)
  values <- predict(x, new)
  if (is.null(dim(values))) { # a vector, also of distributions
    values <- columns_frame(.recal = values)
  } else {
    names <- colnames(values) %||% x$layout$levels %||% seq_len(ncol(values))
    values <- as.data.frame(values)
    names(values) <- if (ncol(values) == 1) ".recal" else paste0(".recal_", sub("^\\.pred_", "", names))
  }
  if (is.data.frame(new)) return(vctrs::vec_cbind(ungroup_frame(new), values, .name_repair = "minimal"))
  tibble::as_tibble(values)
}
