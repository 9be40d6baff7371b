# One rung alone: its limits and its p-value, doubled for two sides.
one_rung <- function(rung, level = .95, df = Inf) {
  facts <- list(mean = .2, error = .01, third = 0, size = 1e4, rows = 1e4, largest = 1)
  cpp_nested_headline(matrix(numbers_of(rung)), matrix(1), facts, 1, df, level)
}
lowest <- function(rung, p, df = Inf) one_rung(rung, p, df)$lower_bound^2

test_that("Pearson III quantiles and tails are those of a shifted Gamma law", {
  for (skew in c(0, .5, 2)) {
    x <- cpp_pearson3_quantile(qnorm(c(.5, .95, .999)), skew)
    expect_close(exp(cpp_pearson3_tail(x, skew)), c(.5, .05, .001), 1e-10)
  }
  expect_identical(cpp_pearson3_quantile(2, 0), 2)
  # standardised, with its skewness
  u <- cpp_pearson3_quantile(qnorm(seq(5e-6, 1, 1e-5)), 1)
  expect_equal(c(mean(u), mean(u^2), mean(u^3)), c(0, 1, 1), tolerance = 1e-3)
})

test_that("quantiles of few degrees of freedom lie far out, on the law", {
  for (skew in c(.01, .5, 2.8)) for (p in c(.975, .9995)) for (df in 1:3) {
    z <- stats::qt(p, df)
    tail <- stats::pnorm(z, lower.tail = FALSE, log.p = TRUE)
    expect_close(cpp_pearson3_tail(cpp_pearson3_quantile(z, skew), skew) / tail, 1, 1e-9)
  }
  # lower ones end where the law does
  expect_close(cpp_pearson3_quantile(-636, .5), -4, 1e-12)
  rung <- list(psi = 1, noise = 1e-8, skew = .5, linear = 0, scatter = 0)
  # t of 1e4 and a degree of freedom: 1 - 2 atan(t) / pi is about 1 / (1e4 pi) in each tail
  expect_close(one_rung(utils::modifyList(rung, list(skew = 0)), df = 1)$p.value, 2 / (1e4 * pi), 1e-6)
  expect_gt(lowest(rung, .95, 1), 0)
})

test_that("limits invert the test: no root below it, and 0 exactly at the p-value", {
  rung <- list(psi = .02, noise = 1e-5, skew = .8, linear = 4e-5, scatter = .005)
  slope <- (rung$linear + rung$scatter * 2 * sqrt(rung$noise)) / (rung$psi + 2 * sqrt(rung$noise))
  low <- lowest(rung, .975)
  variance <- rung$noise + slope * low
  expect_close(rung$psi - low, cpp_pearson3_quantile(qnorm(.975), rung$skew * (rung$noise / variance)^1.5) * sqrt(variance), 1e-6)
  high <- one_rung(rung)$high^2
  expect_close(high - rung$psi, qnorm(.975) * sqrt(rung$noise + slope * high), 1e-10)
  p <- one_rung(rung)$p.value / 2
  expect_identical(lowest(rung, 1 - p * .99), 0)
  expect_gt(lowest(rung, 1 - p * 1.01), 0)
  expect_identical(lowest(utils::modifyList(rung, list(psi = -.1)), .975), 0)
})

test_that("at any level limits are in order, of one basis too", {
  rung <- list(psi = .02, noise = 1e-5, skew = .8, linear = 4e-5, scatter = .005)
  for (p in c(.001, .3, .5)) {
    expect_equal(lowest(rung, p), rung$psi, tolerance = 1e-15)
    expect_identical(lowest(utils::modifyList(rung, list(psi = -1e-4)), p), 0)
    expect_identical(lowest(utils::modifyList(rung, list(psi = 0)), p, 5), 0)
  }
  # continuous where the limit reaches psi
  expect_lt(rung$psi - lowest(rung, .46), 1e-3)
  withr::local_seed(2)
  p <- stats::plogis(stats::rnorm(100))
  for (y in list(stats::rbinom(100, 1, p), stats::rbinom(100, 1, p), stats::rbinom(100, 1, p^2))) {
    for (level in c(1e-6, .01, .3, .5, .9, 1 - 1e-9)) for (bases in list(NULL, c(hats = 8))) {
      row <- ce_estimate(p, y, level = level, bases = bases)
      expect_true(row$conf.low >= 0 && row$conf.low <= row$estimate && row$estimate <= row$conf.high)
      expect_true(row$lower_bound >= row$conf.low && row$lower_bound <= row$conf.high)
    }
  }
})

test_that("stacking weights solve the constrained least squares problem", {
  d <- withr::with_seed(1, {
    G <- matrix(rnorm(200 * 4), 200) %*% matrix(rnorm(16), 4)
    list(G = G, e = G %*% c(.5, 0, -.3, .2) + rnorm(200))
  })
  A <- crossprod(d$G) / 200
  b <- drop(crossprod(d$G, d$e)) / 200
  w <- cpp_stack_weights(A, b)
  expect_true(all(w >= 0) && sum(w) <= 1 + 1e-12)
  free <- withr::with_seed(2, optim(rep(.1, 4), function(x) sum(x * (A %*% x)) - 2 * sum(b * x), method = "L-BFGS-B",
                                    lower = 0, control = list(factr = 10, maxit = 1000)))$par
  expect_equal(w, free / max(1, sum(free)), tolerance = 1e-4)
})
