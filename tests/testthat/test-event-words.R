# Pages that count events, of outcomes No and Yes.
named_rows <- function(n = 150) stats::setNames(as.data.frame(pima_like(n)), c("type", "no", "risk"))


test_that("every page that counts events names the level, and how to choose the other", {
  d <- named_rows()
  type <- d$type
  pages <- function(level) {
    p <- if (level == "first") d$no else d$risk
    d$p <- p
    list(
      ce_validate(d, type, p, times = 0, event_level = level), ce_validate(p, d$type, times = 0, event_level = level),
      ce_estimate(d, type, p, event_level = level), ce_estimate(p, type, event_level = level),
      ce_decision(d, type, p, times = 100, event_level = level),
      ce_power(assume_pilot(d, type, p, event_level = level), width = c(slope = 0.4))
    )
  }
  for (page in pages("first")) {
    text <- page_text(page)
    expect_match(text, "type = No", fixed = TRUE)
    expect_match(text, "If you mean \"Yes\", use event_level = \"second\"", fixed = TRUE)
  }
  for (page in pages("second")) {
    text <- page_text(page)
    expect_match(text, "type = Yes", fixed = TRUE)
    expect_no_match(text, "If you mean", fixed = TRUE)
  }
  n <- sum(d$type == "No")
  expect_match(page_text(pages("first")[[1]]), paste0(n, " events (type = No)"), fixed = TRUE)
  expect_match(page_text(pages("first")[[3]]), paste0(n, " events (type = No)"), fixed = TRUE)
  expect_match(page_text(update(ce_state(), d, type, no)), "events: No", fixed = TRUE)
})

test_that("a column that names the event has another hint, outcomes without levels have none", {
  d <- named_rows()
  text <- page_text(ce_validate(setNames(d[1:2], c("type", ".pred_No")), type, times = 0))
  expect_match(text, "give its column: .pred_No is the probability of \"No\"", fixed = TRUE)
  text <- page_text(ce_validate(d$risk, d$type == "Yes", times = 0))
  expect_match(text, "(truth = TRUE)", fixed = TRUE)
  expect_no_match(text, "If you mean")
  y <- as.integer(d$type == "Yes")
  expect_match(page_text(ce_estimate(d$risk, y)), "events (y = 1)", fixed = TRUE)
  expect_no_match(page_text(ce_validate(d$risk, d$type == "Yes", times = 0, notion = "top_label")), "truth = ")
  for (other in c("yes", "1", "TRUE", "Event", "positive", "PRESENT", "dead", "case", "success")) {
    named <- factor(ifelse(y == 1, other, "0"), levels = c("0", other))
    expect_match(page_text(ce_estimate(d$no, named)), paste0("If you mean \"", other), fixed = TRUE)
  }
  expect_no_match(page_text(ce_estimate(d$no, factor(ifelse(y == 1, "b", "a")))), "If you mean")
})

test_that("every table, curve and test of a binary outcome names its event", {
  d <- named_rows(60)
  d$site <- rep(c("a", "b"), 30)
  d$other <- d$no^2
  yes <- as.numeric(d$type == "Yes")
  of <- function(fn, ...) fn(d, type, no, ...)
  results <- suppressWarnings(list(
    of(ece), of(ece, .by = site), of(ece, notion = "binary", n_bins = c(5, 10)), of(rbs), of(ce_score), of(ks_error),
    of(smooth_ece), of(mmce), of(kde_error), of(ici), of(spiegelhalter), of(hosmer_lemeshow), of(cox_calibration),
    of(skce), of(ckce), of(ce_panel), of(ce_test), of(ce_test, .by = site), of(ce_recalibrate, method = "platt"),
    of(ce_decompose, method = "isotonic"), of(ce_curve), of(ce_fit, method = method_bins(5)),
    ce_gain(d, "platt", type, no), ce_gain(d$no, d$other, d$type), ce_compare(d, type, no, other, metric = ece),
    ece(update(ce_state(), d, type, no))
  ))
  for (one in results) expect_match(page_text(one), "Event: (type|truth) = No")
  expect_match(page_text(ece(d$risk, yes)), "Event: yes = 1 ")
  models <- list(a = d$risk, b = d$risk^2)
  expect_match(page_text(ce_compare(models, yes, metric = ece)), "Event: yes = 1 ")
  expect_match(page_text(ce_rank(models, yes, metric = "brier", times = 3)), "Event: yes = 1.")
  # of several classes, and of labels that were right
  expect_no_match(page_text(ece(vehicle_predictions, truth)), "Event")
  expect_no_match(page_text(ece(d$risk, yes, notion = "top_label")), "Event")
  expect_false("event" %in% names(of(ece)))
  expect_match(ggplot2::autoplot(of(ce_curve))$labels$caption, "Event: type = No.", fixed = TRUE)
  expect_match(paste(ce_kable(of(rbs), format = "pipe"), collapse = " "), "Event: type = No", fixed = TRUE)
})
