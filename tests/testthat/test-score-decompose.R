test_that("fixture A: entropy, calibration and sharpness are the published ones", {
  a <- fixture_a()
  out <- ce_decompose(a$p, a$y, score = c("brier", "log", "spherical"))
  expect_equal(out$entropy, c(.6527777778, 1.077556327, -.589255651), tolerance = 1e-9)
  expect_equal(out$calibration, c(.1431944444, .3553570179, .09827352266), tolerance = 1e-9)
  expect_equal(out$sharpness, c(.3472222222, .6437747128, .2346068088), tolerance = 1e-9)
  expect_equal(out$n_distinct, rep(5L, 3))
})

test_that("an infinite score has no standard error, of bootstrap samples either", {
  out <- withr::with_seed(1, ce_decompose(c(0, 0, 1, 1, .5, .5), c(0, 0, 0, 1, 1, 0), score = "log", times = 25))
  expect_identical(out$calibration, Inf)
  expect_true(is.na(out$calibration_std.error) && !is.nan(out$calibration_std.error))
  expect_true(is.finite(out$entropy_std.error))
  # by no chance of the samples
  rare <- withr::with_seed(1, ce_decompose(c(1, rep(.5, 40)), rep(0:1, c(21, 20)), score = "log", times = 3))
  expect_identical(rare$calibration_std.error, NA_real_)
  law <- pred_normal(c(rep(0, 30), 2), c(rep(1, 30), 0))
  real <- withr::with_seed(1, ce_decompose(law, c(-14:15, 1) / 8, score = "dss", n_bins = 2, times = 2))
  expect_identical(c(real$mean_score, real$calibration, real$calibration_std.error), c(Inf, Inf, NA))
})

test_that("the identity is exact and the parts are not negative", {
  for (seed in 1:8) {
    data <- withr::with_seed(seed, random_classes(40, sample(2:5, 1), 1))
    for (score in c("brier", "log", "spherical")) {
      for (method in c("discrete", "isotonic")) {
        out <- suppressWarnings(ce_decompose(data$p, data$y, score = score, method = method),
                                "calibrisk_warning_distinct")
        if (is.infinite(out$mean_score)) next
        expect_equal(out$entropy + out$calibration - out$sharpness, out$mean_score, tolerance = 1e-12)
        expect_gte(out$calibration, -1e-12)
        expect_gte(out$sharpness, -1e-12)
      }
    }
    brier <- suppressWarnings(ce_decompose(data$p, data$y), "calibrisk_warning_distinct")
    expect_equal(brier$calibration, ece(data$p, data$y, type = "discrete", p = 2, notion = brier$notion)$power)
  }
})

test_that("scalars halve the Brier score; wrong requests are refused", {
  p <- c(.2, .2, .8, .8, .8)
  y <- c(0, 1, 1, 1, 0)
  out <- ce_decompose(p, y)
  expect_equal(out$mean_score, mean((p - y)^2))
  expect_equal(out$entropy, .6 * .4)
  expect_equal(out$calibration, (2 * (.2 - .5)^2 + 3 * (.8 - 2 / 3)^2) / 5)
  expect_error(ce_decompose(diag(3), 1:3, method = "isotonic", notion = "canonical"), class = "calibrisk_error_notion")
  expect_error(ce_decompose(diag(3), 1:3, notion = "class_wise"), class = "calibrisk_error_notion")
  expect_error(ce_decompose(p, y, score = "crps"), class = "calibrisk_error_score")
  boot <- withr::with_seed(1, ce_decompose(p, y, times = 30))
  expect_true(all(c("calibration_std.error", "sharpness_std.error") %in% names(boot)))
})

test_that("standard errors of the parts are those of the jackknife", {
  cell <- withr::with_seed(5, sample(4, 400, TRUE))
  p <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4), c(.2, .7, .1))[cell, ]
  law <- rbind(c(.4, .4, .2), c(.3, .3, .4), c(.1, .2, .7), c(.2, .4, .4))
  y <- withr::with_seed(6, vapply(cell, function(s) sample(3, 1, prob = law[s, ]), 0L))
  parts <- c("mean_score", "entropy", "calibration", "sharpness")
  for (score in c("brier", "log")) {
    out <- ce_decompose(p, y, score = score)
    # rows of one cell and outcome are alike
    kind <- interaction(cell, y, drop = TRUE)
    each <- vapply(match(levels(kind), kind), function(i) unlist(ce_decompose(p[-i, ], y[-i], score = score)[parts]),
                   numeric(4))[, kind]
    error <- apply(each, 1, function(v) sqrt(399 / 400 * sum((v - mean(v))^2)))
    analytic <- unlist(out[paste0(parts, "_std.error")], use.names = FALSE)
    expect_lt(max(abs(analytic / unname(error) - 1)), .05) # the worst of the four
  }
  isotonic <- ce_decompose(p[, 1], y == 1, method = "isotonic")
  expect_equal(isotonic$entropy_std.error, stats::sd((mean(y == 1) - (y == 1))^2) / 20)
  expect_true(is.na(ce_decompose(c(0, 0, 1, 1, 1), c(0, 1, 1, 1, 0), score = "log")$calibration_std.error))
})

test_that("distinct predictions are warned about", {
  x <- withr::with_seed(6, stats::runif(40))
  y <- withr::with_seed(7, stats::rbinom(40, 1, x))
  expect_warning(ce_decompose(x, y), "40 of 40", class = "calibrisk_warning_distinct")
  expect_no_warning(ce_decompose(x, y, method = "isotonic"))
  expect_no_warning(ce_decompose(round(x, 1), y))
})

test_that("scores of real outcomes: parts are divergences of the groups' laws", {
  data <- withr::with_seed(1, list(mean = sample(c(0, 1, 3), 60, TRUE), y = rnorm(60)))
  law <- pred_normal(data$mean, 1 + data$mean / 3)
  for (score in c("dss", "mse", "crps")) {
    out <- ce_decompose(law, data$y, score = score)
    expect_equal(out$entropy + out$calibration - out$sharpness, out$mean_score)
    expect_equal(out$mean_score, ce_score(law, data$y, score = score)$.estimate)
    expect_identical(out$n_distinct, 3L)
    expect_true(out$calibration >= 0 && out$sharpness >= 0)
  }
  rows <- split(seq_len(60), data$mean)
  moments <- function(rows) list(mean = mean(data$y[rows]), variance = mean((data$y[rows] - mean(data$y[rows]))^2))
  divergence <- function(p) {
    sum(vapply(rows, function(r) {
      q <- moments(r)
      of <- p(r)
      length(r) / 60 * ((q$variance + (of$mean - q$mean)^2) / of$variance + log(of$variance / q$variance) - 1)
    }, 0))
  }
  out <- ce_decompose(law, data$y, score = c("dss", "crps"))
  expect_equal(out$calibration[1], divergence(function(r) score_moments(law[r[1]])))
  expect_equal(out$sharpness[1], divergence(function(r) moments(1:60)))
  expect_equal(out$entropy[1], 1 + log(moments(1:60)$variance))
  # the integrated squared difference of distribution functions
  cdf <- function(r) stats::ecdf(data$y[r])
  square <- function(f, g) {
    at <- sort(data$y)
    pieces <- c(-12, at, 15)
    sum(vapply(seq_along(pieces)[-1], function(k) {
      stats::integrate(function(t) (f(t) - g(t))^2, pieces[k - 1], pieces[k], rel.tol = 1e-9)$value
    }, 0))
  }
  calibration <- sum(vapply(rows, function(r) {
    m <- data$mean[r[1]]
    length(r) / 60 * square(function(t) pnorm(t, m, 1 + m / 3), cdf(r))
  }, 0))
  expect_equal(out$calibration[2], calibration, tolerance = 1e-6)
  expect_equal(out$entropy[2], mean(abs(outer(data$y, data$y, `-`))) / 2)
})

test_that("groups of similar predictions, groups without spread, refusals", {
  data <- withr::with_seed(1, list(mean = rnorm(90)))
  data$y <- withr::with_seed(2, rnorm(90, data$mean))
  law <- pred_normal(data$mean, 1)
  expect_warning(ce_decompose(law, data$y, score = "crps"), class = "calibrisk_warning_distinct")
  out <- ce_decompose(law, data$y, score = c("crps", "dss"), n_bins = 5)
  expect_identical(out$n_distinct, c(5L, 5L))
  group <- ceiling(rank(data$mean) / 18)
  expect_identical(law_groups(law, 5), as.integer(group))
  expect_equal(out$sharpness[1], mean(abs(outer(data$y, data$y, `-`))) / 2 -
                 mean(vapply(split(data$y, group), function(v) mean(abs(outer(v, v, `-`))) / 2, 0)))
  expect_true(all(out$sharpness > 2 * out$sharpness_std.error))
  boot <- withr::with_seed(3, ce_decompose(law, data$y, score = "crps", n_bins = 5, times = 50))
  expect_equal(boot$sharpness_std.error / out$sharpness_std.error[1], 1, tolerance = .5)
  expect_warning(alone <- ce_decompose(pred_normal(c(0, 0, 0, 1), 1), c(1, 2, 3, 1), score = "dss"),
                 class = "calibrisk_warning_distinct")
  expect_identical(alone$calibration, NA_real_)
  expect_error(ce_decompose(law, data$y, score = "crps", method = "isotonic"), class = "calibrisk_error_score")
  expect_error(ce_decompose(c(.2, .4), c(0, 1), score = "crps"), class = "calibrisk_error_score")
  expect_error(ce_decompose(c(.2, .4), c(0, 1), n_bins = 3), class = "calibrisk_error_argument")
})

test_that("weighted isotonic regression pools weighted means", {
  expect_equal(cpp_isotonic_rows(c(3, 1, 2), c(0, 1, 0), c(1, 2, 3))$rows, rep(1 / 3, 3))
  expect_equal(cpp_isotonic_rows(c(1, 2, 3), c(0, 1, 0), c(1, 1, 3))$rows, c(0, .25, .25))
})

test_that("weighted laws of outcomes are those of the definition", {
  y <- c(1.5, -.2, .4, 3, 1.5, .1)
  w <- c(1, .5, 2, .3, 1.2, .7)
  group <- c(1, 1, 1, 1, 2, 2)
  crps <- vapply(1:6, function(i) {
    own <- group == group[i]
    share <- w[own] / sum(w[own])
    sum(share * abs(y[i] - y[own])) - sum(outer(share, share) * abs(outer(y[own], y[own], "-"))) / 2
  }, 0)
  expect_equal(cpp_group_scores(y, group, w, TRUE), crps)
  expect_equal(cpp_group_scores(y, group, numeric(), TRUE), cpp_group_scores(y, group, rep(2, 6), TRUE))
  # mean score = entropy + calibration - sharpness, whatever the weights
  data <- design_rows_frame()
  data$prob <- round(data$prob, 1)
  for (out in list(ce_decompose(data, y, prob, weights = share), ce_decompose(data, y, prob, method = "isotonic",
                                                                              weights = share),
                   ce_decompose(pred_normal(round(data$mean), 1), data$z, score = "crps", weights = data$share))) {
    expect_equal(out$mean_score, out$entropy + out$calibration - out$sharpness)
    expect_gte(min(out$calibration, out$sharpness), 0)
  }
  # Murphy's parts, by hand
  parts <- ce_decompose(data, y, prob, weights = share)
  shares <- data$share / sum(data$share)
  base <- sum(shares * data$y)
  expect_equal(parts$entropy, base * (1 - base))
  cell <- match(data$prob, unique(data$prob))
  frequency <- (rowsum(data$share * data$y, cell) / rowsum(data$share, cell))[cell]
  expect_equal(parts$calibration, sum(shares * (data$prob - frequency)^2))
  expect_equal(parts$sharpness, sum(shares * (base - frequency)^2))
})
