read <- function(x, truth, ...) new_predictions(x, truth, ...)
probs3 <- rbind(c(0.7, 0.2, 0.1), c(0.1, 0.8, 0.1), c(0.25, 0.25, 0.5), c(0.6, 0.3, 0.1))
truth3 <- c(1L, 2L, 3L, 1L)

test_that("matrices, data frames and vectors give the same values", {
  m <- read(probs3, truth3)
  expect_equal(m$probs, probs3)
  expect_equal(m$truth, truth3)
  df <- data.frame(obs = factor(letters[truth3], levels = letters[1:3]), .pred_a = probs3[, 1],
                   .pred_b = probs3[, 2], .pred_c = probs3[, 3], .pred_class = "a")
  d <- as_predictions(df, rlang::quo(obs))
  expect_equal(d$probs, probs3)
  expect_equal(d$truth, truth3)
  expect_equal(d$levels, c("a", "b", "c"))
  v <- read(c(0.2, 0.9), c(FALSE, TRUE))
  expect_equal(v$prob, c(0.2, 0.9))
  expect_equal(v$outcome, c(0, 1))
})

test_that("columns are matched by name, also when they are permuted", {
  df <- data.frame(obs = factor(letters[truth3], levels = letters[1:3]), c = probs3[, 3],
                   a = probs3[, 1], b = probs3[, 2])
  by_name <- as_predictions(df, rlang::quo(obs), list(rlang::quo(a), rlang::quo(b), rlang::quo(c)))
  permuted <- as_predictions(df, rlang::quo(obs), list(rlang::quo(c(c, b, a))))
  expect_equal(permuted$probs, by_name$probs)
  expect_equal(permuted$probs, probs3)
})

test_that("a permutation that the names show only in part is an error", {
  x <- probs3
  colnames(x) <- c("b", "other", "c")
  expect_error(read(x, factor(letters[truth3], levels = letters[1:3])), class = "calibrisk_error_columns")
  colnames(x) <- c("u", "v", "w")
  expect_equal(read(x, factor(letters[truth3], levels = letters[1:3]))$probs, unname(probs3))
})

test_that("binary events follow event_level, and a single probability is the event's", {
  truth <- factor(c("yes", "no", "yes"), levels = c("yes", "no"))
  expect_equal(read(c(0.8, 0.3, 0.6), truth)$outcome, c(1, 0, 1))
  expect_equal(read(c(0.8, 0.3, 0.6), truth, event_level = "second")$outcome, c(0, 1, 0))
  p <- read(c(0.8, 0.3, 0.6), truth)
  expect_equal(p$levels, c("no", "yes"))
  expect_equal(simplex_probs(p), cbind(c(0.2, 0.7, 0.4), c(0.8, 0.3, 0.6)))
})

test_that("rows within 1e-12 of 1 are used as they are, within 1e-6 renormalised with a note", {
  x <- probs3
  expect_no_message(read(x, truth3))
  x[2, 1] <- x[2, 1] + 1e-13
  expect_no_message(kept <- read(x, truth3))
  expect_identical(kept$probs, x)
  x[2, 1] <- x[2, 1] + 2e-7
  expect_message(out <- read(x, truth3), class = "calibrisk_message_renormalised")
  expect_equal(rowSums(out$probs), rep(1, 4), tolerance = 1e-15)
  expect_identical(out$probs[1, ], x[1, ])
})

test_that("bad probabilities are classed errors that name the row and the remedy", {
  bad <- function(i, j, value) {
    x <- probs3
    x[i, j] <- value
    x
  }
  expect_error(read(bad(2, 1, NaN), truth3), "Row 2", class = "calibrisk_error_probs")
  expect_error(read(bad(3, 2, Inf), truth3), "Row 3", class = "calibrisk_error_probs")
  expect_error(read(bad(4, 2, -0.1), truth3), "Row 4", class = "calibrisk_error_probs")
  expect_error(read(bad(2, 1, 0.3), truth3), "Row 2 sums", class = "calibrisk_error_probs")
  expect_error(read(matrix(c(2, -1, 3, 0), 2), 1:2), "softmax", class = "calibrisk_error_probs")
  expect_error(read(c(0.2, 1.3), c(0, 1)), "plogis", class = "calibrisk_error_probs")
  expect_error(read(probs3[, 1, drop = FALSE], truth3), class = "calibrisk_error_probs")
  expect_error(read("a", 1), class = "calibrisk_error_probs")
  expect_error(read(probs3, truth3[1:3]), class = "calibrisk_error_length")
  expect_error(read(probs3[0, ], integer()), class = "calibrisk_error_empty")
  error <- expect_error(read(bad(4, 2, -0.1), truth3), class = "calibrisk_error")
  expect_equal(error$row, 4)
  expect_equal(error$value, -0.1)
})

test_that("bad outcomes are classed errors", {
  expect_error(read(probs3, c(0, 1, 2, 1)), "start at 0", class = "calibrisk_error_truth")
  expect_error(read(probs3, c(1, 2, 4, 1)), class = "calibrisk_error_truth")
  expect_error(read(probs3, c(1, 2, 1.5, 1)), class = "calibrisk_error_truth")
  expect_error(read(c(0.2, 0.3), c(0, 2)), class = "calibrisk_error_truth")
  expect_error(read(c(0.2, 0.3), factor(c("a", "b"), levels = c("a", "b", "c"))), class = "calibrisk_error_truth")
  unused <- factor(letters[truth3], levels = letters[1:4])
  expect_error(read(probs3, unused), "droplevels", class = "calibrisk_error_columns")
  absent <- factor(c("a", "a", "b", "a"), levels = letters[1:3])
  expect_equal(read(probs3, absent)$truth, c(1, 1, 2, 1))
})

test_that("missing values are dropped over all columns, or give NA", {
  x <- probs3
  x[2, 3] <- NA
  out <- read(x, c(1, 2, NA, 1))
  expect_equal(out$rows, c(1L, 4L))
  expect_equal(out$dropped, 2)
  expect_false(out$na)
  expect_true(read(x, truth3, na_rm = FALSE)$na)
  expect_error(read(matrix(NA_real_, 2, 2), 1:2), "incomplete", class = "calibrisk_error_empty")
})

test_that("notions map to features and residuals", {
  p <- read(rbind(probs3, c(0.4, 0.4, 0.2)), c(truth3, 2L))
  top <- notion_problems(p, "top_label")[[1]]
  expect_equal(top$features[, 1], c(0.7, 0.8, 0.5, 0.6, 0.4))
  # first maximum on ties: class 1, so wrong
  expect_equal(top$residuals[, 1], c(-0.3, -0.2, -0.5, -0.4, 0.4))
  canonical <- notion_problems(p, "canonical")[[1]]
  expect_equal(canonical$residuals[1, ], c(-0.3, 0.2, 0.1))
  classes <- notion_problems(p, "class_wise")
  expect_length(classes, 3)
  expect_equal(classes[[2]]$residuals[, 1], canonical$residuals[, 2])
  expect_error(notion_problems(p, "binary"), class = "calibrisk_error_notion")
})

test_that("outcomes given beside a data frame are told from its columns", {
  v <- vehicle_predictions
  outcomes <- v$truth
  for (bad in list(quote(ece(v, v$truth)), quote(ece(v, outcomes)), quote(ece(v, as.integer(v$truth))),
                   quote(skce(v, v$truth)), quote(ce_gain(v, v, v$truth)))) {
    error <- expect_error(eval(bad), "one of its columns", class = "calibrisk_error_columns")
    expect_lt(nchar(conditionMessage(error)), 400)
  }
  expect_error(ece(v, nothing), class = "calibrisk_error_columns")
})

test_that("wrong kinds of input are classed errors before truth is looked at", {
  v <- vehicle_predictions
  expect_error(ece(NULL, truth), "NULL", class = "calibrisk_error_probs")
  expect_error(ece(as.list(v), truth), "list", class = "calibrisk_error_probs")
  expect_error(ece(as.matrix(v), truth), "character", class = "calibrisk_error_probs")
  expect_error(ece(c(.2, .4), truth), "data frame", class = "calibrisk_error_truth")
})
