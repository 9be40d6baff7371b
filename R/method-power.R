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

#' @export
pair_features.ce_form_power <- function(form, features) {
  features - power_map(features, form$exponent)
}

# p^t / sum p^t in logs, from each row's largest value: no overflow, no 0 / 0.
power_map <- function(p, exponent) {
  scalar <- ncol(p) == 1
  if (scalar) p <- cbind(p, 1 - p)
  top <- p[cbind(seq_len(nrow(p)), max.col(p, ties.method = "first"))]
  weights <- (p / top)^exponent
  g <- weights / rowSums(weights)
  if (scalar) g[, 1, drop = FALSE] else g
}

# The same for every fold: nothing was fitted.
#' @export
merge_forms.ce_form_power <- function(form, forms) {
  same <- vapply(forms, function(part) part$exponent == form$exponent, NA)
  if (all(same)) form
}

# One feature map per exponent serves all folds.
#' @export
tune_path.ce_method_power <- function(method, problem, fold, grid, context) {
  n_folds <- max(fold)
  path <- new_path(nrow(grid), n_folds)
  form <- function(v, f) fit_checked(method, problem, grid_point(grid, v), context)
  rows <- lapply(seq_len(n_folds), function(f) rows_of_fold(fold, f))
  for (v in seq_len(nrow(grid))) {
    phi <- pair_features(form(v), problem$features)
    squared <- rowSums(phi^2)
    path$squared_error_test[v, ] <- mean_squared(squared[fold == 0])
    for (f in seq_len(n_folds)) {
      held_out <- rows[[f]]
      risk <- cpp_pair_risk(problem$residuals[held_out, , drop = FALSE],
                            phi[held_out, , drop = FALSE], NULL, thread_count())
      path$risk[v, f] <- finish_risk(risk)$risk
      path$squared_error[v, f] <- mean_squared(squared[held_out])
    }
    advance(context, v / nrow(grid))
  }
  path$form <- form
  path
}
