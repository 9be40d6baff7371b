test_that("an estimate is a text with its interval", {
  x <- ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise"))
  digits <- function(v) formatC(v, digits = 2, format = "f")
  expect_identical(format(x, digits = 2), paste0(digits(x$estimate), " (95% CI ", digits(x$conf.low), " to ",
                                                 digits(x$conf.high), ")"))
  # printing is not of that text
  expect_output(print(x), "conf.high p.value     n\n.*The calibration error is above 0")
})

test_that("a number of a validation is a text with its interval", {
  p <- seq(.05, .95, length.out = 200)
  d <- data.frame(p, q = p^2, y = withr::with_seed(1, rbinom(200, 1, p)))
  v <- ce_validate(d$p, d$y, times = 0)
  slope <- v$table[v$table$term == "slope", ]
  expect_identical(format(v, "slope"), sprintf("%.2f (%.2f to %.2f)", slope$estimate, slope$conf.low, slope$conf.high))
  d$half <- rep(1:2, 100)
  expect_length(format(ce_validate(d, y, p, .by = half, times = 0), "auroc"), 2)
  expect_error(format(v), class = "calibrisk_error_argument")
  expect_error(format(v, "slop"), class = "calibrisk_error_argument")
})

test_that("tables have the numbers of the result", {
  skip_if_not_installed("knitr")
  x <- ce_estimate(vehicle_predictions, truth)
  table <- paste(ce_kable(x, format = "pipe"), collapse = "\n")
  expect_match(table, "estimate (95% CI)", fixed = TRUE)
  expect_match(table, interval_text(x$estimate, x$conf.low, x$conf.high), fixed = TRUE)
  expect_match(ce_kable(x, format = "latex", digits = 1), "\\hline", fixed = TRUE)
  expect_match(ce_kable(x, format = "html"), "<table", fixed = TRUE)
  p <- seq(.02, .98, length.out = 80)
  v <- ce_validate(p, p > .4 & rep(c(TRUE, TRUE, FALSE, TRUE), 20), times = 0)
  expect_identical(paper_table(v)$term, term_label(setdiff(tidy(v)$term, c("joint", "e50", "eci"))))
  expect_identical(paper_table(v)$term[1], "O:E ratio")
  panel <- ce_panel(p, p > .4)
  expect_match(paste(ce_kable(panel, format = "pipe"), collapse = "\n"), "[|]rbs")
  tests <- ce_kable(ce_test(vehicle_predictions, truth, test = "joint"), format = "pipe")
  expect_match(paste(tests, collapse = "\n"), "p", fixed = TRUE)
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = list(method_bins(5), method_bins(9))))
  expect_match(paste(ce_kable(tuned, format = "pipe"), collapse = "\n"), "risk x100")
  compared <- ce_compare(data.frame(y = as.numeric(p > .4), a = p, b = p^2), y, a, b, metric = rbs)
  expect_match(paste(ce_kable(compared, format = "pipe"), collapse = "\n"), "difference (95% CI)", fixed = TRUE)
})

test_that("documents show tables, with the sentences below", {
  skip_if_not_installed("knitr")
  x <- ce_estimate(vehicle_predictions, truth)
  shown <- knitr::knit_print(x)
  expect_s3_class(shown, "knit_asis")
  expect_match(shown, "The calibration error is above 0")
  expect_match(shown, "|notion", fixed = TRUE)
  p <- seq(.02, .98, length.out = 60)
  two <- ce_decision(list(p = p, q = sqrt(p)), p > .4, thresholds = .3, times = 100)
  expect_match(knitr::knit_print(two), "area [(]95% CI[)].*p against q: ")
})

test_that("what is no result is named", {
  expect_error(ce_kable("a"), "result of this package", class = "calibrisk_error_argument")
  expect_error(ce_kable(ce_estimate(vehicle_predictions, truth), digits = -1), class = "calibrisk_error_argument")
})
