# Curves as values.

p <- withr::with_seed(3, stats::runif(60))
y <- withr::with_seed(4, stats::rbinom(60, 1, p))
run <- function(...) withr::with_seed(1, ce_curve(p, y, ...))

test_that("a curve by name and as a value give the same numbers", {
  expect_identical(run(), run(type = curve_smooth()))
  expect_identical(run(n_bins = 5, bins = "mass"), run(type = curve_binned(5, "mass")))
  expect_identical(run(type = "isotonic", times = 30), run(type = curve_isotonic(30)))
  expect_identical(run(type = "smooth", bandwidth = .5, times = 30), run(type = curve_smooth(.5, 30)))
  law <- pred_draws(withr::with_seed(2, matrix(stats::rnorm(60 * 8), 60)))
  z <- withr::with_seed(5, stats::rnorm(60))
  of <- function(...) withr::with_seed(1, ce_curve(law, z, ...))
  expect_identical(of(type = "pit", n_bins = 5, times = 30), of(type = curve_pit(5, 30)))
  expect_identical(of(type = "quantile", times = 30), of(type = curve_quantile(30)))
  expect_identical(nrow(tidy(of(type = curve_pit(times = 30)))), 9L)
})

test_that("options that the curve does not have are errors, for a curve by default too", {
  expect_error(run(n_bins = 5, bandwidth = .5), "curve_smooth()", fixed = TRUE, class = "calibrisk_error_argument")
  expect_error(run(bins = "mass", times = 30), "not an option of the curve \"binned\"", class = "calibrisk_error_argument")
  expect_error(run(type = curve_isotonic(), n_bins = 5), "curve_pit()", fixed = TRUE,
               class = "calibrisk_error_argument")
  expect_error(run(type = "smooth", n_bins = 5), "not an option of the curve \"smooth\"",
               class = "calibrisk_error_argument")
})

test_that("options out of range are errors", {
  expect_error(curve_binned(0), "n_bins", class = "calibrisk_error_argument")
  expect_error(curve_binned(bins = "sweep"), "bins", class = "calibrisk_error_argument")
  expect_error(curve_isotonic(times = 1), "times", class = "calibrisk_error_argument")
  expect_error(curve_smooth(bandwidth = 0), "bandwidth", class = "calibrisk_error_argument")
  expect_error(curve_pit(n_bins = 1), "n_bins", class = "calibrisk_error_argument")
})
