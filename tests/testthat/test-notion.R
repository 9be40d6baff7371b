test_that("two outcomes are binary in every verb with a notion, and called so; more have a top label", {
  d <- vehicle_predictions
  two <- tibble::tibble(truth = factor(ifelse(d$truth == "bus", "Yes", "No")), .pred_No = 1 - d$.pred_bus,
                        .pred_Yes = d$.pred_bus)[1:200, ]
  verbs <- list(ece, ks_error, mmce, smooth_ece, ici, spiegelhalter, kde_error, rbs, ce_decompose,
                function(...) cox_calibration(..., floor = 1e-6), function(...) suppressMessages(hosmer_lemeshow(...)),
                function(...) kde_error(..., kernel = "triweight"), function(...) ece(..., preset = "scikit-learn"),
                function(...) ce_panel(..., floor = 1e-6),
                function(...) withr::with_seed(1, ce_estimate(..., method = method_bins(10))),
                function(...) glance(ce_fit(..., method = method_bins(10))))
  for (verb in verbs) {
    plain <- suppressWarnings(verb(two, truth, event_level = "second"))
    expect_identical(unique(plain$notion), "binary")
    expect_equal(suppressWarnings(verb(two, truth, .pred_Yes)), plain)
  }
  expect_identical(ece(d, truth)$notion, "top_label")
  expect_identical(ece(two, truth, preset = "torchmetrics")$notion, "top_label")
  top <- ece(two, truth, notion = "top_label")
  expect_identical(top$notion, "top_label")
  confidence <- pmax(two$.pred_No, two$.pred_Yes)
  right <- (two$.pred_Yes > two$.pred_No) == (two$truth == "Yes")
  expect_equal(top$.estimate, ece(confidence, right, notion = "top_label")$.estimate)
  tuned <- ce_tune(two, truth, .pred_Yes, methods = method_bins(c(5, 10)))
  expect_identical(tuned$notion, "binary")
  expect_output(print(tuned), "binary (probability of Yes, p - y)", fixed = TRUE)
  expect_identical(ce_methods(NULL), ce_methods("binary"))
})

test_that("axes name the event, and the confidence only of top labels", {
  d <- vehicle_predictions[1:100, ]
  d$bus <- factor(ifelse(d$truth == "bus", "Bus", "other"))
  binary <- ce_curve(d, bus, .pred_bus)
  expect_identical(curve_axes(binary), c("predicted probability of Bus", "observed frequency of Bus"))
  expect_identical(curve_axes(ce_curve(d$.pred_bus, d$bus == "Bus")), c("predicted probability", "observed frequency"))
  expect_identical(curve_axes(ce_curve(d, truth, .pred_bus:.pred_van)), c("confidence", "accuracy"))
  fit <- ce_fit(d, bus, .pred_bus, method = method_bins(5))
  expect_identical(gap_axis(fit), "predicted probability of Bus")
})
