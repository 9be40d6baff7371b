#' Calibration tests
#'
#' Tests of the hypothesis that predictions are calibrated in the strong sense: given the prediction, the outcome
#' has the predicted distribution. One front door for all tests of the kernel calibration error.
#'
#' @section Definition:
#' \describe{
#'   \item{`"conditional"`}{Outcomes are redrawn from the predictions `replicates` times and the unbiased [skce()]
#'     recomputed: given the predictions this is an exact Monte Carlo test, for any n. For classes a factor of the
#'     kernel (with `group`, one per group) is computed once and held fixed; otherwise, up to 5,000 rows, the
#'     matrix of the kernel on the predictions; draws that stand in for a closed form are drawn once.}
#'   \item{`"bootstrap"`}{The unbiased estimate against the bootstrap of its degenerate null distribution (Arcones &
#'     Giné): T = n/(n-1) U - V against \eqn{T^* = n^{-2}[\frac{n}{n-1}(c'Hc - \sum c_i H_{ii}) - 2 c'H1]},
#'     multinomial counts c. Asymptotic.}
#'   \item{`"block"`}{Mean over blocks of the unbiased block estimates over its standard error, a normal statistic.
#'     Linear time for fixed blocks; far less powerful. `reference = "pairs"` takes the variance from the mean of
#'     \eqn{h^2} instead (the null variance).}
#'   \item{`"bound"`}{Distribution-free: with \eqn{B = 2 \sup k}, \eqn{\exp(-\max(\sqrt{nV/B} - 1, 0)^2 / 2)} for
#'     the biased estimate V and \eqn{\exp(-M \max(U/B, 0)^2 / 2)} for the unbiased ones, \eqn{M = \lfloor n/2
#'     \rfloor} (blocks of size b: \eqn{\lfloor n/b \rfloor \lfloor b/2 \rfloor}). Valid for any n and usually near
#'     1.}
#'   \item{`"cme"`}{Hotelling statistic of the mean witness values at `locations` test locations; p-value by
#'     redrawing outcomes (`reference = "redraw"`, exact), or `"chisq"` as in Widmann et al. (2021, appendix C.3), or `"f"`. The chi-squared
#'     p-value is far too small where n is not much larger than the number of locations (at n = 16 and 10 locations
#'     it rejects calibrated predictions in about 80 % of cases at level 5 %), and the F version too small where
#'     locations are close.}
#'   \item{`"consistency"`}{Consistency resampling (Bröcker & Smith): predictions drawn with replacement, outcomes
#'     drawn from them.}
#' }
#' In the tests that redraw outcomes a target kernel with `bandwidth = "median"` gets a bandwidth from the
#' predictions alone, the root mean squared distance of outcomes of two predictions, so that the kernel is the same
#' for all redraws.
#'
#' `"auto"` is the conditional test where redrawing is cheap (classes up to 10,000 rows, else up to 256 rows), the
#' bootstrap up to 10,000 rows, and the block test with blocks of \eqn{\sqrt n} beyond; the method line says what
#' was chosen.
#'
#' @section Value:
#' An object of class `ce_test` and `htest`. `tidy()` gives one row: `estimate` (of the squared kernel calibration
#' error), `statistic`, `p.value`, `parameter` (replicates, block size, number of locations, or the M of the bound),
#' `conf.low`, `conf.high` (one-sided; `NA` but for blocks), `test` (the one that was run), `method` (in words),
#' `alternative` and `n`; `glance()` adds `std.error`, `prediction` (what the predictions are), `kernel`,
#' `target_kernel` and `target_form`, as in [skce()]. `plot()` and `autoplot()` (see [autoplot.ce_test()]) draw the
#' statistic in its distribution under calibration. With `.by` or a grouped data frame, a [ce_grouped] of such
#' objects.
#'
#' Resampling p-values are (1 + number of exceedances) / (replicates + 1), never 0; `add_one = FALSE` gives the
#' plain fraction.
#'
#' @section Errors:
#' Those of [skce()], and: `calibrisk_error_argument` for blocks of which there are fewer than two,
#' `calibrisk_error_rows` for fewer observations than a test needs (2; 4 for blocks; one more than the locations of the
#' CME test). Equal block estimates or a singular covariance of the CME test give the p-value `NA` with a warning of
#' class `calibrisk_warning_degenerate`.
#'
#' @inheritParams skce
#' @param test Which test.
#' @param replicates Resamples of bootstrap, consistency, conditional and CME tests (R's random numbers:
#'   reproducible with `set.seed()`).
#' @param type Estimate of the bound: `"unbiased"`, `"biased"` or `"block"`.
#' @param reference See Definition, `"block"` and `"cme"`; the default is the first that applies.
#' @param locations Number of test locations of the CME test, or a list with elements `x` (predictions, as `x`) and
#'   `truth`. By default predictions drawn from those observed with outcomes drawn from such predictions: they
#'   depend on the predictions alone, so that the redrawn p-value stays exact.
#' @param tolerance Tolerance of the factor that the conditional and consistency tests of classes use; by default
#'   1e-6 and at most 512 columns. The test is exact for the kernel that the factor stands for.
#' @param add_one See Value.
#' @return See section Value.
#' @references `r ref_widmann()`
#'
#'   Widmann, Lindsten and Zachariah (2019) \doi{10.48550/arXiv.1910.11385} (the bound).
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(200)
#' ce_test(p, rbinom(200, 1, p), replicates = 200)
#' ce_test(p, rbinom(200, 1, p^2), test = "block")
ce_test <- function(x, truth, ...,
                    test = c("auto", "bootstrap", "block", "bound", "cme", "consistency", "conditional"),
                    kernel = NULL, target_kernel = NULL, replicates = 1000, block = NULL,
                    type = c("unbiased", "biased", "block"), reference = NULL, locations = 10,
                    group = NULL, tolerance = NULL, draws = 100, level = 0.95, add_one = TRUE,
                    event_level = "first", na_rm = TRUE, .by = NULL, threads = NULL) {
  call <- current_env()
  test <- check_choice(test, c("auto", "bootstrap", "block", "bound", "cme", "consistency", "conditional"))
  type <- check_choice(type, c("unbiased", "biased", "block"))
  check_count(replicates)
  check_count(draws, lower = 2)
  check_number(tolerance, lower = 0, open = TRUE, null = TRUE)
  check_flag(add_one)
  check_level(level)
  threads <- resolve_threads(threads)
  truth <- enquo(truth)
  dots <- enquos(...)
  group <- enquo(group)
  by <- enquo(.by)
  name <- paste(rlang::as_label(rlang::enexpr(x)), "and", rlang::as_label(truth))
  run <- function(part) {
    laws <- read_laws(part, truth, dots, event_level, na_rm, group, call)
    if (laws$na) return(missing_test(test, laws, name))
    problem <- kernel_problem(laws, kernel, target_kernel, draws, threads, call)
    chosen <- if (test == "auto") auto_test(problem) else test
    if (redraws(chosen, reference) && !is.function(kernel)) {
      # the kernel must not depend on the outcomes that are redrawn
      fixed <- pooled_kernel(problem$asked$target_kernel, laws)
      problem <- kernel_problem(laws, kernel, fixed, draws, threads, call)
    }
    options <- list(replicates = replicates, block = block, type = type, reference = reference,
                    locations = locations, tolerance = tolerance, level = level, add_one = add_one)
    run_test(problem, chosen, test == "auto", options, threads, name, call)
  }
  objects_by_groups(x, by, run, call)
}

redraws <- function(test, reference) {
  test %in% c("conditional", "consistency") ||
    test == "cme" && (is.null(reference) || identical(reference, "redraw"))
}

run_test <- function(problem, chosen, auto, options, threads, name, call) {
  result <- switch(chosen,
    block = block_test(problem, options, threads, call),
    bootstrap = bootstrap_test(problem, options, threads, call),
    bound = bound_test(problem, options, threads, call),
    cme = cme_test(problem, options, threads, call),
    consistency = resampling_test(problem, options, TRUE, threads, call),
    conditional = resampling_test(problem, options, FALSE, threads, call)
  )
  # what a critical value depends on
  if (!is.null(result$null)) result$details$add_one <- options$add_one
  if (auto) result$method <- paste0(result$method, " (chosen for n = ", problem$n, ")")
  new_ce_test(result, chosen, problem, name)
}

auto_test <- function(problem) {
  n <- problem$n
  if (has_class_factor(group_free(problem)) && n <= 10000 || n <= 256) return("conditional")
  if (n <= 10000) "bootstrap" else "block"
}

# result: estimate, statistic (named), parameter (named or NULL), p.value, method, and
# optionally conf.int and null (the resampled statistics).
new_ce_test <- function(result, test, problem, name) {
  structure(
    list(
      statistic = result$statistic, parameter = result$parameter, p.value = result$p.value,
      conf.int = result$conf.int, estimate = stats::setNames(result$estimate, estimand(test)),
      null.value = stats::setNames(0, estimand(test)), alternative = "greater", method = result$method,
      data.name = name,
      test = test, n = problem$n, prediction = family_text(problem$laws),
      kernel = problem$kernel, target_kernel = problem$target_kernel,
      target_form = problem$target_form, std.error = result$std.error, null = result$null,
      details = result$details
    ),
    class = c("ce_test", "htest")
  )
}

# What is 0 under the hypothesis.
estimand <- function(test) if (test == "cme") "UCME" else "SKCE"

missing_test <- function(test, laws, name) {
  structure(
    list(statistic = c(statistic = NA_real_), p.value = NA_real_, estimate = stats::setNames(NA_real_, estimand(test)),
         null.value = stats::setNames(0, estimand(test)), alternative = "greater",
         method = "Calibration test: missing values and na_rm = FALSE", data.name = name,
         test = test, n = laws$n, prediction = family_text(laws)),
    class = c("ce_test", "htest")
  )
}

#' @export
print.ce_test <- function(x, ...) {
  NextMethod()
  cat("n = ", x$n, ", predictions: ", x$prediction, "\n", sep = "")
  if (!is.null(x$kernel)) {
    cat("kernel on predictions: ", format(x$kernel), "\n", sep = "")
    cat("kernel on outcomes: ", format(x$target_kernel), ", ", x$target_form, "\n", sep = "")
  }
  cat("\n")
  invisible(x)
}

#' @export
tidy.ce_test <- function(x, ...) {
  tibble::tibble(
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
    target_kernel = text(x$target_kernel), target_form = x$target_form %||% NA_character_
  )
}
