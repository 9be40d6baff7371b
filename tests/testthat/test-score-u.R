kernel_score <- function(p1, y1, p2, y2) {
  residual <- function(p, y) p - diag(ncol(p))[y, , drop = FALSE]
  exp(-sqrt(rowSums((p1 - p2)^2))) * rowSums(residual(p1, y1) * residual(p2, y2))
}

test_that("the kernel score of order 2 is the squared kernel calibration error", {
  b <- fixture_b()
  out <- u_score(b$p, b$y, score = kernel_score)
  expect_equal(out$.estimate, -.00918119644, tolerance = 1e-9)
  expect_equal(out$.estimate, skce(b$p, b$y, kernel = kernel_laplace(1), type = "unbiased")$.estimate)
})

test_that("a score of one prediction, averaged over the pair, is that score", {
  b <- fixture_b()
  brier <- function(p1, y1, p2, y2) (score_value("brier", p1, y1) + score_value("brier", p2, y2)) / 2
  one <- ce_score(b$p, b$y)
  two <- u_score(b$p, b$y, score = brier)
  expect_equal(two$.estimate, one$.estimate)
  # projections: half of each row's deviation, shrunk by the pairs it shares
  expect_equal(two$std.error, one$std.error * 18 / 19)
})

test_that("bad scores are named", {
  b <- fixture_b()
  expect_error(u_score(b$p, b$y), class = "calibrisk_error_score")
  expect_error(u_score(b$p, b$y, score = function(p1, y1, p2, y2) 1), class = "calibrisk_error_score")
  expect_error(u_score(.5, 1, score = kernel_score), class = "calibrisk_error_argument")
})
