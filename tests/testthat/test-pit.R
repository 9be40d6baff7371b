# F(u | y): the jump from low to high spread evenly.
oracle_pit <- function(low, high, u) if (u >= high) 1 else if (u <= low) 0 else (u - low) / (high - low)

inside <- function(target, low, high) target >= low - 1e-9 & target <= high + 1e-9

# Laws with jumps, and outcomes of them.
jumping_laws <- function(n = 20) {
  withr::with_seed(1, {
    rate <- exp(stats::rnorm(n))
    draws <- matrix(stats::rnbinom(n * 7, mu = rate, size = 2), n)
    sd <- rep(c(0, 1), length.out = n)
    mean <- stats::rnorm(n)
    list(
      poisson = list(law = pred_poisson(rate), y = stats::rpois(n, rate)),
      counts = list(law = pred_draws(draws), y = stats::rnbinom(n, mu = rate, size = 2)),
      numbers = list(law = pred_draws(draws + stats::runif(n * 7)), y = rate),
      points = list(law = pred_normal(mean, sd), y = stats::rnorm(n, mean, sd)),
      mixture = list(law = pred_mixture(pred_laplace(mean, sd), pred_laplace(1, 0), pred_laplace(0, 2),
                                        weights = c(.5, .2, .3)), y = rep(c(1, mean[3], 7), length.out = n))
    )
  })
}

test_that("jumps hold what outcomes drawn from a law give: on average a uniform value", {
  for (case in jumping_laws()) {
    pit <- pit_of(case$law, case$y)
    table <- pit$jumps(seq_along(case$y))
    expect_length(table$start, length(case$y) + 1)
    expect_equal(table$start[length(case$y) + 1], length(table$low))
    for (i in seq_along(case$y)) {
      at <- table$start[i] + seq_len(table$start[i + 1] - table$start[i])
      low <- table$low[at]
      high <- table$high[at]
      expect_true(all(low <= high) && all(low[-1] >= high[-length(at)] - 1e-12) && all(inside(c(low, high), 0, 1)))
      # the observed jump is one of them, where it is one
      if (pit$high[i] > pit$low[i] + 1e-9) expect_lt(min(abs(low - pit$low[i]) + abs(high - pit$high[i])), 1e-9)
      # E F(u | Y): jumps by their size, the rest of [0, 1] is continuous
      for (u in c(.1, .37, .8)) {
        jumps <- sum((high - low) * vapply(seq_along(at), function(k) oracle_pit(low[k], high[k], u), 0))
        rest <- u - sum(pmax(pmin(high, u) - low, 0))
        expect_equal(jumps + rest, u, tolerance = 1e-8)
      }
    }
  }
})

test_that("an outcome's rank among its ensemble shares the ranks of ties", {
  pit <- pit_of(pred_draws(rbind(c(1, 2, 3), c(2, 2, 1), c(5, 5, 5))), c(2.5, 2, 5))
  expect_equal(pit$low, c(2, 1, 0) / 4)
  expect_equal(pit$high, c(3, 4, 4) / 4)
  table <- pit$jumps(1:3)
  expect_equal(table$start, c(0, 4, 6, 7))
  expect_equal(table$high, c(1:4, 1, 4, 4) / 4)
  expect_equal(table$low, c(0:3, 0, 1, 0) / 4)
})

test_that("redrawn sums have the mean and the covariance of independent draws from the laws", {
  levels <- c(.1, .4, .5, .8, 1)
  for (case in jumping_laws(6)) {
    pit <- pit_of(case$law, case$y)
    table <- pit$jumps(1:6)
    draws <- cpp_pit_draws(table$start, table$low, table$high, levels, 20000L, 7, 1, 2L)
    expect_equal(draws[5, ], rep(6, 20000), tolerance = 1e-9)
    # in R, from uniform values and the tables
    again <- withr::with_seed(3, vapply(1:1500, function(r) {
      rowSums(vapply(1:6, function(i) {
        v <- stats::runif(1)
        at <- table$start[i] + seq_len(table$start[i + 1] - table$start[i])
        k <- at[table$low[at] <= v & v < table$high[at]]
        if (length(k) == 0) return(as.numeric(levels >= v))
        vapply(levels, function(u) oracle_pit(table$low[k], table$high[k], u), 0)
      }, numeric(5)))
    }, numeric(5)))
    se <- apply(again, 1, sd) / sqrt(1500)
    expect_true(all(abs(rowMeans(draws) - 6 * levels) <= 4 * se + 1e-9))
    expect_lt(max(abs(stats::cov(t(draws)) - stats::cov(t(again)))), 0.2 * max(stats::var(t(again))) + 1e-9)
    expect_identical(cpp_pit_draws(table$start, table$low, table$high, levels, 100L, 7, 1, 1L), draws[, 1:100])
  }
})

test_that("many rows are represented by some", {
  withr::with_seed(1, {
    rate <- exp(stats::rnorm(4000))
    pit <- pit_of(pred_poisson(rate), stats::rpois(4000, rate))
    control <- list(times = 4000L)
    all <- pit_null_draws(pit, 1:10 / 10, control)
    some <- pit_null_draws(pit, 1:10 / 10, control, most = 1000)
  })
  expect_equal(rowMeans(some), 1:10 / 10, tolerance = .01)
  expect_equal(apply(some, 1, sd)[1:9], apply(all, 1, sd)[1:9], tolerance = .1)
})

# Shares of runs in which the curves leave the bands of calibrated models, and of places outside limits.
rejections <- function(make, runs, n, ...) {
  rowMeans(vapply(seq_len(runs), function(run) withr::with_seed(run, {
    data <- make(n)
    unlist(lapply(c(pit = "pit", quantile = "quantile"), function(type) {
      curve <- with_threads(1, ce_curve(data$x, data$y, type = get(paste0("curve_", type))(times = 200), ...))
      out <- tidy(curve)
      facts <- glance(curve)
      target <- if (type == "pit") 1 else out$confidence
      c(null = facts$rejected, band = facts$outside > 0, conf = mean(!inside(target, out$conf.low, out$conf.high)),
        point = mean(!inside(out$observed, out$null.low, out$null.high)))
    }))
  }), numeric(8)))
}

test_that("calibrated counts and ensembles are within the bands as often as the level says, others are found", {
  skip_on_cran()
  poisson <- function(scale, draw) function(n) {
    rate <- scale * exp(stats::rnorm(n))
    list(x = pred_poisson(rate), y = draw(n, rate))
  }
  ensemble <- function(members, draw) function(n) {
    mean <- exp(stats::rnorm(n) / 2)
    list(x = pred_draws(matrix(draw(n * members, mean), n)), y = stats::rnbinom(n, mu = mean, size = 2))
  }
  negative_binomial <- function(n, mean) stats::rnbinom(n, mu = mean, size = 2)
  normal <- function(scale) function(n) {
    mean <- stats::rnorm(n)
    list(x = pred_draws(matrix(stats::rnorm(20 * n, mean), n)), y = stats::rnorm(n, mean, scale))
  }
  calibrated <- list(poisson(1, stats::rpois), poisson(.1, stats::rpois), poisson(20, stats::rpois),
                     ensemble(20, negative_binomial), normal(1))
  for (make in calibrated) {
    share <- rejections(make, 40, 100)
    # at most 7 of 40 except with probability 7e-4 each
    expect_true(all(share[c(1, 2, 5, 6)] <= 7 / 40))
    expect_true(all(share[c(3, 4, 7, 8)] <= .12))
  }
  wrong <- list(poisson(1, negative_binomial), ensemble(20, stats::rpois), normal(1.5))
  for (make in wrong) expect_true(all(rejections(make, 8, 400)[c(1, 2, 5, 6)] >= .8))
})

test_that("a histogram of ranks has a bar for each, unless bins are asked for", {
  x <- withr::with_seed(1, pred_draws(matrix(stats::rnorm(50 * 9), 50)))
  y <- withr::with_seed(2, stats::rnorm(50))
  out <- tidy(ce_curve(x, y, type = "pit"))
  expect_identical(tidy(ce_curve(x, y)), out)
  expect_equal(out$n, as.numeric(table(factor(rowSums(vctrs::field(x, "draws") < y), 0:9))))
  expect_equal(nrow(tidy(ce_curve(x, y, type = curve_pit(n_bins = 5)))), 5)
  expect_equal(nrow(tidy(ce_curve(pred_normal(rep(0, 50), 1), y, type = "pit"))), 15)
  expect_equal(sum(tidy(ce_curve(x, y, type = curve_pit(n_bins = 7)))$n), 50)
})

test_that("what has no such transform is an error, and exact point masses are no evidence", {
  expect_error(ce_curve(pred_poisson(1:2), c(1, -1), type = "pit"), "counts", class = "calibrisk_error_truth")
  expect_error(ce_curve(pred_poisson(1:2), c(1, Inf), type = "pit"), class = "calibrisk_error_truth")
  expect_error(ce_curve(pred_categorical(cbind(.5, .5)), 1, type = "pit"), class = "calibrisk_error_distribution")
  # point masses that came true: nothing to see
  exact <- ce_curve(pred_normal(1:30, 0), 1:30, type = "pit")
  expect_false(glance(exact)$rejected)
  expect_equal(tidy(exact)$observed, rep(1, 15))
})

test_that("columns and expressions of distributions are models, one by one", {
  cases <- jumping_laws()
  d <- data.frame(y = cases$counts$y, mu = rep(1:4, 5), g = rep(c("u", "v"), 10))
  d$ens <- cases$counts$law
  d$po <- pred_poisson(d$mu)
  numbers <- function(...) as.data.frame(tidy(ce_curve(..., type = "pit"))[c("confidence", "observed", "conf.high")])
  both <- tidy(ce_curve(d, y, ens, po, type = "pit"))
  expect_identical(unique(both$model), c("ens", "po"))
  expect_identical(as.data.frame(both[both$model == "po", names(numbers(d, y, po))]), numbers(d, y, po),
                   ignore_attr = TRUE)
  expect_identical(tidy(ce_curve(d, y, type = "pit")), both)
  expect_identical(tidy(ce_curve(list(ens = d$ens, po = d$po), d$y, type = "pit")), both)
  scores <- ce_score(d, y, ens, p = pred_poisson(mu), score = c("crps", "mse"))
  expect_identical(scores$model, rep(c("ens", "p"), each = 2))
  expect_identical(scores$.estimate, c(ce_score(d, y, ens, score = c("crps", "mse"))$.estimate,
                                       ce_score(d, y, po, score = c("crps", "mse"))$.estimate))
  expect_identical(ce_score(d, y, ens, po, score = "crps", .by = g)$g, rep(c("u", "v"), each = 2))
  expect_error(ce_curve(d, y, ens, po, type = "smooth"), "quantile", class = "calibrisk_error_argument")
  expect_identical(tidy(ce_curve(d, y, ens, po)), both)
  expect_error(ce_curve(d, y, ens, mu, type = "pit"), class = "calibrisk_error_truth")
  d$y <- rep(0:1, 10)
  expect_error(ce_curve(d, y, po, q = pred_bernoulli(mu / 5), type = "pit"), class = "calibrisk_error_columns")
  expect_error(ce_score(d, y, po, crp = "crps"), class = "calibrisk_error_argument")
})
