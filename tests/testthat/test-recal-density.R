test_that("the temperature of densities is the best one, in closed form", {
  data <- withr::with_seed(1, list(m = rnorm(80), s = runif(80, .5, 2), e = rnorm(80), z = matrix(rnorm(160), 80)))
  y <- data$m + 1.7 * data$s * data$e
  nll <- function(t) -mean(dnorm(y, data$m, data$s * sqrt(t), log = TRUE))
  map <- ce_recalibrate(pred_normal(data$m, data$s), y)
  best <- optimize(nll, c(.1, 20), tol = 1e-10)$minimum
  expect_equal(tidy(map)$estimate, best, tolerance = 1e-6)
  expect_equal(tidy(map)$estimate, mean((y - data$m)^2 / data$s^2))
  row <- glance(map)
  expect_equal(c(row$objective_before, row$objective_after), c(nll(1), nll(best)), tolerance = 1e-8)
  expect_true(row$converged && row$injective)
  # of the logarithm, from the curvature of the log likelihood
  h <- 1e-4
  curvature <- (nll(best + h) - 2 * nll(best) + nll(best - h)) / h^2
  expect_equal(tidy(map)$std.error, 1 / (best * sqrt(80 * curvature)), tolerance = 1e-5)

  laplace <- ce_recalibrate(pred_laplace(data$m, data$s), y)
  loss <- function(t) mean(log(2 * data$s * t) + abs(y - data$m) / (data$s * t))
  expect_equal(tidy(laplace)$estimate, optimize(loss, c(.1, 20), tol = 1e-10)$minimum, tolerance = 1e-6)
  expect_equal(glance(laplace)$objective_after, loss(tidy(laplace)$estimate))

  cov <- matrix(c(2, .5, .5, 1), 2)
  full <- ce_recalibrate(pred_mvnormal(data$z, cov), data$z[80:1, ])
  gap <- data$z[80:1, ] - data$z
  expect_equal(tidy(full)$estimate, mean(rowSums((gap %*% solve(cov)) * gap)) / 2)
  expect_equal(glance(full)$objective_before,
               mean(log(2 * pi) + log(det(cov)) / 2 + rowSums((gap %*% solve(cov)) * gap) / 2))
  flat <- ce_recalibrate(pred_mvnormal(data$z, matrix(c(2, 1), 80, 2, byrow = TRUE)), data$z[80:1, ])
  expect_equal(tidy(flat)$estimate, mean(gap[, 1]^2 / 2 + gap[, 2]^2) / 2)
})

test_that("tempered laws are p^(1/T), normalised", {
  new <- list(pred_normal(c(0, 1), c(1, 2)), pred_laplace(c(0, 1), c(1, 2)))
  density <- list(function(y, i, s) dnorm(y, c(0, 1)[i], s), function(y, i, s) exp(-abs(y - c(0, 1)[i]) / s) / (2 * s))
  for (k in 1:2) {
    law <- withr::with_seed(k, if (k == 1) pred_normal(rnorm(50), 1) else pred_laplace(rnorm(50), 1))
    map <- ce_recalibrate(law, withr::with_seed(3, rnorm(50, 0, 3)))
    t <- tidy(map)$estimate
    out <- predict(map, new[[k]])
    scale <- par_of(out, if (k == 1) "sd" else "scale")[, 1]
    for (i in 1:2) {
      power <- function(y) density[[k]](y, i, c(1, 2)[i])^(1 / t)
      total <- integrate(power, -150, 150, subdivisions = 1000)$value
      expect_equal(density[[k]](c(-1, .3, 4), i, scale[i]), power(c(-1, .3, 4)) / total, tolerance = 1e-6)
    }
  }
})

test_that("frames, folds, missing rows and refusals", {
  data <- withr::with_seed(1, tibble::tibble(law = pred_normal(rnorm(60), 1), y = rnorm(60, 0, 3)))
  map <- ce_recalibrate(data, y, law)
  plain <- ce_recalibrate(data$law, data$y)
  expect_equal(tidy(map), tidy(plain))
  expect_identical(names(augment(map, data[0, ])), c("law", "y", ".recal"))
  expect_warning(out <- predict(map, data), class = "calibrisk_warning_same_rows")
  expect_equal(par_of(out$law, "sd"), matrix(sqrt(tidy(map)$estimate), 60))
  other <- predict(map, pred_normal(7, 2))
  expect_equal(par_of(other, "sd")[, 1], 2 * sqrt(tidy(map)$estimate))
  cross <- ce_recalibrate(data, y, law, folds = rep(1:3, 20))
  fold <- rep(1:3, 20)
  mean <- par_of(data$law, "mean")[, 1]
  each <- vapply(1:3, function(f) mean((data$y - mean)[fold != f]^2), 0)
  expect_equal(par_of(predict(cross)$law, "sd")[, 1], sqrt(each[fold]))
  data$y[4] <- NA
  short <- ce_recalibrate(data, y, law)
  expect_identical(glance(short)$n, 59L)
  expect_identical(which(is.na(suppressWarnings(predict(short))$law)), 4L)
  expect_error(ce_recalibrate(pred_poisson(1:5), 1:5), class = "calibrisk_error_distribution")
  expect_error(ce_recalibrate(pred_normal(1:3, c(1, 0, 1)), 1:3), class = "calibrisk_error_distribution")
  expect_error(ce_recalibrate(pred_normal(1:3, 1), 3:1, method = map_temperature(loss = "brier")),
               class = "calibrisk_error_argument")
  expect_error(predict(plain, matrix(.5, 2, 2)), class = "calibrisk_error_distribution")
  expect_warning(out <- ce_recalibrate(pred_normal(1:3, 1), 1000 * 3:1), class = "calibrisk_warning_convergence")
  expect_false(glance(out)$converged)
})
