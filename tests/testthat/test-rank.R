test_models <- function(n = 200, m = 4, seed = 1, alpha = .3) {
  p <- withr::with_seed(seed, draw_dirichlet(n, m, alpha))
  list(models = list(sharp = temper(p, .3), true = p, flat = temper(p, 3)),
       truth = withr::with_seed(seed + 1, draw_labels(p)))
}

test_that("Wilson intervals have the published values and stay in [0, 1]", {
  w <- cpp_wilson_limits(c(.7, 1, 0), 100, .95)
  expect_equal(w$low, c(.604151453667, .963006501793, 0), tolerance = 1e-10)
  expect_equal(w$high, c(.781051147051, 1, 1 - .963006501793), tolerance = 1e-10)
})

test_that("shares, orders and pairs are counts over the subsamples", {
  full <- matrix(c(1, 2, 3), 1, dimnames = list("m", c("a", "b", "c")))
  draws <- array(c(1, 2, 3, 2, 1, 3, 1, 2, 3, 3, 2, 1), c(1, 3, 4), list("m", c("a", "b", "c"), NULL))
  r <- new_rank(full, draws, n = 10, n_sub = 5, level = .95)
  expect_identical(r$orders$order, c("a < b < c", "b < a < c", "c < b < a"))
  expect_identical(r$orders$count, c(2L, 1L, 1L))
  expect_identical(r$orders$full, c(TRUE, FALSE, FALSE))
  expect_identical(r$estimates$best_share, c(.5, .25, .25))
  expect_identical(r$estimates$can_be_best, rep(TRUE, 3))
  tested <- data.frame(a = c("a", "a", "b"), b = c("b", "c", "c"), difference = c(-1, -2, -1),
                       p.value = c(.2, .01, .06))
  r <- new_rank(full, draws, n = 10, n_sub = 5, level = .95, compared = list(m = tested))
  expect_identical(r$estimates$can_be_best, c(TRUE, TRUE, FALSE))
  printed <- paste(utils::capture.output(print(r)), collapse = " ")
  expect_match(printed, "Can be the best: a, b (paired differences of all 10 rows at 5%, Holm).", fixed = TRUE)
  expect_match(printed, "first with 5 new rows", fixed = TRUE)
  expect_identical(r$pairs$share, c(.5, .75, .75))
  expect_identical(r$pairs$difference, c(-1, -2, -1))
  expect_equal(r$pairs$mean, c(mean(c(-1, 1, -1, 1)), mean(c(-2, -1, -2, 2)), mean(c(-1, -2, -1, 1))))
  expect_identical(glance(r)$order, "a < b < c")
  expect_identical(tidy(r)$n, rep(10, 3))
  expect_identical(nrow(r$draws), 12L)
  expect_identical(r$draws$estimate[r$draws$sample == 2 & r$draws$model == "a"], 2)
})

test_that("ce_rank() is reproducible, for any number of threads, and finds a clear order", {
  d <- test_models(n = 400)
  rank <- function(...) withr::with_seed(9, ce_rank(d$models, d$truth, times = 10, n_sub = 150, ...))
  one <- with_threads(1, rank())
  expect_equal(with_threads(2, rank()), one, tolerance = 1e-12)
  expect_identical(one$estimates$model[1], "true")
  expect_identical(one$estimates$best_share[1], 1)
  bandwidth <- stats::median(stats::dist(do.call(rbind, d$models)))
  pooled <- rank(metric = ce_metric("ckce_debiased", kernel = kernel_linear() + kernel_gaussian(bandwidth)))
  expect_identical(pooled$estimates$model[1], "true")
  expect_snapshot(print(one))
})

test_that("functions are metrics, and vectors are models", {
  p <- (1:40) / 41
  y <- rep(0:1, 20)
  distance <- function(probs, truth) mean(abs(probs - truth))
  r <- withr::with_seed(2, ce_rank(list(a = p, b = p^2), y, metric = list("ckce", distance = distance), times = 4))
  expect_identical(unique(r$estimates$metric), c("ckce", "distance"))
  expect_equal(r$estimates$estimate[r$estimates$metric == "distance" & r$estimates$model == "a"], mean(abs(p - y)))
  brier <- function(probs, truth) mean((probs - truth)^2)
  twice <- withr::with_seed(3, ce_rank(list(a = p, b = p^2), y, metric = list("brier", mine = brier), times = 5))$draws
  expect_equal(twice$estimate[twice$metric == "mine"], twice$estimate[twice$metric == "brier"])
})

test_that("infinite scores and constant models are ranked, not errors", {
  p <- rbind(c(1, 0), c(.5, .5), c(.2, .8), c(.6, .4))
  r <- ce_rank(list(zero = p, flat = matrix(.5, 4, 2)), c(2, 1, 2, 1), metric = c("log_loss", "ckce"),
               times = 3, n_sub = 4)
  expect_identical(r$estimates$estimate[2], Inf)
  expect_identical(r$orders$share[1], 1)
})

test_that("equal models share the first place and the order", {
  p <- (1:40) / 41
  r <- withr::with_seed(1, ce_rank(list(a = p, b = p, c = p^3), rep(0:1, 20), times = 12,
                                   metric = c("ckce", "ece_canonical", "brier")))
  for (metric in c("ckce", "ece_canonical", "brier")) {
    one <- r$estimates[r$estimates$metric == metric, ]
    share <- setNames(one$best_share, one$model)
    expect_identical(share[["a"]], share[["b"]])
    expect_equal(sum(share), 1)
    expect_identical(one$rank[one$model == "a"], one$rank[one$model == "b"])
    expect_match(r$orders$order[r$orders$metric == metric], "a = b")
    pair <- r$pairs[r$pairs$metric == metric & r$pairs$model == "a" & r$pairs$other == "b", ]
    expect_identical(c(pair$share, pair$ties), c(.5, 1))
  }
  expect_match(utils::capture.output(print(r)), "with equal models", all = FALSE)
  # rounding makes no winner, a difference does
  full <- matrix(c(1, 1 + 1e-14, 1 + 1e-9), 1, dimnames = list("m", c("a", "b", "c")))
  draws <- array(c(2, 1, 1, NA, NA, NA), c(1, 3, 2), list("m", c("a", "b", "c"), NULL))
  r <- new_rank(full, draws, n = 10, n_sub = 5, level = .95)
  expect_identical(r$estimates$rank, c(1L, 1L, 3L))
  expect_identical(r$estimates$best_share, c(0, .25, .25))
  expect_setequal(r$orders$order, c("a = b < c", "b = c < a", "a < b < c"))
})

test_that("subsamples keep their digits at small ridges", {
  p <- withr::with_seed(1, runif(24))
  y <- withr::with_seed(2, rbinom(24, 1, p))
  models <- list(a = p, b = p^2)
  metric <- ce_metric(ckce, kernel = kernel_linear(), ridge = 1e-9)
  fit <- withr::with_seed(3, ce_rank(models, y, metric = metric, n_sub = 20, times = 2))
  rows <- withr::with_seed(3, replicate(2, sample.int(24, 20)))
  expected <- vapply(1:2, function(t) {
    features <- cbind(1 - p, p)[rows[, t], ]
    residuals <- features - cbind(1 - y, y)[rows[, t], ]
    sum(solve(crossprod(features) + 20 * 1e-9 * diag(2), crossprod(features, residuals))^2)
  }, 0)
  expect_equal(fit$draws$estimate[fit$draws$model == "a"], expected, tolerance = 1e-7)
})

test_that("models of numbers are ranked by the metrics that they have", {
  y <- withr::with_seed(1, stats::rnorm(80))
  models <- list(a = pred_normal(0 * y, 1), b = pred_normal(0 * y, 3), c = pred_laplace(0 * y + 1, 1))
  names <- c("ckce", "ckce_debiased", "jkce", "skce", "crps", "log")
  rank <- function(...) withr::with_seed(2, ce_rank(models, y, ..., times = 3, n_sub = 30))
  found <- rank(metric = names)
  expect_identical(unique(found$estimates$metric), names)
  value <- function(metric, model) {
    found$estimates$estimate[found$estimates$metric == metric & found$estimates$model == model]
  }
  for (model in names(models)) {
    law <- models[[model]]
    expect_equal(value("ckce", model), ckce(law, y)$.estimate)
    expect_equal(value("skce", model), skce(law, y)$.estimate)
    expect_equal(value("crps", model), ce_score(law, y, score = "crps")$.estimate)
  }
  at <- withr::with_seed(2, sample.int(80, 30))
  draw <- found$draws[found$draws$sample == 1 & found$draws$metric == "crps" & found$draws$model == "c", ]
  expect_equal(draw$estimate, ce_score(models$c[at], y[at], score = "crps")$.estimate)
  expect_error(rank(metric = "ece_canonical"), "ckce_null_mean", class = "calibrisk_error_argument")
  expect_error(rank(metric = "ece"), "jkce", class = "calibrisk_error_argument")
})

test_that("a function is given what ce_compare() gives it, and a name is the same metric there", {
  d <- test_models(n = 60)
  truth <- factor(letters[d$truth])
  seen <- NULL
  own <- function(x, truth) {
    seen <<- list(x, truth)
    0
  }
  ce_compare(d$models, truth, metric = own, times = 20)
  compared <- lapply(seen, class)
  ce_rank(d$models, truth, metric = own, times = 1)
  expect_identical(lapply(seen, class), compared)
  expect_identical(levels(seen[[2]]), levels(truth))
  weighted <- function(x, truth, weights) sum(weights)
  ranked <- ce_rank(d$models, truth, metric = weighted, times = 1, weights = as.numeric(1:60))
  expect_identical(unique(ranked$estimates$estimate), sum(1:60) * 1)
  expect_error(ce_rank(d$models, truth, metric = own, times = 1, weights = as.numeric(1:60)),
               class = "calibrisk_error_weights")
})

test_that("without subsamples a ranking is the tests of all rows, and costs none", {
  d <- test_models(300)
  r <- ce_rank(d$models, d$truth, metric = c("brier", "error"))
  expect_identical(nrow(r$draws), 0L)
  pairs <- ce_compare(d$models, d$truth, metric = "brier")
  best <- r$estimates$model[1]
  found <- to_best(r$tests$brier, best, names(d$models))
  for (i in which(pairs$a == best | pairs$b == best)) {
    sign <- if (pairs$a[i] == best) -1 else 1
    other <- found[found$model == setdiff(c(pairs$a[i], pairs$b[i]), best), ]
    expect_equal(c(other$difference, other$conf.low, other$conf.high),
                 c(sign * pairs$difference[i], sort(sign * c(pairs$conf.low[i], pairs$conf.high[i]))))
    expect_identical(other$p.value, pairs$p.adjusted[i])
  }
  text <- paste(utils::capture.output(print(r)), collapse = " ")
  expect_match(text, "minus the best (95% CI) accuracy", fixed = TRUE)
  expect_no_match(text, "subsamples")
  expect_error(ce_rank(d$models, d$truth, n_sub = 20), "subsamples", class = "calibrisk_error_argument")
  expect_error(ce_rank(d$models, d$truth, metric = "spiegelhalter"), "near 0", class = "calibrisk_error_argument")
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::layer_data(plot(r, metrics = "brier"), 3)
  expect_setequal(drawn$x, found$difference)
  expect_error(plot(r, metrics = "rmse"), class = "calibrisk_error_argument")
})

test_that("where larger values are better, they come first", {
  y <- rep(0:1, 30)
  models <- list(worst = withr::with_seed(1, stats::runif(60)), best = 0.1 + 0.2 * y,
                 good = (seq_len(60) + 40 * y) / 101)
  auroc <- function(p, y) mean(outer(p[y == 1], p[y == 0], function(a, b) (a > b) + (a == b) / 2))
  values <- vapply(models, auroc, 0, y)
  own <- structure(function(x, truth) auroc(x, truth), direction = "maximize")
  for (metric in list("auroc", own)) {
    r <- withr::with_seed(1, ce_rank(models, y, metric = metric, times = 20))
    expect_identical(r$estimates$model, c("best", "good", "worst"))
    expect_equal(r$estimates$estimate, values[c("best", "good", "worst")], ignore_attr = TRUE)
    expect_identical(r$estimates$rank, 1:3)
    expect_identical(r$estimates$best_share, c(1, 0, 0))
    expect_identical(r$orders$order[1], "best > good > worst")
    expect_identical(r$estimates$can_be_best[c(1, 3)], c(TRUE, FALSE))
  }
  # the metrics choose different models
  flat <- list(flat = rep(0.5, 60), sharp = 0.05 + 0.3 * y)
  said <- function(metric) paste(utils::capture.output(print(ce_rank(flat, y, metric = metric))), collapse = " ")
  expect_match(said(c("auroc", "ece")), "different questions")
  expect_no_match(said("auroc"), "different questions")
})
