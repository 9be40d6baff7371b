# Pair forms: a fitted calibration estimation function h(p, p') = phi(p)' M phi(p').
# A form is a list of class c("ce_form_<type>", "ce_form") with
#   core   symmetric r x r matrix M, the vector of its diagonal, or NULL for the identity
#   gap TRUE where phi(p) estimates the residual (prediction - outcome) at p, and everything that its feature map needs.
# Everything else follows from pair_features(form, features) -> Phi, m x r Forms that know a shorter way have
# their own form_risk(), form_squared(), form_pairs(), form_gap() or merge_forms().

#' Extending calibrisk: methods and pair forms
#'
#' Every estimator of a squared calibration error is a *pair form*, a function of two predictions
#' \eqn{h(p, p') = \phi(p)' M \phi(p')} with a feature map \eqn{\phi} and a symmetric core
#' \eqn{M}. A new method says how it is fitted and what its features are; risks, standard
#' errors, tuning, comparison and plots follow.
#'
#' @section Definition:
#' A method is a list with `name`, `parameter` (the name of its hyperparameter or `NULL`) and
#' `values` (the grid, or `NULL` for the default grid), of class `c("ce_method_<type>", "ce_method")`.
#' Make it with `new_method()`. It answers
#' \describe{
#'   \item{`fit_form(method, problem, point, context)`}{fits one hyperparameter, `point$value`, to
#'     the rows of `problem`: `features` (n x q), `residuals` (n x d, prediction minus outcome) and
#'     `labels` (0/1 where d is 1, else classes 1, ..., K). Returns `new_form("<type>", ...)`.}
#'   \item{`pair_features(form, features)`}{the feature map: the matrix
#'     \eqn{\phi(p_i)'}, m x r.}
#'   \item{`tune_path(method, problem, fold, grid, context)`}{optional: all folds and the whole
#'     grid at once. The default calls `fit_form()` for each.}
#' }
#'
#' @section Invariants:
#' The result of `pair_features()` depends on the rows one by one. A `core` is symmetric; it need
#' not be positive semidefinite.
#'
#' @param name,parameter,values The method's name in print, the name of its hyperparameter (or `NULL`) and its grid (or
#'   `NULL` for the default grid).
#' @param class Suffix of the method's class, by default `name`.
#' @param type The form's type: its class is `c("ce_form_<type>", "ce_form")`.
#' @param ... Everything that the feature map needs.
#' @param core The symmetric r x r matrix \eqn{M}, the vector of its diagonal where it has no more, or `NULL` for the
#'   identity.
#' @param gap `TRUE` where \eqn{\phi(p)} estimates the residual, prediction minus outcome, at p.
#' @param form A form made by `new_form()`.
#' @param features Matrix of features, one row per observation.
#' @param method A method.
#' @param problem List of `features`, `residuals`, `labels`; see Definition.
#' @param point List with the hyperparameter `value` (and the `kernel`, where kernels are a grid).
#' @param fold Integer per row: the fold that holds it out, 0 for test rows.
#' @param grid Data frame with a column `value`, one row per hyperparameter.
#' @param context List of `progress` (`NULL` or a function of the fraction done) and
#'   `cache`, an environment that methods may share.
#' @return `new_method()`: a `ce_method`. `new_form()`: an object of class `ce_form`. `pair_features()`: a numeric
#'   matrix.
#'   `fit_form()`: a form. `tune_path()`: a list of the matrices `risk`, `squared_error` and
#'   `squared_error_test` (grid by folds) and a function `form(v, f)` that returns the form of grid
#'   row `v` fitted without fold `f`.
#' @name extending
#' @examples
#' # The gap as a straight line in the confidence.
#' method_line <- function() new_method("line", parameter = NULL, values = NA)
#' fit_form.ce_method_line <- function(method, problem, point, context) {
#'   new_form("line", coefficients = coef(lm(problem$residuals ~ problem$features)), gap = TRUE)
#' }
#' pair_features.ce_form_line <- function(form, features) {
#'   cbind(1, features) %*% form$coefficients
#' }
#' registerS3method("fit_form", "ce_method_line", fit_form.ce_method_line)
#' registerS3method("pair_features", "ce_form_line", pair_features.ce_form_line)
#' set.seed(1)
#' confidence <- runif(300)
#' correct <- runif(300) < 0.2 + 0.6 * confidence
#' ce_tune(confidence, correct, methods = list(method_line(), method_bins(10)))
NULL

#' @rdname extending
#' @export
new_form <- function(type, ..., core = NULL, gap = FALSE) {
  structure(list(..., core = core, gap = gap), class = c(paste0("ce_form_", type), "ce_form"))
}

#' @rdname extending
#' @export
pair_features <- function(form, features) UseMethod("pair_features")

#' @export
pair_features.default <- function(form, features) stop_no_generic("pair_features", form, "ce_form_", "form")

# Exact risk of the form on rows (features, residuals), Gruber & Bach 2025, Eq. 20:
#   risk, projections r_i (mean = risk), zero_risk and zero_projections (h = 0 on
#   the same rows), squared h(p_i, p_i), n rows, n_missing pairs where h is NaN, clipped.
# `design`: weights and clusters of the rows; pairs within a cluster are left out.
form_risk <- function(form, features, residuals, design = NULL) UseMethod("form_risk")

#' @export
form_risk.ce_form <- function(form, features, residuals, design = NULL) {
  features_risk(pair_features(form, features), core_matrix(form$core), residuals, design)
}

# The same from the rows of the features Phi.
features_risk <- function(phi, core, residuals, design = NULL) {
  finish_risk(cpp_pair_risk(residuals, phi, core, thread_count(), design = design))
}

# M as a matrix or NULL.
core_matrix <- function(core) if (is.null(core) || is.matrix(core)) core else diag(core, length(core))

# h(p_i, p_i)
form_squared <- function(form, features) UseMethod("form_squared")

#' @export
form_squared.ce_form <- function(form, features) {
  cpp_pair_squared(pair_features(form, features), core_matrix(form$core), thread_count())
}

# The matrix h(x_i, y_j)
form_pairs <- function(form, x, y) UseMethod("form_pairs")

#' @export
form_pairs.ce_form <- function(form, x, y) {
  phi <- pair_features(form, x)
  core <- form$core
  if (!is.null(core)) phi <- t(if (is.matrix(core)) core %*% t(phi) else core * t(phi))
  tcrossprod(phi, pair_features(form, y))
}

have_gaps <- function(forms) all(vapply(forms, function(form) isTRUE(form$gap), NA))

# The estimated residual (prediction - outcome) per row, m x d, of a form with `gap`: the nearest one that leaves a
# probability, or a probability vector.
form_gap <- function(form, features) cpp_bounded_gap(gap_features(form, features), features)

# Of several forms the mean of the parts' gaps. (h itself is the mean of their inner products.)
gap_features <- function(form, features) {
  if (inherits(form, "ce_form_ensemble")) mean_of_parts(form, gap_features, features) else pair_features(form, features)
}

# The mean of several forms, as one form. Where they share a basis, their class may say how they merge (cores average);
# otherwise features stand side by side, with the cores on the diagonal of one.
ensemble_form <- function(forms) {
  if (length(forms) == 1) return(forms[[1]])
  merge_forms(forms[[1]], forms) %||% new_form(
    "ensemble",
    forms = forms,
    core = block_diagonal(lapply(forms, `[[`, "core")),
    gap = have_gaps(forms)
  )
}

merge_forms <- function(form, forms) UseMethod("merge_forms")

#' @export
merge_forms.default <- function(form, forms) NULL

block_diagonal <- function(cores) {
  if (all(vapply(cores, is.null, NA))) return(NULL)
  Reduce(function(a, b) {
    rbind(cbind(a, matrix(0, nrow(a), ncol(b))), cbind(matrix(0, nrow(b), ncol(a)), b))
  }, lapply(cores, core_matrix))
}

#' @export
pair_features.ce_form_ensemble <- function(form, features) {
  parts <- lapply(form$forms, pair_features, features)
  do.call(cbind, parts) / sqrt(length(parts))
}

#' @export
form_squared.ce_form_ensemble <- function(form, features) mean_of_parts(form, form_squared, features)

#' @export
form_pairs.ce_form_ensemble <- function(form, x, y) mean_of_parts(form, form_pairs, x, y)

mean_of_parts <- function(form, f, ...) Reduce(`+`, lapply(form$forms, f, ...)) / length(form$forms)
