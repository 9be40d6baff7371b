test_that("summaries print the result and its tables", {
  text <- function(x) utils::capture.output(print(summary(x)))
  v <- vehicle_predictions
  fit <- ce_fit(v, truth, method = method_bins(10), notion = "class_wise")
  expect_identical(summary(fit)$tables$Functions$gap, rep(TRUE, 4))
  expect_false(summary(ce_fit(v, truth, method = method_kkr(0.1)))$tables$Functions$gap)
  expect_true(all(utils::capture.output(print(fit)) %in% text(fit)))
  curve <- ce_curve(v, truth, notion = "class_wise")
  far <- summary(curve)$tables[[2]]
  expect_identical(far$class, levels(v$truth))
  one <- tidy(curve)[tidy(curve)$class == "van", ]
  off <- abs(one$observed - one$confidence) / (one$conf.high - one$conf.low)
  expect_identical(far$confidence[far$class == "van"], one$confidence[which.max(off)])
  expect_true(any(grepl("Farthest", text(curve))))
  map <- ce_recalibrate(v, truth, method = "vector")
  expect_identical(summary(map)$tables$Parameters, tidy(map))
  v$half <- rep(1:2, 250)
  grouped <- text(ce_recalibrate(v, truth, .by = half))
  expect_identical(sum(grepl("^Parameters", grouped)), 2L)
})
