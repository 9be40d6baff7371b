# The expectations of helper-expectation.R succeed at once only where those of testthat succeed.
message_of <- function(expectation) tryCatch(expectation, expectation_failure = conditionMessage)

succeeds <- function(x, y, tolerance) {
  tryCatch(testthat::expect_equal(x, y, tolerance = tolerance), expectation = \(e) inherits(e, "expectation_success"))
}

odd_values <- function() {
  numbers <- list(
    1, 1L, 0, -0, 1 + 1e-9, 1 + 2e-8, 1e-9, 3e-8, 1e-300, NA, NA_real_, NaN, Inf, -Inf, numeric(), integer(), 2^53,
    c(1, 2), c(1L, 2L), c(1, 2 + 1e-8), c(1, 2 + 1e-7), c(1 + 1e-9, 2), c(1, NA), c(1, NaN), c(Inf, 1), c(Inf, 1 + 1e-9),
    c(a = 1, b = 2), c(b = 1, a = 2), matrix(c(1, 2), 1), matrix(c(1, 2), 2), 2147483647L, 2147483647
  )
  c(numbers, list(
    NULL, TRUE, FALSE, c(TRUE, TRUE), c(a = TRUE), "1", "a", list(1), list(1 + 1e-9), list(1L), list(a = 1), list(1, "a"),
    list(1 + 1e-9, "a"), list(1, "b"), list(list(1)), list(list(1 + 1e-9)), data.frame(x = 1 + 1e-9), data.frame(x = "a"),
    data.frame(x = factor("a")), tibble::tibble(x = 1 + 1e-9), c(1 + 1e-9, NA), c(NA, 1), factor("a"), 1i, as.Date("2020-01-01"),
    18262, as.difftime(1, units = "hours"), as.difftime(1, units = "mins"), data.frame(x = 1), tibble::tibble(x = 1),
    quote(x), quote(f(x)), function(x) x, emptyenv(), globalenv(), y ~ x, structure(1, class = "other"), structure(1, tag = 2)
  ))
}

test_that("what is plainly equal is equal to testthat", {
  values <- odd_values()
  pairs <- expand.grid(x = values, y = values)
  for (tolerance in c(1e-12, testthat::testthat_tolerance(), 0.1)) {
    plain <- mapply(plainly_equal, pairs$x, pairs$y, tolerance)
    same <- mapply(identical, pairs$x, pairs$y)
    # those of the tolerance among them
    testthat::expect_gt(sum(plain & !same), if (tolerance < 1e-9) 2 else 20)
    equal <- mapply(succeeds, pairs$x[plain | same], pairs$y[plain | same], tolerance)
    testthat::expect_true(all(equal))
  }
})

test_that("what is not says what differs, under the names of the caller", {
  x <- 1
  testthat::expect_match(message_of(expect_equal(x, 1 + x)), "`x` (`actual`) not equal to 1 + x (`expected`)", fixed = TRUE)
  testthat::expect_match(message_of(expect_equal(x, 1L + 1e-7)), "not equal")
  testthat::expect_match(message_of(expect_identical(x, 1L)), "`x` (`actual`) not identical to 1L (`expected`)", fixed = TRUE)
  testthat::expect_match(message_of(expect_equal(c(a = x), c(b = x))), "names")
  testthat::expect_match(message_of(expect_true(x > 1)), "x > 1 is not TRUE", fixed = TRUE)
  testthat::expect_match(message_of(expect_false(NA)), "NA is not FALSE", fixed = TRUE)
  testthat::expect_match(message_of(expect_equal(1, 2, info = "of both", label = "this", expected.label = "that")),
                         "^this .* not equal to that .*of both")
  testthat::expect_match(message_of(expect_lt(x, 1)), "`x` is not strictly less than 1. Difference: 0", fixed = TRUE)
  testthat::expect_match(message_of(expect_lte(2, x)), "2 is not less than `x`. Difference: 1", fixed = TRUE)
  testthat::expect_match(message_of(expect_gt(x, NA)), "`x` is not strictly more than NA", fixed = TRUE)
  testthat::expect_match(message_of(expect_gte(x, 1.5, label = "this")), "this is not more than 1.5", fixed = TRUE)
  testthat::expect_error(expect_lt(c(x, x), 2), "single logical")
  for (held in list(quote(expect_lt(x, 2)), quote(expect_lte(x, 1)), quote(expect_gt(x, 0)), quote(expect_gte(x, 1)))) {
    testthat::expect_s3_class(tryCatch(eval(held), expectation = identity), "expectation_success")
  }
  # what testthat takes for true without being TRUE
  expect_true(c(a = TRUE))
  expect_equal(1, c(a = 1), ignore_attr = TRUE)
})

test_that("errors that are expected come without their backtrace, others are reported as ever", {
  stop_here <- function() rlang::abort("no", class = "own")
  caught <- expect_error(stop_here(), "no", class = "own")
  testthat::expect_s3_class(caught, "own")
  testthat::expect_null(caught$trace)
  testthat::expect_s3_class(tryCatch(stop_here(), error = identity)$trace, "rlang_trace")
  outcome <- function(expectation) tryCatch(expectation, expectation = identity, error = identity)
  testthat::expect_match(message_of(expect_error(1 + 1)), "`1 + 1` did not throw", fixed = TRUE)
  testthat::expect_identical(expect_error(1 + 1, NA), 2)
  # another text, another class, an error where none is expected
  others <- list(outcome(expect_error(stop_here(), "yes", class = "own")), outcome(expect_error(stop("no."), "n.o", fixed = TRUE)),
                 outcome(expect_error(stop_here(), class = "other")), outcome(expect_error(stop_here(), NA)))
  for (other in others) {
    testthat::expect_match(conditionMessage(other), "no", fixed = TRUE)
    testthat::expect_false(inherits(other, "expectation_success"))
  }
  # a cause is looked for as well
  nested <- function() tryCatch(stop_here(), error = function(e) rlang::abort("outer", parent = e))
  testthat::expect_s3_class(outcome(expect_error(nested(), class = "own")), "expectation_success")
})
