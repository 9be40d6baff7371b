test_that("the printed estimate says how many incomplete rows were dropped", {
  p <- withr::with_seed(1, runif(60))
  data <- data.frame(p = replace(p, c(3, 60), NA), y = as.numeric(p > 0.4), g = rep(c("a", "b"), each = 30))
  expect_output(print(ce_estimate(data, y, p)), "2 incomplete rows were dropped.", fixed = TRUE)
  expect_output(print(ce_estimate(data$p, data$y, notion = c("binary", "canonical"))), "2 incomplete rows were dropped.", fixed = TRUE)
  expect_output(print(ce_estimate(data, y, p, .by = g)), "2 incomplete rows were dropped.", fixed = TRUE)
  expect_no_match(capture.output(print(ce_estimate(p, data$y))), "dropped")
})
