# from the definition, row by row
naive_walk <- function(p, y, w = rep(1, length(p))) {
  at <- sort(unique(p))
  scale <- sqrt(sum(w^2 * p * (1 - p)))
  walk <- vapply(at, function(s) sum((w * (y - p))[p <= s]) / scale, 0)
  time <- vapply(at, function(s) sum((w^2 * p * (1 - p))[p <= s]) / scale^2, 0)
  end <- walk[length(walk)]
  list(end = end, largest = max(abs(walk)), range = max(0, walk) - min(0, walk), bridge = max(abs(walk - time * end)))
}

test_that("the extremes equal a naive loop, with ties and weights", {
  withr::local_seed(2)
  p <- round(runif(60), 1)
  y <- rbinom(60, 1, p)
  w <- runif(60, .5, 2)
  plain <- ce_test(p, y, test = test_cumulative(times = 9))
  expect_equal(plain$details$extremes[1:4], naive_walk(p, y))
  expect_equal(unname(plain$estimate), ks_error(p, y)$.estimate)
  weighted <- ce_test(p, y, weights = w, test = test_cumulative("kuiper", times = 9))
  expect_equal(weighted$details$extremes[1:4], naive_walk(p, y, w))
  expect_equal(unname(weighted$statistic), naive_walk(p, y, w)$range)
})

test_that("redrawn walks have the extremes of their outcomes", {
  # certain outcomes: the redraw is the truth; one row in doubt has two walks
  p <- c(0, .25, 1)
  walks <- function(threads) {
    of <- cpp_cumulative(cpp_sorted_rows(p, c(0, 1, 1), NULL, TRUE, NULL), 2000, 7, threads)
    do.call(cbind, of$extremes[1:4])[-1, ]
  }
  draws <- unname(walks(1))
  values <- unique(round(draws, 12))
  with_event <- .75 / sqrt(.1875)
  without <- -.25 / sqrt(.1875)
  expect_setequal(round(values[, 1], 6), round(c(with_event, without), 6))
  expect_equal(values[, 2], abs(values[, 1]), tolerance = 1e-9)
  expect_equal(values[, 3], abs(values[, 1]), tolerance = 1e-9)
  expect_true(all(values[, 4] < 1e-9))
  expect_equal(mean(draws[, 1] > 0), .25, tolerance = .1)
  expect_equal(draws, unname(walks(2)))
})

test_that("the level is right for every statistic and the power is that of a test of shape", {
  withr::local_seed(3)
  rejected <- function(truth, statistic, n_samples = 300) {
    mean(replicate(n_samples, {
      p <- plogis(rnorm(150, -1))
      ce_test(p, rbinom(150, 1, truth(p)), test = test_cumulative(statistic, times = 99))$p.value <= .05
    }))
  }
  for (statistic in c("bridge", "kuiper", "ks")) {
    level <- rejected(identity, statistic)
    expect_lt(abs(level - .05), 3 * sqrt(.05 * .95 / 300))
  }
  expect_gt(rejected(function(p) plogis(qlogis(p) + .6), "bridge", 100), .5)
  expect_gt(rejected(function(p) plogis(2 * qlogis(p) + 1), "bridge", 100), .5)
})

test_that("the output says where events are missing", {
  p <- rep(seq(.05, .95, by = .1), each = 40)
  # below .5 as predicted, above it a tenth fewer
  y <- unlist(lapply(unique(p), function(q) rep(1:0, round(40 * c(q, 1 - q) + if (q > .5) c(-4, 4) else 0))))
  ks <- ce_test(p, y, test = test_cumulative("ks", times = 99))
  expect_identical(ks$details$place, .95)
  expect_output(print(ks), "Up to the prediction 0.95 there are 20 events fewer than predicted.", fixed = TRUE)
  kuiper <- ce_test(p, y, test = test_cumulative("kuiper", times = 99))
  expect_output(print(kuiper), "Between the predictions 0\\.[0-9]+ and 0\\.95 there are 20 events fewer than predicted")
  bridge <- ce_test(p, y, test = test_cumulative(times = 99))
  expect_output(print(bridge), "mean: S = -[0-9.]+, bridge: B = [0-9.]+")
  expect_equal(bridge$details$place, .45)
})

test_that("certain predictions are right, or cannot be", {
  expect_identical(ce_test(c(0, 1, 0, 1), c(0, 1, 0, 1), test = "cumulative")$p.value, 1)
  wrong <- ce_test(c(0, 1, 0, 1), c(1, 1, 0, 1), test = test_cumulative("ks", times = 99))
  expect_identical(wrong$p.value, .01)
})

test_that("what the test cannot take is refused", {
  probs <- matrix(1 / 3, 6, 3)
  expect_error(ce_test(probs, rep(1:3, 2), test = "cumulative"), "3 classes", class = "calibrisk_error_test")
  expect_error(ce_test(pred_normal(1:5, 1), 1:5, test = "cumulative"), "one event", class = "calibrisk_error_test")
  expect_error(ce_test(c(.2, .4), 0:1, test = "cumulative", kernel = kernel_linear()), "has no kernel",
               class = "calibrisk_error_argument")
  expect_error(ce_test(c(.2, .4), 0:1, test = "cumulative", cluster = 1:2), "correlated",
               class = "calibrisk_error_cluster")
  expect_error(test_cumulative("cramer"), class = "calibrisk_error_argument")
})
