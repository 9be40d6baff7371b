test_that("bad probabilities are classed errors that name the row and what was seen", {
  bad <- function(i, j, value) {
    x <- probs3
    x[i, j] <- value
    x
  }
  expect_error(new_predictions(bad(2, 1, NaN), truth3), "Row 2", class = "calibrisk_error_probs")
  expect_error(new_predictions(bad(3, 2, Inf), truth3), "Row 3", class = "calibrisk_error_probs")
  expect_error(new_predictions(bad(4, 2, -0.1), truth3), "Row 4", class = "calibrisk_error_probs")
  expect_error(new_predictions(bad(2, 1, 0.3), truth3), "Row 2 sums", class = "calibrisk_error_probs")
  expect_error(new_predictions(matrix(c(2, -1, 3, 0), 2), 1:2), "from -1 to 3", class = "calibrisk_error_probs")
  expect_error(new_predictions(c(0.2, 1.3), c(0, 1)), "from 0.2 to 1.3[.]", class = "calibrisk_error_probs")
  expect_error(new_predictions("a", 1), class = "calibrisk_error_probs")
  expect_error(new_predictions(probs3, truth3[1:3]), class = "calibrisk_error_length")
  expect_error(new_predictions(probs3[0, ], integer()), class = "calibrisk_error_empty")
  error <- expect_error(new_predictions(bad(4, 2, -0.1), truth3), class = "calibrisk_error")
  expect_equal(error$row, 4)
  expect_equal(error$value, -0.1)
})

test_that("wrong kinds of input are classed errors before truth is looked at", {
  v <- vehicle_predictions
  expect_error(ece(NULL, truth), "NULL", class = "calibrisk_error_probs")
  expect_error(ece(as.list(v), truth), "list", class = "calibrisk_error_probs")
  expect_error(ece(as.matrix(v), truth), "character", class = "calibrisk_error_probs")
  expect_error(ece(c(.2, .4), truth), "not the name of a column", class = "calibrisk_error_truth")
})

test_that("probabilities that rounding has moved or cut are read, further ones are not", {
  p <- c(0.2, 0.9, 0.4, 1)
  y <- c(0, 1, 1, 1)
  expect_message(off <- ce_score(p + c(0, 0, 0, 1e-7), y, score = "brier"), class = "calibrisk_message_renormalised")
  expect_equal(off$.estimate, ce_score(p, y, score = "brier")$.estimate)
  # sums of probabilities exceed 1 by the last digit
  expect_no_message(expect_equal(ce_score(p + c(0, 0, 0, 4e-16), y, score = "brier")$.estimate, off$.estimate))
  expect_error(ce_score(p + c(0, 0, 0, 1e-5), y, score = "brier"), class = "calibrisk_error_probs")
  expect_error(ce_score(p - c(1, 0, 0, 0), y, score = "brier"), class = "calibrisk_error_probs")
  probs <- to_simplex(withr::with_seed(1, matrix(stats::rexp(90), 30)))
  k <- rep(1:3, 10)
  for (digits in 2:5) {
    expect_message(near <- ce_score(round(probs, digits), k, score = "brier"), class = "calibrisk_message_renormalised")
    expect_equal(near$.estimate, ce_score(probs, k, score = "brier")$.estimate, tolerance = 10^-digits)
  }
  expect_error(ce_score(round(probs, 3) * 0.99, k, score = "brier"), "sum to 1", class = "calibrisk_error_probs")
  expect_error(ce_score(round(probs, 1), k, score = "brier"), "sum to 1", class = "calibrisk_error_probs")
  expect_error(ce_score(probs * 2 / 3, k, score = "brier"), "sum to 1", class = "calibrisk_error_probs")
})
