# An honest lower end for classical errors. A plug-in estimate takes the absolute value of its own
# noise, so that it, and every interval around it, lies above 0 for a calibrated model too. Gaps c
# that were fitted without a row's outcome give a bound from below (tangent of |.|^p, any fixed c):
#   E|Delta|^p >= E[ p |c|^(p-1) sign(c) e - (p-1) |c|^p ],   equality at c = Delta,
# where e is prediction minus outcome; with p = 1, E[ sign(c) e ]. The gaps of a row are those of
# the other folds.

# Fold of every row, from its values (predictions and outcome): scattered, and the same for any order of the rows. In a
# class-wise problem the values are those of all classes, so that a row has one fold. The rows of a cluster are in one
# fold.
problem_folds <- function(problem) problem$fold %||% design_folds(problem$features, problem$labels, problem$design)

# The bound of residuals and gaps in columns (summed), NaN where there is no gap.
tangent_bound <- function(problem, gaps, p) {
  gaps[!is.finite(gaps)] <- 0
  slope <- sign(gaps) * abs(gaps)^(p - 1)
  size <- abs(gaps)^p
  w <- design_weights(problem$design)
  # of the gaps at which the tangent's mean is largest
  scale <- if (any(w * size > 0)) max(0, sum(w * slope * problem$residuals) / sum(w * size)) else 0
  linear_bound(problem, p * scale^(p - 1) * slope, (p - 1) * scale^p * size)
}

# The mean of slope * residual - offset (columns are summed), whose variance is known if outcomes are drawn from the
# predictions.
linear_bound <- function(problem, slope, offset = 0) {
  x <- problem$features
  design <- problem$design
  variance <- rowSums(x * slope^2) - rowSums(x * slope)^2
  mean_estimate(rowSums(slope * problem$residuals - offset), design,
                known = sum(copy_powers(design, 2) * variance) / total_weight(design)^2)
}

# The same from terms that are multiples of scalar residuals.
multiple_bound <- function(problem, terms) {
  slope <- terms / problem$residuals
  linear_bound(problem, replace(slope, !is.finite(slope), 0))
}

# list(fits, values): `of` is list(fit(rows), apply(fit, rows)); fits are those of the other folds' rows. `values` is a
# matrix with a row for each; those of a fold that has all rows stay. `workers`: whether folds go to these.
cross_fit <- function(fold, values, of, workers = FALSE) {
  folds <- lapply(seq_len(max(fold)), function(f) which(fold == f))
  n <- length(fold)
  fit_fold <- sealed(function(held) {
    if (length(held) == 0 || length(held) == n) return(NULL)
    fit <- of$fit(seq_len(n)[-held])
    list(fit = fit, values = of$apply(fit, held))
  }, n = n, of = of)
  parts <- (if (workers) over_some_workers else lapply)(folds, fit_fold)
  for (f in which(lengths(parts) > 0)) values[folds[[f]], ] <- parts[[f]]$values
  list(fits = lapply(parts, `[[`, "fit"), values = values)
}
