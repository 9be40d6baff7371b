fact <- function(estimate, low, high, p) data.frame(estimate = estimate, conf.low = low, conf.high = high, p.value = p)
said <- function(..., level = 0.95) page_sentences(list(level = level, ...))

wrong <- list(rejects = c("joint test" = TRUE), text = "Evidence of miscalibration: joint test, p = 0.001.")
right <- list(rejects = c("joint test" = FALSE), text = "No evidence of miscalibration: joint test, p = 0.400.")

test_that("sentences claim nothing where the verdict does not reject", {
  numbers <- list(ratio = fact(1.2, 1.05, 1.37, 0.01), large = fact(0.2, 0.01, 0.39, 0.04),
                  slope = fact(0.6, 0.4, 0.8, 0.001), error = fact(0.05, 0.01, 0.09, 0.03), verdict = right)
  expect_identical(do.call(said, numbers),
                   c(mean = "O:E ratio 1.20 (95% CI 1.05 to 1.37).", slope = "Slope 0.60 (95% CI 0.40 to 0.80).",
                     error = "The calibration error is estimated at 0.050 (95% CI 0.010 to 0.090).",
                     model = "No evidence of miscalibration: joint test, p = 0.400."))
})

test_that("sentences of a rejected model claim what their own interval and test show", {
  refuted <- function(...) said(..., verdict = wrong)
  expect_identical(refuted(ratio = fact(1.2, 1.05, 1.37, 0.01))[["mean"]],
                   "On average predictions are too low: O:E ratio 1.20 (95% CI 1.05 to 1.37).")
  expect_match(refuted(ratio = fact(0.8, 0.7, 0.9, 0.001), level = 0.9)[["mean"]],
               "too high: O:E ratio 0.80 [(]90% CI 0.70 to 0.90[)]")
  # the regression finds what the ratio does not
  expect_identical(refuted(ratio = fact(1.1, 0.99, 1.2, 0.06), large = fact(0.2, 0.01, 0.39, 0.04))[["mean"]],
                   paste("On average predictions are too low: calibration in the large 0.20 (95% CI 0.01 to 0.39);",
                         "O:E ratio 1.10 (95% CI 0.99 to 1.20)."))
  expect_match(refuted(slope = fact(0.6, 0.4, 0.8, 0.001))[["slope"]],
               "^Predictions are too extreme: slope 0.60 [(]95% CI 0.40 to 0.80")
  expect_match(refuted(slope = fact(1.6, 1.4, 1.8, 0.001))[["slope"]], "^Predictions are too moderate: slope 1.60")
  expect_match(refuted(slope = fact(-1, -1.4, -0.8, 0.001))[["slope"]],
               "^Events are rarer where predictions are higher: slope -1.00")
  # a likelihood ratio beside Wald's interval
  expect_match(refuted(slope = fact(0.8, 0.62, 1.01, 0.04))[["slope"]],
               "too extreme: slope 0.80 (95% CI 0.62 to 1.01; p = 0.040).", fixed = TRUE)
  expect_identical(refuted(ratio = fact(1, 0.9, 1.1, 0.9))[["model"]], wrong$text)
})

test_that("the calibration error is above 0 where its own test says so", {
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

test_that("a page has one verdict over all its tests", {
  one <- page_verdicts(list(c("joint test" = 0.04)), 0.95)[[1]]
  expect_identical(one$text, "Evidence of miscalibration: joint test, p = 0.040.")
  expect_identical(one$rejects, c("joint test" = TRUE))
  # of two tests none survives; of three one does
  both <- page_verdicts(list(c("joint test" = 0.04, "test of all groups" = 0.06)), 0.95)[[1]]
  expect_identical(both$text, "No evidence of miscalibration: joint test, p = 0.080 (adjusted by Holm's rule).")
  parts <- page_verdicts(list(c("joint test" = 0.04), c("joint test" = 0.01), c("joint test" = NA)), 0.95)
  expect_identical(unname(vapply(parts, function(part) any(part$rejects), NA)), c(TRUE, TRUE, FALSE))
  parts <- page_verdicts(list(c("joint test" = 0.04), c("joint test" = 0.03), c("joint test" = NA)), 0.95)
  expect_false(any(unlist(lapply(parts, `[[`, "rejects"))))
  expect_null(parts[[3]]$text)
})

test_that("groups are named where Holm's rule rejects among them", {
  groups <- transform(fact(0.1, 0.02, 0.2, c(0.001, 0.02, 0.04)), term = sprintf("calibration_error(g = %s)", 1:3))
  refuted <- list(rejects = c("joint test" = FALSE, "test of all groups" = TRUE), text = "")
  expect_identical(said(groups = groups, verdict = refuted)[["groups"]],
                   "The calibration error is above 0 in g = 1 (p = 0.003), g = 2 (p = 0.040), and g = 3 (p = 0.040).")
  groups$p.value[2:3] <- 0.03
  expect_identical(said(groups = groups, verdict = refuted)[["groups"]],
                   "The calibration error is above 0 in g = 1 (p = 0.003).")
  expect_false("groups" %in% names(said(groups = groups, verdict = replace(refuted, "rejects", list(c("joint test" = TRUE))))))
})

test_that("an interval that is printed as starting at 0 is no evidence", {
  row <- data.frame(estimate = 0.05, conf.low = c(0.0004, 0.0006), conf.high = 0.1)
  expect_identical(interval_excludes(row, 0), c(FALSE, TRUE))
})

test_that("the search finds pages that contradict themselves", {
  rows <- function(slope_p, error_p) {
    data.frame(term = c("slope", "calibration_error"), conf.low = NA, conf.high = NA, p.value = c(slope_p, error_p))
  }
  expect_identical(contradictions("Predictions are too extreme: slope 0.61.", rows(0.001, 1)), "unfounded")
  expect_identical(contradictions("Predictions are too extreme: slope 0.61.", rows(0.2, 0.01)), "wrong slope")
  expect_identical(contradictions("Not distinguishable from a calibrated model", rows(1, 1)), "banned")
  expect_identical(contradictions("not shown to be above 0", rows(1, 0.01)), "error")
  expect_identical(contradictions("No evidence of miscalibration: the", rows(1, 0.01)), "model")
  expect_identical(contradictions("Evidence of miscalibration: the", rows(0.01, 1)), "wrong model")
  expect_identical(contradictions("No evidence of miscalibration: the", rows(0.01, 1)), character())
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
    if (grepl("No evidence of miscalibration", page)) "none" else "some"
  }, "")
  expect_true(all(c("none", "some") %in% kinds))
})

test_that("pages of several models label their sentences", {
  d <- withr::with_seed(1, page_rows(400))
  frame <- data.frame(y = d$y, a = d$p, b = plogis(2 * qlogis(d$p)))
  v <- ce_validate(list(a = frame$a, b = frame$b), frame$y, times = 0)
  text <- paper_sentences(v)
  expect_match(text[1], "^a: .*No evidence of miscalibration")
  expect_match(text[2], "^b: .*Predictions are too extreme.*[.] Evidence of miscalibration")
  expect_match(text[1], "; at a resolution of 20 knots it is at most", fixed = TRUE)
})

test_that("the test of all groups speaks of the model", {
  d <- withr::with_seed(3, page_rows(600))
  group <- rep(c("a", "b"), 300)
  # each group is wrong, both together are right
  p <- plogis(qlogis(d$p) + ifelse(group == "a", 0.7, -0.7))
  v <- ce_validate(p, d$y, group = group, times = 0)
  page <- page_text(print(v))
  expect_identical(contradictions(page, tidy(v)), character())
  expect_match(page, "[.] Evidence of miscalibration: test of all groups, p < 0.001 [(]adjusted by Holm's rule[)][.]")
  expect_match(page, "above 0 in group = a [(]p < 0.001[)] and group = b [(]p < 0.001[)]")
})

# Rare events, ties, predictions of 0 and 1, with and without groups. Of the 5% that a test may reject, 160 samples have
# more than 16 with probability 0.004.
test_that("pages of calibrated models claim evidence as rarely as one test", {
  laws <- list(function(n) rbeta(n, 0.6, 20), function(n) sample(c(0.02, 0.07, 0.19, 0.52), n, TRUE),
               function(n) ifelse(runif(n) < 0.3, 0, rbeta(n, 1, 2)), function(n) rbeta(n, 0.15, 0.25))
  withr::local_seed(44)
  claims <- vapply(seq_len(160), function(i) {
    p <- laws[[i %% 4 + 1]](200)
    y <- rbinom(200, 1, p)
    group <- if (i %% 8 < 4) rep(letters[1:4], 50)
    text <- page_text(print(suppressWarnings(suppressMessages(ce_validate(p, y, group = group, times = 0)))))
    grepl("[.] Evidence|redictions are too|above 0 in|is above 0|Events are rarer", text)
  }, NA)
  expect_lte(sum(claims), 16)
})

test_that("a canonical row says which coarser error is above 0", {
  out <- ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise", "canonical"))
  said <- function(p) {
    out$p.value <- p
    out$conf.low[p >= .05] <- 0
    grep("^canonical", estimate_sentences(out, .95), value = TRUE)
  }
  expect_match(said(c(.001, .2, .3)), "at least the top_label one, which is above 0; at this resolution", fixed = TRUE)
  expect_match(said(c(.2, .001, .3)), "at least the class_wise one, which is above 0", fixed = TRUE)
  expect_match(said(c(.2, .2, .3)), "is not shown to be above 0", fixed = TRUE)
  expect_match(said(c(.001, .001, .001)), "is above 0: 0.18", fixed = TRUE)
})
