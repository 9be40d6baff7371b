# Kernel ridge of weighted rows: rows of a factor L and residuals D times the roots of weights whose mean is 1, so that
# n is the total weight,
#   (W^1/2 K W^1/2 + ridge n I)^-1  and, for kkr,  its Kronecker square + ridge n^2 I
# in the eigenbasis of L'W L (see ridge_spectrum.h).

fit_weighted_ridge <- function(kernel, type, problem, ridge, context) {
  x <- problem$features
  n <- nrow(x)
  w <- problem$design$w
  root <- sqrt(w * n / sum(w))
  kernel <- resolve_kernel(kernel, x, context$threads)
  found <- explicit_features(kernel, x, context$threads) %||% factor_map(kernel, x, ridge, context)
  decomposition <- svd(root * found$features, nu = min(dim(found$features)), nv = min(dim(found$features)))
  s <- decomposition$d^2
  targets <- decomposition$d * crossprod(decomposition$u, root * problem$residuals)
  if (type == "ukkr") {
    return(new_form(found$type, map = found$map, basis = decomposition$v %*% (targets / (s + ridge * n)), gap = TRUE))
  }
  core <- tcrossprod(targets) / (outer(s, s) + ridge * n^2)
  new_form(found$type, map = found$map, basis = decomposition$v, core = core)
}

explicit_features <- function(kernel, x, threads) {
  map <- if (ncol(x) == 1) explicit_map(kernel, x[, 1])
  if (is.null(map)) return(NULL)
  list(type = "taylor", map = map,
       features = cpp_taylor_features(x[, 1], map$centre, map$gamma, map$scale, map$rank, NULL, threads))
}

factor_map <- function(kernel, x, ridge, context) {
  limits <- factor_limits(context)
  small <- nrow(x) <= limits$single
  factor <- cpp_pivoted_cholesky(kernel, x, if (small) 1e-17 else max(factor_tolerance(ridge), 1e-17), limits$most,
                                 context$threads)
  list(type = "factor", features = factor$L,
       map = list(kernel = kernel, pivot_rows = x[factor$pivots, , drop = FALSE],
                  triangle = factor$L[factor$pivots, , drop = FALSE]))
}
