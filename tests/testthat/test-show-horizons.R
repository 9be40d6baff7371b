test_that("the page has the horizons side by side, and one verdict by Holm's rule", {
  d <- followed_rows(300, 3)
  d$p10 <- d$p10^2
  at <- c(5, 10, 20)
  x <- validate_quietly(d, s, p5, p10, p20, horizon = at, delta = 0.2, group = site)
  withr::local_options(width = 120)
  text <- utils::capture.output(print(x))
  rows <- tidy(x)[tidy(x)$term == "brier", ]
  numbers <- interval_text(rows$estimate, rows$conf.low, rows$conf.high)
  expect_match(gsub(" +", " ", text), paste(c("Brier score", numbers), collapse = " "), fixed = TRUE, all = FALSE)
  p <- tidy(x)$p.value[tidy(x)$term %in% c("calibration_error", "all_groups")]
  expect_match(text, paste("Evidence of miscalibration: joint test at 10, p", p_text(6 * min(p))), fixed = TRUE,
               all = FALSE)
  for (time in at) expect_match(text, paste("events by", time), fixed = TRUE, all = FALSE)
  # two fit into 80 columns, the third is below
  withr::local_options(width = 80)
  text <- utils::capture.output(print(x))
  expect_length(grep("^Brier score", text), 2)
  expect_lte(max(nchar(text)), 80)
  parts <- utils::capture.output(print(validate_quietly(d, s, p5, p10, p20, horizon = at, .by = site)))
  expect_length(grep("^site = ", parts), 2)
  skip_if_not_installed("knitr")
  table <- paper_table(x)
  expect_identical(names(table), c("level", "term", paste0("by ", at, " (95% CI)")))
  expect_match(knit_print.ce_result(x), "Evidence of miscalibration: joint test at 10", fixed = TRUE)
})

test_that("the figure draws four numbers over time", {
  skip_if_not_installed("ggplot2")
  d <- followed_rows(200, 4)
  x <- validate_quietly(d, s, p5, p10, p20, horizon = c(5, 10, 20))
  drawn <- ggplot2::layer_data(plot(x), 4)
  rows <- tidy(x)[tidy(x)$term == "oe_ratio", ]
  expect_equal(drawn$y[drawn$PANEL == 1], rows$estimate)
  expect_equal(drawn$x[drawn$PANEL == 1], c(5, 10, 20))
  expect_error(plot(x, type = "smooth"), class = "calibrisk_error_argument")
})
