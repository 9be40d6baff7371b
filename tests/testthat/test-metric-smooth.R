# int_0^1 |mean_i d_i K(t, x_i)| dt with images at 2m + x and 2m - x
oracle_smooth <- function(x, d, s, points = 4001) {
  t <- seq(0, 1, length.out = points)
  images <- c(outer(x, 2 * (-2:2), `+`), outer(-x, 2 * (-2:2), `+`))
  r <- colSums(rep(d, 10) * stats::dnorm(outer(images, t, `-`), sd = s)) / length(x)
  sum(abs(r[-1]) + abs(r[-points])) / 2 / (points - 1)
}

test_that("the transform equals the reflected kernel sum, at the boundary too", {
  for (seed in 1:3) {
    x <- withr::with_seed(seed, c(0, 1, stats::runif(20)))
    y <- withr::with_seed(seed + 100, stats::rbinom(22, 1, .5))
    for (s in c(.03, .1, .7)) {
      expect_equal(smooth_ece(x, y, bandwidth = s)$.estimate, oracle_smooth(x, x - y, s), tolerance = 1e-4)
    }
    out <- smooth_ece(x, y)
    expect_equal(out$.estimate, out$bandwidth, tolerance = 1e-9)
    expect_equal(out$.estimate, oracle_smooth(x, x - y, out$bandwidth), tolerance = 1e-4)
  }
})

test_that("bounds and limits", {
  expect_equal(smooth_ece(c(0, 1), c(0, 1))$.estimate, 0)
  # all mass one way: the kernel integrates to 1, at every bandwidth
  expect_equal(smooth_ece(rep(.7, 5), rep(0, 5))$.estimate, .7)
  d <- drawn_rows(1, stats::runif(50))
  x <- d$p
  y <- d$y
  values <- vapply(c(.01, .05, .2, 1), function(s) smooth_ece(x, y, bandwidth = s)$.estimate, 0)
  expect_false(is.unsorted(-values))
  expect_equal(smooth_ece(x, y, bandwidth = 20)$.estimate, abs(mean(x - y)), tolerance = 1e-6)
  expect_lte(max(values), mean(abs(x - y)))
})

test_that("the analytic standard error is that of the jackknife, the bandwidth's share included", {
  x <- withr::with_seed(3, stats::runif(80))
  y <- withr::with_seed(4, stats::rbinom(80, 1, x^3))
  error <- jackknife_error(80, function(i) smooth_value(scalar_problem(x[-i], y[-i]), influence = FALSE)$value)
  expect_equal(smooth_ece(x, y)$std.error / error, 1, tolerance = .05)
})
