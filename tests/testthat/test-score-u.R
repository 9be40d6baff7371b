kernel_score <- function(p1, y1, p2, y2) {
  residual <- function(p, y) p - diag(ncol(p))[y, , drop = FALSE]
  exp(-sqrt(rowSums((p1 - p2)^2))) * rowSums(residual(p1, y1) * residual(p2, y2))
}

test_that("the kernel score of order 2 is the squared kernel calibration error", {
  b <- fixture_b()
  out <- ce_score(b$p, b$y, score = kernel_score)
  expect_equal(out$.estimate, -.00918119644, tolerance = 1e-9)
  expect_equal(out$.estimate, skce(b$p, b$y, kernel = kernel_laplace(1), type = "unbiased")$.estimate)
})

test_that("a score of one prediction, averaged over the pair, is that score", {
  b <- fixture_b()
  brier <- function(p1, y1, p2, y2) (score_parts("brier", p1, y1)$value + score_parts("brier", p2, y2)$value) / 2
  one <- ce_score(b$p, b$y)
  two <- ce_score(b$p, b$y, score = brier)
  expect_equal(two$.estimate, one$.estimate)
  # projections: half of each row's deviation, shrunk by the pairs it shares
  expect_equal(two$std.error, one$std.error * 18 / 19)
})

test_that("bad scores are named", {
  b <- fixture_b()
  expect_error(ce_score(b$p, b$y, score = kernel_score, bound = TRUE), "no upper bound",
               class = "calibrisk_error_score")
  expect_error(ce_score(b$p, b$y, score = function(p1, y1, p2, y2) 1), class = "calibrisk_error_score")
  expect_error(ce_score(b$p, b$y, score = function(p1, y1, p2, y2) p1[, 1] - p2[, 1]), "order",
               class = "calibrisk_error_score")
  expect_error(ce_score(.5, 1, score = kernel_score), class = "calibrisk_error_argument")
})

test_that("scores of higher order are means over all sets", {
  b <- fixture_b()
  one <- function(p, y) score_parts("brier", p, y)$value
  three <- function(p1, y1, p2, y2, p3, y3) one(p1, y1) * one(p2, y2) * one(p3, y3)
  out <- ce_score(b$p[1:8, ], b$y[1:8], score = three)
  s <- one(b$p[1:8, ], b$y[1:8])
  sets <- utils::combn(8, 3)
  values <- apply(sets, 2, function(k) prod(s[k]))
  expect_equal(out$.estimate, mean(values))
  rows <- vapply(1:8, function(i) mean(values[colSums(sets == i) > 0]), 0)
  expect_equal(out$std.error, 3 * sd(rows) / sqrt(8))
  mean_of <- function(p1, y1, p2, y2, p3, y3) (one(p1, y1) + one(p2, y2) + one(p3, y3)) / 3
  expect_equal(ce_score(b$p, b$y, score = mean_of)$.estimate, ce_score(b$p, b$y)$.estimate)
  expect_error(ce_score(b$p[1:2, ], b$y[1:2], score = three), class = "calibrisk_error_argument")
  wide <- rep(.5, 500)
  expect_error(ce_score(wide, rep(0:1, 250), score = three), "sets of 3 rows", class = "calibrisk_error_rows")
  expect_error(ce_score(b$p, b$y, score = function(p1, y1, p2, y2, p3) 1), "takes 5 arguments",
               class = "calibrisk_error_score")
})

test_that("sets of weighted rows count their products, those of clusters lie across clusters", {
  b <- fixture_b()
  one <- function(p, y) p[cbind(seq_along(y), y)]
  three <- function(p1, y1, p2, y2, p3, y3) one(p1, y1) * one(p2, y2) * one(p3, y3)
  w <- seq(.5, 2, length.out = 9)
  cluster <- c(1, 1, 2, 2, 3, 3, 4, 5, 6)
  s <- one(b$p[1:9, ], b$y[1:9])
  for (order in 2:3) {
    score <- if (order == 3) three else function(p1, y1, p2, y2) one(p1, y1) * one(p2, y2)
    sets <- utils::combn(9, order)
    naive <- function(w, across = TRUE) {
      used <- !across | apply(sets, 2, function(k) !anyDuplicated(cluster[k]))
      weight <- apply(sets, 2, function(k) prod(w[k])) * used
      sum(weight * apply(sets, 2, function(k) prod(s[k]))) / sum(weight)
    }
    value <- function(...) ce_score(b$p[1:9, ], b$y[1:9], score = score, ...)
    expect_equal(value(weights = w)$.estimate, naive(w, FALSE))
    expect_equal(value(weights = w, cluster = cluster)$.estimate, naive(w))
    expect_equal(value(cluster = cluster)$.estimate, naive(rep(1, 9)))
    # the influence is the derivative by a row's weight
    psi <- vapply(1:9, function(i) (naive(replace(w, i, w[i] + 1e-6)) - naive(w)) / 1e-6 * sum(w), 0)
    expect_equal(value(weights = w, cluster = cluster)$std.error, cpp_row_std_error(psi, new_design(9, w, cluster)),
                 tolerance = 1e-5)
    expect_error(suppressWarnings(value(cluster = rep(1, 9))), class = "calibrisk_error_rows")
  }
})
