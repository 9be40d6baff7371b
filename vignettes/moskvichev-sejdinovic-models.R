softmax <- function(z) {
  z <- exp(z - apply(z, 1, max))
  z / rowSums(z)
}
# Temperature scaling: t > 1 makes predictions underconfident, t < 1 overconfident.
temper <- function(probs, t) softmax(log(pmax(probs, 1e-300)) / t)
# Drawn in logs, since Gamma(0.1) draws underflow.
draw_dirichlet <- function(n, m, alpha) {
  softmax(matrix(log(rgamma(n * m, alpha + 1)) + log(runif(n * m)) / alpha, n))
}
draw_labels <- function(probs) apply(probs, 1, function(q) sample.int(length(q), 1, prob = q))

# Figure 1: two classes.
draw_binary <- function(n = 1000) {
  p <- draw_dirichlet(n, 2, 1)
  models <- list(true = p, underconfident = temper(p, 2), overconfident = temper(p, 0.5))
  list(models = models, y = draw_labels(p))
}
# Figure 2: ten classes.
draw_ten <- function(n) {
  p <- draw_dirichlet(n, 10, 0.1)
  constant <- matrix(0.1, n, 10)
  models <- list(true = p, marginal = constant, under = temper(p, 2), over = temper(p, 0.5))
  list(models = models, y = draw_labels(p))
}
# Figure 4a: the model is the same for every alpha.
draw_shifted <- function(alpha, n = 1000) {
  inside <- pnorm(c(-1, 1), alpha, 0.25)
  x <- qnorm(inside[1] + runif(n) * diff(inside), alpha, 0.25)
  q <- plogis(5 * x)
  list(q = cbind(1 - q, q), y = 1L + (runif(n) < plogis(x)))
}
