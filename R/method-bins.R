#' Methods: estimators of squared calibration errors
#'
#' A method holds choices, no data: how a calibration estimation function
#' \eqn{h(p, p')} is fitted and the grid of its hyperparameter. Hand one to [ce_fit()], several to
#' [ce_tune()].
#'
#' A hyperparameter given as a vector is a grid for [ce_tune()]; `NULL` is the default grid.
#'
#' @section Definition:
#' Every method is a pair form \eqn{h(p, p') = \phi(p)' M \phi(p')}; the squared calibration error
#' is the mean of \eqn{h(p, p)} (Gruber & Bach 2025).
#' \describe{
#'   \item{`method_bins()`}{\eqn{h(p,p') = b_{k(p)} b_{k(p')}} with the mean residual \eqn{b_k} of
#'     the training rows in bin \eqn{k} (Eqs. 10 and 23), for scalar types of calibration. Equal-width bins are
#'     \eqn{((k-1)/B, k/B]}, with 0 in the first; equal-mass edges are the order statistics of number \eqn{\lceil nk/B
#'     \rceil}, ties merged, right-closed. An empty bin has the mean residual of all training rows. Default grid for `n
#'     = NULL`: 5, 10, ..., 100. `debias = TRUE` subtracts \eqn{v_k = acc_k (1 - acc_k) / (n_k - 1)} where both
#'     predictions are in bin \eqn{k} (Kumar, Liang & Ma 2019): \eqn{E b_k^2} exceeds the squared gap by \eqn{v_k}. Bins
#'     with one training row keep their \eqn{b_k} and have \eqn{v_k = 0}.}
#' }
#'
#' @section Invariants:
#' With the training rows as evaluation rows the mean of \eqn{h(p,p)} of `method_bins()` is the
#' usual binned squared error \eqn{\sum_k (n_k/n) b_k^2}; debiased it is smaller by
#' \eqn{\sum_k (n_k/n) v_k} and may be negative.
#'
#' @section Cost:
#' Bins: one sort; then all folds of each number of bins \eqn{B} in \eqn{O(B \log n)}. Power maps:
#' one pass per exponent. A function: quadratic in the number of rows, in tiles.
#'
#' @references `r ref_gruber_bach`
#'
#' Kumar, A., Liang, P. and Ma, T. (2019). Verified uncertainty calibration. *NeurIPS*.
#' @name ce_methods
NULL

#' @param n Number of bins; a vector is a grid, `NULL` the default grid.
#' @param type Bins of equal width or of equal mass.
#' @param debias Subtract the variance of the bin means?
#' @return An object of class `ce_method`.
#' @rdname ce_methods
#' @export
#' @examples
#' method_bins(15)
#' method_bins(c(5, 10, 20), type = "mass", debias = TRUE)
method_bins <- function(n = 15, type = c("width", "mass"), debias = FALSE) {
  check_bins(n, size = NULL, null = TRUE, arg = "n")
  type <- check_choice(type, c("width", "mass"))
  check_flag(debias)
  new_method("bins", "n", n, type = type, debias = debias)
}

#' @export
default_grid.ce_method_bins <- function(method, notion, n) seq(5, 100, by = 5)

#' @export
fit_form.ce_method_bins <- function(method, problem, point, context) {
  check_scalar_bins(ncol(problem$residuals) == 1 && ncol(problem$features) == 1)
  fit <- cpp_bins_fit(bin_places(problem), problem$residuals, problem$labels, point$value, method$type, method$debias,
                      problem$design)
  bins_form(fit, method$debias)
}

bins_form <- function(fit, debias) {
  if (!debias) return(new_form("bins", edges = fit$edges, values = fit$b, gap = TRUE))
  new_steps(list(list(edges = fit$edges, b = fit$b, v = fit$v)))
}

# Rows that stand for those of a cell are where the cell ends: edges of equal mass are ends.
bin_places <- function(problem) problem$upper %||% problem$features

#' @export
tune_path.ce_method_bins <- function(method, problem, fold, grid, context) {
  check_scalar_bins(ncol(problem$residuals) == 1 && ncol(problem$features) == 1)
  # rows of every fold, sorted once for all methods of bins
  sorted <- cached(context$cache, paste0("bins_", rlang::hash(fold)), {
    cpp_bins_problem(bin_places(problem), problem$residuals, problem$labels, fold, max(fold), problem$design,
                     thread_count())
  })
  path <- lapply(cpp_bins_path(sorted, grid$value, method$type, method$debias, thread_count()), nan_to_na)
  path$form <- function(v, f) {
    bins_form(cpp_bins_fold_fit(sorted, f, grid$value[v], method$type, method$debias), method$debias)
  }
  advance(context, 1)
  path
}

# Bins need one probability per row, so canonical calibration is refused before any work is done.
check_bins_notion <- function(methods, notion) {
  check_scalar_bins(!"canonical" %in% notion || !any(vapply(methods, inherits, NA, "ce_method_bins")))
}

check_scalar_bins <- function(scalar) {
  stop_if(!scalar, "{.fn method_bins} needs one probability per row.",
          "x" = "Cells of a whole probability vector are not defined.",
          "i" = "Use {.code notion = \"top_label\"}, {.val class_wise} or {.val binary}, or another \
                 method: {.fn method_kde}, {.fn method_kkr}, {.fn method_ukkr}.", class = "notion", arg = "method")
}

# Plain bins: phi is the bin's mean residual, the estimated gap.
#' @export
pair_features.ce_form_bins <- function(form, features) {
  cpp_interval_values(features, form$edges, form$values, thread_count())
}
