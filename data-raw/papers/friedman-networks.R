# Friedman's first regression problem and the networks of Widmann et al. (2021, appendix A.3): 10-200-50-1, rectified
# linear units, full-batch Adam on the mean squared error by train_adam() of friedman-networks.cpp.

# n rows: inputs uniform on the ten-dimensional cube, noise N(0, 1).
friedman <- function(n) {
  x <- matrix(runif(n * 10), n)
  mean <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
  list(x = x, y = mean + rnorm(n))
}

# Returns the predicted means at the iterations `at`, matrices `train` and `test` with one column each, and `sd`, the
# root of the training error (before the first step: exponential). Weights start uniform (Glorot), biases at 0.
train_network <- function(train, test, at) {
  glorot <- function(i, o) rbind(0, matrix(runif(i * o, -1, 1) * sqrt(6 / (i + o)), i))
  weights <- list(glorot(10, 200), glorot(200, 50), glorot(50, 1))
  initial_sd <- rexp(1)
  out <- train_adam(train$x, train$y, test$x, weights, at)
  out$sd <- sqrt(colMeans((out$train - train$y)^2))
  out$sd[at == 0] <- initial_sd
  out
}
