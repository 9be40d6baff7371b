fact <- function(estimate, low, high, p) {
  data.frame(estimate = estimate, conf.low = low, conf.high = high, p.value = p)
}
said <- function(..., level = 0.95) page_sentences(list(level = level, ...))

test_that("every sentence claims what its interval and its test show", {
  expect_identical(said(ratio = fact(0.97, 0.86, 1.1, 0.6), large = fact(-0.1, -0.3, 0.1, 0.4))[["mean"]],
                   "No evidence that predictions are too low or too high on average: O:E ratio 0.97 (95% CI 0.86 to 1.10).")
  expect_identical(said(ratio = fact(1.2, 1.05, 1.37, 0.01))[["mean"]],
                   "On average predictions are too low: O:E ratio 1.20 (95% CI 1.05 to 1.37).")
  expect_match(said(ratio = fact(0.8, 0.7, 0.9, 0.001), level = 0.9), "too high: O:E ratio 0.80 [(]90% CI 0.70 to 0.90[)]")
  # the regression finds what the ratio does not
  expect_identical(said(ratio = fact(1.1, 0.99, 1.2, 0.06), large = fact(0.2, 0.01, 0.39, 0.04))[["mean"]],
                   paste("On average predictions are too low: calibration in the large 0.20 (95% CI 0.01 to 0.39);",
                         "O:E ratio 1.10 (95% CI 0.99 to 1.20)."))
  expect_identical(said(slope = fact(0.96, 0.74, 1.17, 0.7))[["slope"]],
                   "No evidence that predictions are too extreme or too moderate: slope 0.96 (95% CI 0.74 to 1.17).")
  expect_match(said(slope = fact(0.6, 0.4, 0.8, 0.001)), "^Predictions are too extreme: slope 0.60 [(]95% CI 0.40 to 0.80")
  expect_match(said(slope = fact(1.6, 1.4, 1.8, 0.001)), "^Predictions are too moderate: slope 1.60")
  expect_match(said(slope = fact(-1, -1.4, -0.8, 0.001)), "^Events are rarer where predictions are higher: slope -1.00")
  # a likelihood ratio beside Wald's interval
  expect_match(said(slope = fact(0.8, 0.62, 1.01, 0.04)), "too extreme: slope 0.80 (95% CI 0.62 to 1.01; p = 0.040).",
               fixed = TRUE)
  expect_match(said(slope = fact(0.9, 0.7, 1.1, 0.2), joint = fact(8, NA, NA, 0.01), ratio = fact(1, 0.9, 1.1, 0.9))[2],
               "intercept and slope together differ from 0 and 1: joint test p = 0.010, slope 0.90", fixed = TRUE)
  expect_match(said(slope = fact(0.9, 0.7, 1.1, 0.2), joint = fact(8, NA, NA, 0.01), ratio = fact(2, 1.5, 3, 0))[2],
               "^No evidence that predictions are too extreme")
  expect_identical(said(error = fact(0, 0, 0.166, 1))[["error"]],
                   "The calibration error is not shown to be above 0; at this resolution it is at most 0.166.")
  expect_identical(said(error = fact(0.092, 0.055, 0.131, 0.001))[["error"]],
                   "The calibration error is above 0: 0.092 (95% CI 0.055 to 0.131).")
  # the estimate of some rows beside the interval of all
  expect_identical(said(error = fact(0.2, 0.055, 0.131, 0.001))[["error"]],
                   "The calibration error is above 0 (95% CI 0.055 to 0.131).")
  expect_match(said(error = fact(0.1, 0, 0.166, 0.03)), "is above 0: p = 0.030; at this resolution it is at most 0.166")
  expect_match(said(error = fact(NA, NA, NA, NA)), "was not estimated")
  expect_match(said(error = fact(NA, 0, 0.9, NA)), "^Too few rows .* at most 0.900[.]$")
  expect_match(said(error = fact(0, 0, 0.012, NA)), "^Every outcome was predicted with certainty; .* 0.012[.]$")
})

test_that("the model is judged by all tests of the page", {
  expect_null(said(evidence = page_evidence("slope", 0.001, 0.95)))
  none <- page_evidence(c("slope", "joint test", "ICI"), c(0.4, 0.12, NA), 0.95)
  expect_identical(said(evidence = none)[["model"]],
                   "No evidence of miscalibration: the smallest of 2 p-values is 0.120 (joint test).")
  expect_match(said(evidence = page_evidence(c("slope", "joint test"), c(0.4, 0.03), 0.95)),
               "^Strongest evidence of miscalibration: joint test, p = 0.030 [(]the smallest of 2 p-values[)][.]$")
  expect_match(said(evidence = page_evidence(c("slope", "joint test"), c(0.4, 0.07), 0.9), level = 0.9), "^Strongest")
  expect_identical(said(evidence = page_evidence(c("slope", "joint test", "ICI"), c(0.4, 0.12, NA), 0.95,
                                                 c(FALSE, FALSE, TRUE)))[["model"]],
                   paste("Evidence of miscalibration: the 95% interval of ICI excludes perfect calibration; the",
                         "smallest of 2 p-values is 0.120 (joint test)."))
  expect_match(said(evidence = page_evidence(c("E50", "ICI"), c(0.4, 0.5), 0.95, c(TRUE, TRUE)))[["model"]],
               "the 95% intervals of E50 and ICI exclude perfect calibration; the smallest")
})

test_that("an interval that is printed as starting at 0 is no evidence", {
  row <- data.frame(conf.low = c(0.0004, 0.0006), conf.high = 0.1)
  expect_identical(interval_excludes(row, 0), c(FALSE, TRUE))
})

test_that("the search finds pages that contradict themselves", {
  rows <- function(slope_p, error_p) {
    data.frame(term = c("slope", "calibration_error"), conf.low = NA, conf.high = NA, p.value = c(slope_p, error_p))
  }
  old <- "Predictions are too extreme: slope 0.61. No evidence of miscalibration: the smallest"
  expect_identical(contradictions(old, rows(0.001, 1)), c("model", "model and slope"))
  expect_identical(contradictions("Not distinguishable from a calibrated model", rows(1, 1)), "banned")
  expect_identical(contradictions("not shown to be above 0", rows(1, 0.01)), "error")
  expect_identical(contradictions("No evidence of miscalibration: the", rows(1, 1), 0.01), "model")
  expect_identical(contradictions("No evidence of miscalibration: the", rows(1, 1)), character())
})

# Slopes and intercepts that single tests miss, calibrated ones, few events. Every page has the same numbers as its
# sentences; that some pages reject and others do not is checked too.
test_that("no printed page contradicts its numbers or itself", {
  laws <- list(calibrated = list(), slope = list(slope = 0.75), intercept = list(intercept = 0.5),
               few = list(base = -3.5), slight = list(slope = 0.85, intercept = 0.15))
  cases <- expand.grid(law = names(laws), n = c(332, 1000), draw = 1:2, stringsAsFactors = FALSE)
  withr::local_seed(24)
  kinds <- vapply(seq_len(nrow(cases)), function(i) {
    d <- do.call(page_rows, c(cases$n[i], laws[[cases$law[i]]]))
    v <- suppressWarnings(ce_validate(d$p, d$y, times = if (cases$draw[i] == 1) 20 else 0))
    page <- page_text(print(v))
    expect_identical(contradictions(page, tidy(v)), character(), info = paste(cases[i, ], collapse = " "))
    expect_identical(contradictions(paste(paper_sentences(v), collapse = " "), tidy(v)), character())
    error <- tidy(v)[tidy(v)$term == "calibration_error", ]
    estimated <- page_text(print(ce_estimate(d$p, d$y)))
    expect_identical(contradictions(estimated, error), character())
    tuned <- page_text(print(ce_tune(d$p, d$y, methods = method_bins(5))))
    expect_identical(contradictions(tuned, error), character())
    expect_no_match(paste(estimated, tuned), "miscalibration|[Pp]redictions are")
    if (grepl("No evidence of miscalibration", page)) "none" else if (grepl("Strongest", page)) "some" else "interval"
  }, "")
  expect_setequal(kinds[cases$law != "intercept"], c(kinds[cases$law != "intercept"], "none"))
  expect_true(all(c("none", "some") %in% kinds))
})

test_that("pages of several models label their sentences", {
  d <- withr::with_seed(1, page_rows(400))
  frame <- data.frame(y = d$y, a = d$p, b = plogis(2 * qlogis(d$p)))
  v <- ce_validate(list(a = frame$a, b = frame$b), frame$y, times = 0)
  text <- paper_sentences(v)
  expect_match(text[1], "^a: .*No evidence of miscalibration")
  expect_match(text[2], "^b: .*Predictions are too extreme.*Strongest evidence")
  expect_match(text[3], "Resolution of the calibration error: 20 knots of the finest basis", fixed = TRUE)
})

test_that("the test of any group speaks of the model", {
  d <- withr::with_seed(3, page_rows(600))
  group <- rep(c("a", "b"), 300)
  # each group is wrong, both together are right
  p <- plogis(qlogis(d$p) + ifelse(group == "a", 0.7, -0.7))
  v <- ce_validate(p, d$y, group = group, times = 0)
  page <- page_text(print(v))
  expect_identical(contradictions(page, tidy(v)), character())
  expect_match(page, "Strongest evidence of miscalibration: O:E ratio, group = [ab], p < 0.001")
})

test_that("percentages are written in one way", {
  expect_identical(percent_text(c(0.95, 0.9, 0.999)), c("95%", "90%", "99.9%"))
  expect_identical(percent_text(1 / 3, 1), "33.3%")
  expect_identical(percent_text(numeric()), character())
  d <- withr::with_seed(1, page_rows(300))
  frame <- data.frame(y = d$y, a = d$p, b = d$p^2)
  results <- withr::with_seed(2, list(
    ce_validate(d$p, d$y, times = 0), ce_decision(frame, y, a, b, thresholds = c(0.2, 0.4)),
    ce_power(assume_beta(1, 3), width = c(slope = 0.5)), ce_compare(frame, y, a, b, metric = rbs),
    ce_rank(list(a = cbind(1 - d$p, d$p), b = cbind(1 - d$p^2, d$p^2)), d$y + 1L, metric = ece, times = 20),
    update(ce_monitor(), d$p, d$y), ce_test(d$p, d$y, test = "joint")
  ))
  for (x in results) expect_no_match(page_text(print(x)), "[0-9] %")
  expect_match(page_text(print(results[[2]])), "simultaneous 95% band")
})

test_that("a monitor says what its e-value shows", {
  d <- withr::with_seed(1, page_rows(300))
  calibrated <- page_text(print(update(ce_monitor(), d$p, d$y)))
  expect_match(calibrated, "No evidence against calibration so far: the e-value has not reached 20. You may check it after")
  wrong <- page_text(print(update(ce_monitor(), d$p^3, d$y)))
  expect_match(wrong, "Evidence of miscalibration: the e-value reached 20 at row [0-9]+[.] If the predictions were calibrated")
  expect_match(wrong, "at most 5%.", fixed = TRUE)
})
