# Rows that are unusual: predictions of 0 and 1, one cluster, one place, one threshold, groups of models.
odd <- withr::with_seed(1, data.frame(y = rbinom(60, 1, 0.5), a = runif(60), b = runif(60)))
odd$g <- rep(c("u", "v"), 2:1 * 20)
printed <- function(x) paste(utils::capture.output(print(x)), collapse = "\n")

test_that("logistic fits reach their optimum from predictions of 0 and 1, or say why there is none", {
  y <- rep(c(0, 1, 0, 1), c(65, 1, 4, 30))
  p <- rep(c(0, 1), c(66, 34))
  # two places: the fitted frequencies are the observed ones
  for (floor in 10^-c(3, 9, 12, 15)) {
    slope <- (qlogis(30 / 34) - qlogis(1 / 66)) / (-2 * qlogis(floor))
    map <- function(name) ce_recalibrate(p, y, method = name, floor = floor)$terms$estimate[1]
    expect_equal(c(cox_calibration(p, y, floor = floor)$.estimate[2], map("platt"), map("update")), rep(slope, 3),
                 tolerance = 1e-3)
  }
  expect_warning(ce_recalibrate(c(0.2, 0.4, 0.4, 0.6), c(0, 0, 1, 1), method = "platt"), "separate the outcomes")
})

test_that("models have their events counted in every group, and groups of their own", {
  expect_match(printed(ce_estimate(ce_models(odd, y, a, b, .by = g))), paste(sum(odd$y), "events"))
  probs <- vehicle_predictions[1:40, 2:5]
  classes <- ce_models(list(a = probs, b = probs), vehicle_predictions$truth[1:40])
  expect_no_match(printed(ce_estimate(classes)), "events")
  found <- ce_validate(ce_models(odd, y, a, b), group = odd$g, times = 0)
  expect_equal(tidy(found)$estimate[tidy(found)$model == "b"],
               tidy(ce_validate(odd, y, b, group = g, times = 0))$estimate)
  expect_match(ce_kable(ce_validate(odd, y, a, .by = g, times = 0), format = "pipe")[1], "binary, 60 rows.")
})

test_that("nothing is said of thresholds, folds and units that are not there", {
  expect_equal(threshold_ranges(c(0.3, 0.5, 0.7), c(TRUE, FALSE, TRUE)), "thresholds 0.3, 0.7")
  expect_equal(threshold_ranges(1:5 / 100, c(TRUE, TRUE, TRUE, FALSE, TRUE)), "thresholds 0.01 to 0.03, 0.05")
  for (verb in list(ce_decision, ce_recalibrate)) {
    error <- expect_error(verb(odd$a, odd$y, folds = 100), class = "calibrisk_error_folds")
    expect_no_match(conditionMessage(error), "test", fixed = TRUE)
  }
  expect_warning(one <- ce_estimate(odd$a, odd$y, cluster = rep(1, 60)), class = "calibrisk_warning_cluster")
  expect_match(printed(one), "All rows are one cluster")
  expect_match(printed(ce_test(odd$y, odd$y)), "T = NA.*p-value = NA.*Every outcome was predicted with certainty")
})

test_that("bands of weighted curves do not depend on the order of tied rows", {
  rows <- withr::with_seed(2, data.frame(p = round(rbeta(200, 1, 3), 1), w = rexp(200), k = sample(15, 200, TRUE)))
  rows$y <- withr::with_seed(3, rbinom(200, 1, rows$p))
  for (type in c("smooth", "isotonic", "binned")) {
    curve <- function(rows) tidy(ce_curve(rows, y, p, weights = w, cluster = k, type = type))
    expect_equal(curve(rows[200:1, ]), curve(rows))
  }
})

test_that("one threshold and one place are drawn", {
  skip_if_not_installed("ggplot2")
  layers <- function(plot) vapply(ggplot2::ggplot_build(plot)$plot$layers, function(one) class(one$geom)[1], "")
  expect_silent(expect_true("GeomLinerange" %in% layers(plot(ce_decision(odd, y, a, thresholds = 0.5)))))
  expect_true("GeomPoint" %in% layers(plot(ce_curve(rep(0.3, 60), odd$y))))
  expect_silent(layers(plot(ce_decision(0.3, 1))))
})

test_that("right quantiles of counts are not rejected for covering more than their level", {
  law <- withr::with_seed(1, {
    m <- exp(1 + rnorm(120))
    list(q = vapply(c(0.05, 0.25, 0.5, 0.75, 0.95), qnbinom, m, mu = m, size = 2), y = rnbinom(120, mu = m, size = 2))
  })
  forecast <- pred_quantiles(law$q, c(0.05, 0.25, 0.5, 0.75, 0.95))
  rejected <- function(y, type = "quantile") glance(ce_curve(forecast, y, type = type))$rejected
  expect_identical(c(rejected(law$y), rejected(law$y, "pit"), rejected(2 * law$y + 1)), c(FALSE, FALSE, TRUE))
  expect_error(ce_test(forecast, law$y), "ce_coverage", class = "calibrisk_error_test")
})

test_that("limits of the scaled Brier score of few events take the skewness out", {
  p <- 1:300 / 1500
  y <- +(1:300 %in% c(80, 150, 200, 250, 270, 299))
  row <- subset(tidy(ce_validate(p, y, times = 0)), term == "scaled_brier")
  loss <- (y - p)^2
  spread <- mean(y) * (1 - mean(y))
  influence <- mean(loss) / spread^2 * (1 - 2 * mean(y)) * (y - mean(y)) - (loss - mean(loss)) / spread
  s <- min(max(1.6 * sum(influence^3) / sum(influence^2)^1.5, -0.45), 0.45)
  z <- (row$estimate - c(row$conf.low, row$conf.high)) / row$std.error
  expect_equal(z + s * z^2 / 3 + s^2 * z^3 / 27 + s / 6, qnorm(c(0.975, 0.025)))
})
