test_that("rows within 1e-12 of 1 are used as they are, within 1e-6 renormalised with a note", {
  x <- probs3
  expect_no_message(new_predictions(x, truth3))
  x[2, 1] <- x[2, 1] + 1e-13
  expect_no_message(kept <- new_predictions(x, truth3))
  expect_identical(kept$probs, x)
  x[2, 1] <- x[2, 1] + 2e-7
  expect_message(out <- new_predictions(x, truth3), class = "calibrisk_message_renormalised")
  expect_equal(rowSums(out$probs), rep(1, 4), tolerance = 1e-15)
  expect_identical(out$probs[1, ], x[1, ])
})

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
