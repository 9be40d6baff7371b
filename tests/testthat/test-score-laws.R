test_that("fixture C: MSE, DSS and CRPS are the published ones", {
  c <- fixture_regression()
  x <- pred_normal(c$mean, sqrt(c$variance))
  out <- ce_score(x, c$y, score = base::c("mse", "dss", "crps"))
  expect_equal(out$.estimate, base::c(1.643, 1.618402958, .7736436248), tolerance = 1e-9)
  expect_equal(out$notion, rep("regression", 3))
  expect_equal(score_parts("dss", list(mean = c$mean, variance = c$variance), c$y)$value,
               score_parts("dss", x, c$y)$value)
})

test_that("the CRPS of every family is its integral", {
  y <- .7
  draws <- rbind(c(1, 4, 2, 2), c(0, -1, 3, 5))
  naive <- vapply(1:2, function(i) mean(abs(draws[i, ] - y)) - mean(abs(outer(draws[i, ], draws[i, ], "-"))) / 2, 0)
  expect_equal(score_parts("crps", pred_draws(draws), c(y, y))$value, naive)
  expect_equal(score_parts("crps", pred_bernoulli(.3), 1)$value, .49)
  expect_equal(score_parts("mse", pred_draws(draws), c(y, y))$value, (rowMeans(draws) - y)^2)
  expect_error(score_parts("crps", pred_categorical(diag(2)), c(1, 2))$value, class = "calibrisk_error_distribution")
})

test_that("upper bounds of real scores, groups and refusals", {
  c <- fixture_regression()
  x <- pred_normal(c$mean, sqrt(c$variance))
  expect_equal(ce_score(x, c$y, score = "crps", bound = TRUE)$.estimate, .7736436248, tolerance = 1e-9)
  expect_error(ce_score(x, c$y, score = "dss", bound = TRUE), class = "calibrisk_error_score")
  expect_equal(ce_score(x, c$y, score = score_dss(min_variance = .3), bound = TRUE)$.estimate,
               1.618402958 - 1 - log(.3), tolerance = 1e-9)
  frame <- tibble::tibble(law = x, y = c$y, g = rep(1:2, 5))
  out <- ce_score(frame, y, law, score = "mse", .by = g)
  expect_equal(out$.estimate, unname(tapply((c$mean - c$y)^2, rep(1:2, 5), mean)), ignore_attr = TRUE)
  expect_error(ce_score(c(.2, .3), c(0, 1), score = "crps"), class = "calibrisk_error_score")
})

test_that("laws without spread have their scores, or an error that says why not", {
  expect_identical(score_parts("crps", pred_laplace(0, 0), c(1))$value, 1)
  expect_identical(score_parts("crps", pred_laplace(2, 0), 2)$value, 0)
  expect_equal(score_parts("crps", pred_laplace(0, 1e-12), 1)$value, 1)
  none <- pred_normal(c(0, 1, 1), c(1, 0, 0))
  expect_identical(score_parts("dss", none, c(0, 1, 0))$value, c(0, -Inf, Inf))
  expect_identical(ce_score(none[1:2], c(0, 1), score = "dss")$.estimate, -Inf)
  expect_warning(out <- ce_score(none, c(0, 1, 0), score = "dss"), class = "calibrisk_warning_infinite")
  expect_identical(out$.estimate, NA_real_)
})

test_that("scores of classes refuse distributions and name those that read them", {
  data <- data.frame(m = c(0, 1, 2), y = c(.2, .9, 2.4))
  data$law <- pred_normal(data$m, 1)
  for (verb in list(ce_score, ce_decompose)) {
    expect_error(verb(pred_normal(data$m, 1), data$y), "\"crps\"", fixed = TRUE, class = "calibrisk_error_score")
    expect_error(verb(data, y, pred_normal(m, 1)), "crps", class = "calibrisk_error_score")
    expect_error(verb(data, y, law), "crps", class = "calibrisk_error_score")
  }
})

test_that("the log score of distributions of numbers is that of their density", {
  y <- c(-1, 0.5, 40)
  mix <- pred_mixture(pred_normal(c(0, 1, 2), 1), pred_normal(0, 2), weights = c(.3, .7))
  density <- .3 * stats::dnorm(y, 0:2, 1) + .7 * stats::dnorm(y, 0, 2)
  expect_equal(score_parts("log", mix, y)$value, -log(density))
  # far out, where the density is 0 to rounding
  expect_equal(score_parts("log", pred_normal(0, 1)[c(1, 1, 1)], y * 2)$value, (2 * y)^2 / 2 + log(2 * pi) / 2)
  expect_equal(score_parts("log", pred_laplace(0:2, 2), y)$value, abs(y - 0:2) / 2 + log(4))
  expect_equal(score_parts("log", pred_t(3, 0:2, 2), y)$value, -stats::dt((y - 0:2) / 2, 3, log = TRUE) + log(2))
  expect_equal(score_parts("log", pred_poisson(1:3), c(0, 2, 4))$value, -stats::dpois(c(0, 2, 4), 1:3, log = TRUE))
  expect_identical(score_parts("log", pred_normal(c(0, 0), 0), c(0, 1))$value, c(-Inf, Inf))
  expect_identical(score_parts(score_log(floor = .1), pred_normal(0, 1), 30)$value, -log(.1))
  expect_error(score_parts("log", pred_draws(matrix(1:6, 3)), y)$value, class = "calibrisk_error_distribution")
  # as ce_score() does
  expect_error(score_parts("log", pred_poisson(1:2), c(1, 0.5))$value, class = "calibrisk_error_truth")
  both <- ce_score(pred_normal(0:2, 1), y, score = c("log", "crps"))
  expect_equal(both$.estimate[1], mean(-stats::dnorm(y, 0:2, 1, log = TRUE)))
  expect_identical(both$notion, rep("regression", 2))
  expect_error(ce_score(pred_normal(0:2, 1), y, score = "log", bound = TRUE), class = "calibrisk_error_score")
  # the entropy of a count is 0 at least
  expect_equal(ce_score(pred_poisson(1:3), 0:2, score = "log", bound = TRUE)$.estimate,
               -mean(stats::dpois(0:2, 1:3, log = TRUE)))
  expect_error(ce_decompose(pred_normal(0:2, 1), y, score = c("log", "crps")), class = "calibrisk_error_score")
})
