# Each preset against its library's rule written out for the values on the edges.
x <- c(0, .2, .4, .6, .6, .8, 1, 1)
y <- c(0, 1, 0, 1, 1, 0, 1, 0)

# from a bin label per value
from_bins <- function(bin, p = 1) oracle_binned(bin, x, y, p)
value <- function(...) ece(x, y, n_bins = 5, ...)$power

test_that("torchmetrics: left-closed, exactly 1 alone", {
  # edge values, in single precision, open the next bin
  bins <- c(1, 2, 3, 4, 4, 5, 6, 6)
  expect_equal(value(preset = "torchmetrics"), from_bins(bins), tolerance = 1e-6)
  expect_equal(value(preset = "torchmetrics", p = 2), from_bins(bins, 2), tolerance = 1e-6)
  expect_equal(value(preset = "torchmetrics", p = Inf), .8, tolerance = 1e-6)
  close <- c(x[1:6], .99, 1)
  expect_equal(ece(close, y, n_bins = 5, preset = "torchmetrics")$power,
               oracle_binned(c(1, 2, 3, 4, 4, 5, 5, 6), close, y, 1), tolerance = 1e-6)
  # matrix: top label, also with two classes
  expect_equal(ece(cbind(.3, .7), 2, preset = "torchmetrics")$power, .3, tolerance = 1e-6)
  expect_error(value(preset = "torchmetrics", p = 3), class = "calibrisk_error_argument")
  expect_error(value(preset = "torchmetrics", debias = TRUE), class = "calibrisk_error_argument")
})

test_that("netcal: clipped, left-closed, second column", {
  # linspace: 3 * (1 / 5) exceeds .6, so that .6 stays below its edge
  edges <- c(0:4 * (1 / 5), 1)
  clipped <- pmin(pmax(x, 2^-52), 1 - 2^-52)
  bin <- vapply(clipped, function(v) sum(edges <= v), 0)
  expect_equal(bin, c(1, 2, 3, 3, 3, 5, 5, 5))
  expect_equal(value(preset = "netcal"), from_bins(bin))
  p <- cbind(c(.9, .2), c(.1, .8))
  expect_equal(ece(p, c(1, 2), preset = "netcal")$power, .15)
  expect_equal(ece(x, y, preset = "netcal", type = "mass", n_bins = 2)$power, from_bins(1 + (x >= stats::median(x))))
  expect_equal(ece(c(.3, .3), c(1, 0), preset = "netcal")$n_bins, 10)
})

test_that("uncertainty-calibration: right-closed, even chunks, class mean", {
  expect_equal(value(preset = "uncertainty-calibration"), from_bins(oracle_width_bin(x, 5)))
  expect_equal(oracle_width_bin(x, 5), c(1, 1, 2, 3, 3, 4, 5, 5))
  # 7 values in 3 chunks: 3, 2, 2; mid-points .5 and .7
  z <- c(.1, .2, .4, .6, .65, .75, .9)
  w <- c(0, 1, 0, 1, 1, 0, 1)
  expect_equal(ece(z, w, n_bins = 3, type = "mass", preset = "uncertainty-calibration")$power,
               oracle_binned(c(1, 1, 1, 2, 2, 3, 3), z, w, 1))
  # chunks of ceiling(7 / 3) = 3: 3, 3, 1
  companion <- "better-uncertainty-calibration"
  expect_equal(ece(z, w, n_bins = 3, type = "mass", preset = companion)$power,
               oracle_binned(c(1, 1, 1, 2, 2, 2, 3), z, w, 1))
  b <- fixture_b()
  of_classes <- function(preset) unlist(ece(b$p, b$y, p = 2, notion = "class_wise", preset = preset)[, 3:7])
  expect_equal(of_classes("uncertainty-calibration"), unlist(ece(b$p, b$y, p = 2, notion = "class_wise")[, 3:7]))
  # sums over the classes
  expect_equal(of_classes(companion), of_classes("uncertainty-calibration") * c(rep(sqrt(3), 4), 3))
  expect_equal(ece(b$p, b$y, n_bins = 5, type = "mass", p = 2, debias = TRUE,
                   preset = "uncertainty-calibration")$power, -.0223780596, tolerance = 1e-8)
})

test_that("chunks can be fewer than asked for", {
  z <- (seq_len(167) - .5) / 167
  ends <- function(library) cpp_library_ends(library, z, 15, TRUE)
  expect_length(ends("better-uncertainty-calibration"), 14)
  expect_equal(diff(c(0, ends("uncertainty-calibration"))), rep(c(12, 11), c(2, 13)))
})

test_that("scikit-learn: right-closed linspace edges, second column, two classes only", {
  edges <- 1:4 * (1 / 5)
  bin <- vapply(x, function(v) sum(edges < v) + 1, 0)
  expect_equal(value(preset = "scikit-learn"), from_bins(bin))
  quantiles <- quantile(x, (1:4) / 5, names = FALSE)
  expect_equal(value(preset = "scikit-learn", type = "mass"),
               from_bins(vapply(x, function(v) sum(quantiles < v) + 1, 0)))
  expect_equal(ece(cbind(1 - x, x), y + 1, preset = "scikit-learn")$power, ece(x, y, preset = "scikit-learn")$power)
  expect_error(ece(diag(3), 1:3, preset = "scikit-learn"), class = "calibrisk_error_notion")
  expect_error(ece(x, y, preset = "sklearn"), class = "calibrisk_error_argument")
})
