# Small data sets with known optima.
naive_log_loss <- function(p, y) mean(-log(p[cbind(seq_along(y), y)]))
naive_brier <- function(p, y) mean(rowSums((p - diag(ncol(p))[y, ])^2))

fixture_logits <- function() {
  z <- matrix(c(
    2, .1, -1, .3, 1.9, -.4, -1.2, .4, 2.6, 3.1, -.2, .5, 0, .7, .2, 1.1, 1, -2, -.5, 2.2, 1.8, .9, -1.1, 1.3,
    2.7, .6, .1, -.3, 3, -1.5, .2, -.6, 1.7, 1.5, 1.2, .8, -.9, .5, 2.1, 2.3, -1.4, -.7, .4, 1.6, .6,
    -2, 1.4, 1.1, .8, -.1, 2.9, 1.8, 0, 1, -.2, 2.5, .3, .6, .9, -.8
  ), ncol = 3, byrow = TRUE)
  list(z = z, y = c(1, 2, 3, 1, 2, 2, 3, 3, 1, 2, 3, 1, 2, 1, 2, 2, 3, 3, 2, 1))
}

# The same with even rows five times as sharp and other labels: all three ETS weights are positive.
fixture_ets <- function() {
  f <- fixture_logits()
  even <- seq(2, 20, 2)
  f$z[even, ] <- round(5 * f$z[even, ], 1)
  f$y <- c(2, 2, 3, 1, 2, 1, 2, 1, 1, 2, 3, 1, 3, 1, 1, 2, 3, 1, 1, 2)
  f
}

fixture_regression <- function() {
  list(
    mean = c(1, 2, -.5, .3, 3.1, 1.7, -1.2, 0, 2.4, .9), variance = c(.5, .8, .3, 1.2, .6, .9, .4, 2, .7, 1),
    y = c(1.9, 1.1, -1.3, 2.2, 3.3, .2, -.1, -2.1, 4, 1.2)
  )
}

# K classes, labels from softmax(z / temperature) where the predictions are softmax(z).
simulate_classes <- function(n, k, temperature = 1, seed = 1) {
  withr::with_seed(seed, {
    z <- matrix(rnorm(n * k, sd = 1.5), n)
    truth <- softmax(z / temperature)
    y <- apply(truth, 1, function(p) sample.int(k, 1, prob = p))
    list(z = z, p = softmax(z), y = y)
  })
}

parameter <- function(x, term) {
  out <- tidy(x)
  out$estimate[out$term == term]
}

# Means and variances as a matrix that says so.
moment_columns <- function(mean, variance) cbind(mean = mean, variance = variance)
