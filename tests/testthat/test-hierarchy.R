chain <- function(probs, labels, exponent = 2) {
  out <- ce_hierarchy(probs, labels, p = exponent)
  stats::setNames(out$value, out$quantity)
}

test_that("fixture A: the whole chain", {
  a <- fixture_a()
  expect_equal(
    chain(a$p, a$y)[c("RBS", "CE_2", "CWCE_2", "TCE_2", "TCE_1", "KS", "ECE, 15 bins")],
    c(RBS = .6698880503, CE_2 = .378410418, CWCE_2 = .2960386611, TCE_2 = .1040833,
      TCE_1 = .09166666667, KS = .04166666667, "ECE, 15 bins" = .09166666667), tolerance = 1e-6
  )
})

test_that("all inequalities hold on random data, exactly, for every binning and exponent", {
  for (seed in 1:12) {
    data <- withr::with_seed(seed, random_classes(sample(3:60, 1), sample(2:5, 1), 1 + seed %% 3))
    if (nrow(data$p) < 2) next
    k <- ncol(data$p)
    bins <- c(1, 2, 4, 8, 16, 3, 100)
    for (p in c(1, 1.5, 2, 3)) {
      out <- ce_hierarchy(data$p, data$y, p = p, n_bins = bins)
      expect_true(all(out$holds, na.rm = TRUE))
      expect_equal(sum(is.na(out$holds)), 1 + (p > 2))
    }
    error <- function(...) ece(data$p, data$y, ...)$.estimate
    expect_lte(error(type = "discrete", p = 1, notion = "canonical"), 2 + 1e-12)
    for (p in c(1, 1.5, 2, 4)) {
      expect_lte(error(type = "discrete", p = p, notion = "class_wise"), (2 / k)^(1 / p) + 1e-12)
      expect_lte(error(type = "discrete", p = p, notion = "canonical"), 2^(1 / p) + 1e-12)
    }
    # binned squares below the root Brier score; nested bins refine
    bound <- rbs(data$p, data$y, notion = "canonical")$.estimate
    for (notion in c("top_label", "class_wise")) for (type in c("width", "mass")) {
      binned <- error(n_bins = bins, p = 2, notion = notion, type = type)
      expect_true(all(binned <= bound + 1e-12))
    }
    for (notion in c("top_label", "class_wise")) {
      for (p in 1:2) {
        nested <- error(n_bins = 2^(0:5), p = p, notion = notion)
        expect_false(is.unsorted(nested + (0:5) * 1e-13))
      }
    }
  }
})

test_that("rounding under the root of the MMCE is no violation", {
  # d_i = +-(1 - accuracy), accuracy: their weighted sum is 0 up to 1e-16
  p <- as.matrix(vehicle_predictions[startsWith(names(vehicle_predictions), ".pred_")])
  y <- as.integer(vehicle_predictions$truth)
  map <- ce_recalibrate(p, y, method = "constant_confidence")
  chain <- suppressWarnings(ce_hierarchy(predict(map), y))
  expect_true(all(chain$holds, na.rm = TRUE))
  expect_equal(chain$value[chain$quantity %in% c("TCE_2", "TCE_1", "KS", "MMCE")], numeric(4), tolerance = 1e-7)
})

test_that("every row has the interval of its own function; distinct predictions are told", {
  data <- withr::with_seed(6, random_classes(200, 3, 1))
  out <- ce_hierarchy(data$p, data$y, p = 2, n_bins = c(5, 10))
  own <- list(
    rbs(data$p, data$y), ece(data$p, data$y, type = "discrete", p = 2, notion = "canonical"),
    ece(data$p, data$y, type = "discrete", p = 2, notion = "class_wise", preset = "better-uncertainty-calibration"),
    ece(data$p, data$y, type = "discrete", p = 2),
    ece(data$p, data$y, type = "discrete"), ks_error(data$p, data$y), ece(data$p, data$y, n_bins = c(5, 10)),
    mmce(data$p, data$y)
  )
  factor <- c(3^0, rep(1, 8)) # K^(1/p - 1/2), p = 2
  for (name in c("std.error", "conf.low", "conf.high")) {
    expect_equal(out[[name]], c(NA, factor * unlist(lapply(own, `[[`, name))), info = name)
  }
  expect_equal(ce_hierarchy(data$p, data$y, p = 1)$conf.high[2], sqrt(3) * rbs(data$p, data$y)$conf.high)
  expect_equal(out$n_distinct[1], nrow(unique(data$p)))
  expect_no_match(utils::capture.output(print(out)), "are distinct", all = TRUE)
  expect_output(print(ce_hierarchy(c(.1, .2, .3), c(0, 1, 0))), "3 of 3 predictions are distinct")
})
