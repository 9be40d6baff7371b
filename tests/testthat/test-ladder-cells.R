ladder_fields <- c("estimate", "std.error", "low", "high", "lower_bound", "p.value", "upper_bound", "resolution")

# The same knots, from the rows.
rows_ladder <- function(d, knots) joint_ladder(d$x, d$y, NULL, .95, if (!is.null(knots)) knots[-1])

# `redrawn`: of what depends on redraws, which are others where the rows are others.
expect_ladder <- function(a, b, tolerance, redrawn = tolerance) {
  for (field in ladder_fields) {
    most <- if (field %in% c("low", "lower_bound", "p.value")) redrawn else tolerance
    expect_lt(max(0, abs(a[[field]] - b[[field]]), na.rm = TRUE), most)
  }
}

test_that("the rows of a cell stand for its rows: few values are themselves, many have their sums of powers", {
  edges <- c(0, .3, .31, 1)
  few <- list(x = c(0, .1, .1, .3, .305, .31, .9, 1), y = c(0, 1, 1, 1, 0, 0, 1, 1))
  rows <- cell_rows(edges, oracle_moments(few$x, few$y, edges, 8))
  found <- cbind(rows$x, rows$y, rows$count)[order(rows$x, rows$y), ]
  expect_lt(max(abs(found - cbind(c(0, .1, .3, .305, .31, .9, 1), c(0, 1, 1, 0, 0, 1, 1), c(1, 2, 1, 1, 1, 1, 1)))),
            1e-12)

  d <- cell_sample(4000, 1)
  rows <- cell_rows(edges, oracle_moments(d$x, d$y, edges, 8))
  expect_equal(length(rows$x), 3 * 2 * 4)
  expect_true(all(rows$count > 0) && all(rows$x >= 0 & rows$x <= 1))
  for (p in 0:7) {
    for (y in 0:1) expect_close(sum(rows$count * (rows$y == y) * rows$x^p), sum((d$y == y) * d$x^p), tol$law)
  }
})

test_that("the ladder of moments is that of the rows on the same knots", {
  for (n in c(40, 300, 5000)) {
    d <- cell_sample(n, n)
    edges <- (0:100) / 100
    moments <- oracle_moments(d$x, d$y, edges, 10)
    knots <- cell_knots(edges, moments)
    a <- moment_ladder(edges, moments, knots, .95)
    b <- rows_ladder(d, knots)
    expect_ladder(a, b, 1e-5, if (n == 5000) .03 else .06)
  }
})

test_that("quantile knots and levels give the default ladder; sums of powers the same moments", {
  d <- cell_sample(2500, 4, 1)
  values <- sort(unique(d$x))
  knots <- lapply(c(2, 8, 50), function(m) {
    if (m >= length(values)) values else unique(quantile(d$x, (0:(m - 1)) / (m - 1), type = 1, names = FALSE))
  })
  edges <- union(0, values)
  a <- moment_ladder(edges, oracle_moments(d$x, d$y, edges, 8), knots, .95)
  expect_ladder(a, binary_ladder(scalar_problem(d$x, d$y), .95), 1e-8, .02)

  d <- cell_sample(500, 5)
  u <- 2 * d$x - 1
  powers <- array(c(colSums((d$y == 0) * outer(u, 0:7, "^")), colSums((d$y == 1) * outer(u, 0:7, "^"))), c(8, 2, 1))
  powers[, , 1] <- monomial_to_chebyshev(8) %*% powers[, , 1]
  expect_equal(powers, oracle_moments(d$x, d$y, c(0, 1), 8), tolerance = 1e-12)
})

test_that("counts are copies of rows", {
  d <- cell_sample(60, 6)
  count <- withr::with_seed(7, sample(4, 60, TRUE))
  knots <- list(0:1, c(0, .5, 1), c(.2, .4, .6, .8, 1))
  counted <- joint_ladder(d$x, d$y, count, .95, knots[-1])
  expect_ladder(counted, rows_ladder(lapply(d, rep, count), knots), 1e-9)
  expect_ladder(joint_ladder(d$x, d$y, count, .95), rows_ladder(lapply(d, rep, count), NULL), 1e-9)
  edges <- (0:50) / 50
  expect_equal(moment_ladder(edges, oracle_moments(d$x, d$y, edges, 8, count), knots, .95)$high,
               rows_ladder(lapply(d, rep, count), knots)$high, tolerance = 1e-4)
})

test_that("knots of cells are near the quantiles of their rows", {
  d <- cell_sample(4000, 8)
  edges <- (0:200) / 200
  knots <- cell_knots(edges, oracle_moments(d$x, d$y, edges, 2))
  expect_identical(lengths(knots), c(2L, 8L, 64L))
  expect_lt(max(abs(knots[[2]] - quantile(d$x, (0:7) / 7, type = 1))), .006)
  expect_true(all(unlist(knots) %in% edges))
  # levels that are edges are knots
  d <- cell_sample(4000, 9, 1)
  expect_equal(cell_knots(edges, oracle_moments(d$x, d$y, edges, 4))[[3]], sort(unique(d$x)))
})
