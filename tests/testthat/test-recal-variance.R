test_that("variance scaling finds the known optima", {
  f <- fixture_regression()
  x <- moment_columns(f$mean, f$variance)
  fit <- ce_recalibrate(x, f$y, method = "variance")
  expect_equal(tidy(fit)$estimate, c(1.771978443, .1020494716), tolerance = 1e-5)
  expect_equal(c(fit$objective), c(before = 1.618402958, after = 1.343966943), tolerance = 1e-9)
  out <- suppressWarnings(predict(fit))
  expect_equal(out[, 1], f$mean)
  expect_equal(mean((f$mean - f$y)^2 / out[, 2]), 1, tolerance = 1e-6)
  expect_equal(mean(out[, 2]), 1.590511364, tolerance = 1e-6)
  expect_true(glance(fit)$injective)
})

test_that("two levels of variance become the groups' mean squared errors", {
  f <- fixture_regression()
  variance <- rep(c(.4, 1.6), each = 5)
  fit <- ce_recalibrate(moment_columns(f$mean, variance), f$y, method = "variance")
  expect_equal(tidy(fit)$estimate, c(.7683333333, .8746666667), tolerance = 1e-5)
  expect_equal(fit$objective[["after"]], 1.455524107, tolerance = 1e-9)
  expect_equal(unname(suppressWarnings(predict(fit))[c(1, 6), 2]), c(1.182, 2.104), tolerance = 1e-6)
  # constant variance: 1 + log MSE, whatever the split between scale and shift
  constant <- ce_recalibrate(moment_columns(f$mean, 2), f$y, method = "variance")
  expect_equal(constant$objective[["after"]], 1.496523839, tolerance = 1e-9)
  expect_equal(unname(suppressWarnings(predict(constant))[1, 2]), 1.643, tolerance = 1e-9)
})

test_that("one parameter alone is worse than both, and each has its first-order condition", {
  f <- fixture_regression()
  r <- (f$mean - f$y)^2
  expect_equal(mean(r / f$variance), 1.931797619, tolerance = 1e-9)
  expect_equal(dss(1.931797619 * f$variance, r), 1.345056317, tolerance = 1e-9)
  expect_equal(dss(f$variance + .5745237844, r), 1.368461203, tolerance = 1e-9)
  both <- ce_recalibrate(moment_columns(f$mean, f$variance), f$y, method = "variance")$objective[["after"]]
  expect_lt(both, min(1.345056317, 1.368461203, 1.496523839))
  # the ratio is 1 on the fitted rows also at the edges w = 0 and b = 0
  for (s2 in list(rev(sort(r))[rank(r)], sort(r)[rank(r)])) {
    out <- suppressWarnings(predict(ce_recalibrate(moment_columns(f$mean, s2 + .01), f$y, method = "variance")))
    expect_equal(mean(r / out[, 2]), 1, tolerance = 1e-5)
  }
})

test_that("for w > 0 the score falls by the calibration error, exactly, where predictions repeat", {
  cell <- rep(1:5, 20)
  mu <- withr::with_seed(1, rnorm(5))[cell]
  s2 <- withr::with_seed(2, rgamma(5, 3))[cell]
  y <- withr::with_seed(3, rnorm(100, mu + .3, sqrt(2 * s2 + .5)))
  mean_y <- ave(y, cell)
  variance_y <- ave(y, cell, FUN = function(v) mean((v - mean(v))^2))
  error <- function(s2) mean((variance_y + (mu - mean_y)^2) / s2 - 1 - log(variance_y / s2))
  map <- ce_recalibrate(moment_columns(mu, s2), y, method = "variance")
  expect_gt(parameter(map, "scale"), 0)
  after <- suppressWarnings(predict(map))[, 2]
  expect_equal(dss(s2, (mu - y)^2) - dss(after, (mu - y)^2), error(s2) - error(after), tolerance = 1e-10)
  moments <- suppressWarnings(ce_moments(moment_columns(mu, s2), y, after = map))
  expect_equal(moments$estimate[moments$quantity == "dss_gain"], error(s2) - error(after), tolerance = 1e-10)
})

test_that("the score never gets worse and is the best of a grid", {
  for (seed in 1:10) {
    s2 <- withr::with_seed(seed, stats::rgamma(40, 2))
    y <- withr::with_seed(seed + 100, stats::rnorm(40, sd = sqrt(stats::runif(1, 0, 2) * s2 + stats::runif(1))))
    fit <- ce_recalibrate(moment_columns(0, s2), y, method = "variance")
    expect_lte(fit$objective[["after"]], fit$objective[["before"]] + 1e-10)
    grid <- expand.grid(w = c(0, exp(seq(-6, 3, length.out = 40))), b = c(0, exp(seq(-6, 3, length.out = 40))))
    scores <- mapply(function(w, b) if (w + b > 0) dss(w * s2 + b, y^2) else Inf, grid$w, grid$b)
    expect_lte(fit$objective[["after"]], min(scores) + 1e-9)
    w <- tidy(fit)$estimate
    if (all(w > 1e-8)) {
      after <- w[1] * s2 + w[2]
      expect_equal(mean(y^2 / after), 1, tolerance = 1e-5)
    }
  }
})

test_that("degenerate variances are defined", {
  f <- fixture_regression()
  zero <- ce_recalibrate(moment_columns(f$mean, 0), f$y, method = "variance")
  expect_equal(unname(suppressWarnings(predict(zero))[1, 2]), 1.643)
  expect_false(glance(zero)$injective)
  expect_equal(zero$objective[["before"]], Inf)
  expect_error(ce_recalibrate(moment_columns(f$mean, f$variance), f$mean, method = "variance"),
               class = "calibrisk_error_degenerate")
  expect_error(ce_recalibrate(moment_columns(f$mean, -f$variance), f$y, method = "variance"), "Row 1",
               class = "calibrisk_error_variance")
  expect_error(ce_recalibrate(f$mean, f$y, method = "variance"), class = "calibrisk_error_columns")
  expect_error(ce_recalibrate(moment_columns(f$mean, f$variance), letters[1:10], method = "variance"),
               class = "calibrisk_error_truth")
  # exact means with variance 0 pull the shift to 0
  expect_warning(fit <- ce_recalibrate(moment_columns(0, c(0, 0, 0, 1, 2)), c(0, 0, 0, 1, -2), method = "variance"),
                 class = "calibrisk_warning_convergence")
  expect_false(glance(fit)$converged)
})

test_that("means, deviations and outcomes without finite squares are refused", {
  f <- fixture_regression()
  map <- ce_recalibrate(pred_normal(f$mean, 1), f$y, method = "variance")
  fit <- function(x, y = f$y) ce_recalibrate(x, y, method = "variance")
  for (size in c(1e51, 1e300)) {
    expect_error(fit(pred_normal(f$mean, size)), "largest sd is", class = "calibrisk_error_distribution")
    expect_error(fit(cbind(mean = f$mean, sd = size)), "largest sd is", class = "calibrisk_error_distribution")
    expect_error(fit(pred_normal(f$mean + size, 1)), "largest mean is", class = "calibrisk_error_distribution")
    expect_error(fit(pred_normal(f$mean, 1), size * f$y), "largest truth is", class = "calibrisk_error_truth")
    cnd <- expect_error(predict(map, pred_normal(f$mean, size)), class = "calibrisk_error_distribution")
    expect_identical(cnd$arg, "new")
  }
  expect_equal(tidy(fit(pred_normal(f$mean, 1e49), 1e49 * f$y))$estimate[1] * 1e49^2,
               tidy(fit(pred_normal(f$mean, 1), 1e49 * f$y))$estimate[1])
})

test_that("frames keep their columns, cross-fitting its folds", {
  f <- fixture_regression()
  frame <- data.frame(.pred_mean = f$mean, .pred_variance = f$variance, y = f$y)
  fit <- ce_recalibrate(frame, y, method = "variance", folds = rep(1:2, 5))
  out <- predict(fit)
  expect_named(out, c(".pred_mean", ".pred_variance"))
  one <- ce_recalibrate(frame[c(2, 4, 6, 8, 10), ], y, method = "variance")
  expect_equal(out$.pred_variance[1], predict(one, frame[1, ])$.pred_variance, tolerance = 1e-9)
  expect_equal(glance(fit)$objective_crossfit, dss(out$.pred_variance, (f$mean - f$y)^2))
})
