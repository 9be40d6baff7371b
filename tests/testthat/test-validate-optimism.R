overfitted <- function(n = 120) {
  withr::with_seed(3, {
    d <- data.frame(matrix(rnorm(8 * n), n))
    d$y <- rbinom(n, 1, plogis(d$X1 + .5 * d$X2))
    d
  })
}
logistic <- function(data) glm(y ~ ., binomial, data)

test_that("the optimism is that of a loop over the same samples", {
  d <- overfitted()
  out <- withr::with_seed(1, ce_optimism(logistic, d, y, times = 20, thresholds = .3))
  numbers <- function(fit, rows) {
    p <- predict(fit, rows, type = "response")
    pairs <- outer(p[rows$y == 1], p[rows$y == 0], "-")
    c(slope = unname(coef(glm(rows$y ~ qlogis(p), binomial))[2]), auroc = mean((pairs > 0) + (pairs == 0) / 2),
      brier = mean((rows$y - p)^2), `net_benefit(0.3)` = mean((p >= .3) * (rows$y - .3) / .7))
  }
  losses <- matrix(NA, 20, nrow(d))
  samples <- withr::with_seed(1, vapply(1:20, function(b) {
    at <- sample(nrow(d), replace = TRUE)
    fit <- logistic(d[at, ])
    losses[b, -at] <<- (d$y - predict(fit, d, type = "response"))[-at]^2
    numbers(fit, d[at, ]) - numbers(fit, d)
  }, numeric(4)))
  own <- out[match(rownames(samples), out$term), ]
  expect_equal(own$optimism, unname(rowMeans(samples)), tolerance = 1e-6)
  expect_equal(own$apparent, unname(numbers(logistic(d), d)), tolerance = 1e-6)
  expect_equal(own$corrected, own$apparent - own$optimism)
  p <- predict(logistic(d), type = "response")
  none <- mean(outer(d$y, p, "-")^2)
  outside <- mean(colMeans(losses, na.rm = TRUE))
  gone <- (outside - own$apparent[3]) / (none - own$apparent[3])
  w <- .632 / (1 - .368 * gone)
  expect_equal(own$corrected_632[3], (1 - w) * own$apparent[3] + w * outside, tolerance = 1e-8)
  expect_false(any(c("calibration_error", "joint") %in% out$term))
})

test_that("a model that is never fitted has no optimism", {
  d <- overfitted(150)
  out <- withr::with_seed(2, ce_optimism(function(data) function(rows) stats::plogis(rows$X1), d, y, times = 100))
  spread <- ce_validate(stats::plogis(d$X1), d$y, times = 0)$table
  # in standard errors of a mean over the samples, whose values vary by that of the estimate
  expect_true(all(abs(out$optimism) < .5 * spread$std.error[match(out$term, spread$term)], na.rm = TRUE))
  expect_false(any(smooth_terms %in% out$term))
})

test_that("models of other kinds, missing values and samples without a model", {
  d <- overfitted(80)
  d$y <- factor(d$y, 0:1, c("no", "yes"))
  d$X3[1:5] <- NA
  by_function <- function(data) {
    fit <- logistic(data)
    function(new) predict(fit, new, type = "response")
  }
  of <- function(fit, ...) withr::with_seed(1, ce_optimism(fit, d, y, ..., times = 20))
  expect_false(any(is.nan(of(function(data) function(rows) rep(.5, nrow(rows)))$optimism)))
  expect_equal(of(by_function, event_level = "second"), of(logistic), tolerance = 1e-10)
  fragile <- function(data) if (anyDuplicated(data$X1[1:8]) > 0) stop("separated") else logistic(data)
  expect_match(attr(of(fragile), "estimand"), "20 bootstrap samples, in [1-9][0-9]* of which there is no model")
  expect_error(of(function(data) if (anyDuplicated(data)) stop() else logistic(data)), class = "calibrisk_error_model")
  expect_error(of(function(data) stop("no")), "For all rows", class = "calibrisk_error_model")
  expect_error(ce_optimism(d, d, y), class = "calibrisk_error_argument")
  expect_error(ce_optimism(logistic, as.matrix(d), y), class = "calibrisk_error_argument")
  d[c("pair", "one")] <- list(rep(1:40, each = 2), 1)
  rows <- withr::with_seed(1, replicate(20, c(outer(-1:0, 2 * sample(40, replace = TRUE), "+")), simplify = FALSE))
  seen <- list()
  keep <- function(data) {
    seen[[length(seen) + 1]] <<- match(data$X1, d$X1)
    logistic(data[1:9])
  }
  withr::with_seed(1, ce_optimism(keep, d, y, weights = one, cluster = pair, times = 20))
  expect_equal(seen[-1], rows)
  skip_if_not_installed("survival")
  veteran <- survival::veteran
  fit <- function(data) survival::coxph(survival::Surv(time, status) ~ karno + age, data, x = TRUE)
  out <- withr::with_seed(1, ce_optimism(fit, veteran, survival::Surv(time, status), times = 20, horizon = 100))
  expect_gt(out$optimism[out$term == "slope"], 0)
})
