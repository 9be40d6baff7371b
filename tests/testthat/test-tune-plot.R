test_that("a curve over several kernels is that of the best kernel, not their sum", {
  withr::local_seed(1)
  p <- runif(60)
  kernels <- list(kernel_gaussian(0.5), kernel_laplace(0.5))
  tuned <- ce_tune(p, runif(60) < p, methods = method_ukkr(c(0.1, 0.01), kernels))
  rows <- tidy(tuned)
  means <- stats::aggregate(risk ~ value + kernel, rows, mean)
  curve <- risk_curve(tuned)
  for (v in curve$value) {
    at <- means[means$value == v, ]
    best <- rows[rows$value == v & rows$kernel == at$kernel[which.min(at$risk)], ]
    expect_equal(curve$root_risk[curve$value == v], 100 * mean(sqrt(best$risk)))
  }
  expect_equal(min(curve$root_risk), 100 * glance(tuned)$root_risk)
})

test_that("the line of h = 0 is on the scale of the curve: mean over folds of the root", {
  nothing <- method_function(function(P, Q) matrix(0, NROW(P), NROW(Q)))
  methods <- list(bins = method_bins(5), zero = nothing)
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = methods))
  expect_equal(zero_root_risk(tuned), 100 * glance(tuned)$root_risk[2])
  expect_equal(zero_root_risk(keep_methods(tuned, "bins")), zero_root_risk(tuned))
})

test_that("a result without any risk has no curve of it", {
  withr::local_seed(1)
  tuned <- ce_tune(runif(10), rep(0:1, 5), methods = method_bins(2), folds = 8)
  expect_error(plot(tuned), "fewer folds", class = "calibrisk_error_risk")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(tuned), class = "calibrisk_error_risk")
})

test_that("class-wise risks show what each class chose", {
  set.seed(1)
  tuned <- ce_tune(vehicle_predictions, truth, notion = "class_wise",
                   methods = list(few = method_bins(5), bins = method_bins(seq(5, 60, 5)), kde = method_kde()))
  choices <- class_choices(tuned)
  expect_setequal(choices$method, c("bins", "kde"))
  rows <- tidy(tuned)
  for (i in seq_len(nrow(choices))) {
    one <- rows[rows$method == choices$method[i] & rows$class == choices$class[i], ]
    means <- vapply(unique(one$value), function(v) mean(one$risk[one$value == v]), 0)
    expect_identical(choices$value[i], unique(one$value)[which.min(means)])
  }
  # choosing per class is never worse than one value for all (mean over 4 classes, so times 4)
  curve <- risk_curve(tuned)
  line <- unique(choices[c("method", "root_risk")])
  for (i in seq_len(nrow(line))) {
    expect_lte(glance(tuned)$risk[glance(tuned)$method == line$method[i]],
               min(tapply(rows$risk[rows$method == line$method[i]], rows$value[rows$method == line$method[i]],
                          mean)) * 4)
    expect_equal(line$root_risk[i], 100 * glance(tuned)$root_risk[glance(tuned)$method == line$method[i]])
  }
  # a method with one value has its panel, and the only diamond
  expect_true("few" %in% curve$method)
  expect_identical(as.character(chosen_points(tuned)$method), "few")
  expect_match(risk_subtitle(chosen_points(tuned), choices), "diamond.*ticks")
  expect_false(grepl("diamond", risk_subtitle(NULL, choices)))
})

test_that("class-wise gaps are those of the classes", {
  set.seed(1)
  tuned <- ce_tune(vehicle_predictions, truth, notion = "class_wise",
                   methods = list(method_bins(c(5, 10)), method_kkr(1e-4)))
  curve <- gap_curve(tuned)
  expect_identical(levels(curve$class), levels(vehicle_predictions$truth))
  probs <- vehicle_predictions[paste0(".pred_", levels(curve$class))]
  counts <- vapply(tuned$histogram, function(h) sum(h$counts), 0)
  expect_identical(counts, rep(500, 4))
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
  expect_true(any(curve$method == "kkr (size only)"))
  expect_identical(levels(gap_curve(tuned, c("van", "bus"))$class), c("van", "bus"))
  expect_error(gap_curve(tuned, "tram"), "tram", class = "calibrisk_error_argument")
  canonical <- ce_tune(vehicle_predictions, truth, notion = "canonical", methods = method_kde(0.5))
  expect_error(plot(canonical, "gap"), class = "calibrisk_error_notion")
})

test_that("every figure of a tuning result draws, also by group", {
  skip_if_not_installed("ggplot2")
  data <- vehicle_predictions
  data$half <- rep(c("a", "b"), length.out = nrow(data))
  set.seed(1)
  methods <- list(method_bins(c(5, 10)), method_kde(c(0.01, 0.1)))
  path <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(path, 12, 12)
  withr::defer(grDevices::dev.off())
  for (notion in c("top_label", "class_wise")) {
    alone <- ce_tune(data, truth, notion = notion, methods = methods)
    grouped <- ce_tune(data, truth, notion = notion, methods = methods, .by = half)
    for (type in c("risk", "estimate", "gap")) {
      expect_no_message(built <- ggplot2::ggplot_build(ggplot2::autoplot(alone, type)))
      panels <- nrow(built$layout$layout)
      expect_identical(nrow(ggplot2::ggplot_build(ggplot2::autoplot(grouped, type))$layout$layout), 2L * panels)
      expect_identical(plot(alone, type), alone)
      expect_identical(plot(grouped, type), grouped)
    }
  }
})
