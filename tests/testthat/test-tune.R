# A method without hyperparameter tricks: the gap is a constant times the mean residual.
method_scaled_mean <- function(scale = c(0, 0.5, 1)) new_method("scaled_mean", "scale", scale)
fit_form.ce_method_scaled_mean <- function(method, problem, point, context) {
  new_form("constant", level = point$value * colMeans(problem$residuals), gap = TRUE)
}
pair_features.ce_form_constant <- function(form, features) {
  matrix(form$level, nrow(features), length(form$level), byrow = TRUE)
}
registerS3method("fit_form", "ce_method_scaled_mean", fit_form.ce_method_scaled_mean, asNamespace("calibrisk"))
registerS3method("pair_features", "ce_form_constant", pair_features.ce_form_constant, asNamespace("calibrisk"))

binary_data <- function(n, seed = 1) drawn_rows(seed, runif(n), function(p) p^1.4)

test_that("Algorithm 1 is followed step by step", {
  data <- binary_data(120)
  fold <- rep(1:4, each = 25)
  test <- 101:120
  tuned <- with_threads(1, ce_tune(data$p, data$y, methods = list(method_scaled_mean()), folds = fold, test = test))
  e <- data$p - data$y
  tidy <- tidy(tuned)
  expect_named(tidy, c("method", "parameter", "value", "fold", "risk", "squared_error", "squared_error_test"))
  expect_equal(nrow(tidy), 12)
  for (i in seq_len(nrow(tidy))) {
    level <- tidy$value[i] * mean(e[1:100][fold != tidy$fold[i]])
    held_out <- e[1:100][fold == tidy$fold[i]]
    loss <- (tcrossprod(held_out) - level^2)^2
    expect_equal(tidy$risk[i], (sum(loss) - sum(diag(loss))) / (25 * 24))
    expect_equal(tidy$squared_error[i], level^2)
    expect_equal(tidy$squared_error_test[i], level^2)
  }
  mean_risk <- tapply(tidy$risk, tidy$value, mean)
  best <- as.numeric(names(which.min(mean_risk)))
  glance <- glance(tuned)
  expect_named(glance[1:12], c("method", "parameter", "value", "root_risk", "risk_std.error", "estimate_holdout",
                               "std.error_holdout", "estimate", "std.error", "conf.low", "conf.high", "selected"))
  expect_equal(glance$value, best)
  roots <- sqrt(tidy$risk[tidy$value == best])
  expect_equal(glance$root_risk, mean(roots))
  expect_equal(glance$risk_std.error, sd(roots) / 2)
  levels <- vapply(1:4, function(f) best * mean(e[1:100][fold != f]), 0)
  expect_equal(glance$estimate_holdout, sqrt(mean(levels^2)))
  headline <- ce_estimate(data$p, data$y)
  expect_equal(glance[c("estimate", "conf.low", "conf.high", "p.value")],
               tibble::as_tibble(headline)[c("estimate", "conf.low", "conf.high", "p.value")], ignore_attr = TRUE)
  expect_true(glance$selected)
  expect_equal(predict(tuned, c(0.3, 0.4)), rep(mean(levels^2), 2))
  expect_equal(predict(tuned, c(0.3, 0.4), type = "pairs"), matrix(mean(levels^2), 2, 2))
})

test_that("the order of the grid does not matter and ties go to the smallest value", {
  data <- binary_data(100)
  a <- ce_tune(data$p, data$y, methods = list(method_scaled_mean(c(0, 0.5, 1))), folds = rep(1:4, 20), test = 81:100)
  b <- ce_tune(data$p, data$y, methods = list(method_scaled_mean(c(1, 0.5, 0))), folds = rep(1:4, 20), test = 81:100)
  expect_equal(glance(a), glance(b))
  expect_equal(select_value(matrix(1, 3, 2), c(3, 1, 2)), 2)
})

test_that("test rows never touch the fits", {
  data <- binary_data(100)
  other <- data
  other$y[81:100] <- 1 - other$y[81:100]
  a <- ce_tune(data$p, data$y, methods = ce_methods()["bins"], folds = rep(1:4, 20), test = 81:100)
  b <- ce_tune(other$p, other$y, methods = ce_methods()["bins"], folds = rep(1:4, 20), test = 81:100)
  expect_equal(tidy(a), tidy(b))
})

test_that("class-wise results are sums over one problem per class", {
  d <- oracle_data()
  tuned <- ce_tune(d$P, d$y, notion = "class_wise", methods = list(method_bins(c(3, 5))),
                   folds = rep(1:4, each = 4), test = 17:20)
  expect_setequal(unique(tidy(tuned)$class), c("1", "2", "3"))
  per_class <- lapply(1:3, function(k) {
    ce_tune(d$P[, k], d$y == k, notion = "binary", methods = list(method_bins(c(3, 5))),
            folds = rep(1:4, each = 4), test = 17:20)
  })
  squared <- sum(vapply(per_class, function(t) glance(t)$estimate_holdout^2, 0))
  expect_equal(glance(tuned)$estimate_holdout, sqrt(squared))
  expect_equal(tidy(tuned)$risk, unlist(lapply(per_class, function(t) tidy(t)$risk)))
})

test_that("without test rows the estimate is taken on the held-out rows", {
  data <- binary_data(60)
  tuned <- ce_tune(data$p, data$y, methods = list(method_bins(5)), folds = rep(1:3, 20), test = 0)
  expect_equal(glance(tuned)$estimate_holdout^2, mean(tidy(tuned)$squared_error))
})

test_that("several notions share folds and test rows: a row does not depend on the others", {
  one <- function(notion) {
    estimated <- function() ce_estimate(vehicle_predictions, truth, notion = notion, method = method_bins(5))
    withr::with_seed(1, with_threads(1L, estimated()))
  }
  both <- one(c("top_label", "class_wise"))
  expect_equal(both[2, ], one("class_wise"), ignore_attr = TRUE)
})

test_that("bins of a whole vector are refused before any work, in the name of the verb", {
  refused <- function(expr) {
    cnd <- expect_error(expr, "one probability per row", class = "calibrisk_error_notion")
    rlang::call_name(cnd$call)
  }
  v <- vehicle_predictions
  expect_identical(refused(ce_tune(v, truth, notion = "canonical", methods = method_bins())), "ce_tune")
  expect_identical(refused(ce_fit(v, truth, notion = "canonical", method = method_bins(5))), "ce_fit")
  expect_identical(
    refused(ce_estimate(v, truth, notion = c("top_label", "canonical"), method = method_bins())), "ce_estimate"
  )
})

test_that("results of many rows do not depend on the number of threads", {
  data <- binary_data(70000)
  run <- function(threads) withr::with_seed(1, with_threads(threads, ce_tune(data$p, data$y)))
  one <- run(1)
  for (threads in c(2, 5)) {
    again <- run(threads)
    expect_identical(tidy(again), tidy(one))
    expect_identical(glance(again), glance(one))
  }
})

test_that("difficult but legal data give defined numbers", {
  finite <- function(tuned) {
    g <- glance(tuned)
    expect_false(any(is.nan(unlist(g[vapply(g, is.numeric, NA)]))))
    expect_true(all(is.finite(g$estimate)))
  }
  withr::local_seed(1)
  finite(ce_tune(rep(0.7, 50), rep(0:1, 25))) # all-equal confidences
  finite(ce_tune(rep(c(0, 1), 25), rep(0:1, 25))) # exactly 0 and 1
  finite(ce_tune(runif(50), rep(1, 50))) # one outcome only
  finite(ce_tune(runif(12), rep(0:1, 6), folds = 9)) # one-row folds
  x <- matrix(0.25, 40, 4)
  finite(ce_tune(x, rep(1:3, length.out = 40), notion = "canonical")) # constant, a class absent
  finite(ce_tune(x, rep(1:3, length.out = 40), notion = "class_wise", methods = list(method_bins(5))))
})

test_that("bad arguments are classed errors", {
  data <- binary_data(50)
  expect_error(ce_tune(data$p, data$y, methods = list("bins")), class = "calibrisk_error_method")
  expect_error(ce_tune(data$p, data$y, methods = list()), class = "calibrisk_error_method")
  expect_error(ce_tune(data$p, data$y, folds = 41), class = "calibrisk_error_folds")
  expect_error(with_threads(0, ce_tune(data$p, data$y)), class = "calibrisk_error_argument")
  expect_error(ce_fit(data$p, data$y), class = "calibrisk_error_method")
  expect_error(ce_fit(data$p, data$y, method = method_kkr()), "single value", class = "calibrisk_error_method")
  fit <- ce_fit(data$p, data$y, method = method_kkr(0.1))
  expect_error(predict(fit, data$p, type = "gap"), class = "calibrisk_error_method")
  expect_error(ce_risk("fit", data$p, data$y), class = "calibrisk_error_argument")
})

test_that("few rows: risks are averaged over splits, the first of which is that of a single one", {
  v <- vehicle_predictions
  methods <- list(bins = method_bins(c(5, 10)), power = method_power(c(1, 1.5)))
  run <- function(...) withr::with_seed(4, ce_tune(v, truth, methods = methods, notion = "top_label", ...))
  many <- run()
  expect_identical(many$n_splits, 5L)
  once <- run(repeats = 1)
  rows <- tidy(many)
  expect_equal(rows[rows$split == 1, names(tidy(once))], tidy(once), ignore_attr = TRUE)
  # value by value the mean over all folds of all splits; the winner of each split
  means <- tapply(rows$risk, list(rows$method, rows$value), mean)
  chosen <- vapply(names(methods), function(m) as.numeric(names(which.min(means[m, !is.na(means[m, ])]))), 0)
  expect_equal(glance(many)$value, unname(chosen))
  at <- rows$value == chosen[rows$method]
  by_split <- tapply(rows$risk[at], list(rows$split[at], rows$method[at]), mean)
  expect_equal(glance(many)$won, as.vector(table(factor(colnames(by_split)[apply(by_split, 1, which.min)],
                                                        names(methods)))) / 5)
  expect_equal(glance(many)$risk, unname(colMeans(by_split)[names(methods)]))
  expect_identical(run(folds = rep(1:5, 80), test = 401:500)$n_splits, 1L)
  expect_error(run(folds = rep(1:5, 80), test = 401:500, repeats = 2), "random", class = "calibrisk_error_argument")
})
