test_that("the joint test is the one that the interval inverts", {
  d <- ladder_data(300, 3, 1)
  test <- ce_test(d$p, d$y, test = "joint")
  row <- ce_estimate(d$p, d$y, notion = "canonical")
  expect_identical(test$p.value, row$p.value)
  expect_identical(unname(c(test$estimate, test$conf.int)), c(row$estimate, row$conf.low, row$conf.high))
  expect_identical(tidy(test)$test, "joint")
  expect_s3_class(test, "htest")
  expect_output(print(test), "canonical calibration")
  binary <- ce_test(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus", test = "joint")
  expect_identical(binary$p.value,
                   ce_estimate(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus")$p.value)
  expect_match(binary$method, "binary")
  # the statistic is one of the parts'
  p <- vehicle_predictions$.pred_bus
  parts <- oracle_joint_statistics(sort(p), (p - (vehicle_predictions$truth == "bus"))[order(p)])
  expect_lt(min(abs(parts - binary$statistic)), 1e-6)
})

test_that("the joint test is that of two classes where no kernel or option of another test is given", {
  d <- withr::with_seed(1, list(p = runif(80), y = rbinom(80, 1, .5)))
  chosen <- function(...) ce_test(d$p, d$y, ...)$test
  expect_identical(c(chosen(), chosen(replicates = 20), chosen(kernel = kernel_tv(1))),
                   c("joint", "conditional", "conditional"))
  expect_identical(ce_test(ladder_data(60, 3, 1)$p, ladder_data(60, 3, 1)$y)$test, "conditional")
  expect_error(ce_test(d$p, d$y, test = "ladder"), "test_joint", class = "calibrisk_error_argument")
})

test_that("the joint test takes class probabilities only, by group, and has no redraws to draw", {
  expect_error(ce_test(pred_normal(1:5, 1), 1:5 + .5, test = "joint"), "conditional", class = "calibrisk_error_test")
  expect_error(ce_test(c(.2, .4, .5), c(0, 1, 1), test = "joint", kernel = kernel_linear()), "no kernel",
               class = "calibrisk_error_argument")
  v <- vehicle_predictions
  v$half <- rep(c("a", "b"), 250)
  grouped <- ce_test(v, truth, test = "joint", .by = half)
  expect_identical(tidy(grouped)$p.value, ce_estimate(v, truth, notion = "canonical", .by = half)$p.value)
  skip_if_not_installed("ggplot2")
  expect_error(plot(grouped$results[[1]]), class = "calibrisk_error_test")
})
