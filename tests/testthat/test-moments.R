value_of <- function(x, what) x$estimate[x$quantity == what]

# what does not come from redrawn outcomes
lawless <- function(x) x[!names(x) %in% c("p.value", "conf.low", "conf.high", "target")]

test_that("the quantities have their known values", {
  f <- fixture_regression()
  out <- ce_moments(moment_columns(f$mean, f$variance), f$y)
  expect_equal(value_of(out, "mse"), 1.643)
  expect_equal(value_of(out, "variance"), .84)
  expect_equal(value_of(out, "ratio"), 1.931797619, tolerance = 1e-9)
  expect_equal(value_of(out, "ratio_sd"), 1.228468094, tolerance = 1e-8)
  expect_equal(value_of(out, "dss"), 1.618402958, tolerance = 1e-9)
  expect_equal(value_of(out, "bias"), mean(f$mean - f$y))
  expect_equal(value_of(out, "mean_slope"), unname(stats::coef(stats::lm(f$y ~ f$mean))[2]))
  r <- (f$mean - f$y)^2
  fit <- stats::lm(r ~ f$variance, weights = 1 / f$variance^2)
  expect_equal(value_of(out, "variance_slope"), unname(stats::coef(fit)[2]))
  x <- moment_columns(1, f$variance) / f$variance
  bread <- solve(crossprod(x))
  e <- stats::residuals(fit) / f$variance / (1 - stats::hatvalues(fit))
  hc3 <- bread %*% crossprod(x * e) %*% bread
  expect_equal(out$std.error[out$quantity == "variance_slope"], max(sqrt(hc3[2, 2]), sqrt(stats::vcov(fit)[2, 2])),
               tolerance = 1e-10)
  expect_equal(out$std.error[out$quantity == "ratio"], sd(r / f$variance) / sqrt(10), tolerance = 1e-10)
})

test_that("a map's gain is the paired difference of scores", {
  withr::with_seed(1, {
    m <- rnorm(200)
    s2 <- rexp(200) + .2
    y <- rnorm(200, m, sqrt(3 * s2))
  })
  x <- moment_columns(m, s2)
  map <- ce_recalibrate(x[1:100, ], y[1:100], method = "variance")
  out <- ce_moments(x[101:200, ], y[101:200], after = map)
  after <- predict(map, x[101:200, ])
  score <- function(p) (p[, 1] - y[101:200])^2 / p[, 2] + log(p[, 2])
  gain <- score(x[101:200, ]) - score(after)
  expect_equal(value_of(out, "dss_gain"), mean(gain))
  expect_equal(out$std.error[out$quantity == "dss_gain"], sd(gain) / 10)
  expect_gt(value_of(out, "dss_gain"), 0)
  expect_equal(value_of(out, "mse_gain"), 0)
  expect_equal(out, ce_moments(x[101:200, ], y[101:200], after = after))
  # the scale's true value is 3, and the ratio after is near 1
  expect_true(out$conf.low[out$predictions == "after" & out$quantity == "ratio"] < 1)
})

test_that("moments have their edge cases and input errors", {
  f <- fixture_regression()
  zero <- ce_moments(moment_columns(f$mean, 0), f$y)
  expect_equal(value_of(zero, "ratio"), Inf)
  expect_equal(value_of(zero, "dss"), Inf)
  expect_true(is.na(value_of(zero, "variance_slope")))
  frame <- data.frame(.pred_mean = f$mean, .pred_variance = f$variance, y = f$y)
  expect_equal(lawless(ce_moments(pred_normal(f$mean, sqrt(f$variance)), f$y)), lawless(ce_moments(frame, y)))
  expect_error(ce_moments(moment_columns(1, -1), 0), class = "calibrisk_error_variance")
  expect_error(ce_moments(moment_columns(1, 1), Inf), class = "calibrisk_error_truth")
  expect_error(ce_moments(frame, y, after = ce_recalibrate(.5, 1, method = "histogram")),
               class = "calibrisk_error_argument")
})

test_that("the gain of a constant variance is no improvement of calibration alone, and says so", {
  f <- fixture_regression()
  map <- ce_recalibrate(moment_columns(f$mean, 1), f$y, method = "variance")
  map$map$w <- 0 # whatever the split of a constant: the flag decides
  map$injective <- injectivity(FALSE, "the scale is 0: one variance for all")
  new <- moment_columns(f$mean + .123, f$variance)
  expect_warning(out <- ce_moments(new, f$y, after = map), "scale is 0", class = "calibrisk_warning_injective")
  expect_equal(value_of(out, "dss_gain"), value_of(out[out$predictions == "before", ], "dss") -
                 value_of(out[out$predictions == "after", ], "dss"))
  map <- ce_recalibrate(moment_columns(f$mean, f$variance), f$y, method = "variance")
  expect_no_warning(ce_moments(new, f$y, after = map))
})

test_that("two numbers are read by their names, in any order and scale, and are an error without", {
  f <- withr::with_seed(3, list(m = stats::rnorm(40), s = stats::runif(40, 0.5, 2)))
  f$y <- withr::with_seed(4, stats::rnorm(40, f$m, 1))
  expected <- ce_moments(pred_normal(f$m, f$s), f$y)
  rlang::reset_message_verbosity("calibrisk_moments_sigma_mu")
  expect_message(found <- ce_moments(cbind(sigma = f$s, mu = f$m), f$y), "standard deviation",
                 class = "calibrisk_message_moments")
  expect_equal(lawless(found), lawless(expected))
  expect_no_message(ce_moments(cbind(sigma = f$s, mu = f$m), f$y))
  frame <- tibble::tibble(.pred = f$m, .pred_sd = f$s, y = f$y, lower = f$m - f$s, upper = f$m + f$s)
  expect_equal(lawless(suppressMessages(ce_moments(frame, y, .pred, .pred_sd))), lawless(expected))
  expect_equal(ce_moments(frame, y, pred_normal(.pred, .pred_sd)), expected)
  for (bad in list(quote(ce_moments(cbind(f$m, f$s), f$y)), quote(ce_moments(frame, y, lower, upper)),
                   quote(ce_recalibrate(cbind(f$m, f$s), f$y, method = "variance")),
                   quote(ce_curve(cbind(f$m, f$s), f$y, type = "pit")),
                   quote(ce_curve(frame, y, lower, upper, type = "quantile")))) {
    expect_error(eval(bad), "pred_normal", class = "calibrisk_error_columns")
  }
  # a map writes what it was given
  map <- suppressMessages(ce_recalibrate(frame[1:20, ], y, .pred, .pred_sd, method = "variance"))
  scaled <- predict(map, frame[21:40, ])
  expect_named(scaled, c(".pred", ".pred_sd"))
  of_law <- ce_recalibrate(frame[1:20, ], y, pred_normal(.pred, .pred_sd), method = "variance")
  expect_equal(vctrs::field(predict(of_law, frame[21:40, ])$.pred, "sd"), scaled$.pred_sd)
})

test_that("missing predictive distributions are dropped, and draws have moments but no map of variances", {
  skip_if_not_installed("distributional")
  mean <- c(0.1, -0.4, 0.8, 1.2, 0.3)
  outcome <- c(0.3, -0.1, 0.2, 1.5, 0.9)
  law <- distributional::dist_normal(mean, 1)
  law[3] <- NA
  expect_equal(ce_moments(law, outcome), ce_moments(pred_normal(mean, 1)[-3], outcome[-3]))
  map <- ce_recalibrate(law, outcome, method = "variance")
  expect_equal(tidy(map), tidy(ce_recalibrate(pred_normal(mean, 1)[-3], outcome[-3], method = "variance")))
  expect_identical(which(is.na(suppressWarnings(predict(map, law)))), 3L)
  expect_error(as_distribution(law), "Value 3 is NA", class = "calibrisk_error_distribution")
  expect_error(score_parts("crps", law, outcome)$value, class = "calibrisk_error_distribution")
  skip_if_not_installed("posterior")
  draws <- posterior::rvar(matrix(as.numeric(1:20), 4))
  moments <- law_moments(as_distribution(draws))
  expect_equal(lawless(ce_moments(draws, outcome)),
               lawless(ce_moments(pred_normal(moments$mean[, 1], sqrt(moments$cov[, 1])), outcome)))
  expect_error(ce_recalibrate(draws, outcome, method = "variance"), "pred_normal",
               class = "calibrisk_error_distribution")
})

test_that("moments of weighted rows: weighted least squares with robust errors", {
  data <- design_rows_frame()
  out <- ce_moments(pred_normal(data$mean, data$sd), data$z, weights = data$share, cluster = data$centre)
  fit <- stats::lm(z ~ mean, data, weights = share)
  expect_equal(out$estimate[2], unname(stats::coef(fit)[2]))
  # the sandwich of clusters, with residuals over one minus their leverage
  basis <- cbind(1, data$mean)
  bread <- solve(crossprod(basis, data$share * basis))
  e <- stats::residuals(fit) / (1 - stats::hatvalues(fit))
  sandwich <- bread %*% crossprod(rowsum(data$share * e * basis, data$centre)) %*% bread
  # or that of squared errors in proportion to the predicted variances, if it is larger
  row <- data$share * (data$mean - stats::weighted.mean(data$mean, data$share)) * bread[2, 2]
  ratio <- stats::weighted.mean((data$mean - data$z)^2 / data$sd^2, data$share)
  expect_equal(out$std.error[2], sqrt(max(sandwich[2, 2], ratio * 120 / 118 * sum(row^2 * data$sd^2))))
  expect_equal(out$conf.high[2] - out$estimate[2],
               stats::qt(.975, cpp_design_df(new_design(120, data$share, match(data$centre, letters)))) * out$std.error[2])
  expect_equal(out$estimate[3], sum(data$share * (data$mean - data$z)^2) / sum(data$share))
})

test_that("slopes of outcomes that overflow and of infinite variances are missing", {
  out <- ce_moments(pred_normal(c(1, -2, 0, 3), c(1, 2, 3, 4)), c(2, -3, 4, 5) * 1e299)
  expect_false(any(is.nan(out$estimate)))
  out <- ce_moments(pred_t(1.5, 0:4, 1), c(1, -2, 0, 3, 2))
  expect_identical(out$estimate[out$quantity == "variance"], Inf)
  expect_identical(out$estimate[out$quantity == "variance_slope"], NA_real_)
  expect_true(is.finite(out$estimate[out$quantity == "mean_slope"]))
})

test_that("the p-values of moments are those of redrawn outcomes", {
  d <- withr::with_seed(1, list(m = stats::rnorm(60), s = stats::rexp(60) + .5, y = stats::rnorm(60)))
  out <- ce_moments(pred_normal(d$m, d$s), d$y)
  y <- withr::with_seed(2, matrix(stats::rnorm(60 * 999, d$m, d$s), 60))
  of <- function(y) {
    r <- (y - d$m)^2
    c(mean(y - d$m), stats::coef(stats::lm(y ~ d$m))[2], mean(r - d$s^2),
      stats::coef(stats::lm(r ~ I(d$s^2), weights = d$s^-4))[2], mean(r / d$s^2))
  }
  null <- apply(y, 2, of)
  seen <- of(d$y)
  p <- pmin(1, 2 * pmin(rowMeans(cbind(null >= seen, TRUE)), rowMeans(cbind(null <= seen, TRUE))))
  expect_equal(out$p.value[c(1, 2, 5:7)], unname(p), tolerance = .15)
  expect_true(all(is.na(out$p.value[c(3, 4, 8, 9)])))
  expect_true(all(is.na(ce_moments(pred_normal(d$m, d$s), d$y, cluster = rep(1:20, 3))$p.value)))
})

test_that("limits of squared errors hold their targets in small samples of skewed outcomes", {
  expect_lt(cpp_skewed_quantile(-4, 1) / -4, 2)
  holds <- withr::with_seed(3, replicate(200, {
    m <- stats::rnorm(50)
    s <- exp(stats::rnorm(50, -.3, .4))
    x <- ce_moments(moment_columns(m, s^2), m + s * (stats::rgamma(50, 2) - 2) / sqrt(2))
    (x$conf.low <= x$target & x$conf.high >= x$target)[5:7]
  }))
  expect_true(all(rowMeans(holds) > .88))
})

test_that("limits contain the target of right predictions, skewed or of an ensemble", {
  wrong <- function(predict, samples = 40) {
    withr::with_seed(1, rowMeans(vapply(seq_len(samples), function(i) {
      found <- do.call(ce_moments, predict(20))
      found <- found[!is.na(found$target), ]
      outside <- found$target < found$conf.low | found$target > found$conf.high
      # of the bias and the ratio
      expect_false(any(outside[c(1, 5)] & found$p.value[c(1, 5)] > .05))
      c(outside, found$p.value < .05)
    }, numeric(10))))
  }
  gamma <- function(n) {
    m <- stats::rexp(n) + .2
    list(pred_gamma(.5, .5 / m), stats::rgamma(n, .5, .5 / m))
  }
  ensemble <- function(n) list(pred_draws(matrix(stats::rnorm(8 * n), n) * (1:n)), stats::rnorm(n) * (1:n))
  for (predict in list(gamma, ensemble)) expect_lt(max(wrong(predict)), .16)
  # members with half the spread of the outcome
  narrow <- function(n) list(pred_draws(matrix(stats::rnorm(8 * n), n) / 2), stats::rnorm(n))
  expect_gt(min(wrong(narrow)[c(8, 10)]), .8)
})
