test_that("missing values are dropped over all columns, or give NA", {
  x <- probs3
  x[2, 3] <- NA
  out <- new_predictions(x, c(1, 2, NA, 1))
  expect_equal(out$rows, c(1L, 4L))
  expect_equal(out$dropped, 2)
  expect_false(out$na)
  expect_true(new_predictions(x, truth3, na_rm = FALSE)$na)
  expect_error(new_predictions(matrix(NA_real_, 2, 2), 1:2), "incomplete", class = "calibrisk_error_empty")
})
