# The expectations that the tests call most, by their own names. testthat sets options, locale and language for every
# comparison, which is a fifteenth of the suite's time, though only a difference is ever shown. So what is plainly the
# same succeeds here at once, by testthat's own rule, and all else is left to testthat, which says what differs.
expect_equal <- function(object, expected, ..., tolerance = testthat::testthat_tolerance(), info = NULL, label = NULL,
                         expected.label = NULL) {
  act <- testthat::quasi_label(rlang::enquo(object), label, arg = "object")
  exp <- testthat::quasi_label(rlang::enquo(expected), expected.label, arg = "expected")
  if (identical(act$val, exp$val) || (...length() == 0 && plainly_equal(act$val, exp$val, tolerance))) {
    return(succeed_with(act))
  }
  testthat::expect_equal(act$val, exp$val, ..., tolerance = tolerance, info = info, label = act$lab,
                         expected.label = exp$lab)
}

expect_identical <- function(object, expected, info = NULL, label = NULL, expected.label = NULL, ...) {
  act <- testthat::quasi_label(rlang::enquo(object), label, arg = "object")
  exp <- testthat::quasi_label(rlang::enquo(expected), expected.label, arg = "expected")
  if (identical(act$val, exp$val)) return(succeed_with(act))
  testthat::expect_identical(act$val, exp$val, info = info, label = act$lab, expected.label = exp$lab, ...)
}

expect_true <- function(object, info = NULL, label = NULL) {
  act <- testthat::quasi_label(rlang::enquo(object), label, arg = "object")
  if (identical(act$val, TRUE)) return(succeed_with(act))
  testthat::expect_true(act$val, info = info, label = act$lab)
}

expect_false <- function(object, info = NULL, label = NULL) {
  act <- testthat::quasi_label(rlang::enquo(object), label, arg = "object")
  if (identical(act$val, FALSE)) return(succeed_with(act))
  testthat::expect_false(act$val, info = info, label = act$lab)
}

# Without the backtraces of rlang and of testthat, which take longer than the checks that raise the error: those of errors
# that are expected are never shown.
expect_error <- function(object, regexp = NULL, class = NULL, ..., fixed = FALSE, label = NULL) {
  quo <- rlang::enquo(object)
  value <- NULL
  caught <- rlang::with_options("rlang:::disable_trace_capture" = TRUE, tryCatch({
    value <- rlang::eval_bare(rlang::quo_get_expr(quo), rlang::quo_get_env(quo))
    NULL
  }, error = identity))
  if (...length() == 0 && is_plain_error(caught, regexp, class, fixed)) return(succeed_with(list(val = caught, lab = "")))
  label <- label %||% rlang::expr_label(rlang::quo_get_expr(quo))
  again <- function() if (is.null(caught)) value else rlang::cnd_signal(caught)
  if (fixed) return(testthat::expect_error(again(), regexp, class, ..., fixed = TRUE, label = label))
  testthat::expect_error(again(), regexp, class, ..., label = label)
}

is_plain_error <- function(caught, regexp, class, fixed) {
  !is.null(caught) && (is.null(class) || inherits(caught, class)) &&
    (is.null(regexp) || (rlang::is_string(regexp) && grepl(regexp, conditionMessage(caught), fixed = fixed)))
}

succeed_with <- function(act) {
  testthat::expect(TRUE, act$lab)
  invisible(act$val)
}

# Plain numbers, none missing, of which those that differ have a mean relative difference below the tolerance (absolute
# where their mean is below it): the rule of testthat's third edition.
plainly_equal <- function(x, y, tolerance) {
  plain <- is.numeric(x) && is.numeric(y) && !is.object(x) && length(x) == length(y) && length(x) > 0 &&
    !is.null(tolerance) && identical(attributes(x), attributes(y)) && !anyNA(x) && !anyNA(y)
  if (!plain) return(FALSE)
  differ <- x != y
  if (!any(differ)) return(TRUE)
  difference <- mean(abs(x[differ] - y[differ]))
  scale <- mean(abs(y[differ]))
  isTRUE(difference / (if (is.finite(scale) && scale > tolerance) scale else 1) < tolerance)
}
