# Kernel ridge of weighted rows without explicit features: rows of a factor L and residuals D times the roots of weights
# whose mean is 1, so that n is the total weight,
#   (W^1/2 K W^1/2 + ridge n I)^-1  and, for kkr,  its Kronecker square + ridge n^2 I
# in the eigenbasis of L'W L (see ridge_spectrum.h).

fit_weighted_ridge <- function(kernel, type, problem, ridge, context) {
  x <- problem$features
  n <- nrow(x)
  w <- problem$design$w
  root <- sqrt(w * n / sum(w))
  found <- factor_map(kernel, x, ridge, context)
  decomposition <- svd(root * found$features, nu = min(dim(found$features)), nv = min(dim(found$features)))
  s <- decomposition$d^2
  targets <- decomposition$d * crossprod(decomposition$u, root * problem$residuals)
  if (type == "ukkr") {
    return(new_form("factor", map = found$map, basis = decomposition$v %*% (targets / (s + ridge * n)), gap = TRUE))
  }
  core <- tcrossprod(targets) / (outer(s, s) + ridge * n^2)
  new_form("factor", map = found$map, basis = decomposition$v, core = core)
}

factor_map <- function(kernel, x, ridge, context) {
  limits <- factor_limits(context)
  small <- nrow(x) <= limits$single
  factor <- cpp_pivoted_cholesky(kernel, x, if (small) 1e-17 else max(factor_tolerance(ridge), 1e-17), limits$most,
                                 context$threads)
  list(features = factor$L,
       map = list(kernel = kernel, pivot_rows = x[factor$pivots, , drop = FALSE],
                  triangle = factor$L[factor$pivots, , drop = FALSE]))
}
