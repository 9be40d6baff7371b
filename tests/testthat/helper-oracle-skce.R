# Naive double loops for the kernel calibration error, from the definitions.

oracle_classes <- list(
  probs = rbind(c(.7, .2, .1), c(.1, .8, .1), c(.25, .25, .5), c(.6, .3, .1), c(.05, .15, .8), c(.4, .35, .25)),
  truth = c(1L, 2L, 1L, 3L, 3L, 2L)
)
oracle_normal <- list(mean = c(0, 1, -.5, 2, .3, -1.2), sd = c(1, 2, .5, .8, 1.5, .3), y = c(.4, 2.5, -.9, 1.1, .3, -1))

# H of classes from k on the predictions and a matrix M of the target kernel.
oracle_class_h <- function(probs, truth, k, m = diag(ncol(probs))) {
  n <- nrow(probs)
  e <- diag(ncol(probs))
  h <- matrix(0, n, n)
  for (i in seq_len(n)) {
    for (j in seq_len(n)) {
      h[i, j] <- k(probs[i, ], probs[j, ]) *
        drop((e[truth[i], ] - probs[i, ]) %*% m %*% (e[truth[j], ] - probs[j, ]))
    }
  }
  h
}

# H of real outcomes from single(i, y) = E k(Z_i, y), both(i, j) = E k(Z_i, Z_j).
oracle_real_h <- function(y, k, target, single, both) {
  n <- NROW(y)
  y <- as.matrix(y)
  h <- matrix(0, n, n)
  for (i in seq_len(n)) {
    for (j in seq_len(n)) {
      h[i, j] <- k(i, j) * (target(y[i, ], y[j, ]) - single(i, y[j, ]) - single(j, y[i, ]) + both(i, j))
    }
  }
  h
}

oracle_unbiased <- function(h) (sum(h) - sum(diag(h))) / (nrow(h) * (nrow(h) - 1))

# T* of one resample.
oracle_bootstrap <- function(h, index) {
  n <- nrow(h)
  pairs <- h[index, index]
  (sum(pairs) - sum(diag(pairs))) / (n * (n - 1)) - 2 * sum(h[index, ]) / n^2
}

oracle_tv <- function(bandwidth) function(p, q) exp(-sum(abs(p - q)) / 2 / bandwidth)

# Classes of uniform numbers: the most probable class of a row first, of equally probable ones the one with the larger
# sum over all rows.
oracle_drawn_classes <- function(p, u) {
  vapply(seq_along(u), function(i) {
    order <- order(-p[i, ], -colSums(p))
    order[1 + sum(u[i] >= cumsum(p[i, order]))]
  }, 1L)
}

# The three classes of the seeded data sets with published values.
seeded_classes <- function() {
  withr::with_seed(1234, {
    p <- t(vapply(1:100, function(i) c(rgamma(1, 3), rgamma(1, 2), rgamma(1, 5)), numeric(3)))
    list(p = p / rowSums(p), y = sample(1:3, 100, replace = TRUE))
  })
}
