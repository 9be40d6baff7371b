#' Kernel ridge estimators of squared calibration errors
#'
#' `method_kkr()` is Kronecker kernel ridge regression of the products
#' \eqn{\langle d_i, d_j \rangle} of residuals on pairs of predictions; `method_ukkr()` regresses the residual itself in
#' a first step and multiplies the fitted values in a second.
#'
#' @param ridge The ridge \eqn{\lambda}, a positive number; a vector is a grid, `NULL` the default
#'   grid.
#' @param kernel A kernel, see [ce_kernels], or a list of kernels: then the grid has every
#'   kernel with every ridge. `bandwidth = "median"` is resolved on the rows that tune (all but the
#'   test rows), in [ce_fit()] on the rows that fit.
#' @param exact Whether to compute every ridge to full precision, rather than the selected one to the reported digits.
#'   See Cost.
#' @return An object of class `ce_method`.
#' @section Definition:
#' With \eqn{n} training rows, their Gram matrix \eqn{K} and residuals \eqn{D} (prediction minus
#' outcome), \eqn{k(p)} the kernel between \eqn{p} and the training rows,
#' \deqn{h_{kkr}(p, p') = vec(D D')' (K \otimes K + \lambda n^2 I)^{-1} (k(p) \otimes k(p')),}
#' \deqn{h_{ukkr}(p, p') = \langle g(p), g(p') \rangle, \quad g(p) = D' (K + \lambda n I)^{-1} k(p)}
#' (Gruber & Bach 2025, Eqs. 27-34). The default grids are those of the published tables:
#' \eqn{\lambda = g / \sqrt n} for kkr with \eqn{g = 10^{-1}, 10^{-3}, ..., 10^{-17}} for scalar types of calibration
#' and \eqn{10^{8}, 10^{7}, ..., 10^{-9}} for canonical calibration; \eqn{\lambda = g / n^{1/4}} for ukkr with \eqn{g =
#' 10^{-1}, 10^{-2}, ..., 10^{-9}} and \eqn{10^{4}, 10^{3.5}, ..., 10^{-4.5}}.
#' @section Invariants:
#' For kkr \eqn{h(p, p)} may be negative; it is never clipped inside a mean, and there is no estimate of the
#' miscalibration itself. For ukkr \eqn{h(p, p)} is a squared length and includes the variance of the fit: it is biased
#' upwards. As \eqn{\lambda \to 0} both interpolate the products of the residuals; as \eqn{\lambda \to \infty} both
#' vanish.
#' @section Cost:
#' Scalar features with a Gaussian kernel use explicit features: linear in the number of rows, ten digits at every
#' ridge. Other features and kernels use a pivoted Cholesky factor of rank \eqn{r} of all rows, in \eqn{O(n r^2 + k
#' r^3)} for \eqn{k} folds and all ridges. A factor of rank up to 128, or of at most 256 rows, is exact. Otherwise the
#' accuracy is tied to the selected ridge. `exact = TRUE` goes on to the full rank. The vignette *Notation* has the
#' rules, and `ce_tune()` keeps `diagnostics`.
#' @references `r ref_gruber_bach`
#' @seealso [ce_methods] for the other methods, [ce_tune()] to choose among them.
#' @name method_kkr
#' @examples
#' method_kkr()
#' method_ukkr(10^-(1:4), kernel_laplace("median"))
NULL

#' @rdname method_kkr
#' @export
method_kkr <- function(ridge = NULL, kernel = kernel_gaussian(1 / sqrt(2)), exact = FALSE) {
  new_ridge_method("kkr", ridge, kernel, exact)
}

#' @rdname method_kkr
#' @export
method_ukkr <- function(ridge = NULL, kernel = kernel_gaussian(1 / sqrt(2)), exact = FALSE) {
  new_ridge_method("ukkr", ridge, kernel, exact)
}

new_ridge_method <- function(name, ridge, kernel, exact) {
  check_flag(exact)
  check_numbers(ridge, "ridge", lower = 0, open = TRUE, null = TRUE)
  several <- is_bare_list(kernel) && length(kernel) > 0
  for (one in if (several) kernel else list(kernel)) check_feature_kernel(check_kernel(one, "kernel"), "kernel")
  method <- new_method(name, "ridge", ridge, kernel = kernel)
  if (exact) method$exact <- TRUE
  class(method) <- append(class(method), "ce_method_ridge", after = 1)
  method
}

#' @export
default_grid.ce_method_kkr <- function(method, notion, n) {
  g <- if (notion == "canonical") 10^(8:-9) else 10^-seq(1, 17, by = 2)
  g / sqrt(n)
}

#' @export
default_grid.ce_method_ukkr <- function(method, notion, n) {
  g <- if (notion == "canonical") 10^seq(4, -4.5, by = -0.5) else 10^-(1:9)
  g / n^(1 / 4)
}

#' @export
method_grid.ce_method_ridge <- function(method, notion, n) {
  grid <- NextMethod()
  if (is_kernel(method$kernel)) return(grid)
  kernels <- method$kernel
  columns_frame(value = rep(grid$value, length(kernels)), kernel = rep(unname(kernels), each = nrow(grid)))
}

# phi(p) = basis' l(p), with l(p) the explicit features of scalars or those of a factor.
#' @export
pair_features.ce_form_taylor <- function(form, features) {
  map <- form$map
  cpp_taylor_features(features[, 1], map$centre, map$gamma, map$scale, map$rank, form$basis, thread_count())
}

# Neither needs the features of all rows at once.
#' @export
form_risk.ce_form_taylor <- function(form, features, residuals, design = NULL) {
  if (!is_plain(design)) return(NextMethod())
  finish_risk(cpp_taylor_risk(residuals, features, form$map, form$basis, core_matrix(form$core), thread_count()))
}

#' @export
form_squared.ce_form_taylor <- function(form, features) {
  cpp_taylor_squared(features, form$map, form$basis, core_matrix(form$core), thread_count())
}

#' @export
pair_features.ce_form_factor <- function(form, features) {
  map <- form$map
  cpp_factor_features(map$kernel, map$pivot_rows, map$triangle, features, thread_count()) %*% form$basis
}

# kkr forms of the folds have one map: their mean has one core in its features.
#' @export
merge_forms.ce_form_factor <- function(form, forms) {
  if (isTRUE(form$gap)) return(NULL)
  maps <- lapply(forms, `[[`, "map")
  if (!all(vapply(maps, identical, NA, maps[[1]]))) return(NULL)
  if (sum(vapply(forms, function(f) ncol(f$basis), 0L)) <= ncol(form$map$triangle)) return(NULL)
  cores <- lapply(forms, function(f) f$basis %*% tcrossprod(f$core, f$basis))
  core <- Reduce(`+`, cores) / length(forms)
  new_form("factor", map = form$map, basis = diag(nrow(core)), core = (core + t(core)) / 2)
}
