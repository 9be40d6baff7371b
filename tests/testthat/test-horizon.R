# Times with ties, for which the weights are known by hand.
surv_outcomes <- function(time, status) {
  structure(cbind(time = time, status = status), type = "right", class = "Surv")
}

# Predictions, outcomes and what they are at .8.
censored_rows <- function(n, seed) {
  withr::with_seed(seed, {
    event <- stats::rexp(n)
    stop <- stats::rexp(n, .4)
    prob <- stats::plogis(stats::rnorm(n))
  })
  s <- surv_outcomes(pmin(event, stop), as.numeric(event <= stop))
  list(prob = prob, s = s, y = as.numeric(s[, "time"] <= .8),
       w = censoring_weights(s[, "time"], s[, "status"] == 1, rep(1, n), .8, NULL))
}

test_that("censoring weights are those of the definition, ties of events before censoring", {
  time <- c(1, 2, 2, 3, 3, 4, 5, 6)
  status <- c(1, 1, 0, 0, 1, 1, 0, 1)
  # at 2: 7 at risk, 1 event, 1 censored; at 3: 5 at risk, 1 event, 1 censored; at 5: 2 at risk
  g2 <- 1 - 1 / 6
  g3 <- g2 * (1 - 1 / 4)
  expect_equal(censoring_weights(time, status == 1, rep(1, 8), 4, NULL),
               c(1, 1, 0, 0, 1 / g2, 1 / g3, 1 / g3, 1 / g3))
  # rows censored at the horizon are not known
  expect_equal(censoring_weights(time, status == 1, rep(1, 8), 3, NULL), c(1, 1, 0, 0, 1 / g2, 1 / g3, 1 / g3, 1 / g3))
  # repeated rows
  count <- c(2, 1, 0, 3, 1, 1, 2, 1)
  again <- rep(1:8, count)
  expect_equal(censoring_weights(time, status == 1, count, 4, NULL)[again],
               censoring_weights(time[again], status[again] == 1, rep(1, 11), 4, NULL))
})

test_that("a horizon makes 0/1 outcomes with weights, in frames and beside vectors", {
  rows <- censored_rows(150, 1)
  n <- 150
  prob <- rows$prob
  s <- rows$s
  w <- rows$w
  y <- rows$y
  data <- data.frame(prob, site = rep(c("a", "b"), n / 2), copies = rep(0:2, n / 3))
  data$s <- s
  used <- w > 0
  for (metric in design_metrics) {
    found <- suppressMessages(metric(prob, s, horizon = .8))
    expect_equal(found, metric(prob[used], y[used], weights = w[used]))
    expect_equal(suppressMessages(metric(data, s, prob, horizon = .8)), found)
  }
  again <- rep(seq_len(n), data$copies)
  expect_equal(rbs(data, s, prob, horizon = .8, weights = copies),
               rbs(prob[again], surv_outcomes(s[again, 1], s[again, 2]), horizon = .8))
  strata <- rbs(data, s, prob, horizon = ce_horizon(.8, strata = site))
  by_hand <- stats::ave(seq_len(n), data$site, FUN = function(i) {
    censoring_weights(s[i, 1], s[i, 2] == 1, rep(1, length(i)), .8, NULL)
  })
  expect_equal(strata$power, sum(by_hand * (prob - y)^2) / sum(by_hand))
})

test_that("weighted errors are those without censoring, on average", {
  skip_on_cran()
  found <- withr::with_seed(2, vapply(1:200, function(i) {
    n <- 300
    risk <- stats::runif(n)
    event <- -1 / log(1 - risk) * stats::rexp(n) # P(T <= 1) = 1 - exp(log(1 - risk))
    stop <- stats::rexp(n, .5)
    prob <- risk^1.5
    s <- surv_outcomes(pmin(event, stop), as.numeric(event <= stop))
    c(weighted = suppressMessages(rbs(prob, s, horizon = 1))$power, known = rbs(prob, event <= 1)$power,
      left_out = rbs(prob[s[, 2] == 1 | s[, 1] > 1], (s[, 1] <= 1)[s[, 2] == 1 | s[, 1] > 1])$power)
  }, c(0, 0, 0)))
  difference <- found["weighted", ] - found["known", ]
  expect_lt(abs(mean(difference)), 3.5 * stats::sd(difference) / sqrt(200))
  biased <- found["left_out", ] - found["known", ]
  expect_gt(abs(mean(biased)), 5 * stats::sd(biased) / sqrt(200))
})

test_that("the Brier score is that of riskRegression", {
  skip_if_not_installed("riskRegression")
  skip_if_not_installed("survival")
  veteran <- survival::veteran
  fit <- survival::coxph(survival::Surv(time, status) ~ karno + age, veteran, x = TRUE)
  veteran$risk <- 1 - summary(survival::survfit(fit, veteran), times = 100)$surv[1, ]
  outcome <- local({
    Surv <- survival::Surv
    Surv(time, status) ~ 1
  })
  score <- getExportedValue("riskRegression", "Score")
  peer <- suppressMessages(score(list(risk = matrix(veteran$risk)),
                                 formula = outcome, data = veteran,
                                 times = 100, metrics = "brier", cens.model = "km", se.fit = FALSE, null.model = FALSE))
  own <- suppressMessages(rbs(veteran$risk, survival::Surv(veteran$time, veteran$status), horizon = 100))
  # their mean is over all rows, ours over the sum of the weights
  w <- censoring_weights(veteran$time, veteran$status == 1, rep(1, 137), 100, NULL)
  expect_equal(own$power * sum(w) / 137, peer$Brier$score$Brier[1], tolerance = 1e-8)
})

test_that("outcomes that are not followed to the horizon are classed errors", {
  s <- surv_outcomes(c(1, 2, 3, 4), c(1, 0, 1, 0))
  p <- c(.2, .4, .6, .8)
  expect_error(rbs(p, s), class = "calibrisk_error_survival")
  expect_error(rbs(p, s, horizon = 9), class = "calibrisk_error_horizon")
  expect_error(rbs(p, c(0, 1, 1, 0), horizon = 2), class = "calibrisk_error_horizon")
  expect_error(rbs(p, s, horizon = "2"), class = "calibrisk_error_argument")
  # no event comes by time 0, which is none
  for (horizon in c(0, -1)) {
    expect_error(rbs(p, s, horizon = horizon), "`horizon` must be", class = "calibrisk_error_argument")
    expect_error(ce_horizon(horizon), "`time` must be", class = "calibrisk_error_argument")
  }
  expect_error(rbs(p, missing_outcomes, horizon = 2), class = "calibrisk_error_horizon")
  left <- structure(s, type = "left")
  expect_error(rbs(p, left, horizon = 2), class = "calibrisk_error_horizon")
  # a missing time is an incomplete row
  s[2, 1] <- NA
  expect_identical(suppressMessages(rbs(p, s, horizon = 2.5))$n, 3L)
  expect_output(print(ce_horizon(3)), "<ce_horizon> 3")
})

test_that("fits, risks, tunes, maps, gains and comparisons take a horizon", {
  rows <- censored_rows(200, 3)
  n <- 200
  prob <- rows$prob
  s <- rows$s
  w <- rows$w
  y <- rows$y
  used <- which(w > 0)
  known <- function(verb, ...) verb(prob[used], y[used], weights = w[used], ...)
  at <- function(verb, ...) suppressMessages(verb(prob, s, horizon = .8, ...))
  fit <- at(ce_fit, method = method_bins(5))
  expect_equal(fit$forms, known(ce_fit, method = method_bins(5))$forms)
  expect_equal(suppressMessages(ce_risk(fit, prob, s, horizon = .8))$risk,
               ce_risk(fit, prob[used], y[used], weights = w[used])$risk)
  expect_equal(at(ce_estimate), known(ce_estimate), ignore_attr = TRUE)
  methods <- list(method_bins(c(2, 5)))
  expect_equal(withr::with_seed(1, glance(at(ce_tune, methods = methods))),
               withr::with_seed(1, glance(known(ce_tune, methods = methods))))
  expect_equal(tidy(at(ce_recalibrate, method = "platt")), tidy(known(ce_recalibrate, method = "platt")))
  expect_equal(tidy(at(ce_curve, n_bins = 5)), tidy(known(ce_curve, n_bins = 5)))
  other <- prob^2
  gain <- suppressMessages(ce_gain(prob, other, s, horizon = .8, injective = TRUE))
  expect_equal(gain, ce_gain(prob[used], other[used], y[used], weights = w[used], injective = TRUE))
  data <- data.frame(prob, other)
  data$s <- s
  pair <- suppressMessages(ce_compare(data, s, prob, other, metric = rbs, horizon = .8))
  expect_equal(pair$difference, rbs(prob[used], y[used], weights = w[used])$.estimate -
                 rbs(other[used], y[used], weights = w[used])$.estimate)
  expect_equal(suppressMessages(ce_compare(list(prob = prob, other = other), s, metric = rbs, horizon = .8)), pair)
})
