# The tests of ce_test(), as values.

#' Tests as values
#'
#' A test with its options, for the argument `test` of [ce_test()], which defines them. The name of a test is
#' shorthand for the test with its defaults: `test = "block"` is `test = test_block()`.
#'
#' @param times Number of simulations or resamples, at most 1e7 (R's random numbers: reproducible with
#'   `set.seed()`).
#' @param tolerance Mean neglected diagonal of the factor that the conditional test uses (for classes, the consistency
#'   test too), without a limit on the rank. The default is 1e-6 of the kernel's diagonal, with a bounded rank.
#' @param add_one Whether resampling p-values are (1 + number of exceedances) / (times + 1), never 0, or the
#'   plain fraction.
#' @param block Rows per block, by default the root of their number.
#' @param reference Of `test_block()`: the standard error from the `"blocks"` or from all `"pairs"`. Of `test_cme()`:
#'   `"redraw"`, `"chisq"` or `"f"`.
#' @param locations Number of test locations, or a list with elements `x` (predictions, as `x` of [ce_test()]) and
#'   `truth`. By default three of the predictions observed, far from each other in the kernel (the pivots of its
#'   factor), each with an outcome drawn from it. They depend on the predictions alone, so the simulated p-value stays
#'   exact.
#' @param statistic Of `test_cumulative()`: the two-part statistic of mean and `"bridge"`, `"kuiper"` or `"ks"`.
#' @param bases Nested bases in place of the default test, as in [ce_estimate()].
#' @param delta Of `test_joint()`: `NULL`, or a calibration error, on the scale of the estimate of [ce_estimate()]. The
#'   test then asks whether the error is below it.
#' @return A `ce_choice`, which holds options and no data.
#' @section Errors:
#' `calibrisk_error_argument` where an option is out of range.
#' @name ce_tests
#' @examples
#' set.seed(1)
#' p <- runif(200)
#' y <- rbinom(200, 1, p^2)
#' test_conditional(times = 200)
#' ce_test(p, y, test = test_conditional(times = 200))
#' ce_test(p, y, test = test_block(block = 10, reference = "pairs"))
NULL

#' @rdname ce_tests
#' @export
test_conditional <- function(times = 1000, tolerance = NULL, add_one = TRUE) {
  check_redraws(times, add_one, tolerance)
  new_choice("test", "conditional", times = times, tolerance = tolerance, add_one = add_one)
}

test_consistency <- function(times = 1000, tolerance = NULL, add_one = TRUE) {
  check_redraws(times, add_one, tolerance)
  new_choice("test", "consistency", times = times, tolerance = tolerance, add_one = add_one)
}

#' @rdname ce_tests
#' @export
test_bootstrap <- function(times = 1000, add_one = TRUE) {
  check_redraws(times, add_one)
  new_choice("test", "bootstrap", times = times, add_one = add_one)
}

#' @rdname ce_tests
#' @export
test_block <- function(block = NULL, reference = c("blocks", "pairs")) {
  reference <- check_choice(reference, c("blocks", "pairs"))
  check_count(block, lower = 2, null = TRUE)
  new_choice("test", "block", block = block, reference = reference)
}

test_bound <- function(type = c("unbiased", "biased", "block"), block = NULL) {
  type <- check_choice(type, c("unbiased", "biased", "block"))
  check_count(block, lower = 2, null = TRUE)
  stop_if(type != "block" && !is.null(block), "{.arg block} is an option of {.code type = \"block\"}.",
          "x" = "{.arg type} is {.val {type}}.", arg = "block", value = block)
  new_choice("test", "bound", type = type, block = block)
}

#' @rdname ce_tests
#' @export
test_cme <- function(locations = 3, reference = c("redraw", "chisq", "f"), times = 1000, add_one = TRUE) {
  reference <- check_choice(reference, c("redraw", "chisq", "f"))
  check_redraws(times, add_one)
  new_choice("test", "cme", locations = check_locations(locations), reference = reference, times = times,
             add_one = add_one)
}

#' @rdname ce_tests
#' @export
test_joint <- function(bases = NULL, delta = NULL) {
  check_delta(delta)
  check_bases(bases, NULL)
  new_choice("test", "joint", bases = bases, delta = delta)
}

check_redraws <- function(times, add_one, tolerance = NULL) {
  # their statistics are held in memory
  check_counts(times, size = 1L, upper = 1e7)
  check_flag(add_one)
  check_number(tolerance, lower = 0, open = TRUE, null = TRUE)
}

# A test's result: list(estimate, statistic, parameter, p.value, method, ...).
run_test <- function(test, problem, level) UseMethod("run_test")
