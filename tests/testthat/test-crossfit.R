test_that("folds depend on the row's values, scatter equal rows, and follow nothing that rows are sorted by", {
  before <- stats::runif(1) # there is a state to keep
  state <- .Random.seed
  x <- matrix(seq_len(1e5) / 1e5)
  y <- rep(0:1, 5e4)
  fold <- value_folds(x, y)
  expect_identical(.Random.seed, state)
  expect_identical(value_folds(x[1:100, , drop = FALSE], y[1:100]), fold[1:100])
  order <- withr::with_seed(1, sample(1e5))
  expect_identical(value_folds(x[order, , drop = FALSE], y[order]), fold[order])
  equal <- value_folds(matrix(.3, 1e5, 2), rep(1, 1e5))
  for (f in list(fold, equal)) {
    expect_setequal(f, 1:5)
    expect_gt(stats::chisq.test(table(f))$p.value, .001)
    expect_gt(stats::chisq.test(table(f[-1], f[-1e5]))$p.value, .001)
    expect_gt(stats::chisq.test(table(f, rep(1:10, each = 1e4)))$p.value, .001)
  }
  expect_gt(stats::chisq.test(table(fold, y))$p.value, .001)
  expect_identical(value_folds(matrix(c(0, -0)), c(1, 1)), value_folds(matrix(c(0, 0)), c(1, 1)))
})

# The gap of row i's group among the rows of the other folds.
oracle_gap <- function(group, d, fold) {
  vapply(seq_along(d), function(i) {
    others <- group == group[i] & fold != fold[i]
    if (any(others)) mean(d[others]) else 0
  }, 0)
}

oracle_tangent <- function(gap, d, p) {
  slope <- sign(gap) * abs(gap)^(p - 1)
  at <- function(c) p * c^(p - 1) * slope * d - (p - 1) * c^p * abs(gap)^p
  # the largest mean over the scale, by search
  best <- if (p == 1) 1 else optimize(function(c) mean(at(c)), c(0, 50), maximum = TRUE, tol = 1e-10)$maximum
  at(best)
}

test_that("no order of equal rows of different weights, and no name of a cluster, changes the lower limits", {
  data <- withr::with_seed(2, data.frame(p = round(stats::rbeta(600, .6, 2), 1), w = sample(4L, 600, TRUE),
                                         v = stats::runif(600), time = stats::rexp(600, .3)))
  data$y <- withr::with_seed(3, stats::rbinom(600, 1, data$p^2))
  order <- withr::with_seed(4, sample(600))
  # some clusters have the same predictions and outcomes
  data$id <- ceiling(seq_len(600) / 3)
  data$name <- order(order)[data$id]
  for (verb in list(ece, smooth_ece, ks_error, mmce)) {
    low <- function(data, ...) verb(data, y, p, ...)$conf.low
    expect_equal(low(data[order, ], weights = v), low(data, weights = v), tolerance = 1e-10)
    by_name <- low(data[order, ], weights = v, cluster = name)
    expect_equal(by_name, low(data, weights = v, cluster = id), tolerance = 1e-10)
    expect_equal(low(data[order, ], cluster = name), low(data, cluster = id), tolerance = 1e-10)
  }
  skip_if_not_installed("survival")
  # copies whose draws have the weights of their censoring
  survival <- function(data) ece(data, survival::Surv(time, y), p, weights = w, horizon = 3)$conf.low
  expect_equal(survival(data[order, ]), survival(data), tolerance = 1e-10)
})

test_that("binned bounds are the tangent at the other folds' gaps", {
  x <- withr::with_seed(1, round(stats::runif(120), 2))
  y <- withr::with_seed(2, stats::rbinom(120, 1, x^2))
  d <- x - y
  problem <- scalar_problem(x, y)
  fold <- problem_folds(problem)
  sorted <- sort_problem(problem)
  bin <- oracle_width_bin(x, 6)
  gap <- oracle_gap(bin, d, fold)
  bins <- cpp_bin_table(sorted, edge_ends(sorted, 1:6 / 6))
  for (p in c(1, 1.5, 2, 3)) {
    bound <- cpp_sorted_bounds(sorted, fold, list(bins), p)[[1]]
    rows <- oracle_tangent(gap, d, p)
    expect_equal(row_influence(sorted, bins, bound$slope, -bound$offset, fold), rows, tolerance = 1e-6)
    expect_equal(bound$mean, mean(rows), tolerance = 1e-7)
    expect_equal(bound$squares, sum((rows - mean(rows))^2), tolerance = 1e-6)
    plain <- new_design(120)
    gaps <- cpp_simplex_errors(problem$features, matrix(d), bin, fold, numeric(), p, FALSE)$gaps
    of_gaps <- tangent_bound(problem, gaps, p)
    expect_equal(of_gaps$influence, rows, tolerance = 1e-6)
    # under calibration, of outcomes drawn from the mean prediction of their bin
    slope <- bound$slope[cbind(match(bin, sort(unique(bin))), fold)]
    mean_of_bin <- stats::ave(x, bin)
    expect_equal(bound$known, sum(slope^2 * mean_of_bin * (1 - mean_of_bin)) / 120^2)
    expect_equal(of_gaps$known, sum(slope^2 * x * (1 - x)) / 120^2)
    # the column: root of the limit, or of the plug-in's where that is lower
    z <- qnorm(.975) * if (p < 2) sqrt(2) else 1
    plug_in <- binned_power(bins, p)
    own <- max(plug_in$squares / (120 * 119), plug_in$noise)
    limit <- min(cpp_known_limit(mean(rows), bound$known, var(rows) / 120, z), plug_in$power - qnorm(.975) * sqrt(own))
    expect_equal(ece(x, y, n_bins = 6, p = p)$conf.low, max(limit, 0)^(1 / p), tolerance = 1e-5)
  }
  # the largest gap: the bin that stands out in the other folds
  rows <- vapply(seq_along(d), function(i) {
    others <- fold != fold[i]
    means <- tapply(d[others], bin[others], mean)
    top <- as.numeric(names(means)[which.max(abs(means))])
    if (bin[i] == top) sign(means[[as.character(top)]]) * d[i] / mean(bin == top) else 0
  }, 0)
  expect_equal(cpp_sorted_bounds(sorted, fold, list(bins), Inf)[[1]]$mean, mean(rows))
})

test_that("Kolmogorov-Smirnov and smooth bounds use the other folds' place and signs", {
  # ties, but no tied maxima
  x <- withr::with_seed(2, pmin(round(stats::runif(60), 1) + .0123 * stats::rbinom(60, 1, .3), .99))
  y <- withr::with_seed(3, stats::rbinom(60, 1, x^2))
  d <- x - y
  fold <- problem_folds(scalar_problem(x, y))
  rows <- vapply(1:60, function(i) {
    others <- fold != fold[i]
    at <- sort(unique(x))
    path <- vapply(at, function(s) sum(d[others & x <= s]), 0)
    top <- which.max(abs(path))
    if (x[i] <= at[top]) sign(path[top]) * d[i] else 0
  }, 0)
  problem <- scalar_problem(x, y)
  expect_equal(cpp_ks_error(sort_problem(problem), fold)$terms, rows)
  reflected <- function(t, v, s) {
    Reduce(`+`, lapply(-1:1, function(m) stats::dnorm(t, v + 2 * m, s) + stats::dnorm(t, 2 * m - v, s)))
  }
  t <- seq(0, 1, length.out = 8001)
  kernels <- vapply(x, function(v) reflected(t, v, .1), t)
  smooth <- vapply(1:60, function(i) {
    others <- which(fold != fold[i])
    kernel <- sign(kernels[, others] %*% d[others]) * kernels[, i]
    d[i] * (sum(kernel) - (kernel[1] + kernel[8001]) / 2) / 8000
  }, 0)
  expect_equal(smooth_value(problem, .1)$bound, smooth, tolerance = 1e-3)
})

test_that("kernel gaps come from the other folds", {
  b <- fixture_b()
  problem <- new_problem(b$p, b$p - diag(3)[b$y, ], b$y)
  fold <- problem_folds(problem)
  gap <- t(vapply(1:20, function(i) {
    others <- which(fold != fold[i])
    weight <- vapply(others, function(j) prod(b$p[i, ]^(b$p[j, ] / .1)) *
                       gamma(sum(b$p[j, ] / .1 + 1)) / prod(gamma(b$p[j, ] / .1 + 1)), 0)
    b$p[i, ] - colSums(weight * diag(3)[b$y[others], ]) / sum(weight)
  }, numeric(3)))
  expect_equal(dirichlet_error(problem, 2, .1)$bound, tangent_bound(problem, gap, 2))
  x <- withr::with_seed(3, stats::runif(80))
  y <- withr::with_seed(4, stats::rbinom(80, 1, x^2))
  fold <- problem_folds(scalar_problem(x, y))
  density <- function(t, v) {
    k <- function(c) pmax(1 - (outer(t, c, `-`) / .3)^2, 0)^3 # standard deviation .1
    rowSums(k(v) + k(ifelse(v < .5, 0, 2) - v))
  }
  gap <- vapply(1:80, function(i) {
    others <- fold != fold[i]
    x[i] - min(density(x[i], x[others & y == 1]) / density(x[i], x[others]), 1)
  }, 0)
  expect_equal(triweight_error(scalar_problem(x, y), 2, .1)$bound,
               tangent_bound(scalar_problem(x, y), matrix(gap), 2), tolerance = 1e-3)
})

test_that("calibrated models have 0 in their intervals, bad ones keep their error in them", {
  skip_on_cran()
  errors <- list(
    width = function(x, y) ece(x, y), mass = function(x, y) ece(x, y, type = "mass"),
    sweep = function(x, y) ece(x, y, type = "sweep"), two = function(x, y) ece(x, y, n_bins = 2),
    square = function(x, y) ece(x, y, p = 2), debiased = function(x, y) ece(x, y, p = 2, debias = TRUE),
    ks = function(x, y) ks_error(x, y), smooth = function(x, y) smooth_ece(x, y),
    triweight = function(x, y) kde_error(x, y, kernel = "triweight")
  )
  runs <- 40
  out <- vapply(seq_len(runs), function(run) withr::with_seed(run, {
    x <- stats::runif(1000)
    good <- stats::rbinom(1000, 1, x)
    bad <- stats::rbinom(1000, 1, x^2)
    vapply(errors, function(error) {
      wrong <- error(x, bad)
      c(error(x, good)$conf.low, wrong$conf.low, wrong$conf.high)
    }, numeric(3))
  }), matrix(0, 3, length(errors)))
  # E|x - x^2| = 1/6, E(x - x^2)^2 = 1/30
  truth <- ifelse(names(errors) %in% c("square", "debiased", "triweight"), sqrt(1 / 30), 1 / 6)
  calibrated <- rowMeans(out[1, , ] == 0)
  covered <- rowMeans(out[2, , ] <= truth & out[3, , ] >= truth)
  # 95 % of 40: at most 5 misses except with probability .01 per error
  for (k in seq_along(errors)) {
    expect_gte(calibrated[k], 35 / 40, label = names(errors)[k])
    expect_gte(covered[k], 35 / 40, label = names(errors)[k])
    # and the bound is no empty one
    expect_gt(mean(out[2, k, ]), .7 * truth[k], label = names(errors)[k])
  }
})

test_that("errors of very many bins and their bound are the same block by block", {
  x <- withr::with_seed(8, round(runif(3000), 4))
  problem <- scalar_problem(x, withr::with_seed(9, as.numeric(runif(3000) < x)))
  weighted <- replace(problem, "design", list(new_design(3000, w = withr::with_seed(10, runif(3000)))))
  for (data in list(problem, weighted)) {
    sorted <- sort_problem(data)
    for (scheme in list(list(p = 1, debias = FALSE), list(p = 2, debias = TRUE), list(p = 3, debias = FALSE))) {
      whole <- errors_of_bins(sorted, list(sorted$ties), scheme, problem_folds(data))[[1]]
      # the last block has one bin
      for (at_once in c(700, length(sorted$ties) - 1)) {
        blocks <- errors_of_blocks(sorted, sorted$ties, scheme, problem_folds(data), at_once)
        expect_equal(blocks$value, whole$value[c("power", "squares", "noise", "lone")], tolerance = 1e-12)
        expect_equal(blocks$bound[c("mean", "squares")], whole$bound[c("mean", "squares")], tolerance = 1e-12)
        # cells of many bins do not keep their own squared weights
        expect_equal(blocks$bound$known, whole$bound$known, tolerance = if (is.null(data$design$w)) 1e-12 else .05)
        expect_equal(blocks$rows(), whole$rows())
        expect_equal(blocks$bound_rows(), whole$bound_rows())
      }
    }
  }
})
