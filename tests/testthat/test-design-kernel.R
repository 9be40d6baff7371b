# Kernel statistics of weighted and clustered rows.

kernel_rows <- function(n = 60) {
  withr::with_seed(3, {
    p <- to_simplex(matrix(stats::rexp(n * 3), n))
    y <- apply(p, 1, function(q) sample(3, 1, prob = q))
    mu <- stats::rnorm(n)
    list(p = p, y = y, w = stats::rexp(n), copies = sample(0:3, n, TRUE), centre = rep(1:12, length.out = n),
         law = pred_normal(mu, 1), z = stats::rnorm(n, mu, 1.2))
  })
}

test_that("frequency weights are repeated rows, and clusters of one row none", {
  d <- kernel_rows()
  again <- rep(seq_along(d$y), d$copies)
  shown <- c(".estimate", "std.error")
  for (verb in list(skce, function(...) skce(..., type = "biased"), ckce, joint_error)) {
    expect_same_numbers(verb(d$law, d$z, weights = d$copies), verb(d$law[again], d$z[again]), 1e-12)
    expect_equal(verb(d$p, d$y, cluster = seq_along(d$y))[shown], verb(d$p, d$y)[shown])
  }
  locations <- list(x = d$p[1:3, ], truth = d$y[1:3])
  expect_same_numbers(ucme(d$p, d$y, weights = d$copies, locations = locations),
                      ucme(d$p[again, ], d$y[again], locations = locations))
})

test_that("weighted pairs are those of the formula, of clusters those across them", {
  d <- kernel_rows()
  n <- length(d$y)
  residuals <- d$p - diag(3)[d$y, ]
  h <- exp(-as.matrix(stats::dist(d$p, "manhattan")) / 2) * tcrossprod(residuals)
  naive <- function(pairs) sum(pairs * h) / sum(pairs)
  other <- 1 - diag(n)
  across <- outer(d$centre, d$centre, "!=")
  value <- function(...) skce(d$p, d$y, kernel = kernel_tv(1), ...)$.estimate
  both <- outer(d$w, d$w)
  expect_equal(value(weights = d$w), naive(both * other))
  expect_equal(value(cluster = d$centre), naive(across))
  expect_equal(value(weights = d$w, cluster = d$centre), naive(both * across))
  expect_equal(value(weights = d$w, cluster = d$centre, tolerance = 1e-12), naive(both * across))
  expect_equal(value(weights = d$w, cluster = d$centre, type = "biased"), naive(both))
  joint <- exp(-as.matrix(stats::dist(d$p))^2 / 2 / .25) * tcrossprod(residuals)
  expect_equal(skce(d$p, d$y, kernel = kernel_gaussian(.5), weights = d$w, cluster = d$centre)$.estimate,
               sum(both * across * joint) / sum(both * across))
  # the terms of groups add up
  groups <- skce(d$p, d$y, kernel = kernel_tv(1), weights = d$w, group = rep(c("a", "b"), n / 2))
  expect_equal(sum(groups$groups[[1]]$term), groups$.estimate)
  inside <- rep(c(1, 0), n / 2)
  expect_equal(groups$groups[[1]]$.estimate[1], naive(both * other * outer(inside, inside)))
})

test_that("the conditional error of weighted rows is that of the weighted operator, with its influence", {
  d <- kernel_rows()
  k <- exp(-as.matrix(stats::dist(d$p))^2 / 2 / .25)
  residuals <- d$p - diag(3)[d$y, ]
  naive <- function(w, ridge = .1) {
    a <- outer(sqrt(w), sqrt(w)) * k
    solved <- solve(a + sum(w) * ridge * diag(length(w)), sqrt(w) * residuals)
    sum(solved * (a %*% solved))
  }
  value <- function(computation, ...) {
    ckce(d$p, d$y, kernel = kernel_gaussian(.5), ridge = .1, computation = computation, ...)
  }
  for (computation in list("dual", "eigen", computation("low_rank", tolerance = 1e-10))) {
    expect_equal(value(computation, weights = d$w)$.estimate, naive(d$w))
  }
  estimate <- estimates_of(value("dual", weights = d$w))[[1]]
  change <- (naive(replace(d$w, 5, d$w[5] + 1e-6)) - naive(d$w)) / 1e-6 * sum(d$w)
  expect_equal(change, estimate$influence[5] - row_mean(estimate$influence, estimate$design), tolerance = 1e-4)
  random <- function() ckce(d$p, d$y, kernel = kernel_gaussian(.5), computation = "rff", weights = d$w)
  expect_error(random(), class = "calibrisk_error_computation")
  expect_error(value("dual", weights = d$w, times = 20), class = "calibrisk_error_weights")
  expect_error(value("dual", cluster = d$centre, debias = TRUE), class = "calibrisk_error_cluster")
})

test_that("tests keep the weights in every redraw and refuse what their null does not know", {
  d <- kernel_rows()
  again <- rep(seq_along(d$y), d$copies)
  test <- function(...) withr::with_seed(1, ce_test(..., kernel = kernel_tv(1), test = test_conditional(times = 200)))
  expect_lt(abs(test(d$p, d$y, weights = d$copies)$p.value - test(d$p[again, ], d$y[again])$p.value), .1)
  weighted <- test(d$p, d$y, weights = d$w)
  expect_equal(unname(weighted$estimate), skce(d$p, d$y, kernel = kernel_tv(1), weights = d$w)$.estimate)
  expect_equal(unname(weighted$statistic), unname(weighted$estimate), tolerance = 1e-5)
  for (other in c("bootstrap", "block", "bound", "cme", "consistency")) {
    expect_error(ce_test(d$p, d$y, test = other, weights = d$w), class = "calibrisk_error_weights")
  }
  expect_error(ce_test(d$p, d$y, test = "conditional", cluster = d$centre), class = "calibrisk_error_cluster")
  expect_identical(ce_test(d$p, d$y, cluster = d$centre)$test, "joint")
  expect_error(skce(d$p, d$y, type = "block", weights = d$w), class = "calibrisk_error_weights")
})

test_that("the weighted conditional test holds its level", {
  skip_on_cran()
  p <- withr::with_seed(4, vapply(1:300, function(i) {
    prob <- stats::runif(80)
    ce_test(prob, stats::rbinom(80, 1, prob), weights = stats::rexp(80), test = test_conditional(times = 99))$p.value
  }, 0))
  expect_lt(mean(p <= .05), .085)
  expect_gt(mean(p <= .05), .02)
})

test_that("groups whose weights are equal count by them in a test", {
  d <- kernel_rows()
  inside <- rep(c("a", "b"), 30)
  d$w[inside == "a"] <- 3
  group <- ce_test(d$p, d$y, kernel = kernel_tv(1), group = inside, weights = d$w, test = test_conditional(times = 20))
  expect_equal(unname(group$statistic), skce(d$p, d$y, kernel = kernel_tv(1), group = inside, weights = d$w)$.estimate,
               tolerance = 1e-5)
})

test_that("one cluster has no pairs across clusters: an error, not NaN", {
  d <- kernel_rows()
  one <- rep("a", 60)
  expect_error(suppressWarnings(skce(d$p, d$y, cluster = one)), "At least 2 clusters", class = "calibrisk_error_rows")
  expect_error(suppressWarnings(skce(d$p, d$y, cluster = one, kernel = "ckce")), class = "calibrisk_error_rows")
  expect_error(suppressWarnings(mmce(d$p[, 1], d$y == 1, type = "unbiased", cluster = one)),
               class = "calibrisk_error_rows")
})

test_that("the default test of weighted rows holds its level where weights depend on the outcome", {
  skip_on_cran()
  # events are thinned to a fifth, and weigh five times as much
  p_value <- function(...) {
    withr::with_seed(9, vapply(1:150, function(i) {
      p <- stats::runif(600, 0, .4)
      y <- stats::rbinom(600, 1, p)
      kept <- y == 0 | stats::runif(600) < .2
      ce_test(p[kept], y[kept], weights = c(.5, 2.5)[y[kept] + 1], ...)$p.value
    }, 0))
  }
  expect_lt(mean(p_value() < .05), .06)
  prob <- withr::with_seed(10, stats::runif(60))
  one <- function(...) ce_test(prob, as.numeric(prob > .4), weights = 1 + prob, ...)$test
  expect_identical(c(one(), one(kernel = kernel_tv(1))), c("joint", "conditional"))
})
