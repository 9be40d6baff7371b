models_frame <- function(n = 300) {
  p <- stats::plogis(seq(-2, 2, length.out = n))
  withr::with_seed(2, data.frame(
    y = as.numeric((seq_len(n) * 0.618) %% 1 < p), p = p, sharp = stats::plogis(3 * stats::qlogis(p)), flat = p / 2,
    copies = sample(0:2, n, TRUE), w = stats::rexp(n), centre = rep(1:30, length.out = n),
    site = rep(c("u", "v"), n / 2)
  ))
}

test_that("differences of a mean over rows are those of a paired t test", {
  data <- models_frame()
  # the root: delta method by hand, and the test of the squares
  root <- ce_compare(data, y, p, flat, metric = rbs)
  direction <- (data$p - data$y)^2 / (2 * root$estimate_a) - (data$flat - data$y)^2 / (2 * root$estimate_b)
  expect_equal(root$std.error, stats::sd(direction) / sqrt(300))
  score <- (data$p - data$y)^2 - (data$flat - data$y)^2
  expect_equal(root$p.value, 2 * stats::pnorm(mean(score) / (stats::sd(score) / sqrt(300))))
  # if few rows make the error, one degree of freedom less than these: n / (kurtosis - 2)
  few <- c(rep(0:1, 48), 9, -7, 8, 6)
  kurtosis <- mean((few - mean(few))^4) / mean((few - mean(few))^2)^2
  expect_equal(paired_df(few, NULL, 0, new_design(100)), 100 / (kurtosis - 2) - 1)
})

test_that("every way to give models gives the same pairs, and every metric works", {
  data <- models_frame()
  columns <- ce_compare(data, y, p, sharp, flat, metric = ece)
  expect_identical(columns$a, c("p", "p", "sharp"))
  expect_identical(ce_compare(data, truth = y, p, sharp, flat, metric = "ece"), columns)
  expect_identical(ce_compare(as.list(data[c("p", "sharp", "flat")]), data$y, metric = ce_metric(ece)), columns)
  expect_identical(ce_compare(as.list(data[c("p", "sharp", "flat")]), truth = data$y, metric = ece), columns)
  expect_equal(columns$estimate_a,
               c(ece(data, y, p)$.estimate, ece(data, y, p)$.estimate, ece(data, y, sharp)$.estimate))
  for (metric in design_metrics) {
    found <- ce_compare(data, y, p, flat, metric = metric)
    expect_equal(found$difference, metric(data, y, p)$.estimate - metric(data, y, flat)$.estimate)
    # a root that is not told from 0 has no slope; limits and test do without
    if (!is.na(found$std.error)) expect_gt(found$std.error, 0)
    expect_true(found$conf.low < found$difference && found$difference < found$conf.high)
    # bins of single rows say nothing of gaps
    one <- identical(metric, design_metrics$discrete)
    if (one) expect_identical(found$p.value, 1) else expect_lt(found$p.value, .01)
  }
  frames <- lapply(split(letters_predictions, ~model), utils::head, 300)
  expect_equal(nrow(ce_compare(frames, truth, metric = ece)), 3)
})

test_that("weights and clusters reach the metric", {
  data <- models_frame()
  repeated <- data[rep(1:300, data$copies), ]
  expect_equal(ce_compare(data, y, p, flat, metric = rbs, weights = copies),
               ce_compare(repeated, y, p, flat, metric = rbs))
  weighted <- ce_compare(data, y, p, flat, metric = ece, weights = w, cluster = centre)
  expect_equal(weighted$estimate_a, ece(data, y, p, weights = w)$.estimate)
  # a mean over rows by clusters, by hand
  clustered <- ce_compare(data, y, p, flat, metric = rbs, cluster = centre)
  score <- (data$p - data$y)^2 / (2 * clustered$estimate_a) - (data$flat - data$y)^2 / (2 * clustered$estimate_b)
  sums <- tapply(score - mean(score), data$centre, sum)
  expect_equal(clustered$std.error, sqrt(30 / 29 * sum(sums^2)) / 300)
})

test_that("a metric from outside needs one function", {
  data <- models_frame()
  brier <- function(x, truth) mean((x - truth)^2)
  outside <- withr::with_seed(1, ce_compare(data, y, p, flat, metric = ce_metric(brier, name = "mine"), times = 400))
  score <- (data$p - data$y)^2 - (data$flat - data$y)^2
  expect_identical(outside$.metric, "mine")
  expect_equal(outside$difference, mean(score))
  expect_equal(outside$std.error, stats::sd(score) / sqrt(300), tolerance = .15)
  expect_error(ce_compare(data, y, p, flat, metric = brier, weights = w), class = "calibrisk_error_weights")
})

test_that("of a metric of several numbers the one of the name is compared, and shown in a panel", {
  data <- models_frame()
  own <- ici(data, y, p)
  panel <- ce_panel(data, y, p, metrics = list(ce_metric(ici, name = "e90"), ici))
  expect_identical(panel$.metric, c("e90", own$.metric))
  expect_identical(panel$.estimate, own$.estimate[c(3, 1:4)])
  compare <- function(metric) withr::with_seed(2, ce_compare(data, y, p, sharp, metric = metric, times = 20))
  e90 <- ce_metric(function(x, truth) ici(x, truth)$.estimate[3], name = "e90")
  numbers <- c("estimate_b", "difference", "std.error", "conf.low", "conf.high", "p.value")
  expect_identical(unlist(compare(ce_metric(ici, name = "e90"))[numbers]), unlist(compare(e90)[numbers]))
  expect_identical(ce_compare(data, y, p, sharp, metric = "ici", times = 20)$estimate_a, own$.estimate[1])
  expect_error(ce_compare(data, y, p, sharp, metric = cox_calibration), "cox_slope", class = "calibrisk_error_argument")
})

test_that("limits and test of a bootstrap hold with the bias of the samples and without", {
  p <- withr::with_seed(6, stats::runif(200))
  models <- list(p = p, coarse = round(p, 1))
  y <- withr::with_seed(7, stats::rbinom(200, 1, p))
  gap <- function(x, truth) sum(abs(tapply(x - truth, ceiling(20 * x), sum))) / length(x)
  for (truth in list(y, as.numeric(p + .1 * (p > .5) > .6))) {
    found <- withr::with_seed(8, ce_compare(models, truth, metric = gap, times = 60))
    draws <- withr::with_seed(8, replicate(60, {
      rows <- sample.int(200, 200, TRUE)
      gap(p[rows], truth[rows]) - gap(models$coarse[rows], truth[rows])
    }))
    corrected <- found$difference - (1 + sqrt(2)) * (mean(draws) - found$difference)
    both <- range(found$difference, corrected)
    expect_equal(c(found$conf.low, found$conf.high), both + c(-1, 1) * stats::qnorm(.975) * stats::sd(draws))
    expect_equal(found$p.value, if (prod(both) < 0) 1 else 2 * stats::pnorm(-min(abs(both)) / stats::sd(draws)))
  }
})

test_that("the level of the test of equal models holds", {
  skip_on_cran()
  # two models, miscalibrated alike in opposite directions: equal errors
  p <- withr::with_seed(3, vapply(1:300, function(i) {
    eta <- stats::runif(400, .3, .7)
    y <- stats::rbinom(400, 1, eta)
    models <- list(up = eta + .15, down = eta - .15) # columns of a frame would cost more than what is tested
    c(ce_compare(models, y, metric = rbs)$p.value, ce_compare(models, y, metric = ks_error)$p.value)
  }, c(0, 0)))
  expect_lt(max(rowMeans(p < .05)), .09)
  expect_gt(min(rowMeans(p < .05)), .02)
})

test_that("differences of biased errors hold that of the errors, of calibrated models and of one that is not", {
  skip_on_cran()
  # the error of p -> plogis(1.8 logit p), in 15 bins
  z <- stats::qnorm(stats::ppoints(1e5)) * 1.5
  sharper <- stats::plogis(1.8 * z)
  truth <- sum(abs(tapply(sharper - stats::plogis(z), ceiling(sharper * 15), sum))) / 1e5
  # calibrated, with three values
  third <- function(z) findInterval(z, 1.5 * stats::qnorm(1:2 / 3)) + 1
  values <- vapply(split(stats::plogis(z), third(z)), mean, 0)
  found <- withr::with_seed(4, vapply(1:100, function(i) {
    p <- stats::plogis(stats::rnorm(500, 0, 1.5))
    y <- stats::rbinom(500, 1, p)
    null <- ce_compare(list(p = p, coarse = unname(values[third(stats::qlogis(p))])), y, metric = ece)
    one <- ce_compare(list(p = p, sharper = stats::plogis(1.8 * stats::qlogis(p))), y, metric = ece)
    expect_identical(null$p.value < .05, null$conf.low > 0 || null$conf.high < 0)
    c(null$p.value < .05, one$conf.low <= -truth && -truth <= one$conf.high, one$p.value < .05)
  }, logical(3)))
  expect_lt(mean(found[1, ]), .06)
  expect_gt(mean(found[2, ]), .96)
  expect_gt(mean(found[3, ]), .3)
})

test_that("wrong models are classed errors", {
  data <- models_frame()
  models <- as.list(data[c("p", "flat")])
  expect_error(ce_compare(models, data$y), class = "calibrisk_error_argument")
  expect_error(ce_compare(models[1], data$y, metric = ece), class = "calibrisk_error_argument")
  expect_error(ce_compare(data, y, metric = ece), class = "calibrisk_error_columns")
  expect_error(ce_compare(data, y, p, flat, metric = ce_panel), class = "calibrisk_error_model")
  expect_error(ce_compare(models, data$y, metric = ece, .by = site), class = "calibrisk_error_group")
  expect_error(ce_compare(list(a = data$p, b = toy_probs()), data$y, metric = ece), class = "calibrisk_error_model")
  expect_error(ce_metric(ece, 5), class = "calibrisk_error_argument")
})

test_that("headlines are compared, and their intervals cover where one of them is near 0", {
  data <- models_frame()
  found <- ce_compare(data, y, p, flat, metric = ce_estimate)
  each <- c(ce_estimate(data, y, p)$estimate, ce_estimate(data, y, flat)$estimate)
  expect_equal(found$difference, each[1] - each[2])
  expect_equal(c(found$estimate_a, found$estimate_b), each)
  skip_on_cran()
  covers <- function(slopes, gap) {
    z <- stats::rnorm(400, sd = 1.3)
    y <- stats::rbinom(400, 1, stats::plogis(z))
    models <- list(a = stats::plogis(slopes[1] * z), b = stats::plogis(slopes[2] * z))
    found <- ce_compare(models, y, metric = ce_estimate)
    found$conf.low <= gap && gap <= found$conf.high
  }
  error <- function(slope) {
    density <- function(z) (stats::plogis(slope * z) - stats::plogis(z))^2 * stats::dnorm(z, sd = 1.3)
    sqrt(stats::integrate(density, -10, 10)$value)
  }
  for (slopes in list(c(1, 1.6), c(2.5, 0.5), c(1, 1))) {
    gap <- error(slopes[1]) - error(slopes[2])
    withr::with_seed(4, expect_gte(mean(replicate(60, covers(slopes, gap))), .9))
  }
})

test_that("metrics of the package are metrics for ce_compare(), ce_rank() and ce_metric(), by name too", {
  data <- models_frame(100)
  models <- as.list(data[c("p", "flat")])
  ranked <- function(metric) {
    found <- withr::with_seed(1, ce_rank(models, data$y, metric = metric, times = 2))$estimates
    found$estimate[match(names(models), found$model)]
  }
  metrics <- list(skce = skce, ckce = ckce, jkce = "jkce", ce_estimate = ce_estimate, mmce = mmce)
  for (name in names(metrics)) {
    compared <- ce_compare(data, y, p, flat, metric = metrics[[name]])
    expect_equal(ranked(metrics[[name]]), c(compared$estimate_a, compared$estimate_b), tolerance = 1e-8)
    expect_identical(ranked(ce_metric(name)), ranked(metrics[[name]]))
    expect_identical(ce_compare(data, y, p, flat, metric = name), compared)
  }
  for (name in c("ckce_debiased", "ckce_null_mean", "ece_canonical", "ece_pointwise", "log_loss", "error")) {
    compared <- ce_compare(models, data$y, metric = name, times = 20)
    expect_equal(ranked(name), c(compared$estimate_a, compared$estimate_b), tolerance = 1e-8)
    expect_identical(compared$.metric, name)
  }
  expect_identical(ce_metric(ce_metric(ece, n_bins = 5), p = 2), ce_metric("ece", n_bins = 5, p = 2))
})

test_that("a score is a metric: its mean, with the influence of every row", {
  data <- models_frame(100)
  models <- as.list(data[c("p", "flat")])
  for (score in lapply(c("brier", "log", "spherical"), as_score)) {
    value <- ce_compare(data, y, p, flat, metric = score, weights = w, cluster = centre)
    expect_identical(value, ce_compare(data, y, p, flat, metric = ce_metric(ce_score, score = score), weights = w,
                                       cluster = centre))
    expect_identical(value$estimate_a, ce_score(data, y, p, score = score, weights = w, cluster = centre)$.estimate)
    expect_identical(value$.metric, score$name)
    expect_identical(ce_compare(data, y, p, flat, metric = score$name, weights = w, cluster = centre), value)
    ranked <- withr::with_seed(1, ce_rank(models, data$y, metric = list(score, rbs), times = 2))$estimates
    expect_equal(ranked$estimate[ranked$metric == score$name & ranked$model == "p"],
                 ce_score(data, y, p, score = score)$.estimate)
  }
  rows <- (data$p - data$y)^2 - (data$flat - data$y)^2
  expect_equal(ce_compare(data, y, p, flat, metric = "brier")$std.error, stats::sd(rows) / sqrt(100))
  expect_identical(format(ce_metric(score_log(), name = "log loss")), "log loss(score = score_log())")
  # the function that makes it
  for (verb in c(ce_compare, ce_rank)) {
    expect_error(verb(models, data$y, metric = score_log), "Call it: `metric = score_log()`", fixed = TRUE,
                 class = "calibrisk_error_argument")
  }
  expect_error(ce_score(data, y, p, score = score_log), "It is a function", class = "calibrisk_error_score")
})

test_that("one warning names the models whose predictions have the wrong direction", {
  p <- stats::plogis(seq(-2, 2, length.out = 100))
  y <- factor(ifelse((1:100 * 0.618) %% 1 < p, "yes", "no"))
  models <- list(a = p, b = p^2, right = 1 - p)
  said <- function(code) {
    warnings <- testthat::capture_warnings(code, ignore_deprecation = TRUE)
    grep("become rarer", gsub("\\s+", " ", vapply(warnings, identity, "")), value = TRUE)
  }
  calls <- list(
    said(withr::with_seed(1, ce_rank(models, y, metric = ece, times = 5))), said(ce_compare(models, y, metric = ece)),
    said(ce_compare(data.frame(y, a = p, b = p^2, right = 1 - p), y, a, b, right, metric = ece)),
    said(withr::with_seed(1, ce_compare(models, y, times = 20, metric = function(x, truth) rbs(x, truth)$.estimate)))
  )
  for (text in calls) {
    expect_length(text, 1)
    expect_match(text, "in 2 of 3 models")
    expect_match(text, "are a: 0[.][0-9]+ [(]z = -[0-9.]+[)]; b: 0[.][0-9]+ [(]z = -[0-9.]+[)][.]")
    expect_match(text, "event_level")
  }
})

test_that("an infinite value has no standard error, interval or test", {
  p <- rep(c(.2, .8), each = 30)
  y <- rep(c(0, 0, 1), 20)
  infinite <- function(x, truth) if (mean(x) < .45) Inf else mean((x - truth)^2)
  found <- withr::with_seed(1, ce_compare(list(a = p, b = p / 2), y, metric = infinite, times = 20))
  expect_identical(found$difference, -Inf)
  for (column in c("std.error", "conf.low", "conf.high", "p.value")) expect_identical(found[[column]], NA_real_)
})

laws_frame <- function(n = 200) {
  withr::with_seed(7, {
    data <- data.frame(m = stats::rnorm(n), s = stats::runif(n, .5, 2), w = stats::rexp(n),
                       copies = sample(0:2, n, TRUE), centre = rep(1:20, length.out = n))
    data$y <- stats::rnorm(n, data$m, data$s)
  })
  data$sharp <- pred_normal(data$m, data$s / 2)
  data$heavy <- pred_laplace(data$m, data$s)
  data
}

test_that("models of numbers are compared by their scores: paired differences of rows", {
  data <- laws_frame()
  z <- function(sd) (data$y - data$m) / sd
  crps <- function(sd) sd * (z(sd) * (2 * stats::pnorm(z(sd)) - 1) + 2 * stats::dnorm(z(sd)) - 1 / sqrt(pi))
  rows <- list(
    log = -stats::dnorm(data$y, data$m, data$s, log = TRUE) + stats::dnorm(data$y, data$m, data$s / 2, log = TRUE),
    crps = crps(data$s) - crps(data$s / 2),
    dss = z(data$s)^2 + 2 * log(data$s) - z(data$s / 2)^2 - 2 * log(data$s / 2)
  )
  for (name in names(rows)) {
    d <- rows[[name]]
    plain <- ce_compare(data, y, pred_normal(m, s), sharp, metric = name)
    expect_identical(c(plain$a, plain$b), c("sharp", "pred_normal(m, s)"))
    expect_equal(plain$difference, -mean(d))
    expect_equal(plain$std.error, stats::sd(d) / sqrt(200))
    weighted <- ce_compare(data, y, sharp, own = pred_normal(m, s), metric = score_makers[[name]](), weights = w,
                           cluster = centre)
    mean <- sum(data$w * d) / sum(data$w)
    sums <- tapply(data$w * (d - mean), data$centre, sum)
    expect_identical(weighted$b, "own")
    expect_equal(weighted$difference, -mean)
    expect_equal(weighted$std.error, sqrt(20 / 19 * sum(sums^2)) / sum(data$w))
  }
  models <- list(a = data$sharp, b = pred_normal(data$m, data$s))
  compared <- ce_compare(models, data$y, metric = "crps")
  expect_equal(compared$difference, -mean(rows$crps))
  frames <- list(a = data[c("y", "sharp")], b = data.frame(y = data$y, p = models$b))
  expect_identical(ce_compare(frames, y, metric = "crps"), compared)
  expect_identical(ce_compare(models, data$y, metric = "crps", weights = data$copies),
                   ce_compare(lapply(models, `[`, rep(1:200, data$copies)), rep(data$y, data$copies), metric = "crps"))
  # classes are classes, however they are given
  p <- stats::pnorm(data$m)
  y <- as.numeric(data$y > 0)
  expect_equal(ce_compare(list(a = pred_bernoulli(p), b = p^2), y, metric = ece)$difference,
               ce_compare(list(a = p, b = p^2), y, metric = ece)$difference)
})

test_that("models of numbers are compared by kernel errors, and metrics that they lack say which they have", {
  data <- laws_frame()
  for (name in c("skce", "ckce", "jkce", "ucme")) {
    metric <- ce_metric(name, kernel = kernel_gaussian(1))
    found <- withr::with_seed(1, ce_compare(data, y, sharp, heavy, metric = metric, weights = w, cluster = centre))
    each <- withr::with_seed(1, lapply(c("sharp", "heavy"), function(column) {
      own <- if (name == "ucme") list(locations = 3)
      rlang::inject(ce_metric(name)$fn(data, y, !!column, kernel = kernel_gaussian(1), weights = w, cluster = centre,
                                       !!!own))
    }))
    expect_equal(found$difference, each[[1]]$.estimate - each[[2]]$.estimate)
    expect_gt(found$std.error, 0)
  }
  for (metric in list(ece, "rbs", "brier", ce_metric(ce_score, bound = TRUE), ce_estimate)) {
    expect_error(ce_compare(data, y, sharp, heavy, metric = metric), '"skce", "ckce", "jkce", "ucme"', fixed = TRUE,
                 class = "calibrisk_error_argument")
  }
  expect_error(ce_compare(list(a = data$heavy, b = stats::pnorm(data$m)), as.numeric(data$y > 0), metric = "skce"),
               "All models must predict numbers", class = "calibrisk_error_length")
  expect_error(ce_compare(data$heavy, data$y, metric = "crps"), class = "calibrisk_error_argument")
  expect_error(ce_compare(data, y, sharp, heavy, metric = "crps", adjst = "holm"), "adjust",
               class = "calibrisk_error_argument")
})

test_that("outcomes of several dimensions are columns, of one frame or of all", {
  data <- laws_frame(60)
  data$z <- data$y + withr::with_seed(1, stats::rnorm(60))
  data$p <- pred_mvnormal(cbind(data$m, data$m), diag(c(1, 2)))
  data$q <- pred_mvnormal(cbind(data$m, data$m), diag(c(3, 2)))
  found <- ce_compare(data, c(y, z), p, q, metric = "log")
  log_density <- function(v) stats::dnorm(data$y, data$m, sqrt(v), log = TRUE)
  expect_equal(found$difference, mean(log_density(3) - log_density(1)))
  expect_identical(ce_compare(list(p = data[c("y", "z", "p")], q = data[c("y", "z", "q")]), c(y, z), metric = "log"),
                   found)
})

test_that("the same predictions twice do not differ in any metric, nor errors that are not told apart", {
  d <- drawn_rows(3, stats::runif(150), function(p) p^2)
  for (metric in list(ce_estimate, ece, ici)) {
    out <- ce_compare(list(a = d$p, b = d$p), d$y, metric = metric, times = 20)
    expect_identical(unlist(out[c("difference", "std.error", "conf.low", "conf.high", "p.value")], use.names = FALSE),
                     c(0, 0, 0, 0, 1))
  }
  # nor errors without a spread whose bounds are equal; of no events nothing is known
  out <- ce_compare(list(a = c(.35, .35), b = c(.6, .6)), c(0, 0), metric = ece, event_level = "second")
  expect_identical(out$p.value, 1)
  expect_identical(c(out$conf.low, out$conf.high), c(NA_real_, NA_real_))
})

test_that("an interval of roots that were not distinguished from 0 excludes 0 exactly if the test rejects", {
  agrees <- withr::with_seed(4, replicate(12, {
    p <- stats::runif(300)
    y <- stats::rbinom(300, 1, stats::plogis(.5 * stats::qlogis(p)))
    out <- ce_compare(list(a = stats::plogis(.5 * stats::qlogis(p)), b = p), y, metric = ce_estimate)
    c(is.na(out$std.error), (out$p.value < .05) == (out$conf.low > 0 || out$conf.high < 0),
      out$conf.low <= out$difference, out$difference <= out$conf.high)
  }))
  expect_gte(sum(agrees[1, ]), 8)
  expect_true(all(agrees[-1, ]))
})

test_that("a margin says which model is superior or non-inferior, by the interval of the difference", {
  data <- models_frame()
  found <- ce_compare(data, y, p, sharp, flat, metric = rbs, margin = 0.05)
  expect_identical(found$superior, ifelse(found$conf.high < 0, "a", ifelse(found$conf.low > 0, "b", "neither")))
  # limits by hand: each case, and its mirror image
  limits <- data.frame(conf.low = c(-0.3, -0.2, -0.02, -0.01, -0.2, 0.01, 0.2, NA),
                       conf.high = c(-0.2, 0.02, -0.01, 0.02, 0.2, 0.02, 0.3, NA))
  of <- add_margin(limits, 0.05)
  expect_identical(of$superior, c("a", "neither", "a", "neither", "neither", "b", "b", NA))
  expect_identical(of$noninferior, c("a", "a", "both", "both", "neither", "both", "b", NA))
  # nothing else moves
  plain <- ce_compare(data, y, p, sharp, flat, metric = rbs)
  for (name in names(plain)) expect_identical(found[[name]], plain[[name]])
})

test_that("the printed comparison has a sentence for each pair with a margin, and none without", {
  data <- models_frame()
  data$near <- data$p + 0.001
  found <- ce_compare(data, y, p, near, flat, metric = rbs, margin = 0.05)
  printed <- gsub("\\s+", " ", capture_output(print(found)))
  expect_match(printed, "p and near differ by less than 0.05: .*95% CI .*p is superior to flat")
  expect_no_match(capture_output(print(ce_compare(data, y, p, flat, metric = rbs))), "superior")
  by_site <- ce_compare(data, y, p, flat, metric = rbs, margin = 0.05, .by = site)
  expect_match(margin_sentences(by_site)[1], "^u: ")
})

test_that("a margin that is no positive number, or of fits, is a classed error", {
  data <- models_frame(60)
  for (margin in list(0, -1, "a", c(1, 2), NA)) {
    expect_error(ce_compare(data, y, p, flat, metric = rbs, margin = margin), "margin",
                 class = "calibrisk_error_argument")
  }
  fit <- ce_fit(data, y, p, method = method_bins(3))
  expect_error(ce_compare(list(a = fit, b = fit), data, y, p, margin = 0.1), "margin.* is for models",
               class = "calibrisk_error_argument")
})

test_that("several models are tested by Holm's method, with intervals that hold together and agree with it", {
  data <- models_frame()
  found <- ce_compare(data, y, p, sharp, flat, metric = ks_error)
  expect_equal(found$p.adjusted, stats::p.adjust(found$p.value, "holm"))
  alone <- ce_compare(data, y, p, sharp, flat, metric = ks_error, adjust = "none")
  expect_null(alone[["p.adjusted"]])
  expect_identical(alone$p.value, found$p.value)
  pair <- ce_compare(data, y, p, flat, metric = rbs, level = 1 - .05 / 3)
  expect_null(pair[["p.adjusted"]])
  three <- ce_compare(data, y, p, sharp, flat, metric = rbs)
  expect_identical(three$conf.low[2], pair$conf.low)
  # equal models, and four of which two are, whose test is the last
  models <- function(sds) {
    z <- stats::rnorm(200, -.5, 1.2)
    y <- stats::rbinom(200, 1, stats::plogis(z))
    list(y = y, p = setNames(lapply(sds, function(sd) stats::plogis(z + stats::rnorm(200, sd = sd))),
                             letters[seq_along(sds)]))
  }
  apart <- function(sds) {
    d <- models(sds)
    x <- ce_compare(d$p, d$y, metric = "brier")
    expect_identical(x$p.adjusted < .05, x$conf.low >= 0 | x$conf.high <= 0)
    rank <- ce_rank(d$p, d$y, metric = "brier", times = 2)
    worse <- ifelse(x$difference > 0, x$a, x$b)[x$p.adjusted < .05]
    expect_setequal(rank$estimates$model[!rank$estimates$can_be_best], worse)
    any(x$p.adjusted < .05)
  }
  expect_lte(withr::with_seed(1, mean(replicate(30, apart(rep(.6, 5))))), .1)
  withr::with_seed(2, replicate(10, apart(c(.1, 1, 1, 3))))
})

test_that("differences of the AUROC have DeLong's standard error, and a margin knows that larger is better", {
  d <- withr::with_seed(5, {
    y <- stats::rbinom(90, 1, 0.2)
    data.frame(y, a = round(stats::plogis(stats::rnorm(90) + y), 2), b = stats::plogis(stats::rnorm(90) + 2 * y))
  })
  placements <- function(p) {
    above <- outer(p[d$y == 1], p[d$y == 0], function(a, b) (a > b) + (a == b) / 2)
    list(event = rowMeans(above), other = colMeans(above))
  }
  a <- placements(d$a)
  b <- placements(d$b)
  difference <- mean(a$event) - mean(b$event)
  error <- sqrt(stats::var(a$event - b$event) / sum(d$y == 1) + stats::var(a$other - b$other) / sum(d$y == 0))
  found <- ce_compare(d, y, a, b, metric = "auroc", margin = 0.5)
  expect_equal(c(found$difference, found$std.error), c(difference, error))
  # of few events by Student's distribution
  expect_equal(found$p.value, 2 * stats::pt(-abs(difference / error), sum(d$y) - 1))
  expect_identical(found$superior, "b")
  losses <- ce_compare(d, y, a, b, metric = "brier")
  expect_equal(losses$p.value, 2 * stats::pt(-abs(losses$difference / losses$std.error), sum(d$y) - 1))
  expect_equal(ce_gain(d$a, d$b, d$y, injective = FALSE)$conf.low[1], losses$conf.low)
  three <- ce_compare(cbind(d, c = (d$a + d$b) / 2), y, a, b, c, metric = ce_metric("auroc"), event_level = "first")
  expect_equal(three$p.adjusted, stats::p.adjust(three$p.value, "holm"))
})
