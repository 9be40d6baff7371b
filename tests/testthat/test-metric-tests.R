test_that("Cox's regression is the one of glm", {
  for (seed in 1:4) {
    p <- withr::with_seed(seed, stats::plogis(stats::rnorm(150)))
    y <- withr::with_seed(seed + 100, stats::rbinom(150, 1, stats::plogis(.4 + .6 * stats::qlogis(p))))
    z <- stats::qlogis(p)
    both <- summary(stats::glm(y ~ z, family = stats::binomial()))$coefficients
    fit <- stats::glm(y ~ 1 + offset(z), family = stats::binomial())
    large <- summary(fit)$coefficients
    # the larger one of the likelihood's error and the sandwich
    large[2] <- max(large[2], sqrt(sum(stats::resid(fit, "response")^2) * 150 / 149) * stats::vcov(fit)[[1]])
    out <- cox_calibration(p, y)
    null <- -2 * sum(stats::dbinom(y, 1, p, log = TRUE))
    ratio <- null - stats::deviance(stats::glm(y ~ z, family = stats::binomial()))
    expect_equal(out$.metric, c("cox_intercept", "cox_slope", "cox_in_the_large", "cox_joint"))
    expect_equal(out$.estimate, c(both[, 1], large[, 1], ratio), ignore_attr = TRUE, tolerance = 1e-6)
    expect_equal(out$std.error, c(both[, 2], large[, 2], NA), ignore_attr = TRUE, tolerance = 1e-4)
    wald <- 2 * stats::pnorm(-abs(c(both[, 1] - 0:1, large[, 1])) / c(both[, 2], large[, 2]))
    expect_equal(out$p.value, c(wald, stats::pchisq(ratio, 2, lower.tail = FALSE)), ignore_attr = TRUE, tolerance = 1e-3)
    expect_true(all(out$converged))
  }
})

test_that("p-value and interval of Cox's regression agree", {
  agree <- withr::with_seed(1, replicate(100, {
    p <- stats::plogis(stats::rnorm(60, -2))
    out <- suppressWarnings(cox_calibration(p, stats::rbinom(60, 1, p)))[1:3, ]
    # one sample of these laws had a slope from .897 to 5.49 and p = .0054
    all((out$p.value < .05) == (out$conf.low > c(0, 1, 0) | out$conf.high < c(0, 1, 0)))
  }))
  expect_true(all(agree, na.rm = TRUE))
})

test_that("Cox's regression says where it has no estimate", {
  expect_warning(out <- cox_calibration(c(.2, .3, .7, .8), c(0, 0, 1, 1)), class = "calibrisk_warning_convergence")
  expect_true(all(is.na(out$.estimate[1:2])))
  expect_false(any(out$converged[1:2]))
  expect_warning(out <- cox_calibration(c(.2, .3, .7), c(1, 1, 1)), class = "calibrisk_warning_convergence")
  expect_true(all(is.na(out$.estimate)))
  expect_warning(out <- cox_calibration(c(.6, .6, .6), c(1, 0, 1)), class = "calibrisk_warning_convergence")
  expect_true(is.na(out$.estimate[2]))
  expect_equal(out$.estimate[3], stats::qlogis(2 / 3) - stats::qlogis(.6))
  expect_error(cox_calibration(c(.2, 1), c(0, 1)), class = "calibrisk_error_logit")
  floored <- cox_calibration(c(.2, 1, .4, .6, .3), c(0, 0, 1, 0, 1), floor = 1e-3)
  expect_true(all(is.finite(floored$.estimate)))
})

test_that("Spiegelhalter's statistic", {
  p <- c(.1, .3, .8, .6)
  y <- c(0, 1, 1, 0)
  out <- spiegelhalter(p, y)
  # Brier score minus its expectation, over its standard deviation
  expect_equal(out$.estimate, (sum((y - p)^2) - sum(p * (1 - p))) / sqrt(sum((1 - 2 * p)^2 * p * (1 - p))))
  expect_equal(out$p.value, 2 * stats::pnorm(-abs(out$.estimate)))
  expect_warning(out <- spiegelhalter(c(.5, 1), c(0, 1)), class = "calibrisk_warning_convergence")
  expect_true(is.na(out$.estimate))
  rejects <- function(i, p = stats::runif(200)) spiegelhalter(p, stats::rbinom(200, 1, p))$p.value < .1
  level <- withr::with_seed(1, mean(vapply(1:300, rejects, NA)))
  expect_gt(level, .05)
  expect_lt(level, .16)
})

test_that("Hosmer-Lemeshow with its note, and with few events", {
  rlang::reset_message_verbosity("calibrisk_hosmer_lemeshow")
  x <- seq(.05, .95, length.out = 40)
  y <- as.numeric(withr::with_seed(1, stats::rbinom(40, 1, x)))
  expect_message(out <- hosmer_lemeshow(x, y, n_groups = 5), class = "calibrisk_message_hosmer_lemeshow")
  group <- oracle_mass_bin(x, 5)
  e <- rowsum(x, group)
  statistic <- sum((rowsum(y, group) - e)^2 / (e * (1 - e / rowsum(x^0, group))))
  expect_equal(out$.estimate, statistic)
  fitted <- hosmer_lemeshow(x, y, n_groups = 5, fitted = TRUE)
  expect_equal(c(out$df, fitted$df, fitted$p.value), c(NA, 3, stats::pchisq(statistic, 3, lower.tail = FALSE)))
  of <- function(y) unlist(hosmer_lemeshow(c(0, 0, 1, 1), y, n_groups = 3)[c(".estimate", "p.value")], use.names = FALSE)
  expect_equal(c(of(c(0, 0, 1, 1)), of(c(1, 0, 1, 1))), c(0, 1, Inf, 0))
  # few events: the exact p-value, from all outcomes
  p <- c(.02, .04, .1, .2, .6, .7, .9, .8, .95)
  all <- as.matrix(expand.grid(rep(list(0:1), 9)))
  mean <- rowsum(p, rep(1:3, each = 3))[, 1] / 3
  statistic <- colSums((rowsum(t(all), rep(1:3, each = 3)) - 3 * mean)^2 / (3 * mean * (1 - mean)))
  chance <- apply(all, 1, function(y) prod(stats::dbinom(y, 1, p)))
  found <- vapply(c(5, 40, 300), function(i) suppressMessages(hosmer_lemeshow(p, all[i, ], n_groups = 3))$p.value, 0)
  expect_equal(found, vapply(statistic[c(5, 40, 300)], function(t) sum(chance[statistic > t - 1e-9]), 0))
})

test_that("Cox's errors of weighted and clustered rows are those of the sandwich", {
  data <- design_rows_frame(200)
  data$prob <- pmin(pmax(data$prob, .01), .99)
  z <- stats::qlogis(data$prob)
  fit <- suppressWarnings(stats::glm(data$y ~ z, stats::binomial, weights = data$share))
  large <- suppressWarnings(stats::glm(data$y ~ 1, stats::binomial, weights = data$share, offset = z))
  out <- cox_calibration(data, y, prob, weights = share)
  expect_equal(out$.estimate[1:3], unname(c(stats::coef(fit), stats::coef(large))), tolerance = 1e-7)
  p <- stats::fitted(fit)
  basis <- cbind(1, z)
  bread <- solve(crossprod(basis, data$share * p * (1 - p) * basis))
  scores <- data$share * (data$y - p) * basis
  sandwich <- function(scores) nrow(scores) / (nrow(scores) - 1) * bread %*% crossprod(scores) %*% bread
  # independent rows: residuals over one minus their leverage
  apart <- function(scores, fit) {
    scores <- scores / (1 - stats::hatvalues(fit))
    scores - outer(data$share / sum(data$share), colSums(scores))
  }
  expect_equal(out$std.error[1:2], unname(sqrt(diag(sandwich(apart(scores, fit))))), tolerance = 1e-6)
  q <- stats::fitted(large)
  expect_equal(out$std.error[3], sqrt(200 / 199 * sum(apart(cbind(data$share * (data$y - q)), large)^2)) /
                 sum(data$share * q * (1 - q)), tolerance = 1e-6)
  gap <- unname(stats::coef(fit)) - c(0, 1)
  expect_equal(out$.estimate[4], sum(gap * solve(sandwich(apart(scores, fit)), gap)), tolerance = 1e-6)
  both <- cox_calibration(data, y, prob, weights = share, cluster = centre)
  covariance <- sandwich(rowsum(scores, data$centre))
  expect_equal(both$std.error[1:2], unname(sqrt(diag(covariance))), tolerance = 1e-7)
  only <- cox_calibration(data, y, prob, cluster = centre)
  # Student's t with the freedom of 12 unequal clusters, Hotelling's F
  df <- cluster_df(data$centre)
  expect_equal(only$p.value[2], 2 * stats::pt(-abs(only$.estimate[2] - 1) / only$std.error[2], df))
  expect_equal(only$p.value[4], stats::pf(only$.estimate[4] * (df - 1) / (2 * df), 2, df - 1, lower.tail = FALSE))
  # one cluster says nothing of its error, and separated data have no estimate
  data$one <- 1
  expect_true(all(is.na(suppressWarnings(cox_calibration(data, y, prob, cluster = one))$std.error)))
  expect_warning(apart <- cox_calibration(c(.2, .3, .6, .7), c(0, 0, 1, 1), weights = c(1, 2, 1, 3)),
                 class = "calibrisk_warning_convergence")
  expect_identical(apart$converged, c(FALSE, FALSE, TRUE, FALSE))
})

test_that("p-values and limits of weighted Cox's regressions are those of redrawn outcomes too", {
  n <- 150
  p <- withr::with_seed(3, stats::rbeta(n, .6, 3))
  w <- 1 / (p + .02)
  z <- stats::qlogis(p)
  robust <- function(y) cox_robust(cpp_cox(z, y, w / mean(w), 1, 2), z, y, new_design(n, w), .95)
  wald <- function(found) (found$.estimate - c(0, 1, 0, 0)) / c(found$std.error[1:3], 1)
  null <- withr::with_seed(4, replicate(500, wald(robust(as.numeric(stats::runif(n) < p)))))
  ends <- apply(null[1:3, ], 1, stats::quantile, c(.975, .025))
  for (power in c(1, .5, 1.5)) {
    y <- withr::with_seed(5, as.numeric(stats::runif(n) < stats::plogis(power * z)))
    found <- cox_calibration(p, y, weights = w)
    own <- robust(y)
    above <- rowMeans(null >= wald(own))
    expect_lt(max(abs(found$p.value - pmax(own$p.value, c(2 * pmin(above, 1 - above)[1:3], above[4])))), .06)
    # in standard errors
    limits <- rbind(pmax((own$.estimate - own$conf.low)[1:3] / own$std.error[1:3], ends[1, ]),
                    pmax((own$conf.high - own$.estimate)[1:3] / own$std.error[1:3], -ends[2, ]))
    found_limits <- t(cbind(found$.estimate - found$conf.low, found$conf.high - found$.estimate) / found$std.error)[, 1:3]
    expect_lt(max(abs(log(found_limits / limits))), .2)
    order <- rev(seq_len(n))
    expect_equal(cox_calibration(p[order], y[order], weights = w[order])$p.value, found$p.value, tolerance = 1e-9)
    expect_equal(cox_calibration(1 - p, 1 - y, weights = 3 * w)$p.value, found$p.value, tolerance = 1e-6)
  }
})

test_that("weights that depend on the prediction keep the level of Cox's tests, whose intervals agree with them", {
  skip_on_cran()
  found <- withr::with_seed(6, replicate(150, {
    p <- sample(c(.02, .1, .3, .6), 200, TRUE)
    out <- suppressWarnings(cox_calibration(p, stats::rbinom(200, 1, p), weights = 1 / (p + .02)))
    c(out$p.value < .05, (out$conf.low > c(0, 1, 0, NA) | out$conf.high < c(0, 1, 0, NA))[1:3])
  }))
  expect_true(all(rowMeans(found[1:4, ], na.rm = TRUE) < .1))
  expect_identical(found[5:7, ], found[1:3, ])
})

test_that("tests of clustered rows keep their level, where those that take rows as independent do not", {
  skip_on_cran()
  found <- withr::with_seed(5, vapply(1:400, function(i) {
    # calibrated predictions; outcomes of a cluster share their thresholds
    centre <- rep(1:40, each = 10)
    p <- rep(stats::runif(40, .1, .9), each = 10)
    shared <- stats::runif(40)[centre]
    u <- ifelse(stats::runif(400) < .3, shared, stats::runif(400))
    y <- as.numeric(u < p)
    robust <- cox_calibration(p, y, cluster = centre)
    plain <- cox_calibration(p, y)
    c(joint = robust$p.value[4], large = robust$p.value[3], z = spiegelhalter(p, y, cluster = centre)$p.value,
      plain = plain$p.value[4], plain_large = plain$p.value[3],
      covered = robust$conf.low[2] <= 1 && 1 <= robust$conf.high[2])
  }, numeric(6)))
  level <- rowMeans(found[1:5, ] < .05)
  expect_lt(max(level[1:3]), .09)
  expect_gt(min(level[1:3]), .02)
  expect_gt(min(level[4:5]), .12)
  expect_gt(mean(found[6, ]), .915)
})

test_that("weighted sums of Spiegelhalter and of Hosmer and Lemeshow have their variance at the null", {
  data <- design_rows_frame()
  p <- data$prob
  w <- data$share
  terms <- w * (data$y - p) * (1 - 2 * p)
  # the ratio of weights by outcome, residuals standing for outcomes; the weight of the outcome that was not seen
  residual <- stats::resid(stats::lm(data$y - p ~ stats::qlogis(p)))
  k <- exp(sum(residual * log(w)) / sum(residual * data$y))
  other <- w * k^(1 - 2 * data$y)
  known <- sum(w * (1 - 2 * p)^2 * p * (1 - p) * ifelse(data$y == 1, w * (1 - p) + other * p, other * (1 - p) + w * p))
  n <- sum(w)^2 / sum(w^2)
  z <- sum(terms) / sqrt((200 * known + n * sum(terms^2)) / (200 + n))
  expect_equal(spiegelhalter(data, y, prob, weights = share)$.estimate, z)
  alike <- spiegelhalter(p, data$y, weights = rep(c(0, .3), c(1, nrow(data) - 1)))$.estimate
  expect_equal(alike, spiegelhalter(p[-1], data$y[-1])$.estimate)
  sorted <- sort_values(p, data$y, w)
  bin <- rep(1:4, diff(c(0, mass_ends(sorted, 4))))
  statistic <- sum(vapply(1:4, function(g) {
    rows <- sorted$order[bin == g]
    expected <- sum(w[rows] * p[rows]) / sum(w[rows])
    noise <- expected * (1 - expected) * (k * (1 - expected) + expected) / (k * expected + 1 - expected)
    sum(w[rows] * (p - data$y)[rows])^2 / (noise * sum(w[rows]^2))
  }, 0))
  expect_equal(suppressMessages(hosmer_lemeshow(data, y, prob, n_groups = 4, weights = share))$.estimate, statistic)
  expect_error(suppressMessages(hosmer_lemeshow(data, y, prob, cluster = centre)), class = "calibrisk_error_cluster")
})

test_that("Spiegelhalter's test and that of Hosmer and Lemeshow hold their levels where weights depend on the outcome", {
  # every fifth of the events is in the sample, with the weight 5
  level <- withr::with_seed(1, rowMeans(replicate(60, {
    p <- stats::runif(2000, 0, .4)
    y <- stats::rbinom(2000, 1, p)
    kept <- y == 0 | stats::runif(2000) < 1 / 5
    w <- ifelse(y == 1, 5, 1)[kept]
    c(suppressMessages(hosmer_lemeshow(p[kept], y[kept], weights = w))$p.value,
      spiegelhalter(p[kept], y[kept], weights = w)$p.value)
  }) < .05))
  # of a known variance of independent outcomes: .71 and .23
  expect_lt(max(level), .15)
  # few events: .12 of the variance that was seen, and .08 of Cox's slope without Student's distribution; .12 of chi-squared
  few <- withr::with_seed(1, replicate(400, {
    p <- stats::plogis(stats::rnorm(100, -2.5))
    data <- data.frame(p, y = stats::rbinom(100, 1, p), w = stats::rexp(100))
    c(spiegelhalter(data, y, p, weights = w)$p.value, suppressWarnings(cox_calibration(data, y, p, weights = w))$p.value,
      suppressMessages(hosmer_lemeshow(p, data$y, weights = 1 / (p + .02)))$p.value)
  }))
  expect_lt(max(rowMeans(few < .05, na.rm = TRUE)), .07)
})

test_that("rounding of a loss of many equal rows is no failure to converge", {
  p <- withr::with_seed(3, stats::runif(60, .02, .98))
  y <- withr::with_seed(4, stats::rbinom(60, 1, p))
  times <- withr::with_seed(5, 1500 + stats::rpois(60, 500))
  many <- cox_calibration(rep(p, times), rep(y, times))
  expect_true(all(many$converged))
  expect_equal(many$.estimate, cox_calibration(p, y, weights = as.integer(times))$.estimate, tolerance = 1e-8)
})
