test_that("temperature scaling finds the known optima", {
  f <- fixture_logits()
  fit <- ce_recalibrate(f$z, f$y, logits = TRUE)
  expect_equal(parameter(fit, "temperature"), .67977655, tolerance = 1e-6)
  expect_equal(glance(fit)$objective_before, .5277866053, tolerance = 1e-8)
  expect_equal(glance(fit)$objective_after, .4978772528, tolerance = 1e-8)
  expect_true(glance(fit)$converged)
  brier <- ce_recalibrate(f$z, f$y, logits = TRUE, method = map_temperature(loss = "brier"))
  expect_equal(parameter(brier, "temperature"), .8314191998, tolerance = 1e-6)
  expect_equal(glance(brier)$objective_after, .3159460678, tolerance = 1e-8)
})

test_that("at the temperature optimum the mean expected logit is the mean logit of the label", {
  # 1,000 classes: blocks of 16 rows, of which some are short
  for (k in c(4, 1000)) {
    n <- if (k == 4) 400 else 50
    f <- simulate_classes(n, k, 2)
    w <- withr::with_seed(1, runif(n, 0.5, 2))
    fit <- ce_recalibrate(f$z, f$y, logits = TRUE)
    p <- suppressWarnings(predict(fit, f$z))
    expect_equal(mean(rowSums(p * f$z)), mean(f$z[cbind(1:n, f$y)]), tolerance = 1e-9)
    expect_equal(p, softmax(f$z / parameter(fit, "temperature")), tolerance = 1e-12)
    # the standard error is that of the likelihood for log T: se(b) = (n curvature)^(-1/2)
    b <- 1 / parameter(fit, "temperature")
    nll <- function(b) naive_log_loss(softmax(b * f$z), f$y)
    curvature <- (nll(b + 1e-4) - 2 * nll(b) + nll(b - 1e-4)) / 1e-8
    expect_equal(tidy(fit)$std.error, 1 / (b * sqrt(n * curvature)), tolerance = 1e-4)
    # the Brier score has a minimum of its own
    brier <- ce_recalibrate(f$p, f$y, method = map_temperature("brier"), weights = w * 1.1)
    score <- function(b) sum(w * rowSums((softmax(b * f$z) - diag(k)[f$y, ])^2)) / sum(w)
    b <- 1 / parameter(brier, "temperature")
    expect_lt(abs(score(b + 1e-4) - score(b - 1e-4)) / 2e-4, 1e-7)
    expect_equal(brier$objective[["after"]], score(b), tolerance = 1e-12)
    expect_equal(brier$objective[["before"]], score(1), tolerance = 1e-12)
  }
})

test_that("the ensemble's weights solve the quadratic programme", {
  f <- fixture_logits()
  fit <- ce_recalibrate(f$z, f$y, logits = TRUE, method = "ets")
  expect_equal(tidy(fit)$estimate[2:4], c(1, 0, 0))
  expect_equal(glance(fit)$objective_after, .3159460678, tolerance = 1e-8)
  f <- fixture_ets()
  fit <- ce_recalibrate(f$z, f$y, logits = TRUE, method = "ets")
  expect_equal(glance(fit)$objective_before, .3605171975, tolerance = 1e-8)
  expect_equal(tidy(fit)$estimate, c(1.394802755, .77718544, .19299900, .02981556), tolerance = 1e-5)
  expect_equal(glance(fit)$objective_after, .3526993061, tolerance = 1e-8)
  temperature <- ce_recalibrate(f$z, f$y, logits = TRUE, method = map_temperature(loss = "brier"))
  expect_equal(glance(temperature)$objective_after, .3529299212, tolerance = 1e-8)
  log <- ce_recalibrate(f$z, f$y, logits = TRUE)
  expect_equal(parameter(log, "temperature"), 1.41833902, tolerance = 1e-6)
  expect_equal(c(log$objective), c(before = .6085202875, after = .5857783395), tolerance = 1e-8)
})

test_that("the ensemble is no worse than temperature scaling, and that no worse than nothing", {
  for (seed in 1:12) {
    f <- simulate_classes(80, 3, c(0.5, 1, 2.5)[seed %% 3 + 1], seed)
    for (loss in c("log", "brier")) {
      one <- ce_recalibrate(f$p, f$y, method = map_temperature(loss = loss))
      three <- ce_recalibrate(f$p, f$y, method = map_ets(loss = loss))
      expect_lte(one$objective[["after"]], one$objective[["before"]] + 1e-12)
      expect_lte(three$objective[["after"]], one$objective[["after"]] + 1e-9)
      expect_true(glance(three)$converged)
      # first-order condition of a maximum over the simplex
      if (loss == "log") {
        w <- tidy(three)$estimate[2:4]
        parts <- list(softmax(log(f$p) / tidy(three)$estimate[1]), f$p, 0 * f$p + 1 / 3)
        b <- vapply(parts, function(part) part[cbind(1:80, f$y)], numeric(80))
        expect_lte(max(colMeans(b / drop(b %*% w))), 1 + 1e-6)
      }
    }
  }
})

test_that("an optimum at infinity is flagged, not returned as a success", {
  p <- rbind(c(.7, .2, .1), c(.2, .6, .2), c(.1, .3, .6))
  expect_warning(fit <- ce_recalibrate(p, 1:3), class = "calibrisk_warning_convergence")
  expect_false(glance(fit)$converged)
  expect_equal(parameter(fit, "temperature"), 0.01)
  expect_warning(ce_recalibrate(p, c(3, 1, 1)), "do not follow", class = "calibrisk_warning_convergence")
  expect_warning(ce_recalibrate(matrix(1 / 3, 5, 3), c(1, 2, 3, 1, 2)), "uniform",
                 class = "calibrisk_warning_convergence")
})

test_that("a range that is too narrow is told from an optimum at infinity", {
  f <- simulate_classes(200, 3, 1)
  for (loss in c("log", "brier")) {
    for (scale in c(1e-4, 1e4)) {
      z <- f$z * scale
      if (scale > 1) z <- pmax(z, apply(z, 1, max) - 30) # above the floor of probabilities
      limits <- if (scale > 1) c(.01, 2) else c(.01, 100)
      expect_warning(ce_recalibrate(z, f$y, logits = TRUE, method = map_temperature(loss = loss, range = limits)),
                     "wider `range`", class = "calibrisk_warning_convergence")
    }
  }
  expect_true(glance(ce_recalibrate(f$z * 1e-4, f$y, logits = TRUE,
                                    method = map_temperature(range = c(1e-6, 1))))$converged)
})
