# What is read of tuning results; with the package tune itself in tests/tidymodels.

test_that("a tuning result without its package says what is missing", {
  skip_if(rlang::is_installed("tune"))
  result <- structure(data.frame(id = "Fold1"), class = c("tune_results", "data.frame"))
  rlang::local_interactive(FALSE)
  expect_error(ece(result, truth), "tune", class = "rlib_error_package_not_found")
  expect_error(ce_curve(result, truth), "tune", class = "rlib_error_package_not_found")
})

test_that("collected predictions are of one candidate, and rows that repeat are told", {
  data <- data.frame(.row = 1:4, .config = "a", p = c(.2, .7, .1, .9))
  expect_identical(check_collected(data), data)
  expect_error(check_collected(transform(data, .config = c("a", "b"))), "select_best",
               class = "calibrisk_error_results")
  expect_message(check_collected(transform(data, .row = c(1, 2, 1, 2))), "cluster = .row",
                 class = "calibrisk_message_repeated")
})
