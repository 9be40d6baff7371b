# Curves as values.

p <- withr::with_seed(3, stats::runif(60))
y <- withr::with_seed(4, stats::rbinom(60, 1, p))
run <- function(...) withr::with_seed(1, ce_curve(p, y, ...))

test_that("a curve by name and as a value give the same numbers", {
  expect_identical(run(), run(type = curve_smooth()))
  for (name in c("binned", "isotonic", "smooth")) {
    expect_identical(run(type = name), run(type = get(paste0("curve_", name))()))
  }
  law <- pred_draws(withr::with_seed(2, matrix(stats::rnorm(60 * 8), 60)))
  z <- withr::with_seed(5, stats::rnorm(60))
  of <- function(...) withr::with_seed(1, ce_curve(law, z, ...))
  expect_identical(of(type = "pit"), of(type = curve_pit()))
  expect_identical(of(type = "quantile"), of(type = curve_quantile()))
  expect_identical(nrow(tidy(of(type = curve_pit(times = 30)))), 9L)
})

test_that("options out of range are errors", {
  expect_error(curve_binned(0), "n_bins", class = "calibrisk_error_argument")
  expect_error(curve_binned(bins = "sweep"), "bins", class = "calibrisk_error_argument")
  expect_error(curve_isotonic(times = 1), "times", class = "calibrisk_error_argument")
  expect_error(curve_smooth(bandwidth = 0), "bandwidth", class = "calibrisk_error_argument")
  expect_error(curve_pit(n_bins = 1), "n_bins", class = "calibrisk_error_argument")
})
