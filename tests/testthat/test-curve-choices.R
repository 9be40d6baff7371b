# Curves as values.

test_that("options out of range are errors", {
  expect_error(curve_binned(0), "n_bins", class = "calibrisk_error_argument")
  expect_error(curve_binned(bins = "sweep"), "bins", class = "calibrisk_error_argument")
  expect_error(curve_isotonic(times = 1), "times", class = "calibrisk_error_argument")
  expect_error(curve_smooth(bandwidth = 0), "bandwidth", class = "calibrisk_error_argument")
  expect_error(curve_pit(n_bins = 1), "n_bins", class = "calibrisk_error_argument")
})
