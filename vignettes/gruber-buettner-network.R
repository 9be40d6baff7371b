# The networks of the page on calibrated variances: a mean and a variance for every row of `x`, trained with Adam to a
# small mean Dawid-Sebastiani score. In plain R, since that is shorter than the explanation of another library.

# How the second output becomes a variance, with the derivative of that map.
as_variance <- list(
  exp = list(value = function(z) exp(z) + 1e-10, slope = exp),
  abs = list(value = abs, slope = sign)
)

# Layers of ReLU units with Glorot's uniform weights; the last row of each matrix holds the biases, 0 at the start.
new_network <- function(sizes, variance = "exp") {
  weights <- Map(function(from, to) {
    a <- sqrt(6 / (from + to))
    rbind(matrix(runif(from * to, -a, a), from), 0)
  }, head(sizes, -1), tail(sizes, -1))
  list(weights = weights, variance = as_variance[[variance]])
}

layers <- function(net, x) {
  out <- list(cbind(x, 1))
  for (w in net$weights[-length(net$weights)]) out <- c(out, list(cbind(pmax(out[[length(out)]] %*% w, 0), 1)))
  out
}

predict_network <- function(net, x) {
  h <- layers(net, x)
  out <- h[[length(h)]] %*% net$weights[[length(h)]]
  cbind(mean = out[, 1], variance = net$variance$value(out[, 2]))
}

# Gradient of the mean score (y - mean)^2 / variance + log(variance).
gradient <- function(net, x, y) {
  h <- layers(net, x)
  m <- length(h)
  out <- h[[m]] %*% net$weights[[m]]
  v <- net$variance$value(out[, 2])
  error <- out[, 1] - y
  delta <- cbind(2 * error / v, (1 - error^2 / v) / v * net$variance$slope(out[, 2])) / length(y)
  g <- vector("list", m)
  for (l in m:1) {
    g[[l]] <- crossprod(h[[l]], delta)
    if (l == 1) break
    w <- net$weights[[l]]
    delta <- (delta %*% t(w[-nrow(w), , drop = FALSE])) * (h[[l]][, -ncol(h[[l]])] > 0)
  }
  g
}

# Adam with its usual constants on all rows at once. Returns what `watch(net, step)` returned at the steps `at`.
train <- function(net, data, steps, at = steps, watch = function(net, step) net) {
  first <- second <- lapply(net$weights, function(w) 0 * w)
  seen <- list()
  for (step in 0:steps) {
    if (step %in% at) seen <- c(seen, list(watch(net, step)))
    g <- gradient(net, data$x, data$y)
    t <- step + 1
    for (l in seq_along(g)) {
      first[[l]] <- 0.9 * first[[l]] + 0.1 * g[[l]]
      second[[l]] <- 0.999 * second[[l]] + 0.001 * g[[l]]^2
      step_size <- 0.001 / (1 - 0.9^t) / (sqrt(second[[l]] / (1 - 0.999^t)) + 1e-8)
      net$weights[[l]] <- net$weights[[l]] - step_size * first[[l]]
    }
  }
  seen
}

# Friedman's first function, with noise whose standard deviation depends on the sixth input.
friedman <- function(n) {
  x <- matrix(runif(10 * n), n)
  mean <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
  sd <- 0.5 + x[, 6]
  list(x = x, mean = mean, variance = sd^2, y = rnorm(n, mean, sd))
}
