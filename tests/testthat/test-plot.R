test_that("plot() returns the figure of autoplot(), which can be changed and saved", {
  skip_if_not_installed("ggplot2")
  p <- (1:40) / 41
  y <- rep(c(0, 1, 1, 0), 10)
  validation <- ce_validate(p, y, times = 0)
  titled <- plot(validation) + ggplot2::ggtitle("forty rows")
  expect_identical(titled$labels$title, "forty rows")
  file <- withr::local_tempfile(fileext = ".pdf")
  ggplot2::ggsave(file, titled, width = 6, height = 4)
  expect_gt(file.size(file), 1000)
  expect_identical(plot(ce_estimate(p, y))$data, ggplot2::autoplot(ce_estimate(p, y))$data)
  # tables without a figure of their own
  for (table in list(ece(p, y), ce_score(p, y), ce_power(assume_model(beta = c(1, 3)), n = 100))) {
    expect_error(plot(table), "no figure", class = "calibrisk_error_unsupported")
    expect_error(ggplot2::autoplot(table), "no figure", class = "calibrisk_error_unsupported")
  }
})
