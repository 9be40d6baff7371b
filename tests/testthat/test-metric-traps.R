# Mistakes that are easy to make in these estimators, and were made.

test_that("a class without outcomes, and labels that miss the last class, are kept", {
  b <- fixture_b()
  wide <- cbind(b$p * .9, .1)
  class_wise <- ece(wide, factor(b$y, levels = 1:4), notion = "class_wise", p = 2)
  expected <- mean(vapply(1:4, function(k) {
    oracle_binned(oracle_width_bin(wide[, k], 15), wide[, k], as.numeric(b$y == k), 2)
  }, 0))
  expect_equal(class_wise$power, expected)
  expect_equal(rbs(wide, factor(b$y, levels = 1:4))$power, mean(rowSums((wide - diag(4)[b$y, ])^2)))
})

test_that("two classes in two columns: top label is the larger, Brier does not broadcast", {
  p <- cbind(c(.9, .3, .2), c(.1, .7, .8))
  y <- c(1, 2, 1)
  expect_equal(ece(p, y, type = "discrete", notion = "top_label")$power, mean(abs(c(.9, .7, .8) - c(1, 1, 0))))
  expect_equal(rbs(p, y, notion = "canonical")$power, mean(c(.02, .18, 1.28)))
  top <- kde_error(p, y, kernel = "triweight", notion = "top_label")
  expect_equal(top$.estimate, kde_error(c(.9, .7, .8), c(1, 1, 0), kernel = "triweight")$.estimate)
})

test_that("top-label errors depend on confidence and correctness alone", {
  data <- withr::with_seed(1, random_classes(60, 4))
  top <- top_pair(data$p, data$y)
  for (metric in list(ece, ks_error, mmce, smooth_ece)) {
    expect_equal(metric(data$p, data$y)$.estimate, metric(top$conf, top$cor)$.estimate)
  }
  discrete <- function(...) ece(..., p = 2, type = "discrete")$.estimate
  expect_equal(discrete(data$p, data$y), discrete(top$conf, top$cor))
})

test_that("an ensemble of predictions with zeros stays finite", {
  p <- rbind(c(1, 0, 0), c(.5, .5, 0), c(0, .2, .8), c(0, 1, 0), c(.1, .9, 0), c(0, .3, .7))
  y <- c(1, 2, 3, 1, 2, 2)
  for (loss in c("brier", "log")) {
    map <- ce_recalibrate(p, y, method = map_ets(loss = loss))
    q <- suppressWarnings(predict(map))
    expect_true(all(is.finite(q)))
    expect_equal(rowSums(q), rep(1, 6))
    expect_equal(max.col(q, "first"), max.col(p, "first"))
  }
})

test_that("ties of the largest probability go to the first class", {
  p <- rbind(c(.4, .4, .2), c(.4, .4, .2))
  expect_equal(ece(p, c(1, 2))$.estimate, .1)
  expect_equal(ece(p, c(1, 1))$.estimate, .6)
})

test_that("errors are roots, not squares, and p = 0, p = 1 do no harm", {
  p <- c(0, 1, 1, 0)
  y <- c(1, 1, 0, 0)
  expect_equal(ece(p, y, p = 2)$.estimate, .5)
  expect_equal(ece(p, y, p = 2)$power, .25)
  expect_equal(ks_error(p, y)$.estimate, .25)
  expect_equal(mmce(p, y)$.estimate^2, mmce(p, y)$power)
  expect_equal(rbs(p, y)$.estimate, sqrt(.5))
  expect_equal(ce_score(p, y, score = "log")$.estimate, Inf)
})

test_that("one row has an estimate and no standard error", {
  for (metric in list(ece, rbs, ks_error, mmce, smooth_ece)) {
    out <- metric(.7, 1)
    expect_equal(out$.estimate, .3)
    expect_true(is.na(out$std.error))
  }
})

test_that("more bins than memory holds are an error before any work", {
  p <- c(.2, .4, .7)
  y <- c(0, 1, 1)
  calls <- list(
    function(n) ece(p, y, n_bins = c(10, n)), function(n) ce_panel(p, y, n_bins = n),
    function(n) ce_hierarchy(p, y, n_bins = n), function(n) ce_curve(p, y, type = curve_binned(n_bins = n)),
    function(n) ce_recalibrate(p, y, method = map_histogram(n_bins = n)), function(n) method_bins(n)
  )
  for (call in calls) expect_error(call(1e6 + 1), "between 1 and 1e\\+06", class = "calibrisk_error_argument")
})

test_that("exponents whose powers underflow are an error, not an error of 0", {
  p <- c(.2, .4, .7)
  y <- c(0, 1, 1)
  expect_error(ece(p, y, p = 1000), "between 1 and 32", class = "calibrisk_error_argument")
  expect_error(kde_error(p, y, p = 1000), "between 1 and 32", class = "calibrisk_error_argument")
  expect_error(ce_hierarchy(p, y, p = 1000), "between 1 and 32", class = "calibrisk_error_argument")
  tiny <- rep(c(1e-9, 1 - 1e-9), 5)
  expect_equal(ece(tiny, rep(0:1, 5), p = 32)$.estimate, 1e-9, tolerance = 1e-6)
})
