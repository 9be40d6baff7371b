test_that("published values are met", {
  a <- fixture_a()
  b <- fixture_b()
  expect_equal(ks_error(a$p, a$y)$.estimate, .04166666667, tolerance = 1e-9)
  expect_equal(ks_error(b$p, b$y)$.estimate, .05387841996, tolerance = 1e-9)
})

test_that("the path is that of the definition", {
  for (seed in 1:8) {
    data <- withr::with_seed(seed, random_classes(30, 3, 1))
    top <- top_pair(data$p, data$y)
    path <- vapply(top$conf, function(s) mean((top$conf <= s) * (top$conf - top$cor)), 0)
    expect_equal(ks_error(data$p, data$y)$.estimate, max(abs(path)))
    classes <- mean(vapply(1:3, function(k) {
      x <- data$p[, k]
      max(abs(vapply(x, function(s) mean((x <= s) * (x - (data$y == k))), 0)))
    }, 0))
    expect_equal(ks_error(data$p, data$y, notion = "class_wise")$.estimate, classes)
  }
})

test_that("always wrong is 1, the canonical notion is refused, and weighted errors have published values", {
  expect_equal(ks_error(diag(3), c(2, 3, 1))$.estimate, 1)
  expect_error(ks_error(diag(3), 1:3, notion = "canonical"), class = "calibrisk_error_notion")
  out <- ks_error(c(.6, .8, .2, .4), c(0, 1, 0, 0), weights = c(.4, .3, .2, .1))
  expect_equal(out$.estimate, .32)
  expect_equal(out$sigma, 1.289317, tolerance = 1e-6)
  expect_equal(out$kuiper, .32)
  # up to .04, .08, .32, and back to .26
  expect_equal(out$location, .6)
  expect_equal(ks_error(c(.5, .6, .7), c(1, 0, 0))$kuiper, .8 / 3 + .5 / 3)
})

test_that("the law of the largest Brownian motion, and the level of its test", {
  # its 0.95 quantile
  expect_equal(cpp_motion_tail(2.2414), .05, tolerance = 1e-3)
  expect_equal(cpp_motion_tail(1 + 1e-9), cpp_motion_tail(1), tolerance = 1e-7)
  expect_identical(cpp_motion_tail(0), 1)
  expect_lt(abs(cpp_motion_tail(.2) - 1), 1e-9)
  found <- withr::with_seed(3, vapply(1:400, function(i) {
    p <- stats::runif(400)
    w <- stats::rexp(400)
    y <- stats::rbinom(400, 1, p)
    c(ks_error(p, y)$p.value, ks_error(p, y, weights = w)$p.value)
  }, c(0, 0)))
  expect_lt(max(rowMeans(found < .05)), .08)
  expect_gt(min(rowMeans(found < .05)), .02)
  expect_identical(ks_error(c(0, 1, 1), c(0, 1, 1))$p.value, 1)
  expect_identical(ks_error(c(0, 1, 1), c(1, 1, 1))$p.value, 0)
  expect_true(is.na(ks_error(c(.2, .4, .6), c(0, 1, 1), cluster = c(1, 1, 2))$p.value))
})

test_that("the lower limit is above 0 exactly where the p-value is below alpha, and holds", {
  chance <- function(p) p^1.3
  # the largest of E[(p - p^1.3); p <= s], at the end
  truth <- 1 / 2 - 1 / 2.3
  found <- withr::with_seed(5, vapply(1:300, function(i) {
    p <- stats::runif(200)
    w <- if (i %% 2 == 0) stats::runif(200, .5, 1.5)
    calibrated <- if (is.null(w)) ks_error(p, stats::rbinom(200, 1, p)) else
      ks_error(p, stats::rbinom(200, 1, p), weights = w)
    gap <- ks_error(p, stats::rbinom(200, 1, chance(p)))
    c((calibrated$conf.low > 0) == (calibrated$p.value < .05), (gap$conf.low > 0) == (gap$p.value < .05),
      calibrated$conf.low > 0, gap$conf.low > truth, gap$conf.high < truth, gap$conf.low > 0)
  }, logical(6)))
  share <- rowMeans(found)
  expect_identical(share[1:2], c(1, 1))
  expect_lt(share[3], .08)
  expect_lt(max(share[4:5]), .05)
  expect_gt(share[6], .3)
  # the equation of the limit
  spread <- c(known = 4e-4, estimated = 6e-4)
  low <- ks_lower(.1, spread)(.95)
  sigma <- sqrt(4e-4 + 2e-4 * low / .1)
  expect_equal(cpp_motion_tail((.1 - low) / sigma), .05, tolerance = 1e-8)
})
