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

test_that("temperature scaling has the published values", {
  q <- rbind(c(.7, .2, .1))
  expect_equal(temper(q, 2)[1, ], c(.522879383008, .279490786546, .197629830446), tolerance = 1e-11)
  expect_equal(temper(q, .5)[1, ], c(.907407407407, .0740740740741, .0185185185185), tolerance = 1e-11)
})

test_that("with 200 observations ckce finds the calibrated models, the binned error not the true one", {
  trials <- withr::with_seed(42, lapply(1:30, function(i) dirichlet_trial(200)))
  expect_true(all(shares(trials, "ckce") >= .9))
  expect_lt(shares(trials, "ece")[2], .7)
})

test_that("with 50 observations ckce beats the joint and the binned error", {
  trials <- withr::with_seed(43, lapply(1:30, function(i) dirichlet_trial(50)))
  expect_gt(mean(shares(trials, "ckce")), mean(shares(trials, "jkce")))
  expect_gt(shares(trials, "ckce")[2], shares(trials, "ece")[2])
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

test_that("a ranking of increasingly sharpened models is found by ckce in most subsamples", {
  p <- withr::with_seed(46, draw_dirichlet(2000, 10, .1))
  y <- withr::with_seed(47, draw_labels(p))
  models <- list(marginal = matrix(.1, 2000, 10), t125 = temper(p, 1 / 1.25), t150 = temper(p, 1 / 1.5),
                 t200 = temper(p, .5))
  r <- withr::with_seed(48, with_threads(2, ce_rank(models, y, metric = c("ckce", "jkce"), times = 20)))
  shares <- setNames(glance(r)$share, glance(r)$metric)
  expect_identical(glance(r)$order[1], "marginal < t125 < t150 < t200")
  expect_gte(shares[["ckce"]], .9)
  expect_lt(shares[["jkce"]], shares[["ckce"]])
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
