test_that("old names warn once and give what the new ones give", {
  withr::local_options(rlib_warning_verbosity = "verbose")
  data <- data.frame(p = c(.2, .7, .9), y = c(0, 1, 1))
  expect_warning(old <- upper_bound(data, y, p, score = "log"), "ce_upper_bound",
                 class = "calibrisk_warning_deprecated")
  expect_identical(old, ce_upper_bound(data, y, p, score = "log"))
})
