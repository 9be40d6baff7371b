# Pivoted Cholesky of a kernel's Gram matrix against a naive loop.

naive_pivoted_cholesky <- function(gram, tolerance, max_rank = nrow(gram)) {
  n <- nrow(gram)
  residual <- diag(gram)
  l <- matrix(0, n, 0)
  pivots <- integer()
  while (ncol(l) < max_rank && mean(residual) > tolerance) {
    j <- which.max(residual)
    column <- (gram[, j] - l %*% l[j, ]) / sqrt(residual[j])
    column[pivots] <- 0
    residual <- pmax(residual - drop(column)^2, 0)
    residual[j] <- 0
    l <- cbind(l, column, deparse.level = 0)
    pivots <- c(pivots, j)
  }
  list(L = l, pivots = pivots, residual_trace = mean(residual))
}

factor_of <- function(kernel, x, tolerance = 1e-12, max_rank = nrow(x)) {
  cpp_pivoted_cholesky(kernel, x, tolerance, max_rank, thread_count())
}

test_that("pivots are chosen greedily, as in the naive loop", {
  x <- withr::with_seed(1, random_simplex(60, 3))
  for (kernel in list(kernel_gaussian(1), kernel_laplace(0.7), kernel_tv(0.4) * kernel_gaussian(1))) {
    gram <- kernel_matrix(kernel, x)
    for (tolerance in c(1e-2, 1e-5, 1e-8)) {
      fast <- factor_of(kernel, x, tolerance)
      naive <- naive_pivoted_cholesky(gram, tolerance)
      expect_identical(fast$pivots, naive$pivots)
      expect_equal(fast$L, naive$L, tolerance = 1e-7)
      expect_equal(fast$residual_trace, naive$residual_trace, tolerance = 1e-6)
    }
    expect_equal(tcrossprod(factor_of(kernel, x)$L), gram, tolerance = 1e-10)
  }
})

test_that("blocks of pivots reach the tolerance with a rank near the greedy one", {
  x <- withr::with_seed(2, random_simplex(500, 6))
  for (kernel in list(kernel_gaussian(0.3), kernel_matern(1.5, 0.5), kernel_laplace(1))) {
    gram <- kernel_matrix(kernel, x)
    fast <- factor_of(kernel, x, 1e-4)
    naive <- naive_pivoted_cholesky(gram, 1e-4)
    expect_lte(fast$residual_trace, 1e-4)
    expect_gt(length(fast$pivots), 64)
    expect_lt(length(fast$pivots), 1.15 * length(naive$pivots) + 64)
    expect_equal(mean(diag(gram - tcrossprod(fast$L))), fast$residual_trace, tolerance = 1e-8)
    expect_identical(anyDuplicated(fast$pivots), 0L)
    triangle <- fast$L[fast$pivots, ]
    expect_true(all(triangle[upper.tri(triangle)] == 0))
  }
})

test_that("ties, constant rows and one row give the numerical rank", {
  constant <- matrix(0.5, 30, 2)
  expect_length(factor_of(kernel_gaussian(1), constant, 0)$pivots, 1)
  tied <- withr::with_seed(4, random_simplex(9, 3))[rep(1:9, 20), ]
  expect_length(factor_of(kernel_white(), tied, 0)$pivots, 9)
  expect_length(factor_of(kernel_linear(), tied, 0)$pivots, 3)
  expect_equal(factor_of(kernel_gaussian(1), tied[1, , drop = FALSE], 0)$L, matrix(1))
})

test_that("new points are mapped by the pivots, old ones to their rows", {
  x <- withr::with_seed(5, random_simplex(200, 4))
  kernel <- kernel_gaussian(0.5)
  fit <- factor_of(kernel, x[1:120, ], 1e-14)
  triangle <- fit$L[fit$pivots, ]
  features <- cpp_factor_features(kernel, x[fit$pivots, ], triangle, x, 2L)
  expect_equal(features[1:120, ], fit$L, tolerance = 1e-6)
  expect_equal(tcrossprod(features[121:200, ], fit$L), kernel_matrix(kernel, x[121:200, ], x[1:120, ]),
               tolerance = 1e-6)
})
