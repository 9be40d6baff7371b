# The kernel contract: symmetric, positive semidefinite, Gram = double loop of the formula,
# diagonal as stated, sums and products elementwise.
expect_kernel_contract <- function(kernel, formula, diagonal = 1) {
  x <- withr::with_seed(1, matrix(runif(60), 20))
  x[7, ] <- x[3, ]
  k <- kernel_matrix(kernel, x)
  loop <- outer(1:20, 1:20, Vectorize(function(i, j) formula(x[i, ], x[j, ])))
  expect_equal(k, loop, tolerance = 1e-13)
  expect_equal(k, t(k))
  expect_gt(min(eigen(k, symmetric = TRUE)$values), -1e-12)
  if (!is.null(diagonal)) expect_equal(diag(k), rep(diagonal, 20), tolerance = 1e-14)
  y <- withr::with_seed(2, matrix(runif(15), 5))
  expect_equal(kernel_matrix(kernel, x, y), outer(1:20, 1:5, Vectorize(function(i, j) formula(x[i, ], y[j, ]))))
  expect_equal(cpp_gram_diagonal(kernel, x), diag(k), tolerance = 1e-14)
  expect_identical(with_threads(1, kernel_matrix(kernel, x)), with_threads(2, kernel_matrix(kernel, x)))
}

euclidean <- function(x, y) sqrt(sum((x - y)^2))

test_that("every kernel is its formula", {
  expect_kernel_contract(kernel_gaussian(0.4), function(x, y) exp(-sum((x - y)^2) / (2 * 0.4^2)))
  expect_kernel_contract(kernel_laplace(0.4), function(x, y) exp(-euclidean(x, y) / 0.4))
  expect_kernel_contract(kernel_tv(0.4), function(x, y) exp(-sum(abs(x - y)) / 2 / 0.4))
  expect_kernel_contract(kernel_linear(), function(x, y) sum(x * y), NULL)
  expect_kernel_contract(kernel_white(), function(x, y) as.numeric(all(x == y)))
  for (nu in c(0.5, 1.5, 2.5)) {
    matern <- function(x, y) {
      t <- sqrt(2 * nu) * euclidean(x, y) / 0.4
      c(1, 1 + t, 1 + t + t^2 / 3)[nu + 0.5] * exp(-t)
    }
    expect_kernel_contract(kernel_matern(nu, 0.4), matern)
  }
  expect_kernel_contract(
    2 * (kernel_linear() + kernel_gaussian(0.4)) * kernel_tv(0.3),
    function(x, y) 2 * (sum(x * y) + exp(-sum((x - y)^2) / 0.32)) * exp(-sum(abs(x - y)) / 0.6), NULL
  )
})

test_that("the median heuristic is the exact median over pairs", {
  x <- withr::with_seed(1, matrix(runif(303), 101))
  expect_equal(resolve_kernel(kernel_gaussian("median"), x)$bandwidth, median(dist(x)), tolerance = 1e-14)
  expect_equal(resolve_kernel(kernel_tv("median"), x)$bandwidth, median(dist(x, "manhattan")) / 2, tolerance = 1e-14)
  even <- x[1:8, ]
  expect_equal(cpp_median_distance("euclidean", even, 2L), median(dist(even)), tolerance = 1e-14)
  tied <- rbind(matrix(0.5, 90, 3), x[1:3, ])
  positive <- dist(tied)[dist(tied) > 0]
  expect_equal(cpp_median_distance("euclidean", tied, 2L), median(positive), tolerance = 1e-12)
  expect_equal(cpp_median_distance("euclidean", matrix(0.5, 5, 2), 2L), 1)
  expect_equal(cpp_median_distance("tv", x[1, , drop = FALSE], 1L), 1)
  # squares that overflow or vanish
  expect_equal(cpp_median_distance("euclidean", 1e300 * x, 2L), 1e300 * median(dist(x)), tolerance = 1e-12)
  expect_equal(cpp_median_distance("euclidean", 1e-200 * x, 2L) * 1e200, median(dist(x)), tolerance = 1e-12)
  expect_identical(cpp_median_distance("euclidean", matrix(c(-1.7e308, 1.7e308)), 2L), Inf)
})

test_that("kernels print as they are written", {
  expect_equal(format(2 * (kernel_linear() + kernel_gaussian("median")) * kernel_tv(0.25)),
               "2 * (linear() + gaussian(\"median\")) * tv(0.25)")
})

test_that("bad kernels are classed errors", {
  expect_error(kernel_gaussian(0), class = "calibrisk_error_argument")
  expect_error(kernel_gaussian(-1), class = "calibrisk_error_argument")
  expect_error(kernel_tv("mean"), class = "calibrisk_error_argument")
  expect_error(kernel_matern(1, 1), class = "calibrisk_error_argument")
  expect_error(kernel_linear() + 1, class = "calibrisk_error_kernel")
  expect_error(kernel_linear() - kernel_linear(), class = "calibrisk_error_kernel")
  expect_error(-1 * kernel_linear(), class = "calibrisk_error_argument")
})

test_that("factors of kernels stay where their powers are numbers", {
  k <- kernel_gaussian(1)
  for (scale in c(1e300, 1e51, 1e-60)) {
    expect_error(scale * k, "between 1e-50 and 1e\\+50", class = "calibrisk_error_kernel")
  }
  expect_error((1e30 * k) * (1e30 * k), class = "calibrisk_error_kernel")
  expect_error(1e10 * (k + 1e45 * k), class = "calibrisk_error_kernel")
  data <- withr::with_seed(1, list(p = runif(30), y = rep(0:1, 15)))
  large <- 1e50 * k
  base <- list(skce = skce(data$p, data$y, kernel = k, target_kernel = kernel_white()),
               ucme = withr::with_seed(2, ucme(data$p, data$y, kernel = k)))
  scaled <- list(skce = skce(data$p, data$y, kernel = large, target_kernel = 1e50 * kernel_white()),
                 ucme = withr::with_seed(2, ucme(data$p, data$y, kernel = large)))
  expect_equal(scaled$skce$.estimate, base$skce$.estimate * 1e100)
  expect_equal(scaled$skce$std.error, base$skce$std.error * 1e100)
  expect_equal(scaled$ucme$std.error, base$ucme$std.error * 1e100)
  expect_equal(withr::with_seed(1, ce_test(data$p, data$y, kernel = large,
                                           test = test_conditional(times = 99))$p.value), withr::with_seed(1,
                                ce_test(data$p, data$y, kernel = k, test = test_conditional(times = 99))$p.value))
  expect_equal(ckce(data$p, data$y, kernel = large, ridge = 1e49)$.estimate,
               ckce(data$p, data$y, kernel = k, ridge = .1)$.estimate / 1e50)
  line <- kernel_linear()
  expect_error(skce(pred_normal(1e50 * 1:3 / 4, 1), 1e50 * c(.2, .1, .1), kernel = line, target_kernel = line),
               class = "calibrisk_error_distribution")
})
