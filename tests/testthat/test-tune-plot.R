# Mean over folds of the risk, per method and value, minus the smallest; standard errors of the paired differences.
oracle_risks <- function(rows) {
  key <- paste(rows$method, match(rows$value, unique(rows$value)))
  risks <- tapply(rows$risk, list(key, rows$fold), sum)
  gaps <- t(t(risks) - risks[which.min(rowMeans(risks)), ])
  list(difference = rowMeans(gaps), std.error = apply(gaps, 1, sd) / sqrt(ncol(gaps)))
}

test_that("risks are shown minus the smallest, with paired standard errors", {
  methods <- list(bins = method_bins(c(5, 10, 20)), kde = method_kde(c(0.02, 0.1)), few = method_bins(5))
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = methods, repeats = 1))
  curve <- risk_curve(tuned)
  oracle <- oracle_risks(tidy(tuned))
  expect_equal(sort(curve$difference), sort(unname(oracle$difference)))
  expect_equal(sort(curve$std.error), sort(unname(oracle$std.error)))
  expect_equal(min(curve$difference), 0)
  chosen <- curve[curve$chosen, ]
  expect_identical(as.character(chosen$method), names(methods))
  expect_equal(chosen$value, glance(tuned)$value[match(chosen$method, glance(tuned)$method)])
  # from smooth to flexible: bins upwards, bandwidths downwards, a single value in the middle
  expect_equal(curve$place[curve$method == "bins"], c(0, 1 / 3, 1))
  expect_equal(curve$place[curve$method == "kde"], c(1, 0))
  expect_equal(curve$place[curve$method == "few"], 0.5)
  expect_equal(path_place(c(1e-4, 1e-2, 1), "ridge"), c(1, 0.5, 0))
})

test_that("a curve over several kernels is that of the best kernel, not their sum", {
  withr::local_seed(1)
  p <- runif(60)
  kernels <- list(kernel_gaussian(0.5), kernel_laplace(0.5))
  tuned <- ce_tune(p, runif(60) < p, methods = method_ukkr(c(0.1, 0.01), kernels))
  rows <- tidy(tuned)
  means <- stats::aggregate(risk ~ value + kernel, rows, mean)
  curve <- risk_curve(tuned)
  for (v in curve$value) expect_equal(curve$risk[curve$value == v], min(means$risk[means$value == v]))
  expect_equal(min(curve$risk), glance(tuned)$risk)
})

test_that("the line of h = 0 is its mean risk on the same folds", {
  nothing <- method_function(function(P, Q) matrix(0, NROW(P), NROW(Q)))
  methods <- list(bins = method_bins(5), zero = nothing)
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = methods, repeats = 1))
  curve <- risk_curve(tuned)
  expect_equal(zero_difference(tuned, curve), curve$difference[curve$method == "zero"])
  few <- keep_methods(tuned, "bins")
  expect_equal(zero_difference(few, risk_curve(few)), curve$risk[2] - curve$risk[1])
})

test_that("a result without any risk has no curve of it", {
  withr::local_seed(1)
  tuned <- ce_tune(runif(10), rep(0:1, 5), methods = method_bins(2), folds = 8)
  skip_if_not_installed("ggplot2")
  expect_error(plot(tuned), "two held-out rows in a fold", class = "calibrisk_error_risk")
})

test_that("a method whose risk is infinite is not in the figure of risks", {
  skip_if_not_installed("ggplot2")
  p <- withr::with_seed(1, runif(40))
  y <- as.numeric(p > rev(p))
  huge <- method_function(function(P, Q) matrix(1e200, nrow(P), nrow(Q)))
  tuned <- ce_tune(p, y, methods = list(huge = huge, bins = method_bins(c(2, 4))), folds = 2, repeats = 1)
  expect_identical(tuned$glance$risk[tuned$glance$method == "huge"], Inf)
  expect_identical(unique(as.character(risk_table(tuned)$method)), "bins")
  expect_s3_class(ggplot2::ggplot_build(ggplot2::autoplot(tuned, type = "risk")), "ggplot_built")
  expect_warning(alone <- ce_tune(p, y, methods = list(huge = huge), folds = 2, repeats = 1),
                 class = "calibrisk_warning_impossible_estimate")
  expect_error(ggplot2::autoplot(alone, type = "risk"), class = "calibrisk_error_risk")
})

test_that("the selected gap has the jackknife's band, the others none in the figure", {
  methods <- list(bins = method_bins(c(5, 10)), kde = method_kde(c(0.05, 0.2)))
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = methods, repeats = 1))
  curve <- gap_curve(tuned)
  selected <- glance(tuned)$method[glance(tuned)$selected]
  expect_identical(unique(curve$method[curve$chosen]), method_words(selected))
  one <- curve[curve$chosen, ]
  at <- c(50, 300, 550)
  folds <- vapply(tuned$forms[[selected]][[1]], function(form) form_gap(form, matrix(one$confidence[at]))[, 1], at)
  se <- apply(folds, 1, function(g) sqrt(4 / 5 * sum((g - mean(g))^2)))
  expect_equal(one$high[at] - one$gap[at], stats::qt(.975, 4) * se)
  expect_equal(one$gap[at] - one$low[at], stats::qt(.975, 4) * se)
})

test_that("class-wise gaps are those of the classes", {
  set.seed(1)
  tuned <- ce_tune(vehicle_predictions, truth, notion = "class_wise",
                   methods = list(method_bins(c(5, 10)), method_kkr(1e-4)))
  curve <- gap_curve(tuned)
  expect_identical(levels(curve$class), levels(vehicle_predictions$truth))
  probs <- vehicle_predictions[paste0(".pred_", levels(curve$class))]
  expect_identical(vapply(tuned$histogram, function(h) sum(h$counts), 0), rep(500, 4))
  for (j in 1:4) {
    at <- curve$confidence[curve$class == levels(curve$class)[j] & curve$method == "bins"]
    expect_lte(at[1], min(probs[[j]]))
    expect_gte(at[length(at)], max(probs[[j]]))
    # predict() gives the same gap for rows whose class-j probability is on the grid
    rows <- matrix((1 - at[c(100, 400)]) / 3, 2, 4)
    rows[, j] <- at[c(100, 400)]
    gap <- predict(tuned, rows, type = "gap", method = "bins")[, j]
    shown <- curve$gap[curve$class == levels(curve$class)[j] & curve$method == "bins"][c(100, 400)]
    expect_equal(shown, unname(gap))
  }
  expect_true(any(curve$method == "kernel ridge (size only)"))
  expect_identical(levels(gap_curve(tuned, c("van", "bus"))$class), c("van", "bus"))
  expect_error(gap_curve(tuned, "tram"), "tram", class = "calibrisk_error_argument")
  canonical <- ce_tune(vehicle_predictions, truth, notion = "canonical", methods = method_kde(0.5))
  skip_if_not_installed("ggplot2")
  expect_error(plot(canonical, "gap"), class = "calibrisk_error_notion")
})

test_that("every figure of a tuning result draws, also by group", {
  skip_if_not_installed("ggplot2")
  data <- vehicle_predictions[seq(1, nrow(vehicle_predictions), 4), ]
  data$half <- rep(c("a", "b"), length.out = nrow(data))
  set.seed(1)
  methods <- list(method_bins(c(5, 10)), method_kde(c(0.01, 0.1)))
  withr::local_pdf(NULL, width = 12, height = 12)
  for (notion in c("top_label", "class_wise")) {
    alone <- ce_tune(data, truth, notion = notion, methods = methods)
    grouped <- ce_tune(data, truth, notion = notion, methods = methods, .by = half)
    for (type in c("risk", "estimate", "gap")) {
      expect_no_message(built <- ggplot2::ggplot_build(ggplot2::autoplot(alone, type)))
      by_group <- ggplot2::ggplot_build(ggplot2::autoplot(grouped, type))
      expect_identical(nrow(by_group$layout$layout), 2L * nrow(built$layout$layout))
      for (one in list(built, by_group)) expect_no_error(ggplot2::ggplot_gtable(one))
    }
  }
  # bars around the chosen values, and grids between the rows of methods
  chosen <- subset(risk_shown(list(alone))$curve, chosen)
  layers <- ggplot2::ggplot_build(ggplot2::autoplot(alone, "risk"))$data
  expect_equal(layers[[5]]$xmax, chosen$difference + chosen$std.error)
  expect_identical(ceiling(layers[[4]]$y), c(1, 1, 0, 0))
  # the predictions have a strip below all of it
  gap <- ggplot2::ggplot_build(ggplot2::autoplot(alone, "gap"))
  expect_lt(max(gap$data[[1]]$ymax), min(gap$data[[4]]$ymin, gap$layout$panel_params[[1]]$y$breaks, na.rm = TRUE))
})
