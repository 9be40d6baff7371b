#' @section Power maps:
#' `method_power()` is the temperature family, \eqn{h(p, p') = \langle p - g(p), p' - g(p')\rangle}
#' with \eqn{g(p) = p^t / \sum_k p_k^t} for the exponent (inverse temperature) \eqn{t}; a scalar p
#' is read as the two classes (p, 1 - p). Nothing is fitted but the choice of \eqn{t}. \eqn{t = 1}
#' is \eqn{h = 0}. Zeros stay zeros. Default grid: \eqn{2^{-3}, 2^{-2.875}, ..., 2^3}.
#' @param exponent Exponent of the power map, positive; a vector is a grid.
#' @rdname ce_methods
#' @export
#' @examples
#' method_power(1.5)
method_power <- function(exponent = NULL) {
  check_numbers(exponent, lower = 0, open = TRUE, null = TRUE)
  new_method("power", "exponent", exponent)
}

#' @export
default_grid.ce_method_power <- function(method, notion, n) 2^seq(-3, 3, by = 0.125)

#' @export
fit_form.ce_method_power <- function(method, problem, point, context) {
  new_form("power", exponent = point$value, gap = TRUE)
}

# Of one probability the event's, of the two classes; zeros stay zeros.
#' @export
pair_features.ce_form_power <- function(form, features) {
  scalar <- ncol(features) == 1
  given <- if (scalar) features[, 1] else features
  powers <- cpp_ensemble_map(given, FALSE, 0, form$exponent, c(1, 0, 0), thread_count())
  features - if (scalar) powers[, 2] else powers
}

# The same for every fold: nothing was fitted.
#' @export
merge_forms.ce_form_power <- function(form, forms) {
  same <- vapply(forms, function(part) part$exponent == form$exponent, NA)
  if (all(same)) form
}
