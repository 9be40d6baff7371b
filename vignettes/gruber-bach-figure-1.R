# Five classes, probabilities from a Dirichlet(0.04) distribution.
# Drawn in logs, since Gamma(0.04) draws underflow.
softmax <- function(z) {
  z <- exp(z - apply(z, 1, max))
  z / rowSums(z)
}
draw <- function(n = 500, k = 5, alpha = 0.04) {
  log_gamma <- matrix(log(rgamma(n * k, alpha + 1)) + log(runif(n * k)) / alpha, n)
  truth <- softmax(log_gamma)
  y <- apply(truth, 1, function(q) sample.int(k, 1, prob = q))
  list(probs = softmax(0.3 * log_gamma), y = y) # underconfident predictions
}

# h_theta is the power map with exponent theta / 0.3:
# the truth at theta = 1, perfect calibration at theta = 0.3.
theta <- 2^seq(-5, 4.95, by = 0.05)
risk_curve <- function(fits) {
  data <- draw()
  vapply(fits, function(fit) ce_risk(fit, data$probs, data$y)$risk, 0)
}
# A power map has nothing to estimate: one fit serves all data sets.
power_fits <- function(data = draw()) {
  lapply(theta, function(t) {
    ce_fit(data$probs, data$y, notion = "canonical", method = method_power(t / 0.3))
  })
}
