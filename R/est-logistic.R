# Logistic regression (inst/include/calibrisk/classical/logistic.h): theta, the inverse of the second derivative of the
# summed loss, the loss at the start and at theta, iterations, converged. `ridge`: of the penalty
# sum(ridge * (theta - centre)^2).
logistic_fit <- function(x, y, start, w = NULL, offset = NULL, ridge = 0 * start, centre = start) {
  cpp_logistic(x, y, start, centre, ridge, w %||% numeric(), offset %||% numeric())
}

# With one predictor the likelihood has no maximum exactly if its two groups of outcomes do not overlap.
is_separated <- function(z, y) {
  if (all(y == y[1])) return(TRUE)
  low <- range(z[y == 0])
  high <- range(z[y == 1])
  low[2] <= high[1] || low[1] >= high[2]
}

# A row for each row of x, a column for each parameter; `total`: the sum of the weights of the fit.
logistic_influence <- function(fit, x, y, offset = NULL, total = nrow(x)) {
  (x * (y - stats::plogis(drop(x %*% fit$theta) + (offset %||% 0)))) %*% (total * fit$inverse)
}
