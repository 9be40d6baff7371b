# Confidences on other scales, against plain arithmetic.

confidence_fails <- function(code, message, class = "confidence") {
  expect_error(code, message, fixed = TRUE, class = paste0("calibrisk_error_", class))
}

test_that("each scale and each way to write a number is the same probability", {
  p <- c(0.05, 0.85, NA, 1)
  expect_identical(pred_confidence(c(0.05, 0.85, -1, 1), "prob"), p)
  expect_equal(pred_confidence(c(5L, 85L, NA, 100L), "percent"), p)
  expect_equal(pred_confidence(c(0.5, 8.5, 99, 10), "ten", none = 99), p)
  expect_equal(pred_confidence(log(p), "logprob"), p)
  expect_equal(pred_confidence(c("5%", " 85 %", "", "100"), "percent"), p)
  expect_equal(pred_confidence(factor(c("0,05", ".85", "-1", "1e0")), "prob"), p)
  expect_equal(pred_confidence(c("0.5", "8,5", "unsure", "10."), "ten", none = c("unsure", "?")), p)
  # -1 is a logarithm
  expect_equal(pred_confidence(c("-1", "-0.5"), "logprob"), exp(c(-1, -0.5)))
  expect_identical(pred_confidence(c(NA, NA), "percent"), c(NA_real_, NA_real_))
  expect_identical(pred_confidence(numeric(), "ten"), numeric())
  expect_equal(pred_confidence(matrix(c(20, 80, 60, 40), 2, byrow = TRUE, dimnames = list(NULL, c("a", "b"))), "percent"),
               cbind(a = c(0.2, 0.6), b = c(0.8, 0.4)))
})

test_that("log-likelihoods of several answers are normalised without underflow", {
  p <- cbind(A = c(0.7, 0.2, 1), B = c(0.3, 0.8, 0))
  expect_equal(pred_confidence(log(p) - c(900, 5, 0), "logprob"), p)
  expect_equal(pred_confidence(as.data.frame(log(p) - 900), "logprob"), p)
  expect_identical(pred_confidence(rbind(c(-1, NA), log(c(.5, .5))), "logprob"), rbind(c(NA, NA), c(.5, .5)))
  expect_equal(ece(pred_confidence(log(p) - 900, "logprob"), c(1, 2, 1))$n, 3)
  confidence_fails(pred_confidence(rbind(c(-1, -2), -Inf), "logprob"), "Row 2 has none")
})

test_that("what is no confidence on the scale is an error with its row", {
  confidence_fails(pred_confidence(0.5), "\"percent\"", "argument")
  confidence_fails(pred_confidence(0.5, "log"), "is \"log\"", "argument")
  confidence_fails(pred_confidence(c(0.5, 85), "prob"), "Row 2 is 85; 1 of 2")
  confidence_fails(pred_confidence(c(-0.1, 0.5), "logprob"), "Row 2 is 0.5; 1 of 2")
  confidence_fails(pred_confidence(NaN, "prob"), "NaN")
  confidence_fails(pred_confidence(c("85%", "high"), "percent"), "Row 2 is \"high\"")
  confidence_fails(pred_confidence(c("80-90", "8/10"), "ten"), "2 of 2")
  confidence_fails(pred_confidence("85%", "prob"), "Row 1 is \"85%\"")
  confidence_fails(pred_confidence("-1,234", "logprob"), "Row 1 is \"-1,234\"")
  confidence_fails(pred_confidence(matrix(c(10, 20, 300, 1), 2), "percent"), "Row 1 is 300")
  confidence_fails(pred_confidence(list(1), "prob"), "list")
  confidence_fails(pred_confidence(1, "prob", none = list()), "list", "argument")
  confidence_fails(ce_score(data.frame(y = 1, p = "8%"), y, pred_confidence(p, "percent")), "computes", "columns")
  confidence_fails(skce(data.frame(y = 1, p = "8%"), y, pred_confidence(p, "percent")), "computes", "columns")
})

test_that("errors for values that are no probabilities name the scale that is seen", {
  y <- c(1, 0, 1)
  says <- function(x, text) {
    error <- expect_error(ece(x, y), class = "calibrisk_error_probs")
    expect_match(gsub("[ \n]+", " ", conditionMessage(error)), text, fixed = TRUE)
  }
  says(c(-0.1, -2, -0.3), "`pred_confidence(scale = \"logprob\")`; logits may be too, for `plogis()`")
  says(-matrix(1:6, 3), "same softmax")
  says(c(85, 20, 90), "`pred_confidence(scale = \"percent\")`")
  says(c("85%", "20%", "90 %"), "`pred_confidence(scale = \"percent\")`")
})
