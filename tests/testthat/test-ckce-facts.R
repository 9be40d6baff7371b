# Facts of the synthetic experiments of Moskvichev & Sejdinovic (2025), small and seeded.

# CKCE, JKCE and ECE of every model on all rows: metrics x models.
three_metrics <- function(models, truth) {
  metrics <- as_metrics(c("ckce", "jkce", "ece_canonical"))
  data <- list(probs = models, models = lapply(models, function(p) list(design = new_design(nrow(p)))), truth = truth)
  out <- rank_samples(data, metrics, lapply(metrics, core_metric, data), list(seq_along(truth)))
  matrix(out, 3, dimnames = list(c("ckce", "jkce", "ece"), names(models)))
}

dirichlet_trial <- function(n) {
  p <- draw_dirichlet(n, 10, .1)
  y <- draw_labels(p)
  three_metrics(list(true = p, marginal = matrix(.1, n, 10), under = temper(p, 2), over = temper(p, .5)), y)
}

# Shares of trials in which a calibrated model has the smaller estimate.
shares <- function(trials, metric) {
  pairs <- list(c("true", "under"), c("true", "over"), c("marginal", "under"), c("marginal", "over"))
  vapply(pairs, function(p) mean(vapply(trials, function(t) t[metric, p[1]] < t[metric, p[2]], NA)), 0)
}

test_that("with 200 observations ckce finds the calibrated models, the binned error not the true one", {
  trials <- withr::with_seed(42, lapply(1:30, function(i) dirichlet_trial(200)))
  expect_true(all(shares(trials, "ckce") >= .9))
  expect_lt(shares(trials, "ece")[2], .7)
})

test_that("in two classes ckce calls the underconfident model worse, the others the overconfident one", {
  runs <- withr::with_seed(44, lapply(1:3, function(i) {
    p <- draw_dirichlet(1000, 2, 1)
    three_metrics(list(true = p, under = temper(p, 2), over = temper(p, .5)), draw_labels(p))
  }))
  for (run in runs) expect_true(all(apply(run, 1, which.min) == 1))
  average <- Reduce(`+`, runs) / 3
  expect_gt(average["ckce", "under"], average["ckce", "over"])
  expect_lt(average["jkce", "under"], average["jkce", "over"])
  expect_lt(average["ece", "under"], average["ece", "over"])
})

test_that("under covariate shift ckce moves little, the joint and the binned error a lot", {
  level <- function(alpha) {
    runs <- withr::with_seed(45, lapply(1:3, function(i) {
      inside <- pnorm(c(-1, 1), alpha, .25)
      x <- qnorm(inside[1] + runif(1000) * diff(inside), alpha, .25)
      y <- 1L + (runif(1000) < plogis(x))
      three_metrics(list(model = cbind(1 - plogis(5 * x), plogis(5 * x))), y)[, 1]
    }))
    Reduce(`+`, runs) / 3
  }
  levels <- vapply(c(-1, -.5, 0, .5, 1), level, numeric(3))
  range <- apply(levels, 1, max) / apply(levels, 1, min)
  expect_lt(range[["ckce"]], 1.5)
  expect_gt(range[["jkce"]], 4)
  expect_gt(range[["ece"]], 1.6)
})

test_that("group calibration sees what global calibration cannot", {
  estimates <- withr::with_seed(49, vapply(1:5, function(i) {
    q <- runif(500, .25, .75)
    a <- sample(1:2, 500, replace = TRUE)
    y <- runif(500) < q + ifelse(a == 1, .2, -.2)
    z <- runif(500) < q
    c(ckce(q, y)$.estimate, ckce(q, z)$.estimate, ckce(q, y, group = a)$.estimate, ckce(q, z, group = a)$.estimate)
  }, numeric(4)))
  expect_true(all(estimates[3, ] > 5 * estimates[4, ]))
  expect_lt(mean(estimates[1, ]), 3 * mean(estimates[2, ]))
})

test_that("DenseNet-40 on CIFAR-10 has the published value", {
  skip_if_no_shared("data", "cifar10", "nncal-densenet40.rds")
  data <- readRDS(shared_path("data", "cifar10", "nncal-densenet40.rds"))
  value <- with_threads(2, ckce(softmax(data$logits), data$label))
  expect_equal(round(10 * value$.estimate, 3), .096)
  expect_true(value$certified)
  joint <- with_threads(2, skce(softmax(data$logits), data$label, computation = "low_rank", kernel = "ckce"))
  expect_equal(round(100 * joint$.estimate, 3), .054, tolerance = .02)
})
