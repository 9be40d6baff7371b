# Standard errors and intervals of CKCE without its diagonal: the variance at calibration.

ckce_parts <- function(...) estimates_of(ckce(..., debias = "off_diagonal"))[[1]]

noise_sample <- function(n, slope = 1) {
  p <- stats::plogis(stats::rnorm(n, 0, 1.5))
  list(p = cbind(1 - p, p), y = 1L + stats::rbinom(n, 1, stats::plogis(slope * stats::qlogis(p))))
}

toy_gram <- function(p) tcrossprod(p) + exp(-as.matrix(stats::dist(p))^2 / (2 * .5^2))

naive_pairs <- function(p, y, ridge, w = rep(1, nrow(p)), group = rep(1, nrow(p)), k = toy_gram(p)) {
  n <- nrow(p)
  w <- w / mean(w)
  k <- k * sqrt(outer(w, w)) * outer(group, group, "==")
  inverse <- solve(k + n * ridge * diag(n))
  d <- sqrt(w) * oracle_residuals(p, y)
  h <- inverse %*% k %*% inverse * tcrossprod(d)
  list(noise = 2 * sum((h - diag(diag(h)))^2), value = sum(h) - sum(diag(h)), trace = sum(diag(h)))
}

test_that("the variance at calibration is that of all pairs, whatever the computation", {
  d <- withr::with_seed(1, noise_sample(60))
  w <- withr::with_seed(2, stats::rexp(60))
  half <- rep(1:2, 30)
  for (ridge in c(.5, 1e-3)) {
    for (computation in list("dual", "eigen", computation("low_rank", tolerance = 1e-12))) {
      parts <- function(...) ckce_parts(d$p, d$y, kernel = toy_kernel(), ridge = ridge, computation = computation, ...)
      for (given in list(list(), list(weights = w), list(group = half), list(weights = w, group = half))) {
        found <- do.call(parts, given)
        naive <- naive_pairs(d$p, d$y, ridge, given$weights %||% rep(1, 60), given$group %||% rep(1, 60))
        expect_equal(found$noise, naive$noise, tolerance = 1e-7)
        expect_equal(found$pairs[c("value", "trace")], naive[c("value", "trace")], tolerance = 1e-7)
      }
    }
  }
  # a ridge far above the kernel, and several at once
  both <- estimates_of(ckce(d$p, d$y, kernel = toy_kernel(), ridge = c(100, .1), debias = TRUE))
  expect_equal(vapply(both, `[[`, 0, "noise"), c(naive_pairs(d$p, d$y, 100)$noise, naive_pairs(d$p, d$y, .1)$noise))
  # random frequencies are a kernel of their own
  frequencies <- withr::with_seed(3, matrix(stats::rnorm(20, 0, 2), 10))
  random <- ckce_parts(d$p, d$y, kernel = toy_kernel(), ridge = .5,
                       computation = computation("rff", frequencies = frequencies))
  angles <- tcrossprod(d$p, frequencies)
  k <- tcrossprod(d$p) + (tcrossprod(cos(angles)) + tcrossprod(sin(angles))) / 10
  expect_equal(random$noise, naive_pairs(d$p, d$y, .5, k = k)$noise, tolerance = 1e-7)
})

test_that("with many rows some pairs stand for all of them", {
  d <- withr::with_seed(4, noise_sample(2100))
  exact <- naive_pairs(d$p, d$y, .2)
  for (computation in c("dual", "low_rank")) {
    found <- ckce_parts(d$p, d$y, kernel = toy_kernel(), ridge = .2, computation = computation)
    expect_equal(sqrt(found$noise / exact$noise), 1, tolerance = .02)
    expect_gt(abs(found$noise / exact$noise - 1), 1e-6)
  }
})

test_that("near calibration the upper end is never 0, and the lower one as often above 0 as it says", {
  withr::local_seed(5)
  one <- function(slope) {
    d <- noise_sample(100, slope)
    unlist(ckce(d$p, d$y, kernel = toy_kernel(), debias = "off_diagonal")[c("conf.low", "conf.high")])
  }
  calibrated <- replicate(300, one(1))
  expect_gt(min(calibrated[2, ]), 0)
  expect_gt(mean(calibrated[1, ] == 0), .945)
  expect_lt(mean(calibrated[1, ] == 0), 1)
  # the error of slopes of .8 at this ridge, of many rows
  expect_gt(mean(replicate(150, one(.8))[2, ] > .00201), .95)
})

test_that("limits are defined where the kernel sees no pair but by underflow", {
  rate <- seq(.5, 4, length.out = 20)
  rate[2] <- rate[1] + 3.6e-4
  found <- ckce(pred_poisson(rate), rep(c(0, 2, 1, 3), 5), debias = "off_diagonal", kernel = kernel_laplace(1e-6))
  expect_identical(found$conf.low, 0)
  # nothing is known of the error
  expect_gt(found$conf.high, 1)
})
