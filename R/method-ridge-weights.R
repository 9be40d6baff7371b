# Kernel ridge of weighted rows whose kernel has no explicit features: those of a factor are, and the weights are those
# of ridge_explicit.h.
weighted_bases <- function(kernel, problem, fold, ridge, context) {
  found <- factor_map(kernel, problem$features, ridge, context)
  problem[c("features", "map")] <- found[c("features", "map")]
  explicit_bases(kernel, problem, fold, context)
}

factor_map <- function(kernel, x, ridge, context) {
  limits <- factor_limits(context)
  small <- nrow(x) <= limits$single
  factor <- cpp_pivoted_cholesky(kernel, x, if (small) 1e-17 else max(factor_tolerance(ridge), 1e-17), limits$most,
                                 thread_count())
  list(features = factor$L, map = list(kernel = kernel, pivot_rows = x[factor$pivots, , drop = FALSE],
                  triangle = factor$L[factor$pivots, , drop = FALSE]))
}
