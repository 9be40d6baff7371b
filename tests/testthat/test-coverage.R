forecasts <- function(n = 60) {
  withr::with_seed(4, {
    mu <- rexp(n, .1) + 1
    d <- data.frame(mu, y = rnbinom(n, mu = mu, size = 3), region = rep(c("a", "b"), length.out = n))
    levels <- c(.05, .25, .5, .75, .95)
    d$q <- pred_quantiles(vapply(levels, qnorm, mu, mu, 4), levels)
    d$ens <- pred_draws(matrix(rnbinom(n * 30, mu = mu, size = 3), n))
  })
  d
}

test_that("coverage, interval and weighted interval scores are the published formulas", {
  d <- forecasts()
  y <- d$y
  q <- vapply(c(.05, .25, .5, .75, .95), qnorm, d$mu, d$mu, 4)
  found <- ce_coverage(d, y, q)
  alpha <- c(.5, .1)
  score <- function(k) {
    l <- q[, 3 - k]
    u <- q[, 3 + k]
    cbind(u - l, 2 / alpha[k] * (l - y) * (y < l), 2 / alpha[k] * (y - u) * (y > u))
  }
  inside <- function(k) y >= q[, 3 - k] & y <= q[, 3 + k]
  rows <- tidy(found)
  expect_equal(rows$level, 1 - alpha)
  expect_equal(rows$nominal, 1 - alpha)
  expect_equal(rows$coverage, c(mean(inside(1)), mean(inside(2))))
  expect_equal(rows$interval_score, c(mean(rowSums(score(1))), mean(rowSums(score(2)))))
  expect_equal(rows$width, c(mean(score(1)[, 1]), mean(score(2)[, 1])))
  expect_equal(rows$below, c(mean(y < q[, 2]), mean(y < q[, 1])))
  expect_equal(rows$above, c(mean(y > q[, 4]), mean(y > q[, 5])))
  # Bracher et al., Eq. 3: of K intervals and the median
  part <- function(column, median) {
    (median / 2 + alpha[1] / 2 * score(1)[, column] + alpha[2] / 2 * score(2)[, column]) / 2.5
  }
  m <- q[, 3]
  expect_equal(unlist(glance(found)), c(
    n = 60, wis = mean(part(1, abs(y - m)) + part(2, 0) + part(3, 0)),
    overprediction = mean(part(2, pmax(m - y, 0))), underprediction = mean(part(3, pmax(y - m, 0))),
    dispersion = mean(part(1, 0))
  ))
  expect_equal(found$quantiles$quantile_score[4], mean(2 * ((y <= q[, 4]) - .75) * (q[, 4] - y)))
  expect_equal(mean(found$quantiles$quantile_score), glance(found)$wis)
  expect_equal(found$quantiles$coverage, colMeans(y <= q))
})

test_that("limits are Wilson's, p-values those of the exact binomial test", {
  d <- forecasts()
  ends <- qnorm(.9) * c(-1, 1)
  found <- tidy(ce_coverage(cbind(d$mu + 4 * ends[1], d$mu + 4 * ends[2]), d$y, level = .8))
  hits <- sum(abs(d$y - d$mu) <= 4 * ends[2])
  expect_equal(c(found$conf.low, found$conf.high), c(prop.test(hits, 60, correct = FALSE)$conf.int))
  expect_equal(found$p.value, 2 * pbinom(hits, 60, .8))
  expect_equal(cpp_share_p_values(c(.95, 1, 0, 1, NA), c(60, 9, 9, 9, 9), c(.8, .9, .9, 1, .5)),
               c(2 * pbinom(56, 60, .8, lower.tail = FALSE), 2 * .9^9, 2 * .1^9, 1, NA))
  both <- tidy(ce_coverage(d, y, q, ens))
  expect_equal(both$p.adjusted, p.adjust(both$p.value, "holm"))
})

test_that("intervals are closed, and the nominal coverage is that of the distribution", {
  # evenly spaced outcomes: the closed form of normal coverage
  y <- qnorm(ppoints(1e4, .5))
  rows <- tidy(ce_coverage(list(right = pred_normal(rep(0, 1e4), 1), narrow = pred_normal(rep(0, 1e4), .5)), y))
  expect_equal(rows$nominal, c(.5, .9, .5, .9))
  expect_equal(rows$coverage, c(.5, .9, 2 * pnorm(.5 * qnorm(c(.75, .95))) - 1), tolerance = 1e-4)
  # counts: every outcome as often as it is likely
  y <- rep(0:30, round(1e6 * dpois(0:30, 4)))
  rows <- tidy(ce_coverage(pred_poisson(rep(4, length(y))), y))
  right <- ppois(qpois(c(.75, .95), 4), 4) - ppois(qpois(c(.25, .05), 4) - 1, 4)
  expect_equal(rows$nominal, right)
  expect_equal(rows$coverage, right, tolerance = 1e-5)
  expect_gt(rows$p.value[2], .9)
  # of given whole numbers nobody knows it: a test for too low a coverage
  d <- data.frame(y = 1:20, low = 0, high = c(rep(21, 19), 0))
  whole <- ce_coverage(d, y, low, high, level = .5)
  expect_identical(ce_coverage(d, y, upper = high, lower = low, level = .5), whole)
  expect_equal(tidy(whole)$p.value, pbinom(19, 20, .5))
  expect_output(print(whole), "too low a coverage")
  d$high <- d$high + .5
  expect_equal(tidy(ce_coverage(d, y, low, high, level = .5))$p.value, 2 * pbinom(18, 20, .5, lower.tail = FALSE))
})

test_that("models, groups, weights and clusters are one grid", {
  d <- forecasts()
  d$centre <- rep(1:12, each = 5)
  all <- ce_coverage(d, y, q, nb = pred_negbin(mu, 3), ens, .by = region)
  expect_identical(unique(tidy(all)$model), c("q", "ens", "nb"))
  listed <- tidy(ce_coverage(list(q = d$q, ens = d$ens), d$y))
  expect_identical(tidy(ce_coverage(d, y, q, ens)), listed)
  expect_identical(tidy(ce_coverage(d[c("y", "q", "ens")], y)), listed)
  d$v <- 1 / (1:60 + 20)
  weighted <- tidy(ce_coverage(d, y, ens, weights = v))[1, ]
  expect_equal(weighted$coverage, sum(d$v * (d$y >= law_quantiles(d$ens, .25) & d$y <= law_quantiles(d$ens, .75))) /
                 sum(d$v))
  size <- sum(d$v)^2 / sum(d$v^2)
  expect_gt(weighted$conf.high - weighted$conf.low, diff(unlist(cpp_wilson_limits(weighted$coverage, size, .95))))
  clustered <- ce_coverage(d, y, ens, cluster = centre)
  expect_equal(tidy(clustered)$coverage, tidy(ce_coverage(d, y, ens))$coverage)
  expect_gt(tidy(clustered)$conf.high[1], tidy(ce_coverage(d, y, ens))$conf.high[1])
  expect_output(print(clustered), "12 clusters")
})

test_that("incomplete rows are dropped, a single row has limits, wrong input has an error", {
  d <- forecasts()
  d$low <- d$mu - 5
  d$high <- d$mu + 5
  d$y[5] <- NA
  expect_output(print(ce_coverage(d, y, q, ens, .by = region)), "1 incomplete row was dropped")
  one <- tidy(ce_coverage(pred_normal(0, 1), 0.1))
  expect_equal(one$coverage, c(1, 1))
  expect_true(all(one$conf.low > 0 & one$conf.low < 1))
  wrong <- function(class, ...) expect_error(ce_coverage(...), class = paste0("calibrisk_error_", class))
  wrong("level", d, y, low, high)
  wrong("level", d, y, q, level = .8)
  wrong("level", pred_quantiles(cbind(1:3, 4), c(.1, .5)), 1:3)
  for (level in list(90, NA_real_, numeric(), "0.9", c(.5, .5))) wrong("level", d, y, ens, level = level)
  wrong("columns", d, y, high, low, level = .9)
  wrong("columns", d, y, low, level = .9)
  wrong("columns", cbind(mean = 1:3, sd = 5), 1:3, level = .9)
  wrong("columns", c(.2, .3), c(0, 1), level = .9)
  wrong("distribution", pred_bernoulli(c(.2, .3)), c(0, 1))
  wrong("distribution", pred_mvnormal(cbind(1:3, 1:3), 1), cbind(1:3, 1:3))
  wrong("truth", d, ens)
  wrong("empty", d[0, ], y, ens)
  wrong("argument", d, y, ens, nominal = .9)
})
