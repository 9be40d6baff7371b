# Logistic regression (inst/include/calibrisk/classical/logistic.h): theta, the inverse of the second derivative of the
# summed loss, the loss at the start and at theta, iterations, converged. `ridge`: of the penalty
# sum(ridge * (theta - centre)^2).
logistic_fit <- function(x, y, start, w = NULL, offset = NULL, ridge = 0 * start, centre = start) {
  cpp_logistic(x, y, start, centre, ridge, w %||% numeric(), offset %||% numeric())
}

# A row for each row of x, a column for each parameter; `total`: the sum of the weights of the fit. Of weighted rows a
# residual is divided by one minus its leverage, as the jackknife does: with few events the plain errors are too small.
logistic_influence <- function(fit, x, y, design, offset = NULL, total = nrow(x)) {
  p <- stats::plogis(drop(x %*% fit$theta) + (offset %||% 0))
  rows <- (x * (y - p)) %*% (total * fit$inverse)
  if (is_unweighted(design) || !is.null(design$cluster)) return(rows)
  weight <- total * row_shares(design) / (design$copies %||% 1)
  rows / (1 - weight * p * (1 - p) * rowSums((x %*% fit$inverse) * x))
}

# Why there is no finite optimum. `z`: the predictors in columns; `separated`: whether they separate the outcomes.
logistic_failure <- function(z, y, separated) {
  if (all(y == y[1])) return("All outcomes are equal.")
  if (ncol(z) > 0 && all(apply(z, 2, function(v) max(v) - min(v)) < 1e-12)) {
    return("All predictions are equal: the slope is not defined.")
  }
  if (separated) "Predictions separate the outcomes perfectly." else "Newton's method did not converge."
}
