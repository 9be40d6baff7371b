draw_rows <- function(n, slope = 1, shift = 0, seed = 1) {
  drawn_rows(seed, plogis(rnorm(n, -0.5, 1.2)), function(p) plogis(slope * qlogis(p) + shift))
}

ladder_of <- function(d, level = 0.95) binary_ladder(scalar_problem(d$p, d$y), level)

# The smallest alpha of a grid at which conf.high of ce_estimate() at 1 - 2 alpha is below delta.
first_below <- function(delta, grid, ...) {
  below <- vapply(grid, function(a) ce_estimate(..., level = 1 - 2 * a)$conf.high < delta, NA)
  c(grid[max(which(!below), 1)], grid[min(which(below))])
}

test_that("the p-value is the smallest alpha at which the upper limit at 1 - 2 alpha is below delta", {
  grid <- seq(0.002, 0.49, 0.008)
  cases <- list(draw_rows(400), draw_rows(400, 0.8, seed = 2), list(p = rep(0.3, 90), y = rep(c(1, 0, 0), 30)))
  for (d in cases) {
    high <- ce_estimate(d$p, d$y)$conf.high
    for (delta in high * c(0.8, 0.95)) {
      p <- ce_test(d$p, d$y, delta = delta)$p.value
      around <- first_below(delta, grid, d$p, d$y)
      expect_gte(p, around[1] - 1e-9)
      expect_lte(p, around[2] + 1e-9)
    }
  }
})

test_that("nested bases are inverted in the same way: weights, clusters, more classes, given bases", {
  grid <- seq(0.002, 0.49, 0.016)
  d <- draw_rows(300)
  k <- ladder_data(300, 3, 3, power = 1)
  w <- withr::with_seed(4, runif(300, 0.5, 2))
  cluster <- rep(1:60, each = 5)
  check <- function(delta, p, y, ..., of = list(), how = "joint") {
    found <- do.call(ce_test, c(list(p, y, test = how, delta = delta, ...)))$p.value
    around <- do.call(first_below, c(list(delta, grid, p, y, ...), of))
    expect_gte(found, around[1] - 1e-9)
    expect_lte(found, around[2] + 1e-9)
  }
  check(0.08, d$p, d$y, weights = w)
  check(0.08, d$p, d$y, cluster = cluster)
  check(0.12, k$p, k$y, of = list(notion = "canonical"))
  check(0.08, d$p, d$y, of = list(bases = c(hats = 6)), how = test_joint(c(hats = 6)))
})

test_that("the p-value falls in delta, from 1 to nearly 0", {
  for (d in list(draw_rows(500), draw_rows(500, 0.6), draw_rows(30), list(p = rep(0.4, 50), y = rep(0:1, 25)))) {
    p <- vapply(seq(0.005, 0.9, length.out = 60), function(delta) ce_test(d$p, d$y, delta = delta)$p.value, 0)
    expect_true(all(diff(p) <= 0))
    expect_true(all(p > 0 & p <= 1))
    expect_lt(p[60], 1e-6)
    expect_gt(p[1], 0.05)
  }
})

test_that("states and tables of the same rows give the same p-value", {
  d <- draw_rows(400)
  d$p <- round(d$p, 2)
  of_rows <- equivalence_p_value(ladder_of(d), 0.08)
  cells <- stats::aggregate(list(n = rep(1, 400)), list(p = d$p, y = d$y), sum)
  counted <- joint_ladder(cells$p, cells$y, cells$n, 0.95)
  expect_equal(equivalence_p_value(counted, 0.08), of_rows, tolerance = 1e-6)
  frame <- data.frame(cells, y2 = factor(ifelse(cells$y == 1, "yes", "no"), c("yes", "no")))
  frame$n <- as.integer(frame$n)
  expect_equal(ce_test(frame, y2, p, weights = n, delta = 0.08)$p.value, of_rows, tolerance = 1e-6)
})

test_that("the result has the one-sided interval, and the printed sentence says what it shows", {
  d <- draw_rows(2000)
  test <- ce_test(d$p, d$y, delta = 0.1)
  expect_identical(test$test, "joint")
  expect_identical(test$alternative, "less")
  expect_identical(unname(test$null.value), 0.1)
  row <- tidy(test)
  expect_identical(c(row$conf.low, row$parameter), c(0, 0.1))
  expect_identical(row$conf.high, row$statistic)
  expect_equal(row$conf.high, ce_estimate(d$p, d$y, level = 0.9)$conf.high, tolerance = 1e-9)
  expect_match(capture_output(print(test)), "The calibration error is below 0.1: p < 0.001.", fixed = TRUE)
})

test_that("a validation and its pages have the p-value and the sentence", {
  d <- draw_rows(2000)
  validation <- ce_validate(d$p, d$y, delta = 0.08, times = 0)
  row <- tidy(validation)[tidy(validation)$term == "equivalence(0.08)", ]
  test <- ce_test(d$p, d$y, delta = 0.08)
  expect_equal(row$p.value, test$p.value)
  expect_equal(c(row$conf.low, row$conf.high), c(0, test$conf.int[2]))
  expect_match(capture_output(print(validation)), "The calibration error is below 0.08: p < 0.001.", fixed = TRUE)
  same <- tidy(validation)[tidy(validation)$term != "equivalence(0.08)", ]
  expect_identical(same, tidy(ce_validate(d$p, d$y, times = 0)))
})

test_that("what has no upper limit, and a delta that is no error, is a classed error", {
  d <- draw_rows(60)
  expect_equivalence_error <- function(code, pattern, class = "calibrisk_error_argument") {
    expect_error(code, pattern, class = class)
  }
  for (delta in list(0, 1, -0.1, NA, "a", c(0.1, 0.2))) {
    expect_equivalence_error(ce_test(d$p, d$y, delta = delta), "delta")
  }
  expect_equivalence_error(ce_test(d$p, d$y, delta = 5), "between 0 and 1")
  expect_equivalence_error(ce_validate(d$p, d$y, delta = 2, times = 0), "delta")
  expect_equivalence_error(ce_report(d$p, d$y, delta = 2, file = tempfile(fileext = ".html")), "delta")
  expect_equivalence_error(ce_power(assume_model(c(0, 1)), delta = 2), "delta")
  expect_equivalence_error(ce_test(d$p, d$y, test = "block", delta = 0.1), "is an option of .test_joint")
  expect_equivalence_error(ce_test(pred_normal(d$p, 1), d$p, delta = 0.1), "needs an upper limit",
                           "calibrisk_error_test")
  expect_equivalence_error(ce_test(d$p, d$y, kernel = kernel_gaussian(1), delta = 0.1), "no kernel")
})

test_that("rows that show nothing give no false claim", {
  expect_gte(ce_test(0.5, 1, delta = 0.3)$p.value, 0.05)
  sure <- ce_test(rep(1, 5), rep(1, 5), delta = 0.1)
  expect_gt(sure$p.value, 0.05)
  expect_lt(ce_test(rep(1, 500), rep(1, 500), delta = 0.1)$p.value, 0.05)
})

test_that("a calibration error of delta is rarely called smaller, one of 0 is in most samples of enough rows", {
  skip_on_cran()
  shifted <- function(seed, by) {
    withr::with_seed(seed, {
      p <- runif(1000, 0.2, 0.8)
      ce_test(p, rbinom(1000, 1, p + by), delta = 0.08)$p.value < 0.05
    })
  }
  expect_lte(mean(vapply(1:100, shifted, NA, by = 0.08)), 0.12)
  expect_gte(mean(vapply(1:40, shifted, NA, by = 0)), 0.8)
})
