test_that("fixture A: entropy, calibration and sharpness are the published ones", {
  a <- fixture_a()
  out <- ce_decompose(a$p, a$y, score = c("brier", "log", "spherical"))
  expect_equal(out$entropy, c(.6527777778, 1.077556327, -.589255651), tolerance = 1e-9)
  expect_equal(out$calibration, c(.1431944444, .3553570179, .09827352266), tolerance = 1e-9)
  expect_equal(out$sharpness, c(.3472222222, .6437747128, .2346068088), tolerance = 1e-9)
  expect_equal(out$n_distinct, rep(5L, 3))
})

test_that("the identity is exact and the parts are not negative", {
  for (seed in 1:8) {
    data <- withr::with_seed(seed, random_classes(40, sample(2:5, 1), 1))
    for (score in c("brier", "log", "spherical")) {
      for (method in c("discrete", "isotonic")) {
        out <- ce_decompose(data$p, data$y, score = score, method = method)
        if (is.infinite(out$mean_score)) next
        expect_equal(out$entropy + out$calibration - out$sharpness, out$mean_score, tolerance = 1e-12)
        expect_gte(out$calibration, -1e-12)
        expect_gte(out$sharpness, -1e-12)
      }
    }
    brier <- ce_decompose(data$p, data$y)
    expect_equal(brier$calibration, ece(data$p, data$y, type = "discrete", p = 2, notion = "canonical")$power)
  }
})

test_that("pooled adjacent violators equal isoreg with ties averaged first", {
  for (seed in 1:10) {
    withr::with_seed(seed, {
      x <- round(stats::runif(50), 1 + seed %% 2)
      y <- stats::rbinom(50, 1, x)
    })
    mean_at <- tapply(y, x, mean)
    weight <- tapply(y, x, length)
    # weighted isotonic regression by repeating each mean
    repeated <- stats::isoreg(rep(mean_at, weight))$yf
    fitted <- isotonic_fit(x, y)$value
    expect_equal(sort(fitted), unname(repeated))
    expect_equal(order(x, fitted), order(x, seq_along(x) * 0 + fitted))
    expect_equal(tapply(fitted, x, function(v) diff(range(v))), 0 * mean_at)
  }
  expect_equal(isotonic_fit(c(3, 1, 2), c(0, 1, 0))$value, rep(1 / 3, 3))
})

test_that("scalars halve the Brier score; wrong requests are refused", {
  p <- c(.2, .2, .8, .8, .8)
  y <- c(0, 1, 1, 1, 0)
  out <- ce_decompose(p, y)
  expect_equal(out$mean_score, mean((p - y)^2))
  expect_equal(out$entropy, .6 * .4)
  expect_equal(out$calibration, (2 * (.2 - .5)^2 + 3 * (.8 - 2 / 3)^2) / 5)
  expect_error(ce_decompose(diag(3), 1:3, method = "isotonic", notion = "canonical"),
               class = "calibrisk_error_notion")
  expect_error(ce_decompose(diag(3), 1:3, notion = "class_wise"), class = "calibrisk_error_notion")
  expect_error(ce_decompose(p, y, score = "crps"), class = "calibrisk_error_score")
  boot <- withr::with_seed(1, ce_decompose(p, y, times = 30))
  expect_true(all(c("calibration_std.error", "sharpness_std.error") %in% names(boot)))
  gone <- ce_decompose(c(p, NA), c(y, 1), na_rm = FALSE)
  expect_true(is.na(gone$calibration))
})

test_that("on a simulation with known truth, bins depend on n and the bound does not (figure 2)", {
  skip_on_cran()
  softmax <- function(z) exp(z - apply(z, 1, max)) / rowSums(exp(z - apply(z, 1, max)))
  withr::with_seed(1, {
    k <- 100
    z <- do.call(rbind, lapply(51:100, function(class) {
      out <- t(solve(matrix(stats::rnorm(k * k, sd = 1 / sqrt(k)), k), matrix(stats::rnorm(k * 80), k)))
      out[, class] <- out[, class] + 1
      out
    }))
    truth <- softmax(z)
    y <- apply(truth, 1, function(p) sample.int(k, 1, prob = p))
    order <- sample.int(4000)
  })
  bad <- softmax(2.5 * z)
  average <- function(metric, p, n) {
    mean(vapply(split(order, rep(seq_len(4000 / n), each = n)), function(rows) metric(p[rows, ], y[rows])$.estimate, 0))
  }
  shrinks <- function(metric, p) average(metric, p, 100) / average(metric, p, 4000)
  expect_gt(shrinks(ece, truth), 4) # sqrt(40) = 6.3
  expect_lt(shrinks(ece, bad), 1.4)
  for (p in list(truth, bad)) expect_equal(shrinks(rbs, p), 1, tolerance = .02)
  # binned class-wise errors prefer the bad model at small sizes
  class_wise <- function(p, y) ece(p, y, p = 2, notion = "class_wise")
  expect_gt(average(class_wise, truth, 100), average(class_wise, bad, 100))
  # the gain finds the known error of the bad model
  gain <- ce_gain(bad, truth, y, injective = TRUE)
  error <- mean(rowSums((bad - truth)^2))
  expect_lt(abs(gain$gain[1] - error), 3 * gain$std.error[1])
  expect_gt(gain$gain[1], 5 * gain$std.error[1])
  expect_lt(gain$gain[2], sqrt(error))
})
