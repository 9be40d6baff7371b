test_that("published values of fixtures A and B are met", {
  a <- fixture_a()
  b <- fixture_b()
  expect_equal(rbs(a$p, a$y)$power, .44875)
  expect_equal(rbs(a$p, a$y)$.estimate, .6698880503, tolerance = 1e-9)
  out <- rbs(b$p, b$y)
  expect_equal(out$.estimate, .56479438, tolerance = 1e-8)
  expect_equal(out$std.error, .07265863367, tolerance = 1e-9)
  expect_equal(out$corrected, .5694680075, tolerance = 1e-9)
  expect_equal(out$conf.low^2, out$power - qnorm(.975) * sqrt(.1347240636 / 20), tolerance = 1e-8)
})

test_that("two outcomes have no factor 2, as a scalar or as two columns; the two classes have", {
  p <- c(.2, .7, .9, .4)
  y <- c(0, 1, 1, 1)
  scalar <- rbs(p, y)
  expect_equal(scalar$.estimate, sqrt(mean((p - y)^2)))
  expect_equal(scalar$notion, "binary")
  expect_equal(tidy(rbs(cbind(1 - p, p), y + 1)), tidy(scalar))
  expect_equal(tidy(ce_score(cbind(1 - p, p), y + 1)), tidy(ce_score(p, y)))
  expect_equal(ce_score(cbind(1 - p, p), y + 1)$.estimate, scalar$power)
  columns <- rbs(cbind(1 - p, p), y + 1, notion = "canonical")
  expect_equal(columns$.estimate, sqrt(2) * scalar$.estimate)
  expect_equal(rbs(cbind(1 - p, p), y + 1, notion = "class_wise")$.estimate, columns$.estimate)
})

test_that("the extremes", {
  sure <- diag(3)
  expect_equal(rbs(sure, 1:3)$.estimate, 0)
  expect_equal(rbs(sure, c(2, 3, 1))$.estimate, sqrt(2))
  one <- rbs(rbind(c(.5, .5)), 1, notion = "canonical")
  expect_equal(one$.estimate, sqrt(.5))
  expect_true(is.na(one$std.error))
  # label marginals as prediction: 1 - sum of squared shares
  y <- c(1, 1, 2, 3)
  marginal <- matrix(c(.5, .25, .25), 4, 3, byrow = TRUE)
  expect_equal(rbs(marginal, y)$power, 1 - sum(c(.5, .25, .25)^2))
})

test_that("intervals cover the true root Brier score", {
  # p uniform, calibrated: E 2 p (1 - p) = 1/3
  hit <- withr::with_seed(4, vapply(1:400, function(i) {
    p <- stats::runif(200)
    out <- rbs(cbind(1 - p, p), stats::rbinom(200, 1, p) + 1, notion = "canonical")
    out$conf.low <= sqrt(1 / 3) && sqrt(1 / 3) <= out$conf.high
  }, NA))
  expect_gt(mean(hit), 0.92)
  expect_lt(mean(hit), 0.98)
})

test_that("the correction removes most of the bias of the root", {
  n <- 25
  interval <- list(type = "analytic", level = .95)
  found <- withr::with_seed(5, vapply(1:6000, function(i) {
    p <- stats::runif(n)
    score <- (p - stats::rbinom(n, 1, p))^2
    unlist(rbs_columns(mean_estimate(score, new_design(n), power = 2), interval)[c(".estimate", "corrected")])
  }, c(0, 0)))
  bias <- rowMeans(found) - sqrt(1 / 6)
  expect_lt(bias[1], 0)
  expect_lt(abs(bias[2]), abs(bias[1]) / 2)
})

test_that("intervals of mean scores end at the smallest value of the score", {
  p <- vehicle_predictions[1:3, ]
  low <- function(...) ce_score(...)$conf.low
  expect_identical(low(p, truth), 0)
  expect_identical(ce_score(p, truth, bound = TRUE)$conf.low, 0)
  p <- rbind(c(1, 0, 0), c(1, 0, 0), c(.9, .1, 0), c(.2, .8, 0))
  expect_identical(low(p, rep(1, 4), score = c("brier", "log", "spherical")), c(0, 0, -1))
  expect_identical(low(p, rep(1, 4), score = c("brier", "log", "spherical"), bound = TRUE), c(0, 0, 0))
  # of the events that were not seen the rows say nothing
  expect_identical(low(p[, 1], rep(0, 4), score = c("brier", "log")), c(NA_real_, NA))
  expect_identical(low(pred_normal(c(0, 0, 3), .1), c(0, 0, 0), score = c("mse", "crps")), c(0, 0))
  # a log density has no smallest value
  expect_lt(low(pred_normal(c(0, 0, 1), .01), c(0, 0, 1), score = "dss"), -5)
})
