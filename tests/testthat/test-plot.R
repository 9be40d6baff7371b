test_that("results without a figure are classed errors of plot() and of autoplot(), which say what has one", {
  skip_if_not_installed("ggplot2")
  p <- (1:40) / 41
  y <- rep(c(0, 1, 1, 0), 10)
  law <- pred_normal(1:5, 1)
  results <- list(
    ece(p, y), rbs(data.frame(p, y, g = y), y, p, .by = g), skce(p, y), ckce(p, y), ckce(p, y, ridge = "loo"), mmce(p, y),
    ce_panel(p, y, metrics = list(rbs, ece)), ce_score(law, 1:5, score = "crps"), ce_moments(law, 1:5), ici(p, y),
    ce_compare(list(a = p, b = p^2), y, metric = rbs), ce_risk(ce_fit(p, y, method = method_bins(3)), p, y),
    ce_power(assume_model(beta = c(1, 3)), n = 100), assume_model(beta = c(1, 3)), update(ce_state(), p, y), ce_decompose(round(p, 1), y),
    summary(ce_fit(p, y, method = method_bins(3)))
  )
  for (result in results) {
    for (draw in list(plot, ggplot2::autoplot)) {
      expect_error(draw(result), "ce_curve()", fixed = TRUE, class = "calibrisk_error_argument")
    }
  }
  # what all rows share stands in the header
  lines <- capture.output(print(results[[1]]))
  expect_match(lines[1], "^# Event: +y = 1$")
  expect_match(lines[2], "^# Metrics: 1 row, 15 columns; power 0[.][0-9]+, n_bins 15, n 40, notion binary")
  expect_true(any(grepl("^ +[.]metric +[.]estimator +[.]estimate +std[.]error +conf[.]low +conf[.]high$", lines)))
})

test_that("every class that plot() draws has an autoplot(), and every printed result has both", {
  registered <- getNamespaceInfo("calibrisk", "S3methods")
  of <- function(generic) registered[registered[, 1] == generic, 2]
  delayed <- utils::capture.output(cat(readLines(system.file("NAMESPACE", package = "calibrisk")), sep = "\n"))
  drawn <- sub(".*autoplot, *\"?([a-z_]*)\"?[)]", "\\1", grep("ggplot2::autoplot", delayed, value = TRUE))
  expect_setequal(of("plot"), drawn)
  values <- c("ce_basis", "ce_choice", "ce_database", "ce_distribution", "ce_family", "ce_horizon", "ce_kernel",
              "ce_method", "ce_metric_value", "ce_score_rule", "ce_source")
  # tables are of the class ce_table
  tables <- c("ce_differences", "ce_metrics", "ce_power", "ce_terms", "summary.ce_tune")
  expect_length(setdiff(grep("ce_", of("print"), value = TRUE), c(of("plot"), values, tables)), 0)
})
