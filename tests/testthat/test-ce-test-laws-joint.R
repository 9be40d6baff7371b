# The joint test of distributions of a number, by naive loops over rows.
naive_terms <- function(low, high) {
  if (high - low < 1e-10) {
    z <- stats::qnorm((low + high) / 2)
    return(c(z, z^2 - 1, z^3 - 3 * z, z^4 - 6 * z^2 + 3, (low + high) / 2 - .5))
  }
  term <- function(fn) {
    stats::integrate(function(u) fn(stats::qnorm(u)), low, high, rel.tol = 1e-9)$value / (high - low)
  }
  c(term(function(z) z), term(function(z) z^2 - 1), term(function(z) z^3 - 3 * z),
    term(function(z) z^4 - 6 * z^2 + 3), (low + high) / 2 - .5)
}

# Estimates of the parts: means of the terms, and their slopes on the normal scores of ranks.
naive_parts <- function(low, high, mean, deviation) {
  score <- function(v) {
    s <- stats::qnorm((rank(v) - .5) / length(v))
    s - base::mean(s)
  }
  terms <- t(mapply(naive_terms, low, high))
  a <- score(mean)
  b <- score(deviation)
  c(base::mean(terms[, 1]), base::mean(terms[, 2]), sum(a * terms[, 1]) / sum(a^2), sum(b * terms[, 2]) / sum(b^2),
    sum(a * terms[, 2]) / sum(a^2), base::mean(terms[, 3]), base::mean(terms[, 4]), base::mean(terms[, 5]))
}

test_that("each part of the test of distributions is its formula", {
  d <- withr::with_seed(1, {
    m <- stats::rnorm(30)
    s <- stats::rexp(30) + .3
    rate <- stats::rexp(30) + .5
    list(m = m, s = s, y = stats::rnorm(30, m, s), rate = rate, k = stats::rpois(30, rate),
         draws = matrix(stats::rnorm(30 * 8), 30), z = stats::rnorm(30))
  })
  parts <- function(...) ce_test(...)$details$parts$estimate
  u <- stats::pnorm(d$y, d$m, d$s)
  expect_equal(parts(pred_normal(d$m, d$s), d$y), naive_parts(u, u, d$m, d$s), tolerance = 1e-8)
  counts <- naive_parts(stats::ppois(d$k - 1, d$rate), stats::ppois(d$k, d$rate), d$rate, sqrt(d$rate))
  expect_equal(parts(pred_poisson(d$rate), d$k), counts, tolerance = 1e-6)
  # members and outcome are exchangeable
  pool <- cbind(d$draws, d$z)
  rank <- rowSums(pool <= d$z)
  expect_equal(parts(pred_draws(d$draws), d$z),
               naive_parts((rank - 1) / 9, rank / 9, rowMeans(pool), apply(pool, 1, stats::sd)), tolerance = 1e-6)
  # of quantile forecasts the cell between two levels is known
  levels <- c(.1, .5, .9)
  forecast <- pred_quantiles(d$m + outer(d$s, stats::qnorm(levels)), levels)
  edges <- c(0, levels, 1)
  at <- findInterval(u, edges)
  moments <- law_moments(forecast)
  expect_equal(parts(forecast, d$y),
               naive_parts(edges[at], edges[at + 1], moments$mean[, 1], moments$cov[, 1]), tolerance = 1e-6)
})

test_that("its p-value is that of the strongest side among the redraws, and the redraws are those of the core", {
  d <- withr::with_seed(2, list(m = stats::rnorm(40), y = stats::rnorm(40)))
  x <- ce_test(pred_normal(d$m, 1), d$m + 1.2 * d$y)
  expect_identical(x$test, "joint")
  expect_length(x$null, 9999)
  expect_equal(x$p.value, mean(c(x$null, Inf) >= x$statistic), tolerance = .1)
  # neither the order of the rows nor the state of the generator matters
  back <- withr::with_seed(9, ce_test(pred_normal(rev(d$m), 1), rev(d$m + 1.2 * d$y)))
  expect_equal(back$p.value, x$p.value)
  expect_identical(names(tidy(x)), names(tidy(ce_test(c(.2, .5, .6), c(0, 1, 1)))))
})

test_that("calibrated predictions are rejected as often as the level says", {
  laws <- list(
    normal = function() {
      m <- stats::rnorm(20)
      list(pred_normal(m, 1), stats::rnorm(20, m))
    },
    constant = function() list(pred_poisson(rep(1.5, 20)), stats::rpois(20, 1.5)),
    ensemble = function() list(pred_draws(matrix(stats::rexp(200), 20)), stats::rexp(20)),
    cauchy = function() list(pred_t(1, numeric(20), 1), stats::rt(20, 1))
  )
  for (law in laws) {
    rejected <- withr::with_seed(5, replicate(100, {
      d <- law()
      ce_test(d[[1]], d[[2]])$p.value < .05
    }))
    expect_lte(sum(rejected), 11) # of 100, with probability .99
  }
})

test_that("the sentence names the part that is wrong", {
  withr::local_seed(6)
  n <- 400
  m <- stats::rnorm(n)
  s <- exp(stats::rnorm(n, -.3, .4))
  first <- function(y) sub(".*\\(part\\): ([^(]*) \\(.*", "\\1", ce_test(pred_normal(m, s), y)$details$found)
  expect_identical(first(stats::rnorm(n, m + .3 * s, s)), "outcomes are higher than predicted")
  expect_identical(first(stats::rnorm(n, m, 1.3 * s)), "outcomes scatter more than predicted")
  expect_identical(first(stats::rnorm(n, m, mean(s))), "predicted spreads vary too much")
  expect_identical(first(m + s * (1 - stats::rexp(n))), "outcomes are more skewed to the left than predicted")
  expect_match(ce_test(pred_normal(m, s), stats::rnorm(n, m, s))$details$found, "No part")
})

test_that("impossible outcomes have the p-value 0, and designs and options of other predictions are refused", {
  x <- ce_test(pred_gamma(2, c(1, 1, 2)), c(1, -1, 2))
  expect_identical(x$p.value, 0)
  expect_match(x$details$found, "1 outcome cannot occur by its prediction, the first is -1 in row 2")
  expect_identical(ce_test(pred_normal(1:3, c(1, 0, 1)), c(1, 3, 3))$p.value, 0)
  law <- pred_normal(1:6, 1)
  expect_error(ce_test(law, 1:6, cluster = rep(1:3, 2)), class = "calibrisk_error_cluster")
  expect_error(ce_test(law, 1:6, test = test_joint(bases = c(hats = 4))), class = "calibrisk_error_argument")
  expect_error(ce_test(law, 1:6, test = "joint", group = rep(1:2, 3)), class = "calibrisk_error_test")
  expect_identical(ce_test(law, 1:6, group = rep(1:2, 3))$test, "conditional")
  # the level of an outcome that equals a quantile is not known
  quantiles <- pred_quantiles(cbind(0:5, 2:7) + .5, c(.1, .9))
  expect_identical(ce_test(quantiles, c(1:5, 5) + .5)$test, "conditional")
  expect_error(ce_test(quantiles, c(1:5, 5) + .5, test = "joint"), "1 of 6 rows", class = "calibrisk_error_test")
  expect_identical(ce_test(quantiles, c(1:5, 5))$test, "joint")
})
