# Reliability curves of rows whose weights depend on the outcome, and of small clusters.

test_that("limits of curves of a sample drawn by outcome are those of its rows, at other odds", {
  n <- 200
  p <- withr::with_seed(4, stats::rbeta(n, 1, 2))
  y <- withr::with_seed(5, stats::rbinom(n, 1, p))
  # as if one in 2.5 of those without an event had been drawn
  w <- ifelse(y == 1, 1.2, 3)
  df <- 1 / (sum(w^2) / sum(w)^2 - 1 / n)
  shrink <- (stats::qnorm(.975) / stats::qt(.975, df))^2
  odds <- function(share) share / (share + (1 - share) * 2.5)
  curve <- tidy(ce_curve(p, y, weights = w, type = curve_binned(n_bins = 4)))
  bin <- ceiling(p * 4)
  trials <- tabulate(bin) * shrink
  events <- as.vector(rowsum(y, bin)) * shrink
  expect_equal(curve$conf.low, odds(cpp_wilson_limits(events / trials, trials, .95)$low))
  expect_equal(curve$conf.high, odds(cpp_wilson_limits(events / trials, trials, .95)$high))
  tail <- (1 - .95^(1 / 4)) / 2
  expect_equal(curve$band.low, odds(stats::qbeta(tail, events, trials - events + 1)))
  # calibrated outcomes of the sample have 2.5-fold odds: lowest and highest share that is no surprise
  prob <- as.vector(rowsum(2.5 * p / (2.5 * p + 1 - p), bin)) / tabulate(bin)
  likely <- lapply(1:4, function(b) {
    share <- seq(0, 1, 1e-4)
    of <- function(s, m) stats::pbeta(m, s * trials[b] + 1, trials[b] * (1 - s), lower.tail = FALSE)
    share[of(share, prob[b]) >= .025 & of(1 - share, 1 - prob[b]) >= .025]
  })
  # predictions of a bin differ, which makes their number of events a little more certain
  expect_lt(max(abs(curve$null.low - odds(vapply(likely, min, 0)))), .02)
  expect_lt(max(abs(curve$null.high - odds(vapply(likely, max, 0)))), .02)
  # a redrawn null band that the curve leaves would cut its limits at the diagonal
  isotonic <- withr::with_seed(1, tidy(ce_curve(p, y, weights = w, type = curve_isotonic(times = 20))))
  expect_equal(isotonic$observed, cpp_isotonic_rows(p, y, w)$rows[match(isotonic$confidence, p)])
  # limits of the likelihood ratio are those of as many rows as the weights amount to
  level <- 2 * stats::pnorm(stats::qnorm(.975) / sqrt(shrink)) - 1
  own <- tidy(ce_curve(2.5 * p / (2.5 * p + 1 - p), y, type = curve_isotonic(times = 20), level = level))
  expect_equal(isotonic$conf.low, odds(own$conf.low), tolerance = 1e-6)
  expect_equal(isotonic$conf.high, odds(own$conf.high), tolerance = 1e-6)
})

test_that("curves of weights that depend on the outcome, and of small clusters, hold their level", {
  skip_on_cran()
  local_no_numbers()
  by_outcome <- function() {
    p <- stats::plogis(stats::rnorm(1600, -.3, 1.3))
    y <- stats::rbinom(1600, 1, p)
    share <- ifelse(y == 1, .21, .8)
    kept <- which(stats::runif(1600) < share)[1:200]
    list(p = p[kept], y = y[kept], weights = 1 / share[kept])
  }
  clustered <- function() {
    centre <- rep(1:30, each = 7)
    p <- stats::plogis(stats::rnorm(210, -.3, 1.3))
    noise <- sqrt(.3) * stats::rnorm(30)[centre] + sqrt(.7) * stats::rnorm(210)
    list(p = p, y = as.numeric(stats::pnorm(noise) < p), cluster = centre)
  }
  share <- function(draw, type, samples) {
    rowMeans(withr::with_seed(8, vapply(seq_len(samples), function(i) {
      data <- draw()
      curve <- ce_curve(data$p, data$y, weights = data$weights, cluster = data$cluster, type = type)
      out <- tidy(curve)
      at <- out$confidence > .05 & out$confidence < .95
      inside <- out$conf.low <= out$confidence & out$confidence <= out$conf.high
      c(conf = mean(inside[at]), rejected = glance(curve)$rejected)
    }, numeric(2))))
  }
  binned <- share(by_outcome, "binned", 60)
  expect_gt(binned[["conf"]], .93)
  expect_lt(binned[["rejected"]], .08)
  expect_lt(share(clustered, "binned", 50)[["rejected"]], .08)
  isotonic <- share(by_outcome, curve_isotonic(100), 60)
  expect_gt(isotonic[["conf"]], .9)
  expect_lt(isotonic[["rejected"]], .12)
  smooth <- share(by_outcome, curve_smooth(times = 100), 40)
  expect_gt(smooth[["conf"]], .92)
  expect_lt(smooth[["rejected"]], .12)
})
