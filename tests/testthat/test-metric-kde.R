test_that("published values of fixture B are met", {
  b <- fixture_b()
  two <- kde_error(b$p, b$y, kernel = "triweight")
  expect_equal(two$bandwidth, .07879233943, tolerance = 1e-9)
  expect_equal(two$power, .01051990664, tolerance = 1e-8)
  expect_equal(kde_error(b$p, b$y, kernel = "triweight", p = 1)$.estimate, .06713318246, tolerance = 1e-8)
  power <- function(h) vapply(1:2, function(p) kde_error(b$p, b$y, p = p, bandwidth = h)$power, 0)
  expect_equal(power(.05), c(.5151444576, .1751950271), tolerance = 1e-8)
  expect_equal(power(.1), c(.4275929274, .1125645632), tolerance = 1e-8)
  expect_equal(power(.5), c(.2242211478, .03157823844), tolerance = 1e-8)
  expect_equal(kde_error(b$p, b$y)$bandwidth, 1)
  expect_equal(kde_loo_loglik(b$p, 1), 9.851974987, tolerance = 1e-9)
})

test_that("class-wise Dirichlet errors are means of scalar ones; trouble is named", {
  b <- fixture_b()
  classes <- mean(vapply(1:3, function(k) kde_error(b$p[, k], b$y == k, bandwidth = .1)$power, 0))
  expect_equal(kde_error(b$p, b$y, bandwidth = .1, notion = "class_wise")$power, classes)
  expect_error(kde_error(c(.5, .6), c(1, 0), kernel = "triweight"), class = "calibrisk_error_bandwidth")
  expect_error(kde_error(c(.5, .6), c(0, 0), kernel = "triweight"), class = "calibrisk_error_bandwidth")
  expect_equal(kde_error(c(.5, .6), c(0, 0), kernel = "triweight", bandwidth = .1)$.estimate,
               sqrt(mean(c(.5, .6)^2)), tolerance = .1)
  expect_error(kde_error(.5, 1), class = "calibrisk_error_argument")
  expect_error(kde_error(b$p, b$y, notion = "canonical", kernel = "triweight"), class = "calibrisk_error_notion")
  expect_error(kde_error(b$p, b$y, times = 1000), class = "calibrisk_error_argument")
})

test_that("standard errors are those of the jackknife at fixed bandwidth", {
  x <- withr::with_seed(3, stats::runif(150))
  y <- withr::with_seed(4, stats::rbinom(150, 1, x^3))
  without <- function(i) scalar_problem(x[-i], y[-i])
  for (p in c(1, 2, 3)) {
    power <- vapply(1:150, function(i) triweight_error(without(i), p, .1, rows = FALSE)$power, 0)
    error <- sqrt(149 / 150 * sum((power - mean(power))^2))
    out <- kde_error(x, y, kernel = "triweight", p = p, bandwidth = .1)
    expect_equal(out$std.error * (if (p == 1) 1 else p * out$.estimate^(p - 1)) / error, 1, tolerance = .03)
    expect_lte(out$conf.low, out$.estimate)
    expect_gte(out$conf.high, out$.estimate)
  }
  # and those of the Dirichlet error nearly
  power <- vapply(1:150, function(i) dirichlet_error(without(i), 2, .02, rows = FALSE)$power, 0)
  out <- kde_error(x, y, bandwidth = .02)
  error <- sqrt(149 / 150 * sum((power - mean(power))^2))
  expect_equal(out$std.error * 2 * out$.estimate / error, 1, tolerance = .1)
})

test_that("the influence of weighted triweight errors is the derivative by a row's weight", {
  data <- design_rows_frame(60)
  at <- function(w) {
    problem <- scalar_problem(data$prob, data$y)
    problem$design <- new_design(60, w)
    triweight_error(problem, 2, .15)
  }
  value <- at(data$share)
  for (i in c(3, 20, 41)) {
    moved <- (at(replace(data$share, i, data$share[i] + 1e-5))$power - value$power) / 1e-5 * sum(data$share)
    expect_equal(moved, value$rows[i] - sum(data$share * value$rows) / sum(data$share), tolerance = .02)
  }
})

test_that("the Dirichlet error of weighted and clustered rows leaves a row or its cluster out of weighted ratios", {
  data <- design_rows_frame(60)
  k <- function(x, at) stats::dbeta(x, at / .1 + 1, (1 - at) / .1 + 1)
  naive <- function(left_out) {
    ratio <- vapply(1:60, function(i) {
      others <- setdiff(1:60, left_out(i))
      weight <- data$share[others] * k(data$prob[i], data$prob[others])
      sum(weight * data$y[others]) / sum(weight)
    }, 0)
    sum(data$share * (data$prob - ratio)^2) / sum(data$share)
  }
  expect_equal(kde_error(data, y, prob, weights = share, bandwidth = .1)$power, naive(identity))
  expect_equal(kde_error(data, y, prob, weights = share, cluster = centre, bandwidth = .1)$power,
               naive(function(i) which(data$centre == data$centre[i])))
  data$one <- 1
  expect_error(suppressWarnings(kde_error(data, y, prob, cluster = one)), class = "calibrisk_error_rows")
})

test_that("a bandwidth that no node of the grid sees is an error, and missing in the panel", {
  p <- withr::with_seed(1, 1 - 1e-12 * runif(50))
  expect_error(kde_error(p, rep(1, 50), kernel = "triweight"), "grid's step", class = "calibrisk_error_bandwidth")
  panel <- suppressWarnings(ce_panel(p, rep(1, 50)))
  row <- panel[panel$.metric == "kde_error", ]
  expect_true(is.na(row$.estimate) && !is.nan(row$.estimate))
  expect_match(row$detail, "grid's step")
})
