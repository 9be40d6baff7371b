test_that("the ladder test is the one that the interval inverts", {
  d <- ladder_data(300, 3, 1)
  test <- ce_test(d$p, d$y, test = "ladder")
  row <- ce_estimate(d$p, d$y, notion = "canonical")
  expect_identical(test$p.value, row$p.value)
  expect_identical(unname(c(test$estimate, test$conf.int)), c(row$estimate, row$conf.low, row$conf.high))
  expect_identical(tidy(test)$test, "ladder")
  expect_s3_class(test, "htest")
  expect_output(print(test), "canonical calibration")
  binary <- ce_test(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus", test = "ladder")
  expect_identical(binary$p.value,
                   ce_estimate(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus")$p.value)
  expect_match(binary$method, "binary")
  # the statistic is that of the rung with the smallest p-value
  e <- vehicle_predictions$.pred_bus - (vehicle_predictions$truth == "bus")
  problem <- new_problem(matrix(vehicle_predictions$.pred_bus), matrix(e), integer(length(e)))
  rungs <- run_ladder(problem, ladder_bases("binary", 1, 500), .95, 1L)$rungs
  z <- vapply(rungs, function(rung) rung$psi / sqrt(rung$noise), 0)
  expect_equal(unname(binary$statistic), z[which.min(vapply(rungs, rung_p_value, 0))])
})

test_that("the ladder tests class probabilities only, by group, and has no null distribution to draw", {
  expect_error(ce_test(pred_normal(1:5, 1), 1:5 + .5, test = "ladder"), "conditional", class = "calibrisk_error_test")
  expect_error(ce_test(c(.2, .4, .5), c(0, 1, 1), test = "ladder", kernel = kernel_linear()), "no kernel",
               class = "calibrisk_error_argument")
  v <- vehicle_predictions
  v$half <- rep(c("a", "b"), 250)
  grouped <- ce_test(v, truth, test = "ladder", .by = half)
  expect_identical(tidy(grouped)$p.value, ce_estimate(v, truth, notion = "canonical", .by = half)$p.value)
  skip_if_not_installed("ggplot2")
  expect_error(plot(grouped$results[[1]]), class = "calibrisk_error_test")
})
