test_that("binary events follow event_level, and a single probability is the event's", {
  truth <- factor(c("yes", "no", "yes"), levels = c("yes", "no"))
  expect_equal(new_predictions(c(0.8, 0.3, 0.6), truth)$outcome, c(1, 0, 1))
  expect_equal(new_predictions(c(0.8, 0.3, 0.6), truth, event_level = "second")$outcome, c(0, 1, 0))
  p <- new_predictions(c(0.8, 0.3, 0.6), truth)
  expect_equal(p$levels, c("no", "yes"))
  expect_equal(simplex_probs(p), cbind(c(0.2, 0.7, 0.4), c(0.8, 0.3, 0.6)))
})

test_that("bad outcomes are classed errors", {
  expect_error(new_predictions(probs3, c(0, 1, 3, 1)), "range from 0 to 3", class = "calibrisk_error_truth")
  expect_error(new_predictions(probs3, c(1, 2, 4, 1)), class = "calibrisk_error_truth")
  expect_error(new_predictions(probs3, c(1, 2, 1.5, 1)), class = "calibrisk_error_truth")
  expect_error(new_predictions(c(0.2, 0.3), c(0, 2)), class = "calibrisk_error_truth")
  three <- factor(c("a", "b"), levels = c("a", "b", "c"))
  expect_error(new_predictions(c(0.2, 0.3), three), class = "calibrisk_error_truth")
  unused <- factor(letters[truth3], levels = letters[1:4])
  expect_error(new_predictions(probs3, unused), "No row has \"d\"", class = "calibrisk_error_columns")
  absent <- factor(c("a", "a", "b", "a"), levels = letters[1:3])
  expect_equal(new_predictions(probs3, absent)$truth, c(1, 1, 2, 1))
})

test_that("survival outcomes are told from others, in every way they come", {
  surv <- structure(cbind(time = c(1, 2, 3), status = c(1, 0, 1)), class = "Surv", type = "right")
  p <- c(0.2, 0.4, 0.7)
  frame <- data.frame(p = p, time = 1:3, status = c(1, 0, 1))
  frame$y <- surv
  expect_error(ece(p, surv), "horizon", class = "calibrisk_error_survival")
  expect_error(ce_estimate(frame, y, p), "horizon", class = "calibrisk_error_survival")
  expect_error(ece(frame, Surv(time, status), p), "horizon", class = "calibrisk_error_survival")
  expect_error(skce(pred_normal(p, 1), surv), class = "calibrisk_error_survival")
  expect_error(ce_recalibrate(p, surv), class = "calibrisk_error_survival")
  expect_error(ce_recalibrate(p, surv, logits = TRUE), class = "calibrisk_error_survival")
  expect_error(ce_moments(pred_normal(p, 1), surv), class = "calibrisk_error_truth")
})

test_that("outcomes are 1 for the event and NA where they are missing", {
  given <- list(c(TRUE, NA, FALSE), c(1L, NA, 0L), c(1, NaN, 0), factor(c("b", NA, "a")))
  for (truth in given) {
    one <- code_outcome(truth, "second")
    expect_identical(is.na(one$outcome), c(FALSE, one$missing, FALSE))
    expect_identical(code_outcome(truth[-2], "second")[c("outcome", "missing")], list(outcome = c(1, 0), missing = FALSE))
  }
  expect_identical(code_outcome(given[[4]], "first")$outcome[-2], c(0, 1))
  expect_null(cpp_event_outcomes(c(0, 2), 1, 0))
})

test_that("other shapes of the same outcomes are read as they are", {
  p <- c(0.2, 0.9, 0.4, 0.6, 0.1, 0.8)
  y <- c(0, 1, 1, 0, 0, 1)
  right <- rbs(p, y)$.estimate
  same <- function(value) expect_equal(value$.estimate, right)
  same(rbs(matrix(p), matrix(y)))
  same(rbs(array(p, 6), array(y, 6)))
  d <- data.frame(truth = ifelse(y == 1, "spam", "eggs"), p = p)
  d$y <- matrix(y)
  same(rbs(d, truth == "spam", p))
  same(rbs(d, y, p))
  expect_error(rbs(d, label == "spam", p), "no column \"label\"", class = "calibrisk_error_columns")
  # columns as make.names() names them
  same(rbs(data.frame(obs = factor(y), X0 = 1 - p, X1 = p), obs))

  three <- matrix(c(0.2, 0.3, 0.5, 0.6, 0.3, 0.1, 0.1, 0.8, 0.1), 3, byrow = TRUE)
  log_score <- function(...) ce_score(..., score = "log")$.estimate
  right <- -mean(log(c(0.5, 0.6, 0.1)))
  expect_equal(log_score(three, c(2, 0, 2)), right)
  expect_equal(log_score(`colnames<-`(three, c("a", "b", "c")), factor(c("c", "a", "c"))), right)
})
