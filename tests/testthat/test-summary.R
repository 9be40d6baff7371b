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
  test <- ce_test(v, truth, test = test_conditional(times = 19))
  expect_identical(summary(test)$tables$Test, glance(test))
  models <- list(a = c(0.2, 0.4, 0.9, 0.7), b = c(0.1, 0.1, 0.2, 0.9))
  ranked <- ce_rank(models, c(0, 1, 1, 1), metric = "brier", times = 5)
  expect_identical(summary(ranked)$tables$Estimates, tidy(ranked))
  expect_true(any(grepl("^Orders", text(ranked))))
  decided <- ce_decision(list(a = c(0.1, 0.4, 0.9, 0.7), b = c(0.2, 0.1, 0.2, 0.9)), c(0, 1, 1, 1),
                         thresholds = 1:9 / 10)
  most <- summary(decided)$tables[["Largest loss"]]
  expect_identical(most$model, c("a", "b"))
  expect_equal(most$loss, unname(vapply(split(tidy(decided)$loss, tidy(decided)$model), max, 0)))
  v$half <- rep(1:2, 250)
  grouped <- text(ce_recalibrate(v, truth, .by = half))
  expect_identical(sum(grepl("^Parameters", grouped)), 2L)
})
