grouped_rows <- function() {
  withr::with_seed(1, tibble::tibble(
    g = rep(c("u", "v"), 20), p = runif(40), truth = factor(sample(c("yes", "no"), 40, TRUE))
  ))
}

test_that("groups that do not exist are classed errors", {
  data <- grouped_rows()
  fit <- ce_fit(data, truth, p, method = method_bins(3))
  expect_error(ce_risk(fit, data, truth, p, .by = nowhere), class = "calibrisk_error_columns")
  expect_error(ce_tune(data, truth, p, methods = method_bins(3), .by = nowhere),
               class = "calibrisk_error_columns")
  expect_error(ce_risk(fit, data[0, ], truth, p, .by = g), class = "calibrisk_error_empty")
  expect_error(ce_tune(data[0, ], truth, p, .by = g), class = "calibrisk_error_empty")
  skip_if_not_installed("dplyr")
  expect_error(ce_risk(fit, dplyr::group_by(data[0, ], g), truth, p), class = "calibrisk_error_empty")
})

test_that("an error says in which group it arose", {
  data <- grouped_rows()
  data$p[40] <- 2
  expect_error(ce_tune(data, truth, p, methods = method_bins(3), .by = g), "g = v",
               class = "calibrisk_error_group")
  expect_error(ce_recalibrate(data, truth, p, method = "platt", .by = g), "g = v",
               class = "calibrisk_error_group")
})

test_that("an error says which row of the whole data it means", {
  data <- grouped_rows()
  data$p[40] <- 2
  error <- expect_error(ece(data, truth, p, .by = g, notion = "binary"), "row 20 is row 40 of the data",
                        class = "calibrisk_error_group")
  expect_identical(error$row, 40L)
})

test_that("empty groups that a grouping keeps are left out", {
  skip_if_not_installed("dplyr")
  data <- grouped_rows()
  data$g <- factor(data$g, levels = c(unique(data$g), "nobody"))
  kept <- ece(dplyr::group_by(data, g, .drop = FALSE), truth, p, notion = "binary")
  expect_equal(kept, ece(dplyr::group_by(data, g), truth, p, notion = "binary"))
})

test_that("verbs of one result ask for one group", {
  tuned <- ce_tune(grouped_rows(), truth, p, methods = method_bins(3), .by = g)
  expect_error(predict(tuned, 0.5), "results", class = "calibrisk_error_group")
  expect_error(augment(tuned, grouped_rows()), class = "calibrisk_error_group")
  fits <- ce_fit(grouped_rows(), truth, p, method = method_bins(3), .by = g)
  tests <- ce_test(grouped_rows(), truth, p, test = "block", .by = g)
  expect_error(plot(tests), class = "calibrisk_error_group")
  expect_error(ce_risk(fits, grouped_rows(), truth, p), "one group", class = "calibrisk_error_argument")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(tests), class = "calibrisk_error_group")
})

test_that("threads beyond the cores are not asked for", {
  cores <- RcppParallel::defaultNumThreads()
  expect_identical(resolve_threads(999), cores)
  expect_identical(resolve_threads(1), 1L)
  withr::local_options(calibrisk.threads = 999)
  expect_identical(resolve_threads(), cores)
})
