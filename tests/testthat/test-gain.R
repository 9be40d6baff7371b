test_that("the published gains of fixture B are met", {
  b <- fixture_b()
  q <- softmax(b$z / .67977655)
  brier <- ce_gain(b$p, q, b$y)
  expect_equal(brier$gain[1], .000103425266, tolerance = 1e-6)
  expect_equal(brier$std.error[1], .0237211418, tolerance = 1e-7)
  expect_equal(brier$gain[2], 9.156752821e-05, tolerance = 1e-6)
  expect_equal(brier$std.error[2], .0210125181, tolerance = 1e-7)
  log <- ce_gain(b$p, q, b$y, score = "log")
  expect_equal(log$gain[1], .02990935256, tolerance = 1e-8)
  expect_equal(log$std.error[1], .04045234764, tolerance = 1e-8)
})

test_that("an injective map changes the score by the calibration error, on any data", {
  for (seed in 1:6) {
    data <- withr::with_seed(seed, random_classes(60, 3, 1))
    p <- (data$p + .02) / 1.06
    q <- p^1.7 / rowSums(p^1.7)
    for (score in c("brier", "log", "spherical")) {
      before <- suppressWarnings(ce_decompose(p, data$y, score = score), "calibrisk_warning_distinct")
      after <- suppressWarnings(ce_decompose(q, data$y, score = score), "calibrisk_warning_distinct")
      gain <- ce_gain(p, q, data$y, score = score)
      expect_equal(gain$gain[1], before$calibration - after$calibration)
      expect_equal(before$sharpness, after$sharpness)
      expect_true(is.na(gain$injective[1]))
    }
    ce <- function(v) ece(v, data$y, type = "discrete", p = 2, notion = "canonical")$.estimate
    brier <- ce_gain(p, q, data$y)
    expect_lte(abs(brier$gain[2]), abs(ce(p) - ce(q)) + 1e-12)
    expect_equal(sign(brier$gain[2]), sign(ce(p) - ce(q)))
  }
})

test_that("maps that are not injective are recognised and lose sharpness", {
  b <- fixture_b()
  flat <- t(apply(b$p, 1, function(r) ifelse(seq_along(r) == which.max(r), .75, .125)))
  expect_warning(out <- ce_gain(b$p, flat, b$y), class = "calibrisk_warning_injective")
  expect_no_warning(ce_gain(b$p, flat, b$y, injective = FALSE))
  expect_false(out$injective[1])
  expect_match(out$measures[1], "sharpness")
  expect_lte(ce_decompose(flat, b$y)$sharpness, suppressWarnings(ce_decompose(b$p, b$y))$sharpness)
})

test_that("frames and mismatches", {
  b <- fixture_b()
  q <- softmax(b$z / 2)
  name <- function(p) stats::setNames(as.data.frame(p), c(".pred_1", ".pred_2", ".pred_3"))
  frame <- cbind(name(b$p), y = b$y)
  expect_equal(ce_gain(frame, name(q), y), ce_gain(b$p, q, b$y))
  expect_error(ce_gain(b$p, q[, 1], b$y), class = "calibrisk_error")
  expect_error(ce_gain(b$p, frame, b$y), class = "calibrisk_error_argument")
  expect_error(ce_gain(b$p, q, b$y, score = "mse"), class = "calibrisk_error_score")
})

test_that("the paired interval covers the true improvement with few events", {
  # halving a calibrated p moves its squared error by p^2 / 4; by normal quantiles .87
  hit <- withr::with_seed(2, vapply(1:200, function(i) {
    p <- stats::plogis(stats::rnorm(200, -3.7, 1))
    y <- stats::rbinom(200, 1, p)
    out <- ce_gain(p, p / 2, y)[1, ]
    out$conf.low <= -mean(p^2) / 4 && -mean(p^2) / 4 <= out$conf.high
  }, NA))
  expect_gt(mean(hit, na.rm = TRUE), .93)
})

test_that("maps that are not for the gain, and infinite scores, are named", {
  expect_error(ce_gain(c(.2, .7)), "must be given", class = "calibrisk_error_argument")
  x <- moment_columns(1:4, 1)
  y <- c(1, 3, 2, 5)
  map <- ce_recalibrate(x, y, method = "variance")
  expect_error(ce_gain(x, map, y), "ce_moments", class = "calibrisk_error_argument")
  frame <- data.frame(.pred_a = c(.1, .4, .6, .9), .pred_b = c(.9, .6, .4, .1), y = factor(c("a", "b", "a", "b")))
  frame$g <- rep(1:2, 2)
  maps <- ce_recalibrate(frame, y, .by = g, method = "histogram")
  expect_error(ce_gain(frame, maps, y), "per group", class = "calibrisk_error_argument")
  out <- ce_gain(c(0, 1, .5), c(.1, .9, .5), c(1, 0, 1), score = "log")
  expect_identical(out$gain, Inf)
  expect_identical(c(out$std.error, out$conf.low), rep(NA_real_, 2))
})

test_that("infinite scores on both sides are no gain, and say so", {
  before <- rbind(c(1, 0), c(.5, .5), c(.2, .8))
  after <- rbind(c(1, 0), c(.4, .6), c(.3, .7))
  expect_warning(out <- ce_gain(before, after, c(2, 1, 2), score = "log", injective = TRUE),
                 class = "calibrisk_warning_infinite")
  expect_identical(out$gain, NA_real_)
  after[1, ] <- c(.9, .1)
  expect_identical(ce_gain(before, after, c(2, 1, 2), score = "log", injective = TRUE)$gain, Inf)
  expect_no_warning(ce_gain(before, after, c(2, 1, 2), score = score_log(1e-7), injective = TRUE))
})

test_that("a map of logits takes logits and probabilities, and says which", {
  withr::local_seed(3)
  z <- matrix(rnorm(900, sd = 2), 300)
  p <- exp(z) / rowSums(exp(z))
  y <- apply(p^0.5 / rowSums(p^0.5), 1, function(row) sample(3, 1, prob = row))
  fit <- 1:150
  map <- ce_recalibrate(z[fit, ], y[fit], method = "temperature", logits = TRUE)
  own <- ce_recalibrate(p[fit, ], y[fit], method = "temperature")
  right <- ce_gain(p[-fit, ], own, y[-fit])
  expect_message(gain <- ce_gain(p[-fit, ], map, y[-fit]), "probabilities", class = "calibrisk_message_logits")
  expect_equal(gain$gain, right$gain, tolerance = 1e-6)
  expect_message(gain <- ce_gain(z[-fit, ], map, y[-fit]), "logits", class = "calibrisk_message_logits")
  expect_equal(gain$gain, right$gain, tolerance = 1e-6)
  expect_equal(suppressMessages(predict(map, p[-fit, ])), predict(map, z[-fit, ]))
  expect_equal(suppressMessages(predict(map, log(p[-fit, ]))), predict(map, z[-fit, ]))
  # one probability per row, in a data frame
  d <- data.frame(z = z[, 1], y = rbinom(300, 1, plogis(z[, 1] / 2)))
  d$p <- plogis(d$z)
  one <- ce_recalibrate(d[fit, ], y, z, method = "platt", logits = TRUE)
  right <- predict(one, d[-fit, ])
  as_p <- transform(d[-fit, ], z = p)
  expect_equal(suppressMessages(predict(one, as_p)), right, tolerance = 1e-6)
  gains <- lapply(list(as_p, d[-fit, ]), function(rows) suppressMessages(ce_gain(rows, one, y, z))$gain)
  expect_equal(gains[[1]], gains[[2]], tolerance = 1e-6)
  # too few to tell from logits
  expect_message(few <- predict(one, as_p[1:2, ]), "taken as logits", class = "calibrisk_message_logits")
  expect_equal(few$z, plogis(qlogis(predict(one, data.frame(z = as_p$z[1:2]))$z)))
})
