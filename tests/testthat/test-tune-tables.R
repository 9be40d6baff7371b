test_that("an estimate above every residual is warned about", {
  large <- method_function(function(P, Q) matrix(4, nrow(P), nrow(Q)))
  d <- withr::with_seed(1, list(z = runif(50), y = rbinom(50, 1, .5)))
  tune <- function(method) withr::with_seed(1, ce_tune(d$z, d$y, methods = method, threads = 1L))
  expect_warning(tune(large), "It is 2; the largest residual of 50 rows is 0.9",
                 class = "calibrisk_warning_impossible_estimate")
  expect_no_warning(tune(method_bins()))
})
