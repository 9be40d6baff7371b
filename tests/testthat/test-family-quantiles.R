test_that("quantiles are checked, and ordered by their levels", {
  values <- rbind(c(1, 2, 4), c(0, 0, 3))
  law <- pred_quantiles(values, c(0.1, 0.5, 0.9))
  expect_equal(pred_quantiles(values[, c(2, 3, 1)], c(0.5, 0.9, 0.1)), law)
  expect_equal(pred_quantiles(c(1, 2, 4), c(0.1, 0.5, 0.9)), law[1])
  error <- expect_error(pred_quantiles(rbind(1:3, c(1, 3, 2)), c(0.1, 0.5, 0.9)), "Row 2",
                        class = "calibrisk_error_distribution")
  expect_identical(error$row, 2L)
  expect_error(pred_quantiles(values, c(0.1, 0.9)), class = "calibrisk_error_distribution")
  expect_error(pred_quantiles(values, c(0, 0.5, 0.9)), class = "calibrisk_error_distribution")
  expect_error(pred_quantiles(values, c(0.5, 0.5, 0.9)), class = "calibrisk_error_distribution")
  expect_error(pred_quantiles(matrix(1:2), 0.5), class = "calibrisk_error_distribution")
  expect_error(pred_quantiles(rbind(c(1, NA)), c(0.1, 0.5)), class = "calibrisk_error_distribution")
  expect_error(c(law, pred_quantiles(rbind(1:2), c(0.1, 0.5))), "levels", class = "calibrisk_error_distribution")
})

test_that("the distribution function goes through the quantiles", {
  levels <- c(0.1, 0.5, 0.9)
  law <- pred_quantiles(rbind(c(1, 2, 4)), levels)
  cdf <- record_of(law)$cdf
  expect_equal(vapply(c(1, 2, 4), function(y) cdf(law, y), 0), levels)
  expect_equal(cdf(law, 1.5), 0.3)
  # exponential tails with the density of the segments next to them
  expect_equal(cdf(law, 0), 0.1 * exp(-1 / (0.1 / 0.4)))
  expect_equal(cdf(law, 6), 1 - 0.1 * exp(-2 / (0.1 * 2 / 0.4)))
  expect_equal(record_of(law)$quantile(law, 0.05), 1 + 0.25 * log(0.5))
  # many quantiles are the distribution that they are of
  levels <- seq(0.005, 0.995, by = 0.005)
  fine <- pred_quantiles(outer(c(1, 2), stats::qnorm(levels)), levels)
  exact <- pred_normal(0, c(1, 2))
  y <- c(0.7, -3)
  expect_equal(score_parts("crps", fine, y)$value, score_parts("crps", exact, y)$value, tolerance = 1e-3)
  expect_equal(law_moments(fine), law_moments(exact), tolerance = 1e-2)
  error <- function(law) skce(law, y, kernel = kernel_wasserstein(1))$.estimate
  expect_equal(error(fine), error(exact), tolerance = 0.02)
})

test_that("equal quantiles are points, with the jumps of the probability integral transform", {
  levels <- c(0.1, 0.3, 0.6, 0.9)
  law <- pred_quantiles(rbind(c(0, 0, 0, 2), c(0, 1, 2, 3), c(1, 1, 1, 1)), levels)
  pit <- pit_of(law, c(0, 1, 1))
  expect_equal(pit$low, c(0, 0.3, 0))
  expect_equal(pit$high, c(0.6, 0.3, 1))
  table <- pit$jumps(1:3)
  expect_identical(table$start, c(0L, 1L, 1L, 2L))
  expect_equal(table$high, c(0.6, 1))
  expect_equal(score_parts("crps", law[3], 3)$value, 2)
  # rain: the probability of none is in the quantiles
  withr::local_seed(2)
  many <- rep(law[1:2], 300)
  y <- draw_law(many, 1)[, 1]
  expect_equal(mean(y[seq(1, 600, 2)] == 0), 0.6, tolerance = 0.15)
  for (type in c("pit", "quantile")) expect_false(glance(ce_curve(many, y, type = type, level = 0.999))$rejected)
  expect_true(glance(ce_curve(many, y + 1, type = "quantile"))$rejected)
})

test_that("curves of quantile forecasts show their levels only, and hold their level", {
  levels <- c(.05, .25, .5, .75, .95)
  law <- function(mean) pred_quantiles(outer(mean, stats::qnorm(levels), `+`), levels)
  mean <- seq(-1, 1, length.out = 300)
  y <- withr::with_seed(1, stats::rnorm(300, mean))
  quantile <- tidy(ce_curve(law(mean), y, type = "quantile"))
  expect_equal(quantile$confidence, levels)
  expect_equal(quantile$observed, vapply(levels, function(level) mean(y <= mean + stats::qnorm(level)), 0))
  pit <- tidy(ce_curve(law(mean), y, type = "pit"))
  expect_equal(pit$right, c(levels, 1))
  expect_equal(pit$left, c(0, levels))
  expect_equal(pit$observed, diff(c(0, quantile$observed, 1)) / diff(c(0, levels, 1)))
  expect_equal(tidy(ce_curve(law(mean), y, type = curve_pit(n_bins = 3)))$right, c(.25, .75, 1))
  # outcomes at a quantile are not above it
  expect_equal(tidy(ce_curve(law(0), stats::qnorm(.95), type = "quantile"))$observed, c(0, 0, 0, 0, 1))
  # between the levels these laws are wrong, which nobody can say of them
  rejected <- withr::with_seed(2, rowMeans(vapply(1:150, function(i) {
    y <- stats::rnorm(300, mean)
    vapply(c("pit", "quantile"), function(type) glance(ce_curve(law(mean), y, type = type))$rejected, NA)
  }, c(NA, NA))))
  expect_true(all(rejected < .05 + 3.5 * sqrt(.05 * .95 / 150)))
  expect_true(glance(ce_curve(law(mean), 1.5 * y, type = "pit"))$rejected)
  expect_true(glance(ce_curve(law(mean), y + .3, type = "quantile"))$rejected)
  # ties; weighted rows
  zero <- pred_quantiles(cbind(0, 0, abs(mean), 1 + abs(mean)), c(.1, .4, .6, .9))
  expect_equal(tidy(ce_curve(zero, abs(y), type = "pit"))$right, c(.1, .4, .6, .9, 1))
  expect_equal(tidy(ce_curve(zero, abs(y), type = "quantile"))$confidence, c(.1, .4, .6, .9))
  twice <- ce_curve(law(mean), y, type = "quantile", weights = rep(c(1, 2), 150))
  expect_equal(tidy(twice)$observed, vapply(levels, function(level) {
    stats::weighted.mean(y <= mean + stats::qnorm(level), rep(c(1, 2), 150))
  }, 0))
  # rows with other levels: those that all have
  both <- c(law(0), pred_quantiles(c(-2, -1, 0, 1, 2), c(.05, .2, .5, .8, .95)))
  expect_equal(tidy(ce_curve(both, c(0, 0), type = "quantile"))$confidence, c(.05, .5, .95))
})
