test_that("published values are met", {
  b <- fixture_b()
  expect_equal(mmce(b$p, b$y)$.estimate, .04094283194, tolerance = 1e-9)
  unbiased <- mmce(b$p, b$y, type = "unbiased")
  expect_equal(unbiased$power, -.006784393851, tolerance = 1e-9)
  expect_equal(unbiased$.estimate, 0)
})

test_that("the recursions equal the double sum", {
  for (seed in 1:6) {
    data <- withr::with_seed(seed, random_classes(40, 4, 1))
    top <- top_pair(data$p, data$y)
    for (bandwidth in c(.01, .4, 10)) for (type in c("biased", "unbiased")) {
      expect_equal(
        mmce(data$p, data$y, bandwidth = bandwidth, type = type)$power,
        oracle_mmce(top$conf, top$conf - top$cor, bandwidth, type)
      )
    }
    classes <- sum(vapply(1:4, function(k) {
      oracle_mmce(data$p[, k], data$p[, k] - (data$y == k), .4, "biased")
    }, 0))
    expect_equal(mmce(data$p, data$y, notion = "class_wise")$power, classes)
  }
})

test_that("zero residuals give 0, one row only the biased form", {
  expect_equal(mmce(c(0, 1, 1), c(0, 1, 1))$.estimate, 0)
  expect_equal(mmce(.75, 1)$.estimate, .25)
  expect_error(mmce(.75, 1, type = "unbiased"), class = "calibrisk_error_argument")
})

test_that("the standard error is not below that of calibrated predictions", {
  p <- c(0.9, 0.2, 0.2, 0.7)
  y <- c(1, 0, 1, 1)
  k <- exp(-abs(outer(p, p, "-")) / 0.4)
  naive <- sqrt(2 * sum(outer((p - y)^2, (p - y)^2) * k^2)) / 4^2
  expect_equal(sqrt(mmce_estimate(scalar_problem(p, y), 0.4, "biased")$noise), naive)
  flat <- mmce(rep(0.5, 100), rep(0:1, 50))
  expect_equal(flat$power, 0)
  expect_equal(flat$conf.high^2, qnorm(0.975) * sqrt(2) * 0.25 / 100)
})

test_that("the sweep is the kernel statistic of skce(), weighted and clustered too", {
  withr::local_seed(1)
  p <- round(runif(80), 2)
  y <- rbinom(80, 1, p^2)
  w <- rexp(80)
  site <- rep(1:16, 5)
  half <- function(...) skce(p, y, kernel = kernel_tv(0.4), ...)$.estimate / 2
  for (type in c("unbiased", "biased")) {
    expect_equal(mmce(p, y, type = type)$power, half(type = type), tolerance = 1e-12)
    expect_equal(mmce(p, y, type = type, weights = w)$power, half(type = type, weights = w), tolerance = 1e-12)
  }
  expect_equal(mmce(p, y, type = "unbiased", cluster = site)$power, half(cluster = site), tolerance = 1e-12)
})
