estimates <- function(...) {
  data <- vehicle_predictions
  data$half <- rep(c("a", "b"), length.out = nrow(data))
  withr::with_seed(1, ce_estimate(data, truth, notion = c("top_label", "class_wise"), method = method_bins(10), ...))
}

test_that("tidy() and glance() split the table of estimates", {
  table <- estimates(.by = half)
  long <- tidy(table)
  expect_identical(class(long), c("tbl_df", "tbl", "data.frame"))
  expect_identical(names(long), c("half", "notion", "estimate", "std.error", "conf.low", "conf.high",
                                  "lower_bound", "p.value", "method"))
  expect_identical(long$conf.low, table$conf.low)
  expect_identical(names(glance(table)), c("half", "notion", "p.value", "resolution", "upper_bound", "method", "n"))
  expect_identical(names(tidy(estimates()))[1], "notion")
})

test_that("estimates draw, a panel per notion where there are groups", {
  skip_if_not_installed("ggplot2")
  alone <- estimates()
  grouped <- estimates(.by = half)
  built <- function(x) ggplot2::ggplot_build(ggplot2::autoplot(x))
  expect_identical(nrow(built(alone)$layout$layout), 1L)
  expect_identical(nrow(built(grouped)$layout$layout), 2L)
  expect_setequal(built(alone)$data[[2]]$x, alone$estimate)
})
