#' Calibration tests
#'
#' Tests of the hypothesis that predictions are calibrated in the strong sense: given the prediction, the outcome
#' has the predicted distribution. `ce_test()` runs every test of calibration of the package.
#'
#' @section Definition:
#' \describe{
#'   \item{`"joint"`}{The test that the interval of [ce_estimate()] inverts: several statistics on the same simulated
#'     outcomes have one p-value. The seed is fixed. `estimate` is the calibration error with its interval. For class
#'     probabilities and distributions of one number.}
#'   \item{`"conditional"`}{The unbiased [skce()] against `times` sets of outcomes simulated from the predictions. Exact
#'     for any n.}
#'   \item{`"cumulative"`}{The walk of cumulated residuals of one event's probability, predictions sorted by size. Exact
#'     for any n; `plot()` draws it.}
#'   \item{`"cme"`}{Hotelling statistic of the mean witness values at test locations.}
#' }
#' `"consistency"` draws predictions with replacement and outcomes from them. `"bootstrap"` is asymptotic, `"block"`
#' takes linear time and has low power, `"bound"` is distribution-free, valid for any n and usually near 1.
#'
#' `"auto"` is the joint test for class probabilities and distributions of one number (of quantile forecasts, unless an
#' outcome equals a quantile, whose level is not known). It is the conditional test for outcomes in several dimensions,
#' with `group`, and if a kernel is given; above 256 rows, a kernel that is a function gets the bootstrap. The vignette
#' *Derivation of the test and the interval* has the statistics, the parts of the joint tests with their shares of the
#' level, and the measured level and power. Kernel tests take the members of an ensemble ([pred_draws()]) as the whole
#' distribution: of ensembles exchangeable with the outcome they rejected 19% (8 members) and 8% (20) at the level 5%.
#' @section Equivalence:
#' A large p-value of a test above does not show that a model is calibrated. `delta` turns the question round: the
#' hypothesis is that the calibration error is at least `delta`. It is rejected exactly if the upper limit of
#' [ce_estimate()] that is missed with probability \eqn{\alpha = 1 -} `level` is below `delta`. `statistic` is this
#' limit. `delta` is on the scale of [ce_estimate()]: of two classes the binary error, of more the canonical one. Choose
#' it before you see the data. The test concerns the error that is detectable at the resolution.
#' @section Weights and clusters:
#' The conditional test is exact for weights that do not depend on the outcome given the prediction, unlike those of
#' `horizon`. `"joint"` flips the signs of weighted residuals (a larger p-value of redrawn ones counts) and of whole
#' clusters; with `cluster` it is the only test, of class probabilities without `group`.
#' @section Errors:
#' Those of [skce()], and `calibrisk_error_argument` and `_rows` for too few blocks or rows. Equal block estimates or a
#' singular covariance of the CME test give the p-value `NA` with a warning of class `calibrisk_warning_degenerate`.
#' @inheritParams ce_args
#' @param x Predictions, see [ce_args]; or distributions, see [pred].
#' @param kernel,target_kernel Kernels; see [skce()].
#' @param group Groups or covariates to condition on; see [ckce()].
#' @param draws Number of quantiles or draws where there is no closed form.
#' @param test A test such as `test_block(block = 10)`, or its name; see [ce_tests].
#' @param delta A calibration error, such as 0.05; see *Equivalence*.
#' @return An object of class `ce_test` and `htest`. `tidy()` gives one row with `estimate` (of the squared kernel
#'   calibration error), `statistic`, `p.value`, `parameter` (times, block size, number of locations, the M of the
#'   bound, or `delta`), `conf.low` and `conf.high` (one-sided for blocks and with `delta`, two-sided for `"joint"`,
#'   else `NA`), `test`, `method`, `alternative` and `n`. `glance()` adds columns of [skce()]. `plot()` and `autoplot()`
#'   (see [autoplot.ce_test()]) draw the statistic in its distribution under calibration.
#' @references `r ref_widmann`
#' @concept calibration test
#' @concept goodness of fit
#' @concept equivalence test
#' @concept miscalibration
#' @concept p-value
#' @concept probability integral transform
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(200)
#' ce_test(p, rbinom(200, 1, p), test = test_conditional(times = 200))
#' ce_test(p, rbinom(200, 1, p^2), test = test_block(block = 10))
#' # is the error below a tenth?
#' ce_test(p, rbinom(200, 1, p), delta = 0.1)
ce_test <- function(x, truth, ..., test = "auto", delta = NULL, kernel = NULL, target_kernel = NULL, group = NULL,
                    draws = 100, level = 0.95, event_level = "first", .by = NULL,
                    weights = NULL, cluster = NULL, horizon = NULL) {
  check_delta(delta)
  if (!is.null(delta)) test <- equivalence_choice(test, delta)
  auto <- identical(test, "auto")
  if (!auto) test <- as_choice(test, "test", also = "auto")
  check_count(draws, lower = 2)
  check_level(level)
  group <- enquo(group)
  plain <- is.null(kernel) && is.null(target_kernel)
  counted <- rlang::quo_is_null(group) && counts_copies("unbiased", kernel, "dual") &&
    (auto || test$name %in% counted_tests && is.null(test$bases))
  input <- rows_input(copies = counted)
  name <- paste(c(short_label(enquo(x)), if (!rlang::quo_is_missing(input$truth)) short_label(input$truth)),
                collapse = " and ")
  run <- function(laws, group) {
    laws$group <- ckce_group(group, NULL, laws)
    check_test_design(if (auto) "auto" else test$name, laws)
    check_no_counts(laws)
    if (auto) test <- as_choice(auto_test(laws, kernel, plain), "test")
    if (test$name %in% kernel_free_tests) {
      # of these only the joint test has a `delta`
      stop_if(!plain, "{.code test = \"{test$name}\"} has no kernel.",
              "x" = "{.arg kernel} or {.arg target_kernel} is given{if (!is.null(delta)) ' beside `delta`'}.",
              arg = "kernel")
      result <- switch(test$name, joint = joint_test(test, laws, level), cumulative = cumulative_test(test, laws))
      return(new_ce_test(result, test, list(laws = laws, n = laws$n), name))
    }
    problem <- kernel_problem(replace(laws, "n", laws$design$n), kernel, target_kernel, draws)
    result <- run_test(test, problem, level)
    if (auto) result$method <- paste0(result$method, " (chosen for n = ", laws$n, ")")
    new_ce_test(result, test, replace(problem, "n", laws$n), name)
  }
  objects_by_groups(x, input$by, function(part) {
    laws <- counted_laws(part, input)
    with_read(run(laws, group_values(group, part)), laws)
  })
}

kernel_free_tests <- c("joint", "cumulative")

# Those that take rows with copies.
counted_tests <- c(kernel_free_tests, "conditional", "cme", "bootstrap", "block")

# Only the joint test asks whether the error is below a number.
equivalence_choice <- function(test, delta) {
  if (identical(test, "auto")) return(test_joint(delta = delta))
  test <- as_choice(test, "test", "test", "auto")
  if (test$name == "joint") return(test_joint(test$bases, delta))
  stop_input("{.arg delta} is an option of {.fn test_joint}.", "x" = "{.arg test} is {.val {test$name}}.",
             arg = "delta", value = delta)
}

# As rlang labels it, which takes longer than some tests where it is a call.
short_label <- function(quo) {
  text <- if (rlang::quo_is_call(quo)) deparse(rlang::quo_get_expr(quo), 60L, nlines = 2L)
  if (length(text) == 1 && nchar(text) <= 60) text else rlang::as_label(quo)
}

# Most null distributions assume independent, unweighted rows.
check_test_design <- function(test, laws) {
  design <- laws$design
  what <- if (!is.null(laws$law)) "tests of distributions" else if (!is.null(laws$group)) "tests with groups" else
    if (!test %in% c("auto", "joint")) "this test"
  stop_if(!is.null(design$cluster) && !is.null(what), "The null distribution of {what} assumes independent outcomes.",
          "x" = "{.arg cluster} is given: outcomes are correlated within clusters.",
          "i" = if (!is.null(laws$law)) "The interval of {.fn skce} takes clusters." else
            "Use {.code test = \"joint\"} without groups, or {.fn skce}, whose interval takes pairs across clusters.",
          class = "cluster", arg = "test")
  stop_if(!cpp_equal_copies(design) && !test %in% c("auto", "conditional", "joint", "cumulative"),
          "{.code test = \"{test}\"} takes unweighted rows.", "x" = "{.arg {weights_arg(design)}} gives rows weights.",
          "i" = "{.code test = \"conditional\"} keeps the weights of simulated outcomes{if (is.null(laws$group)) \
                 '; the joint test takes them as well'}.",
          class = "weights", arg = "test")
}

# A kernel that is a function of predictions and outcomes together has no factor. If the user asks for a kernel (`plain`
# is FALSE) this is the conditional test.
auto_test <- function(laws, kernel, plain) {
  if (!is.null(laws$design$cluster)) return("joint")
  joint <- is.null(laws$law) || dimension_of(laws$law) == 1 && !any(on_quantiles(laws))
  if (plain && is.null(laws$group) && joint) return("joint")
  if (is.function(kernel) && laws$n > joint_rows) "bootstrap" else "conditional"
}

joint_rows <- 256L

# result: estimate, statistic (named), parameter (named or NULL), p.value, method, and
# optionally conf.int and null (the resampled statistics).
new_ce_test <- function(result, choice, problem, name) {
  test <- choice$name
  quantity <- names(result$estimate) %||%
    switch(test, cme = "UCME", joint = "calibration error", cumulative = "KS calibration error", "SKCE")
  # what a critical value depends on
  if (!is.null(result$null)) result$details$add_one <- choice$add_one
  structure(
    list(
      statistic = result$statistic, parameter = result$parameter, p.value = result$p.value,
      conf.int = result$conf.int, estimate = stats::setNames(result$estimate, quantity),
      null.value = stats::setNames(result$null.value %||% 0, quantity),
      alternative = result$alternative %||% "greater", method = result$method, data.name = name,
      test = test, n = problem$n, prediction = family_text(problem$laws),
      kernel = problem$kernel, target_kernel = problem$target_kernel,
      target_computation = problem$target_computation, std.error = result$std.error, null = result$null,
      details = result$details
    ),
    class = c("ce_test", "ce_result", "htest")
  )
}

#' @export
tidy.ce_test <- function(x, ...) {
  columns_frame(
    estimate = unname(x$estimate), statistic = unname(x$statistic), p.value = x$p.value,
    parameter = if (is.null(x$parameter)) NA_real_ else unname(x$parameter[1]),
    conf.low = if (is.null(x$conf.int)) NA_real_ else x$conf.int[1],
    conf.high = if (is.null(x$conf.int)) NA_real_ else x$conf.int[2],
    test = x$test, method = x$method, alternative = x$alternative, n = x$n
  )
}

#' @export
glance.ce_test <- function(x, ...) {
  text <- function(k) if (is.null(k)) NA_character_ else format(k)
  tibble::add_column(
    tidy(x),
    std.error = x$std.error %||% NA_real_, prediction = x$prediction, kernel = text(x$kernel),
    target_kernel = text(x$target_kernel), target_computation = x$target_computation %||% NA_character_
  )
}
