# Recalibration maps as values.

f <- withr::with_seed(3, {
  z <- matrix(stats::rnorm(120 * 3, sd = 2), 120)
  list(p = exp(z) / rowSums(exp(z)), y = max.col(0.5 * z - log(-log(matrix(stats::runif(360), 120)))))
})
run <- function(method, ...) suppressWarnings(ce_recalibrate(f$p, f$y, method = method, ...))

test_that("a map by name and as a value give the same numbers", {
  for (loss in c("log", "brier")) {
    expect_identical(run("temperature", loss = loss, range = c(.5, 5)), run(map_temperature(loss, c(.5, 5))))
    expect_identical(run("ets", loss = loss), run(map_ets(loss)))
    expect_identical(run("vector", loss = loss, penalty = .1), run(map_vector(loss, .1)))
    expect_identical(run("constant_confidence", loss = loss), run(map_constant_confidence(loss)))
    expect_identical(run("label_frequency", loss = loss), run(map_label_frequency(loss)))
  }
  expect_identical(run("matrix", penalty = c(.1, .2)), run(map_matrix(penalty = c(.1, .2))))
  expect_identical(run("dirichlet"), run(map_dirichlet(penalty = 0.01)))
  expect_identical(run("diag", hidden = 2, penalty = .01), run(map_diag(hidden = 2, penalty = .01)))
  expect_identical(run("platt", penalty = .1), run(map_platt(.1)))
  expect_identical(run("beta", penalty = .1), run(map_beta(.1)))
  expect_identical(run("isotonic", folds = rep(1:3, 40)), run(map_isotonic(), folds = rep(1:3, 40)))
  expect_identical(run("histogram", n_bins = 4, type = "width"), run(map_histogram(4, "width")))
  variance <- function(method) ce_recalibrate(pred_normal(f$p[, 1], 1), f$y, method = method)
  expect_identical(variance("variance"), variance(map_variance()))
  expect_identical(variance("temperature"), variance(map_temperature()))
  expect_identical(run("beta")$choice, map_beta())
})

test_that("options that the map does not have are errors that name the maps that have it", {
  expect_error(run("platt", loss = "log"), "not an option of the map \"platt\"", class = "calibrisk_error_argument")
  expect_error(run(map_temperature(), n_bins = 3), "map_histogram()", fixed = TRUE, class = "calibrisk_error_argument")
  expect_error(run("isotonic", penalty = 1), "It has none", class = "calibrisk_error_argument")
  expect_error(run("vector", hidden = 3), "map_diag()", fixed = TRUE, class = "calibrisk_error_argument")
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
  expect_output(print(map), "shift")
})
