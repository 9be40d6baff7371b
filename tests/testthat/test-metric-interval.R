test_that("analytic standard errors are those of the jackknife", {
  n <- 100
  withr::with_seed(11, {
    x <- stats::runif(n)
    y <- stats::rbinom(n, 1, x^3)
    p <- matrix(stats::rexp(3 * n), n)
    p <- round(p / rowSums(p), 1)
    p[, 3] <- 1 - p[, 1] - p[, 2]
    p <- pmax(p, 0)
    label <- sample(3, n, TRUE)
  })
  scalar <- function(fn, tolerance = .07, ...) {
    error <- jackknife_error(n, function(i) fn(x[-i], y[-i], ...)$.estimate)
    expect_equal(fn(x, y, ...)$std.error / error, 1, tolerance = tolerance)
  }
  several <- function(fn, tolerance = .07, ...) {
    error <- jackknife_error(n, function(i) fn(p[-i, ], label[-i], ...)$.estimate)
    expect_equal(fn(p, label, ...)$std.error / error, 1, tolerance = tolerance)
  }
  for (exponent in c(1, 2, 3)) scalar(ece, n_bins = 4, p = exponent)
  several(ece, n_bins = 3, p = 2, notion = "class_wise")
  several(ece, n_bins = 2, p = 2, notion = "canonical")
  scalar(ece, n_bins = 4, p = 2, debias = TRUE)
  scalar(ece, n_bins = 4, p = Inf)
  scalar(ks_error)
  several(ks_error, notion = "class_wise")
  scalar(mmce)
  several(mmce, notion = "class_wise")
  scalar(rbs)
  several(rbs)
  without <- function(i) smooth_value(scalar_problem(x[-i], y[-i]), .1, influence = FALSE)$value
  expect_equal(smooth_ece(x, y, bandwidth = .1)$std.error / jackknife_error(n, without), 1, tolerance = .07)
})

test_that("influences belong to their rows", {
  x <- withr::with_seed(14, round(stats::runif(60), 1))
  y <- withr::with_seed(15, stats::rbinom(60, 1, x^2))
  d <- x - y
  sorted <- sort_problem(scalar_problem(x, y))
  bins <- cpp_bin_table(sorted, edge_ends(sorted, 1:4 / 4))
  bin <- oracle_width_bin(x, 4)
  gap <- stats::ave(d, bin)
  for (p in 1:3) {
    rows <- abs(gap)^p + p * abs(gap)^(p - 1) * sign(gap) * (d - gap)
    value <- binned_power(bins, p)
    expect_equal(row_influence(sorted, bins, value$slope, value$offset), rows)
  }
  ks <- cpp_ks_error(sorted, rep(1:5, 12))
  path <- sum(d[x <= ks$location])
  expect_equal(ks$rows, sign(path) * d * (x <= ks$location))
})

test_that("intervals of binned errors cover the error of the binned predictions", {
  # confidences in the middle of four bins: the binned error is the error, gaps away from 0
  level <- c(.125, .375, .625, .875)
  chance <- c(.25, .5, .5, .7)
  truth <- sqrt(mean((level - chance)^2))
  hit <- withr::with_seed(12, vapply(1:300, function(i) {
    b <- sample.int(4, 800, TRUE)
    out <- ece(level[b], stats::rbinom(800, 1, chance[b]), n_bins = 4, p = 2, debias = TRUE)
    out$conf.low <= truth && truth <= out$conf.high
  }, NA))
  expect_gt(mean(hit), .91)
  expect_lt(mean(hit), .985)
})

test_that("limits of debiased errors hold where bins have one row or two, and know of rows without another one", {
  off <- withr::with_seed(14, rowMeans(vapply(1:200, function(i) {
    p <- stats::runif(120)
    unlist(lapply(c(60, 100), function(bins) {
      of <- function(rate) ece(p, stats::rbinom(120, 1, rate), n_bins = bins, type = "mass", p = 2, debias = TRUE)
      c(of(p)$conf.low > 0, of(p / 4)$conf.high < sqrt(mean(p^2)) * .75)
    }))
  }, logical(4))))
  expect_true(all(off <= .055))
  p <- seq(.7, .9, length.out = 90)
  # beside the share of rows that may be missing among 90
  left <- function(...) ece(..., type = "discrete", p = 2, debias = TRUE)$conf.high^2 - 1 + .025^(1 / 90)
  expect_equal(left(p, integer(90)), mean(p^2))
  probs <- cbind(p, .9 - p, .1)
  square <- mean((probs - rep(c(0, 0, 1), each = 90))^2)
  expect_equal(left(probs, rep(3L, 90), notion = "canonical"), 3 * square)
  expect_equal(left(probs, rep(3L, 90), notion = "class_wise"), square)
})

test_that("debiasing is unbiased, the plug-in is not", {
  level <- c(.125, .375, .625, .875)
  power <- withr::with_seed(13, vapply(1:800, function(i) {
    b <- rep(1:4, each = 10)
    y <- stats::rbinom(40, 1, level[b])
    sorted <- sort_problem(scalar_problem(level[b], y))
    bins <- cpp_bin_table(sorted, edge_ends(sorted, 1:4 / 4))
    c(binned_power(bins, 2)$power, binned_power(bins, 2, debias = TRUE)$power)
  }, c(0, 0)))
  mean_error <- apply(power, 1, stats::sd) / sqrt(800)
  expect_gt(mean(power[1, ]), 10 * mean_error[1])
  expect_lt(abs(mean(power[2, ])), 3.5 * mean_error[2])
})

test_that("gaps of exactly 0 leave the standard error of a calibrated model, not 0", {
  # E|Z|^2p - (E|Z|^p)^2 by integration
  moment <- function(q) 2 * stats::integrate(function(z) z^q * stats::dnorm(z), 0, Inf)$value
  for (p in c(1, 1.5, 2, 3)) {
    bin <- list(copies = 1, size = 1, gap = 0, accuracy = 0.5, spread = 0.3, concentration = 1)
    expect_equal(binned_power(bin, p)$noise, 0.3^p * (moment(2 * p) - moment(p)^2), tolerance = 1e-6)
  }
  prob <- rep(c(0.25, 0.5), c(40, 60))
  y <- c(rep(0:1, c(30, 10)), rep(0:1, 30))
  size <- c(40, 60)
  noise <- c(0.25 * 0.75, 0.25) / size
  squared <- ece(prob, y, type = "discrete", p = 2)
  expect_equal(squared$power, 0)
  expect_equal(squared$conf.high^2, qnorm(0.975) * sqrt(sum((size / 100)^2 * 2 * noise^2)))
  expect_equal(ece(prob, y, type = "discrete")$conf.high, qnorm(0.975) * sqrt(sum((size / 100)^2 * noise) * 100 / 99))
  # both classes have the same gaps
  both <- ece(cbind(1 - prob, prob), y + 1, type = "discrete", p = 2, notion = "class_wise")
  expect_equal(both$conf.high^2, squared$conf.high^2 / sqrt(2))
})

test_that("a number of bootstrap samples asks for the bootstrap, none for the analytic interval", {
  p <- c(.2, .7, .4, .9, .6)
  y <- c(0, 1, 0, 1, 1)
  for (metric in list(ece, rbs, mmce, ks_error, smooth_ece)) {
    expect_identical(metric(p, y)$interval, "analytic")
    expect_identical(withr::with_seed(1, metric(p, y, times = 20))$interval, "bootstrap")
    expect_error(metric(p, y, times = 19), "at least 20", class = "calibrisk_error_argument")
    expect_error(metric(p, y, interval = "bootstrap"), "`interval` is not an argument", class = "calibrisk_error_argument")
  }
})

test_that("bootstrap intervals hold the error, 0 among them", {
  skip_on_cran()
  covered <- function(frequency) {
    p <- stats::qbeta((seq_len(1500) - .5) / 1500, 2, 2)
    r <- frequency(p)
    # of the population, whose rows have these frequencies
    value <- ece(c(p, p), rep(1:0, each = 1500), weights = c(r, 1 - r))$.estimate
    mean(replicate(25, {
      p <- stats::rbeta(250, 2, 2)
      out <- ece(p, stats::rbinom(250, 1, frequency(p)), times = 20)
      out$conf.low <= value + 1e-9 && value <= out$conf.high
    }))
  }
  withr::local_seed(9)
  expect_gte(covered(identity), .88)
  expect_gte(covered(function(p) stats::plogis(.5 * stats::qlogis(p))), .88)
})

test_that("the bootstrap changes the standard error, not the rule of the limits", {
  data <- drawn_rows(3, stats::runif(300))
  for (metric in list(ece, ks_error, smooth_ece)) {
    boot <- withr::with_seed(4, metric(data$p, data$y, times = 40))
    expect_equal(boot$conf.high, boot$.estimate + stats::qnorm(.975) * boot$std.error)
    expect_identical(boot$conf.low, metric(data$p, data$y)$conf.low)
  }
})

test_that("an interval has a width where a debiased estimate is far below 0", {
  sample_of <- function(seed, n = 100) drawn_rows(seed, runif(n))
  # three samples whose debiased sum is more than two standard errors below 0
  for (seed in c(31, 112, 358)) {
    data <- sample_of(seed)
    for (times in list(NULL, 1000)) {
      out <- withr::with_seed(1, ece(data$p, data$y, p = 2, debias = TRUE, type = "mass", times = times))
      expect_lt(out$power, 0)
      expect_equal(out$.estimate, 0)
      expect_equal(out$conf.low, 0)
      # 0 plus the half width on the squared scale
      expect_gt(out$conf.high, .05)
    }
  }
  value <- new_estimate(-.02, NULL, new_design(100), power = 2, noise = .005^2, variance = .004^2)
  half <- qnorm(.975) * .005
  value$influence <- stop
  expect_equal(summarise_estimates(list(value), .95)$conf.high, sqrt(half), tolerance = 1e-12)
  # differences have no smallest value
  value$smallest <- -Inf
  value$power <- 1
  expect_equal(summarise_estimates(list(value), .95)$conf.high, -.02 + half, tolerance = 1e-12)
})

test_that("block estimates and canonical debiased errors below 0 have an upper limit above 0", {
  p <- withr::with_seed(1, to_simplex(matrix(rgamma(900, 1), 300)))
  draw <- function(seed) withr::with_seed(seed, max.col(log(p) - log(matrix(rexp(900), 300))))
  high <- vapply(1:60, function(seed) {
    y <- draw(seed)
    c(with_threads(1L, skce(p, y, type = "block", block = 60, kernel = kernel_tv(.3)))$conf.high,
      ece(p, y, notion = "canonical", type = "median_variance", p = 2, debias = TRUE)$conf.high)
  }, c(0, 0))
  expect_true(all(high > 0))
})
