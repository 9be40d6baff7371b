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

test_that("a scaled Brier score is at most 1, and a pooled p-value agrees with its interval", {
  row <- subset(tidy(ce_validate(c(.05, .1, .2, .3, .5, .1, .6, .2, .15, .1, .3, .9), rep(0:1, c(10, 2)), times = 0)),
                term == "scaled_brier")
  expect_identical(row$conf.high, 1)
  for (seed in c(12, 30, 41)) {
    data <- withr::with_seed(seed, {
      p <- plogis(rnorm(60, -4, .7))
      list(y = rbinom(60, 1, pmin(1, p * 2.6)), p = lapply(1:3, function(i) plogis(qlogis(p) + rnorm(60, 0, .1))))
    })
    if (sum(data$y) < 2) next
    pooled <- tidy(ce_pool(lapply(data$p, ce_validate, data$y, times = 0)))
    ratio <- subset(pooled, term == "oe_ratio")
    expect_identical(ratio$p.value < .05, ratio$conf.low > 1 || ratio$conf.high < 1)
    expect_lte(max(subset(pooled, term == "scaled_brier")$conf.high), 1)
  }
})

test_that("groups keep their names, and models without a value are not the best", {
  odd$g <- rep(c("A", "Bee", NA), 20)
  expect_true(all(c("A", "Bee", "NA") %in% tidy(ce_meta(ce_validate(odd, y, a, .by = g, times = 0)))$group))
  ranked <- ce_rank(list(a = odd$a, b = odd$b), rep(0, 60), metric = "auroc")
  expect_false(any(tidy(ranked)$can_be_best))
  expect_match(printed(ranked), "no model")
})

test_that("models of a number predict incomplete rows as missing, and all rows else", {
  data <- withr::with_seed(1, data.frame(x = 1:40 / 10, y = rnorm(40), k = rpois(40, 2)))
  new <- replace(data, "x", list(replace(data$x, 3, NA)))
  for (model in list(lm(y ~ x, data), glm(y ~ x, data = data), glm(k ~ x, poisson, data))) {
    found <- ce_predictions(model, new)$.pred
    expect_identical(which(is.na(found)), 3L)
    expect_equal(found[-3], ce_predictions(model, data)$.pred[-3])
  }
  short <- function(train) function(rows) rep(.5, 3)
  expect_error(ce_optimism(short, odd, y, times = 20), "Of 60 rows it predicts 3", class = "calibrisk_error_model")
})

test_that("errors of clusters, weights and late entry name what was given", {
  skip_if_not_installed("survival")
  expect_error(ce_test(pred_normal(odd$a, 1), odd$b, cluster = odd$g, test = "joint"), "skce",
               class = "calibrisk_error_cluster")
  time <- withr::with_seed(1, rexp(60))
  followed <- survival::Surv(time, rep(0:1, 30))
  expect_error(suppressMessages(ce_test(odd$a, followed, horizon = .5, test = "block")), "`horizon` gives rows",
               class = "calibrisk_error_weights")
  late <- data.frame(entry = c(0, rep(2, 30)), time = c(1, 3 + 1:30 / 5), status = c(1, rep(c(1, 0, 0), 10)), p = .4)
  expect_error(rbs(late, survival::Surv(time, status), p, horizon = ce_horizon(5, entry = entry)), "At time 1 all rows",
               class = "calibrisk_error_horizon")
})

test_that("labelled numbers are numbers where haven is not loaded, and errors name the argument that was typed", {
  d <- withr::with_seed(1, data.frame(p = stats::runif(40), y = stats::rbinom(40, 1, .5), w = stats::rexp(40)))
  labelled <- as.data.frame(lapply(d, function(v) structure(v, labels = c(a = 1), class = c("haven_labelled", "vctrs_vctr", typeof(v)))))
  expect_equal(ece(labelled, y, p, weights = w), ece(d, y, p, weights = w))
  expect_equal(ece(labelled$p, labelled$y), ece(d$p, d$y))
  named <- function(call, name, text) expect_identical(expect_error(call, text, class = "calibrisk_error")$arg, name)
  map <- ce_recalibrate(d, y, p, method = "platt")
  expect_equal(predict(map, labelled[1, "p", drop = FALSE]), predict(map, d[1, "p", drop = FALSE]))
  named(predict(map, data.frame(p = "a")), "new", "`?p`? is <character>")
  named(predict(ce_tune(d$p, d$y, methods = list(method_bins()), folds = 2), cbind(d$p, d$p, 0)), "new", "`new`.*2 classes")
  expect_no_warning(tidy(update(ce_state(), 1 - 10^withr::with_seed(2, stats::runif(200, -16, -11)), rep(1, 200))))
  named(ce_coverage(cbind(-Inf, d$w), d$p, level = .9), NULL, "`x` must hold finite")
})

test_that("nearly singular updates, weights of 0 and ends at 1 leave other numbers as they are", {
  rows <- withr::with_seed(72, {
    p <- pmin(pmax(plogis(rnorm(30, 0, 5)), .001), .999)
    list(p = p, y = rbinom(30, 1, p), w = rexp(30)^3)
  })
  update <- suppressWarnings(ce_recalibrate(rows$p, rows$y, method = "update", weights = rows$w))
  expect_true(all(is.finite(tidy(update)$p.value[1:3])))
  # an end at 1 says nothing of the error
  p <- ifelse(rep(0:1, 30) == 1, .999, .001)
  one <- ce_validate(replace(p, 1, .99), rep(0:1, 30), times = 0)
  errors <- vapply(list(one, ce_pool(list(one, one))), function(x) {
    subset(tidy(x), term == "scaled_brier")$std.error
  }, 0)
  expect_equal(errors[2], errors[1])
  skip_if_not_installed("survival")
  late <- data.frame(entry = c(0, 2, 2, 2), time = c(1, 3, 6, 6), status = c(1, 1, 0, 0), p = .4, w = c(0L, 1L, 1L, 1L))
  error <- function(data, ...) {
    suppressMessages(rbs(data, survival::Surv(time, status), p, horizon = ce_horizon(5, entry = entry), ...)$.estimate)
  }
  expect_equal(error(late, weights = w), error(late[-1, ]))
  # the moments of an ensemble do not depend on where it is
  draws <- withr::with_seed(1, matrix(rnorm(160), 20))
  shifted <- lapply(c(0, 1e8), function(by) ce_moments(pred_draws(draws + by), draws[, 1] + by)[c("p.value", "target")])
  expect_equal(shifted[[1]][5:7, ], shifted[[2]][5:7, ], tolerance = 1e-4)
})
