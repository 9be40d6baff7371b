expect_rung <- function(rung, oracle, tolerance = 1e-8) {
  for (name in c("psi", "noise", "skew", "linear", "scatter")) expect_close(rung[[name]], oracle[[name]], tolerance)
  expect_lt(max(abs(rung$gap - oracle$gap), abs(rung$half - oracle$half)), tolerance)
}

hats <- function(m) list(recipe = "hats", own = m)

test_that("a scalar rung is its formula, with ties and weights", {
  d <- c(drawn_rows(1, rbeta(150, 3, 1), function(p) p^1.4), list(v = withr::with_seed(2, rexp(150))))
  for (p in list(d$p, round(d$p, 1))) {
    for (v in list(rep(1, 150), d$v)) {
      rungs <- rungs_of(matrix(p), matrix(p - d$y), list(hats(2), hats(9)), v)
      for (i in 1:2) expect_rung(rungs[[i]], oracle_rung(matrix(p - d$y), oracle_hats(p, c(2, 9)[i], v), v))
    }
  }
})

test_that("canonical and class-wise rungs are their formulas", {
  d <- ladder_data(260, 3, 2)
  for (w in list(rep(1, 260), withr::with_seed(3, rexp(260)))) {
    rungs <- with_threads(2L, rungs_of(d$features, d$residuals, ladder_bases("canonical", 3, 260), w))
    oracle <- oracle_canonical_bases(d$p, w)
    for (i in 1:4) expect_rung(rungs[[i]], oracle_rung(d$residuals, oracle[[i]], w), 1e-6)
    rung <- rungs_of(d$features, d$residuals, list(hats(5)), w)[[1]]
    expect_rung(rung, oracle_rung(d$residuals, lapply(1:3, function(j) oracle_hats(d$p[, j], 5, w)), w))
  }
  # kernel columns: rows evenly spaced in the order of their sorted probabilities, 0.7 median distances
  rung <- rungs_of(d$features, d$residuals, list(list(recipe = "kernel", landmarks = 20)))[[1]]
  sorted <- t(apply(d$p, 1, sort, decreasing = TRUE))
  at <- order(sorted[, 1], sorted[, 2], sorted[, 3])[round(seq(1, 260, length.out = 20))]
  distance <- as.matrix(dist(d$p))[, at]
  expect_close(rung$shape$scale, .7 * median(distance), 1e-12)
  expect_rung(rung, oracle_rung(d$residuals, cbind(1, d$p[, -1], exp(-distance / (.7 * median(distance))))), 1e-6)
})

test_that("a shared basis of more columns than rows sums over pairs of rows", {
  d <- ladder_data(70, 4, 11)
  for (w in list(rep(1, 70), withr::with_seed(12, rexp(70)))) {
    columns <- exp(-as.matrix(dist(d$p))[, seq(1, 70, length.out = 20)])
    rung <- rungs_of(d$features, d$residuals, list(list(recipe = "columns", columns = columns)), w)[[1]]
    expect_gt(rung$columns, 70)
    expect_rung(rung, oracle_rung(d$residuals, columns, w), 1e-6)
  }
})

test_that("rungs of clusters are fits of the other clusters and sums over pairs of clusters", {
  d <- ladder_data(240, 3, 4)
  cluster <- withr::with_seed(5, sample(rep(1:24, length.out = 240)))
  for (w in list(rep(1, 240), withr::with_seed(6, rexp(240)))) {
    rungs <- rungs_of(d$features, d$residuals, ladder_bases("canonical", 3, 240)[c(1, 2, 4)], w, cluster)
    oracle <- oracle_canonical_bases(d$p, w)[c(1, 2, 4)]
    first <- rungs_of(d$features[, 1, drop = FALSE], d$residuals[, 1, drop = FALSE], list(hats(6)), w, cluster)
    rungs <- c(rungs, first)
    oracle[[4]] <- oracle_hats(d$p[, 1], 6, w)
    for (i in 1:4) {
      rows <- d$residuals[, if (i == 4) 1 else 1:3, drop = FALSE]
      expected <- oracle_cluster_rung(rows, oracle[[i]], w, cluster)
      for (name in c("psi", "noise", "linear", "scatter")) expect_close(rungs[[i]][[name]], expected[[name]], 1e-6)
      expect_lt(max(abs(rungs[[i]]$gap - expected$gap)), 1e-6)
      expect_equal(rowsum(w * rungs[[i]]$half, cluster)[, 1], expected$pairs, tolerance = 1e-6, ignore_attr = TRUE)
    }
  }
})

test_that("clusters of few rows and of more have one formula, of small and of large leverage", {
  size <- rep(7:9, 20)
  cluster <- withr::with_seed(9, sample(rep(seq_along(size), size)))
  d <- withr::with_seed(10, list(p = rbeta(480, 2, 2), y = rbinom(480, 1, .4), w = rexp(480)))
  e <- matrix(d$p - d$y)
  for (w in list(rep(1, 480), d$w)) {
    for (m in c(2, 25)) {
      rung <- rungs_of(matrix(d$p), e, list(hats(m)), w, cluster)[[1]]
      expected <- oracle_cluster_rung(e, oracle_hats(d$p, m, w), w, cluster)
      for (name in c("psi", "noise", "linear", "scatter")) expect_close(rung[[name]], expected[[name]], 1e-8)
      pairs <- rowsum(w * rung$half, cluster)[, 1]
      for (rows in 7:9) {
        expect_lt(max(abs(rung$gap - expected$gap)[size[cluster] == rows]), 1e-8)
        expect_lt(max(abs(pairs - expected$pairs)[size == rows]), 1e-8)
      }
    }
  }
})

test_that("clusters of one row are none, and many clusters' sums are those of few", {
  d <- ladder_data(200, 3, 4)
  v <- withr::with_seed(7, rexp(200))
  bases <- ladder_bases("canonical", 3, 200)
  plain <- rungs_of(d$features, d$residuals, bases, v)
  alone <- rungs_of(d$features, d$residuals, bases, v, 200:1)
  for (i in seq_along(bases)) {
    expect_rung(alone[[i]], plain[[i]], 1e-9)
    expect_identical(alone[[i]]$columns, plain[[i]]$columns)
    new <- function(rung) cpp_ladder_gap(list(rung$shape), 1, d$features[1:20, ], 3L, 1L)
    expect_equal(new(alone[[i]]), new(plain[[i]]), tolerance = 1e-8)
  }
})

test_that("a direction that one cluster has to itself says nothing", {
  p <- rep(c(.2, .5, .8), each = 20)
  y <- withr::with_seed(8, rbinom(60, 1, .5))
  expect_identical(rungs_of(matrix(p), matrix(p - y), list(hats(5)), cluster = rep(1:3, each = 20))[[1]]$noise, 0)
  row <- ce_estimate(p, y, cluster = rep(1:3, each = 20))
  expect_identical(row$conf.low, 0)
  expect_lte(row$conf.high, row$upper_bound)
})

test_that("one importance weight for all rows is no weight", {
  d <- ladder_data(150, 3, 6)
  bases <- ladder_bases("canonical", 3, 150)
  b <- run_ladder(d, bases, .95)
  d$design$w <- rep(2.5, 150)
  a <- run_ladder(d, bases, .95)
  for (field in c("estimate", "low", "high", "p.value")) expect_close(a[[field]], b[[field]], 1e-7)
})

test_that("saturated bins are the debiased discrete error", {
  d <- withr::with_seed(7, list(p = sample(seq(.1, .9, .2), 80, TRUE), y = rbinom(80, 1, .4)))
  levels <- list(function(p) 1 * outer(p[, 1], sort(unique(d$p)), "=="))
  specs <- basis_specs(levels, matrix(d$p))
  rung <- rungs_of(matrix(d$p), matrix(d$p - d$y), specs)[[1]]
  expect_close(rung$psi, ece(d$p, d$y, type = "discrete", p = 2, debias = TRUE)$power, 1e-10)
})

test_that("an estimate lies in its interval, which holds 0 exactly where the test does not reject", {
  for (seed in 1:25) {
    d <- ladder_data(120, 3, seed, power = if (seed %% 2) 1 else .6)
    row <- ce_estimate(d$p, d$y, notion = c("top_label", "class_wise", "canonical"))
    expect_true(all(row$conf.low <= row$estimate & row$estimate <= row$conf.high))
    expect_true(all(row$lower_bound >= row$conf.low & row$conf.high <= row$upper_bound))
    expect_identical(row$conf.low == 0, row$p.value >= .05)
    # a canonical error is never below the coarser ones; its test shares the level among more parts than theirs
    for (column in c("estimate", "conf.high")) expect_gte(row[[column]][3], max(row[[column]][1:2]) - 1e-12)
  }
})

test_that("calibrated models are rejected at most as often as the level says, gaps are covered", {
  skip_on_cran()
  run <- function(seed, gap) {
    d <- drawn_rows(seed, rbeta(300, 3, 1), function(p) p - gap(p))
    row <- with_threads(1L, ce_estimate(d$p, d$y, notion = "binary"))
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

test_that("intervals of clustered rows cover where those that take rows as independent do not", {
  skip_on_cran()
  # 50 clusters of 12 rows, outcomes correlated within them (.4 on the normal scale); predictions of rows and clusters
  run <- function(seed, size, whole) {
    d <- withr::with_seed(seed, {
      centre <- rep(1:50, each = 12)
      p <- if (whole) rep(rbeta(50, 3, 1.5), each = 12) else rbeta(600, 3, 1.5)
      z <- sqrt(.4) * rep(rnorm(50), each = 12) + sqrt(.6) * rnorm(600)
      list(p = p, y = as.integer(pnorm(z) < p - size * p * (1 - p)), centre = centre)
    })
    truth <- sqrt(integrate(function(p) (size * p * (1 - p))^2 * dbeta(p, 3, 1.5), 0, 1)$value)
    covers <- function(row) c(row$conf.low <= truth + 1e-12 && truth <= row$conf.high, row$p.value < .05)
    clustered <- covers(with_threads(1L, ce_estimate(d$p, d$y, cluster = d$centre)))
    # that rows as independent do worse shows in fewer samples
    plain <- if (seed <= 60) covers(with_threads(1L, ce_estimate(d$p, d$y))) else c(NA, NA)
    c(clustered[1], plain[1], clustered[2], plain[2])
  }
  for (whole in c(FALSE, TRUE)) {
    calibrated <- rowMeans(vapply(1:150, run, logical(4), 0, whole), na.rm = TRUE)
    gap <- rowMeans(vapply(1:150, run, logical(4), .55, whole), na.rm = TRUE)
    expect_gte(calibrated[1], .93)
    expect_gte(gap[1], .93)
    expect_lt(calibrated[2], .92)
    expect_lt(gap[2], .92)
    expect_lte(calibrated[3], .08)
    expect_gt(calibrated[4], calibrated[3])
    expect_gt(gap[3], .6)
  }
})

test_that("influences are those of the squared estimate", {
  d <- ladder_data(600, 3, 10)
  ladder <- run_ladder(d, ladder_bases("class_wise", 3, 600), .95)
  # linear part of the variance, from rows
  leading <- rungs_of(d$features, d$residuals, ladder_bases("class_wise", 3, 600))[[which.max(ladder$weights)]]
  rows <- 2 * leading$half - 2 * leading$psi
  expect_close(sum((rows - mean(rows))^2) / 599 / 600, leading$linear + 2 * leading$noise, 1e-9)
  expect_close(ladder$value$value, ladder$estimate^2, 1e-12)
})

test_that("few rows, certain and constant predictions have a number and an interval", {
  for (n in 1:6) {
    p <- seq(.2, .9, length.out = n)
    row <- ce_estimate(p, rep(0:1, 3)[seq_len(n)], notion = "binary")
    expect_identical(row$conf.low, 0)
    expect_true(is.finite(row$conf.high) && row$conf.high <= row$upper_bound)
  }
  d <- ladder_data(6, 3, 1)
  for (n in 1:6) {
    row <- ce_estimate(d$p[seq_len(n), , drop = FALSE], d$y[seq_len(n)], notion = "canonical")
    expect_true(row$conf.low >= 0 && row$conf.low <= row$conf.high && row$conf.high <= row$upper_bound)
  }
  sure <- ce_estimate(rep(0:1, 10), rep(0:1, 10), notion = "binary")
  expect_identical(c(sure$estimate, sure$conf.low), c(0, 0))
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
  hats <- ce_estimate(v, truth, notion = "top_label", bases = list(hats = 2))
  for (column in c("estimate", "conf.low", "conf.high")) expect_close(line[[column]], hats[[column]], 1e-9)
  expect_error(ce_estimate(v, truth, notion = "class_wise", bases = list(kernel = 5)), "one class",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, notion = "canonical", bases = list(function(p) p[1:3, ])), "row for each",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, bases = 5), "hats = 5", class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, bases = list(function(p) stop("no"))), "failed",
               class = "calibrisk_error_argument")
  expect_error(ce_estimate(v, truth, method = "auto"), "ce_tune", class = "calibrisk_error_method")
})

test_that("no error is above the largest that residuals can have", {
  expect_identical(ce_estimate(c(0.9, 0.8, 0.9), c(0, 1, 0))$upper_bound, 1)
  expect_identical(ce_estimate(0.5, 1)$upper_bound, 1)
  wrong <- diag(3)[c(2, 3, 1, 1), ]
  found <- ce_estimate(0.9 * wrong + 0.1 / 3, c(1, 2, 3, 3), notion = c("top_label", "canonical"))
  expect_lte(found$upper_bound[1], 1)
  expect_lte(found$upper_bound[2], sqrt(2))
})

test_that("the temperature family's basis spans errors of temperatures far from 1", {
  d <- ladder_data(3000, 10, 2, power = 1 / 3)
  law <- d$p^(1 / 3) / rowSums(d$p^(1 / 3))
  d$residuals <- d$p - law
  error <- mean(rowSums(d$residuals^2))
  rung <- rungs_of(d$features, d$residuals, list(list(recipe = "temperature")))[[1]]
  expect_lt(abs(rung$psi / error - 1), .002)
})

test_that("the canonical upper limit counts what vector scaling mends", {
  withr::local_seed(12)
  n <- 200
  p <- t(apply(matrix(stats::rnorm(3 * n, sd = 2), n), 1, function(z) exp(z) / sum(exp(z))))
  y <- apply(p^.6 %*% diag(c(.3, 1, 2)), 1, function(q) sample(3, 1, prob = q))
  e <- p - diag(3)[y, ]
  basis <- cbind(c(p), do.call(cbind, lapply(c(2, 4), function(t) {
    q <- p^(1 / t) / rowSums(p^(1 / t))
    cbind(c(q), vapply(1:3, function(k) c(q * (outer(rep(1, n), 1:3 == k) - q[, k])), numeric(3 * n)),
          vapply(1:3, function(k) c(q * (outer(rep(1, n), 1:3 == k) - q[, k]) * log(p[, k])), numeric(3 * n)))
  })))
  long <- oracle_cluster_rung(matrix(c(e)), basis, rep(1, 3 * n), rep(seq_len(n), 3))
  numbers <- matrix(c(3 * long$psi, 9 * long$noise, 0, 9 * long$linear, 9 * long$scatter))
  upper <- nested_upper(numbers, 15, score_facts(rowSums(e^2), new_design(n), 2), Inf)(.025)[1]
  expect_equal(ce_estimate(p, factor(y), notion = "canonical")$conf.high, upper, tolerance = 1e-6)
  # as with repeated rows, and not where columns are too many for the rows
  twice <- scaling_ladder(list(features = p, residuals = e, design = new_design(n, copies = rep(2, n))), .95)
  own <- scaling_ladder(list(features = rbind(p, p), residuals = rbind(e, e), design = new_design(2 * n)), .95)
  expect_equal(twice[[1]]$high, own[[1]]$high, tolerance = 1e-9)
  expect_null(scaling_ladder(list(features = p[1:140, ], residuals = e[1:140, ], design = new_design(140)), .95))
})
