# Recalibration maps as values.

f <- withr::with_seed(3, {
  z <- matrix(stats::rnorm(120 * 3, sd = 2), 120)
  list(p = exp(z) / rowSums(exp(z)), y = max.col(0.5 * z - log(-log(matrix(stats::runif(360), 120)))))
})

test_that("options out of range are errors", {
  expect_error(map_temperature("dss"), "loss", class = "calibrisk_error_argument")
  expect_error(map_ets(range = c(2, 1)), "range", class = "calibrisk_error_argument")
  expect_error(map_vector(penalty = c(1, 1, 1)), "penalty", class = "calibrisk_error_argument")
  expect_error(map_beta(penalty = -1), "penalty", class = "calibrisk_error_argument")
  expect_error(map_diag(penalty = c(1, 1)), "penalty", class = "calibrisk_error_argument")
  expect_error(map_diag(hidden = 0), "hidden", class = "calibrisk_error_argument")
  expect_error(map_histogram(type = "sweep"), "type", class = "calibrisk_error_argument")
})

test_that("a new map of one probability is a constructor's value and two methods", {
  registerS3method("fit_scalar", "map_shift", function(method, p, log_p, log_q, outcome, design) {
    new_map_fit(new_map("shift", by = method$by), map_terms("by", method$by), injective = injectivity(TRUE, "a shift"))
  }, envir = asNamespace("calibrisk"))
  registerS3method("map_scalar", "ce_map_shift", function(map, p, log_p, log_q) stats::plogis(log_p - log_q + map$by),
                   envir = asNamespace("calibrisk"))
  shift <- new_choice("map", "shift", by = 1)
  map <- ce_recalibrate(f$p[, 1], as.integer(f$y == 1), method = shift, folds = 3)
  expect_equal(predict(map, .3), stats::plogis(stats::qlogis(.3) + 1))
})

test_that("maps of predictions with two values or one have the frequencies of these", {
  y <- rep(c(0, 1, 1, 0), c(89, 11, 62, 38))
  for (method in c("beta", "platt", "isotonic")) {
    expect_equal(predict(ce_recalibrate(rep(c(.3, .4), each = 100), y, method = method), c(.3, .4)), c(.11, .62),
                 tolerance = 1e-5)
  }
  for (method in c("beta", "platt")) {
    suppressWarnings(map <- ce_recalibrate(rep(.3, 200), y, method = method))
    expect_equal(predict(map, .3), .365, tolerance = 1e-5)
  }
})
