test_that("a curve over several kernels is that of the best kernel, not their sum", {
  withr::local_seed(1)
  p <- runif(60)
  kernels <- list(kernel_gaussian(0.5), kernel_laplace(0.5))
  tuned <- ce_tune(p, runif(60) < p, methods = method_ukkr(c(0.1, 0.01), kernels))
  rows <- tidy(tuned)
  means <- stats::aggregate(risk ~ value + kernel, rows, mean)
  curve <- risk_curve(tuned)
  for (v in curve$value) {
    at <- means[means$value == v, ]
    best <- rows[rows$value == v & rows$kernel == at$kernel[which.min(at$risk)], ]
    expect_equal(curve$root_risk[curve$value == v], 100 * mean(sqrt(best$risk)))
  }
  expect_equal(min(curve$root_risk), 100 * glance(tuned)$root_risk)
})

test_that("a result without any risk has no curve of it", {
  withr::local_seed(1)
  tuned <- ce_tune(runif(10), rep(0:1, 5), methods = method_bins(2), folds = 8)
  expect_error(plot(tuned), "fewer folds", class = "calibrisk_error_risk")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(tuned), class = "calibrisk_error_risk")
})
