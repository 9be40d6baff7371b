expect_rung <- function(rung, oracle, tolerance = 1e-8) {
  for (name in c("psi", "noise", "skew", "linear", "scatter")) expect_close(rung[[name]], oracle[[name]], tolerance)
  expect_lt(max(abs(rung$gap - oracle$gap), abs(rung$half - oracle$half)), tolerance)
}

test_that("a scalar rung is its formula, with ties and weights of either kind", {
  d <- withr::with_seed(1, {
    p <- rbeta(150, 3, 1)
    list(p = p, y = rbinom(150, 1, p^1.4), v = rexp(150), copies = sample(1:3, 150, TRUE))
  })
  for (p in list(d$p, round(d$p, 1))) {
    for (kind in c("none", "importance", "frequency")) {
      v <- switch(kind, none = rep(1, 150), importance = d$v, frequency = d$copies)
      rungs <- cpp_ladder(matrix(p), matrix(p - d$y), v, kind, list(list(recipe = "hats", own = 2),
                                                                    list(recipe = "hats", own = 9)), TRUE, 1L)
      for (i in 1:2) {
        expect_rung(rungs[[i]], oracle_rung(matrix(p - d$y), oracle_hats(p, c(2, 9)[i], v), v, kind == "frequency"))
      }
    }
  }
})

test_that("canonical and class-wise rungs are their formulas", {
  d <- ladder_data(260, 3, 2)
  v <- withr::with_seed(3, rexp(260))
  for (kind in c("none", "importance")) {
    w <- if (kind == "none") rep(1, 260) else v
    rungs <- cpp_ladder(d$features, d$residuals, w, kind, ladder_bases("canonical", 3, 260), TRUE, 2L)
    oracle <- oracle_canonical_bases(d$p, w)
    for (i in 1:4) expect_rung(rungs[[i]], oracle_rung(d$residuals, oracle[[i]], w), 1e-6)
    hats <- cpp_ladder(d$features, d$residuals, w, kind, list(list(recipe = "hats", own = 5)), TRUE, 1L)[[1]]
    expect_rung(hats, oracle_rung(d$residuals, lapply(1:3, function(j) oracle_hats(d$p[, j], 5, w)), w))
  }
  # kernel columns: evenly spaced rows of the lexicographic order, 0.7 median distances
  rung <- cpp_ladder(d$features, d$residuals, rep(1, 260), "none", list(list(recipe = "kernel", landmarks = 20)),
                     TRUE, 1L)[[1]]
  at <- order(d$p[, 1], d$p[, 2], d$p[, 3])[round(seq(1, 260, length.out = 20))]
  distance <- as.matrix(dist(d$p))[, at]
  expect_close(rung$shape$scale, .7 * median(distance), 1e-12)
  expect_rung(rung, oracle_rung(d$residuals, cbind(1, d$p[, -1], exp(-distance / (.7 * median(distance))))), 1e-6)
})

test_that("frequency weights are repeated rows, from knots to limits", {
  d <- ladder_data(200, 3, 4)
  copies <- withr::with_seed(5, sample(1:4, 200, TRUE))
  rows <- rep(1:200, copies)
  whole <- list(features = d$p[rows, ], residuals = d$residuals[rows, ])
  for (notion in c("canonical", "class_wise")) {
    bases <- ladder_bases(notion, 3, sum(copies))
    a <- run_ladder(d, bases, .95, 1L, as.numeric(copies), "frequency")
    b <- run_ladder(whole, bases, .95, 1L)
    for (field in c("estimate", "std.error", "low", "high", "lower_bound", "p.value", "cap")) {
      expect_close(a[[field]], b[[field]], 1e-8)
    }
    expect_lt(max(abs(a$influence[rows] - b$influence)), 1e-9)
  }
  scalar <- list(features = d$p[, 1, drop = FALSE], residuals = d$residuals[, 1, drop = FALSE])
  repeated <- lapply(scalar, function(x) x[rows, , drop = FALSE])
  bases <- ladder_bases("binary", 1, sum(copies))
  expect_close(run_ladder(scalar, bases, .95, 1L, as.numeric(copies), "frequency")$high,
               run_ladder(repeated, bases, .95, 1L)$high, 1e-10)
})

test_that("one importance weight for all rows is no weight", {
  d <- ladder_data(150, 3, 6)
  bases <- ladder_bases("canonical", 3, 150)
  a <- run_ladder(d, bases, .95, 1L, rep(2.5, 150), "importance")
  b <- run_ladder(d, bases, .95, 1L)
  for (field in c("estimate", "low", "high", "p.value")) expect_close(a[[field]], b[[field]], 1e-7)
})

test_that("saturated bins are the debiased discrete error", {
  d <- withr::with_seed(7, list(p = sample(seq(.1, .9, .2), 80, TRUE), y = rbinom(80, 1, .4)))
  levels <- list(function(p) 1 * outer(p[, 1], sort(unique(d$p)), "=="))
  specs <- basis_specs(levels, matrix(d$p), NULL)
  rung <- cpp_ladder(matrix(d$p), matrix(d$p - d$y), rep(1, 80), "none", specs, TRUE, 1L)[[1]]
  expect_close(rung$psi, ece(d$p, d$y, type = "discrete", p = 2, debias = TRUE)$power, 1e-10)
})

test_that("rows in any order and any number of threads give the same", {
  d <- ladder_data(400, 4, 8)
  order <- withr::with_seed(9, sample(400))
  notions <- c("top_label", "class_wise", "canonical")
  a <- ce_estimate(d$p, d$y, notion = notions, threads = 1)
  expect_equal(ce_estimate(d$p[order, ], d$y[order], notion = notions, threads = 2), a, tolerance = 1e-9)
})

test_that("an estimate lies in its interval, which holds 0 exactly where the test does not reject", {
  for (seed in 1:25) {
    d <- ladder_data(120, 3, seed, power = if (seed %% 2) 1 else .6)
    row <- ce_estimate(d$p, d$y, notion = c("top_label", "class_wise", "canonical"))
    expect_true(all(row$conf.low <= row$estimate & row$estimate <= row$conf.high))
    expect_true(all(row$lower_bound >= row$conf.low & row$conf.high <= row$cap))
    expect_identical(row$conf.low == 0, row$p.value >= .05)
    # a canonical error is never below the coarser ones
    for (column in c("estimate", "conf.low", "conf.high")) {
      expect_gte(row[[column]][3], max(row[[column]][1:2]) - 1e-12)
    }
  }
})

test_that("calibrated models are rejected at most as often as the level says, gaps are covered", {
  skip_on_cran()
  run <- function(seed, gap) {
    d <- withr::with_seed(seed, {
      p <- rbeta(300, 3, 1)
      list(p = p, y = rbinom(300, 1, p - gap(p)))
    })
    row <- ce_estimate(d$p, d$y, notion = "binary", threads = 1L)
    c(row$p.value, row$conf.low, row$conf.high, row$lower_bound)
  }
  calibrated <- vapply(1:300, run, numeric(4), gap = function(p) 0 * p)
  # at .05, 300 samples: above 28 with probability .001
  expect_lte(sum(calibrated[1, ] < .05), 28)
  gap <- function(p) .4 * p * (1 - p)
  truth <- sqrt(integrate(function(p) gap(p)^2 * dbeta(p, 3, 1), 0, 1)$value)
  rows <- vapply(1:300, run, numeric(4), gap = gap)
  expect_gte(sum(rows[2, ] <= truth & truth <= rows[3, ]), 276)
  expect_gte(sum(rows[4, ] <= truth), 272)
})

test_that("influences are those of the squared estimate", {
  d <- ladder_data(600, 3, 10)
  ladder <- run_ladder(d, ladder_bases("class_wise", 3, 600), .95, 1L)
  # linear part of the variance, from rows
  leading <- ladder$rungs[[which.max(ladder$weights)]]
  rows <- 2 * leading$half - 2 * leading$psi
  expect_close(sum((rows - mean(rows))^2) / 599 / 600, leading$linear + 2 * leading$noise, 1e-9)
  expect_lt(abs(mean(ladder$influence)), 1e-12)
})

test_that("few rows, certain and constant predictions have a number and an interval", {
  for (n in 1:6) {
    p <- seq(.2, .9, length.out = n)
    row <- ce_estimate(p, rep(0:1, 3)[seq_len(n)], notion = "binary")
    expect_identical(row$conf.low, 0)
    expect_true(is.finite(row$conf.high) && row$conf.high == row$cap || n > 2)
  }
  d <- ladder_data(6, 3, 1)
  for (n in 1:6) {
    row <- ce_estimate(d$p[seq_len(n), , drop = FALSE], d$y[seq_len(n)], notion = "canonical")
    expect_true(row$conf.low >= 0 && row$conf.low <= row$conf.high && row$conf.high <= row$cap)
  }
  sure <- ce_estimate(rep(0:1, 10), rep(0:1, 10), notion = "binary")
  expect_identical(unlist(sure[c("estimate", "conf.low", "conf.high")], use.names = FALSE), c(0, 0, 0))
  flat <- ce_estimate(rep(.5, 50), rep(0:1, 25), notion = "binary")
  expect_identical(flat$resolution, 1)
  expect_identical(c(flat$estimate, flat$conf.low), c(0, 0))
  one_hot <- diag(4)[withr::with_seed(1, sample(4, 300, TRUE)), ]
  wrong <- ce_estimate(one_hot, withr::with_seed(2, sample(4, 300, TRUE)), notion = "top_label")
  expect_true(wrong$conf.low < .75 && .75 < wrong$conf.high)
})

test_that("the user's bases replace the ladder; those that see too much are refused", {
  v <- vehicle_predictions
  line <- ce_estimate(v, truth, notion = "top_label", bases = list(function(p) cbind(1, p)))
  hats <- ce_estimate(v, truth, notion = "top_label", bases = list(basis_hats(2)))
  for (column in c("estimate", "conf.low", "conf.high")) expect_close(line[[column]], hats[[column]], 1e-9)
  expect_error(ce_estimate(v, truth, notion = "class_wise", bases = list(basis_kernel(5))), "one class",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, notion = "canonical", bases = list(function(p) p[1:3, ])), "row for each",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, bases = 5), "basis_hats", class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, bases = list(function(p) stop("no"))), "failed",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, method = "auto"), "ce_tune", class = "calibrisk_error_method")
  expect_output(print(basis_kernel(7)), "7 kernel columns")
})
