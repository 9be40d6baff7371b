class_scores <- c("brier", "log", "spherical")

test_that("mean scores and upper bounds are the published ones", {
  a <- fixture_a()
  b <- fixture_b()
  expect_equal(ce_score(a$p, a$y, score = class_scores)$.estimate,
               c(.44875, .7891386321, -.7255889371), tolerance = 1e-9)
  expect_equal(ce_score(a$p, a$y, score = class_scores, bound = TRUE)$.estimate,
               c(.44875, .7891386321, .2744110629), tolerance = 1e-9)
  expect_equal(ce_score(b$p, b$y, score = class_scores)$.estimate,
               c(.3189926917, .5277866053, -.8191009895), tolerance = 1e-9)
})

test_that("values are those of the definition", {
  p <- withr::with_seed(1, random_classes(12, 4)$p)
  p <- (p + .01) / 1.04
  k <- ncol(p)
  loop <- list(
    brier = function(f, y) sum((f - (seq_len(k) == y))^2), log = function(f, y) -log(f[y]),
    spherical = function(f, y) -f[y] / sqrt(sum(f^2)), rps = function(f, y) sum((cumsum(f) - (y <= seq_len(k)))^2)
  )
  y <- rep(1:k, length.out = nrow(p))
  for (name in names(loop)) {
    expect_equal(score_parts(name, p, y)$value, vapply(seq_along(y), function(i) loop[[name]](p[i, ], y[i]), 0))
  }
})

test_that("the log of 0 is Inf unless floored", {
  sure <- diag(3)
  expect_equal(score_parts("log", sure, c(1, 2, 1))$value, c(0, 0, Inf))
  expect_equal(score_parts(score_log(floor = 1e-3), sure, c(1, 2, 1))$value, c(0, 0, -log(1e-3)))
})

test_that("the ranked probability score follows the levels of an ordered factor", {
  withr::with_seed(15, p <- matrix(rexp(120), 40, dimnames = list(NULL, c("low", "mid", "high"))))
  p <- p / rowSums(p)
  y <- factor(rep(c("mid", "low", "high", "low"), 10), colnames(p), ordered = TRUE)
  w <- rep(c(1.5, 2.5), 20)
  rows <- vapply(1:40, function(i) sum((cumsum(p[i, ]) - (as.integer(y[i]) <= 1:3))^2), 0)
  expect_equal(ce_score(p, y, score = "rps")$.estimate, mean(rows))
  expect_equal(ce_score(p, y, score = "rps")$std.error, sd(rows) / sqrt(40))
  expect_equal(ce_score(p[, c(3, 1, 2)], y, score = "rps", weights = w)$.estimate, weighted.mean(rows, w))
  expect_equal(ce_compare(list(a = p, b = p[, c(3, 1, 2)]), y, metric = "rps")$difference, 0)
  expect_equal(ce_score(p[, 1], y == "low", score = "rps")$.estimate, mean((p[, 1] - (y == "low"))^2))
  for (unordered in list(as.integer(y), factor(y, ordered = FALSE), factor(y[y < "high"], ordered = TRUE))) {
    expect_error(ce_score(p[seq_along(unordered), ], unordered, score = "rps"), "ordered factor",
                 class = "calibrisk_error_score")
  }
  expect_error(ce_decompose(p, as.integer(y), score = "rps"), class = "calibrisk_error_score")
  expect_error(ce_score(p, y, score = "ranked_probability_score"), "mean \"rps\"", class = "calibrisk_error_score")
})

test_that("scores are properly refused", {
  numbers <- ce_models(list(a = pred_normal(1:3, 1), b = pred_normal(1:3, 2)), 3:1)
  expect_error(ce_score(numbers), "\"brier\", the default, is", class = "calibrisk_error_score")
  expect_error(ce_score(numbers, score = c("log", "brier")), "\"brier\" is", class = "calibrisk_error_score")
  expect_error(ce_score(diag(3), 1:3, score = c("brier", "crps")), class = "calibrisk_error_score")
  expect_error(ce_score(c(.2, .3), c(0, 1), score = "dss", bound = TRUE), class = "calibrisk_error_score")
})
