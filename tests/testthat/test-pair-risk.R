test_that("a matrix or a function of row numbers has the risk of the double loop", {
  pairs <- random_pairs(14, 3, 2)
  H <- withr::with_seed(4, matrix(rnorm(196), 14))
  oracle <- oracle_risk(H, pairs$E)
  zero <- oracle_risk(0 * H, pairs$E)
  expected <- c(oracle$risk, sqrt(oracle$risk), oracle$std.error, 14, zero$risk, mean(diag(H)), 0)
  expect_close(unlist(with_threads(2, pair_risk(H, pairs$E))), expected, 1e-11)
  expect_close(unlist(pair_risk(function(i, j) H[i, j], pairs$E)), expected, 1e-11)
  expect_s3_class(pair_risk(H, pairs$E), "tbl_df")
})

test_that("scalar residuals may be a vector; integers and one row are fine", {
  e <- c(.2, -.4, .1)
  H <- matrix(0L, 3, 3)
  expect_close(pair_risk(H, e)$risk, oracle_risk(H, matrix(e))$risk, tol$law)
  one <- pair_risk(matrix(.3), .1)
  expect_identical(one$risk, NA_real_)
  expect_identical(one$squared_error, .3)
})

test_that("missing values are counted, give NA, or are left out", {
  pairs <- random_pairs(6, 1, 1)
  H <- tcrossprod(pairs$X)
  H[2, ] <- H[, 2] <- NA
  expect_warning(out <- pair_risk(H, pairs$E), class = "calibrisk_warning_missing_pairs")
  expect_identical(c(out$risk, out$n_missing), c(NA, 11))
  left <- pair_risk(H, pairs$E, na_rm = TRUE)
  rest <- pair_risk(H[-2, -2], pairs$E[-2, , drop = FALSE])
  expect_close(unlist(left[1:6]), unlist(rest[1:6]), 1e-11)
  expect_identical(pair_risk(H * NA, pairs$E, na_rm = TRUE)$n, 0L)
})

test_that("wrong shapes and values are errors", {
  e <- c(.2, -.4, .1)
  expect_error(pair_risk(matrix(0, 2, 2), e), class = "calibrisk_error_function")
  expect_error(pair_risk(1:9, e), class = "calibrisk_error_function")
  expect_error(pair_risk(matrix("a", 3, 3), e), class = "calibrisk_error_function")
  expect_error(pair_risk(function(i, j) 1, e), class = "calibrisk_error_function")
  expect_error(pair_risk(matrix(0, 3, 3), c(.2, NA, 0)), class = "calibrisk_error_argument")
  expect_error(pair_risk(matrix(0, 3, 3), e, na_rm = 1), class = "calibrisk_error_argument")
  expect_error(pair_risk(matrix(0, 0, 0), numeric()), class = "calibrisk_error_empty")
})

test_that("numbers whose squares overflow are an error, not Inf", {
  e <- c(.1, -.2, .3, .1)
  for (h in list(matrix(1e200, 4, 4), matrix(1e90 * (1:16), 4, 4))) {
    expect_error(pair_risk(h, e), "squares", class = "calibrisk_error_function")
  }
  expect_error(pair_risk(matrix(0, 4, 4), e * 1e100), class = "calibrisk_error_function")
  expect_true(is.finite(pair_risk(matrix(1e30, 4, 4), e)$std.error))
})

test_that("functions that fail are named", {
  e <- c(.1, -.2, .3, .1)
  expect_error(pair_risk(function(i, j) stop("my own"), e), "4 rows and 4 columns", class = "calibrisk_error_function")
  expect_error(pair_risk(function(i) 1, e), class = "calibrisk_error_function")
})
