test_that("the figure of a fit is its estimated gap over the range of the fitted predictions", {
  v <- vehicle_predictions
  fit <- ce_fit(v, truth, method = method_kde(0.1))
  curve <- gap_curve(fit_panel(fit))
  expect_equal(curve$gap, predict(fit, curve$confidence, type = "gap"))
  top <- apply(as.matrix(v[-1]), 1, max)
  expect_lte(min(curve$confidence), min(top))
  expect_identical(sum(fit$histogram$counts), 500L)
  withr::local_pdf(NULL)
  skip_if_not_installed("ggplot2")
  expect_s3_class(plot(fit), "ggplot")
  wise <- ce_fit(v, truth, notion = "class_wise", method = method_bins(5))
  expect_identical(levels(gap_curve(fit_panel(wise), "van")$class), "van")
  print(plot(wise, classes = c("van", "bus")))
  v$half <- rep(c("a", "b"), 250)
  halves <- ce_fit(v, truth, method = method_bins(5), .by = half)
  print(plot(halves))
  expect_error(plot(ce_fit(v, truth, notion = "canonical", method = method_kde(0.1))), "coordinates",
               class = "calibrisk_error_notion")
  expect_error(plot(wise, classes = "tram"), class = "calibrisk_error_argument")
  built <- ggplot2::ggplot_build(ggplot2::autoplot(fit))$data
  expect_equal(built[[4]]$y, curve$gap)
  expect_identical(nlevels(ggplot2::ggplot_build(ggplot2::autoplot(halves))$layout$layout$PANEL), 2L)
})
