# The expectations that the tests call most, by their own names. testthat sets options, locale and language for every
# comparison, deparses what was compared and looks for the line, which is a tenth of the suite's time, though only a
# difference is ever shown. So what is plainly the same succeeds here at once, by testthat's own rule, and all else is
# left to testthat, which says what differs.
expect_equal <- function(object, expected, ..., tolerance = testthat::testthat_tolerance(), info = NULL, label = NULL,
                         expected.label = NULL) {
  act <- rlang::enquo(object)
  exp <- rlang::enquo(expected)
  x <- quo_value(act)
  y <- quo_value(exp)
  if (identical(x, y) || (...length() == 0 && plainly_equal(x, y, tolerance))) return(succeed_with(x))
  testthat::expect_equal(x, y, ..., tolerance = tolerance, info = info, label = quo_text(act, label),
                         expected.label = quo_text(exp, expected.label))
}

expect_identical <- function(object, expected, info = NULL, label = NULL, expected.label = NULL, ...) {
  act <- rlang::enquo(object)
  exp <- rlang::enquo(expected)
  x <- quo_value(act)
  y <- quo_value(exp)
  if (identical(x, y)) return(succeed_with(x))
  testthat::expect_identical(x, y, info = info, label = quo_text(act, label),
                             expected.label = quo_text(exp, expected.label), ...)
}

expect_true <- function(object, info = NULL, label = NULL) {
  act <- rlang::enquo(object)
  x <- quo_value(act)
  if (identical(x, TRUE)) return(succeed_with(x))
  testthat::expect_true(x, info = info, label = quo_text(act, label))
}

expect_false <- function(object, info = NULL, label = NULL) {
  act <- rlang::enquo(object)
  x <- quo_value(act)
  if (identical(x, FALSE)) return(succeed_with(x))
  testthat::expect_false(x, info = info, label = quo_text(act, label))
}

ordered_as <- function(operator, expectation) {
  force(expectation)
  function(object, expected, label = NULL, expected.label = NULL) {
    act <- rlang::enquo(object)
    exp <- rlang::enquo(expected)
    x <- quo_value(act)
    y <- quo_value(exp)
    if (isTRUE(operator(x, y))) return(succeed_with(x))
    expectation(x, y, label = quo_text(act, label), expected.label = quo_text(exp, expected.label))
  }
}
expect_lt <- ordered_as(`<`, testthat::expect_lt)
expect_lte <- ordered_as(`<=`, testthat::expect_lte)
expect_gt <- ordered_as(`>`, testthat::expect_gt)
expect_gte <- ordered_as(`>=`, testthat::expect_gte)

quo_value <- function(quo) rlang::eval_bare(rlang::quo_get_expr(quo), rlang::quo_get_env(quo))
quo_text <- function(quo, label) {
  expr <- rlang::quo_get_expr(quo)
  label %||% if (is.name(expr)) paste0("`", expr, "`") else paste(deparse(expr, 500L), collapse = " ")
}

# The value of `code`, whose errors have no backtrace: those that are expected are never shown, and rlang takes longer for
# their backtrace than the checks that raise them.
without_backtraces <- function(code) rlang::with_options("rlang:::disable_trace_capture" = TRUE, code)

# Without the backtraces of rlang and of testthat.
expect_error <- function(object, regexp = NULL, class = NULL, ..., fixed = FALSE, label = NULL) {
  quo <- rlang::enquo(object)
  value <- NULL
  caught <- without_backtraces(tryCatch({
    value <- rlang::eval_bare(rlang::quo_get_expr(quo), rlang::quo_get_env(quo))
    NULL
  }, error = identity))
  if (...length() == 0 && is_plain_error(caught, regexp, class, fixed)) return(succeed_with(caught))
  label <- label %||% rlang::expr_label(rlang::quo_get_expr(quo))
  again <- function() if (is.null(caught)) value else rlang::cnd_signal(caught)
  if (fixed) return(testthat::expect_error(again(), regexp, class, ..., fixed = TRUE, label = label))
  testthat::expect_error(again(), regexp, class, ..., label = label)
}

is_plain_error <- function(caught, regexp, class, fixed) {
  !is.null(caught) && (is.null(class) || inherits(caught, class)) &&
    (is.null(regexp) || (rlang::is_string(regexp) && grepl(regexp, conditionMessage(caught), fixed = fixed)))
}

# As testthat signals it, with a line of its own, which is looked for in all calls where there is none.
succeed_with <- function(value) {
  withRestarts(signalCondition(holding), continue_test = function() NULL)
  invisible(value)
}
holding <- testthat::new_expectation("success", "", srcref = attr(parse(text = "TRUE", keep.source = TRUE), "srcref")[[1]])

# Plain numbers, missing in the same places, of which those that differ have a mean relative difference below the
# tolerance (absolute where their mean is below it): the rule of testthat's third edition. Lists, also tables: of such
# numbers and of what is the same.
plainly_equal <- function(x, y, tolerance) {
  alike <- length(x) == length(y) && length(x) > 0 && !is.null(tolerance) && identical(attributes(x), attributes(y))
  if (!alike) return(FALSE)
  if (is.list(x) && is.list(y)) return(all(mapply(same_or_plainly_equal, unclass(x), unclass(y), tolerance)))
  plain <- is.numeric(x) && is.numeric(y) && !is.object(x) && identical(is.na(x), is.na(y)) &&
    identical(is.nan(x), is.nan(y))
  if (!plain) return(FALSE)
  differ <- which(x != y)
  if (length(differ) == 0) return(TRUE)
  difference <- mean(abs(x[differ] - y[differ]))
  scale <- mean(abs(y[differ]))
  isTRUE(difference / (if (is.finite(scale) && scale > tolerance) scale else 1) < tolerance)
}

same_or_plainly_equal <- function(x, y, tolerance) identical(x, y) || plainly_equal(x, y, tolerance)

# Looks once for each package.
skip_if_not_installed <- function(pkg, minimum_version = NULL) {
  key <- paste(pkg, minimum_version)
  if (isTRUE(packages_found[[key]])) return(invisible(TRUE))
  testthat::skip_if_not_installed(pkg, minimum_version)
  packages_found[[key]] <- TRUE
  invisible(TRUE)
}
packages_found <- new.env()
