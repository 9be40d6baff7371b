#' Calibration tests
#'
#' Tests of the hypothesis that predictions are calibrated in the strong sense: given the prediction, the outcome
#' has the predicted distribution. `ce_test()` runs every test of calibration of the package.
#'
#' @section Definition:
#' \describe{
#'   \item{`"conditional"`}{Outcomes are simulated from the predictions `times` times and the unbiased [skce()]
#'     is recomputed. Given the predictions this is an exact Monte Carlo test, for any n. The kernel on the predictions
#'     is replaced by a low-rank factor. For distributions other than counts the kernel on the outcomes is replaced as
#'     well (above 256 rows; below, the kernels are used as they are). The cost is n times rank per simulation. The test
#'     is exact for the kernel that the factor stands for; the rank, and the share of the kernel's diagonal that the
#'     factor does not reproduce, are printed. Rank: up to 512, from 20,000 rows on \eqn{10^7 / n} and at least 32.
#'     Draws that stand in for a closed form are drawn once.}
#'   \item{`"bootstrap"`}{The unbiased estimate against the bootstrap of its degenerate null distribution (Arcones &
#'     Giné): T = n/(n-1) U - V against \eqn{T^* = n^{-2}[\frac{n}{n-1}(c'Hc - \sum c_i H_{ii}) - 2 c'H1]},
#'     multinomial counts c. Asymptotic.}
#'   \item{`"block"`}{Mean over blocks of the unbiased block estimates over its standard error, a normal statistic.
#'     Linear time for fixed blocks, and low power: most pairs of rows are never compared. `reference = "pairs"` takes
#'     the variance from the mean of \eqn{h^2} instead (the null variance).}
#'   \item{`"bound"`}{Distribution-free: with \eqn{B = 2 \sup k}, \eqn{\exp(-\max(\sqrt{nV/B} - 1, 0)^2 / 2)} for
#'     the biased estimate V and \eqn{\exp(-M \max(U/B, 0)^2 / 2)} for the unbiased ones, \eqn{M = \lfloor n/2
#'     \rfloor} (blocks of size b: \eqn{\lfloor n/b \rfloor \lfloor b/2 \rfloor}). Valid for any n and usually near
#'     1.}
#'   \item{`"cme"`}{Hotelling statistic of the mean witness values at `locations` test locations; p-value by
#'     simulating outcomes (`reference = "redraw"`, exact), or `"chisq"` as in Widmann et al. (2021, appendix C.3), or
#'     `"f"`. The chi-squared p-value is far too small if n is not much larger than the number of locations: at n = 16
#'     and 10 locations it rejects calibrated predictions in about 80% of cases at level 5%. The F version is too
#'     small if locations are close. Few locations far apart have the most power. Its power was measured in 100 samples
#'     of 500 binary predictions at level 5% with 99 simulations. With logits a third too large it rejected 51 times
#'     with three locations far apart, 36 times with three at random and never with ten. The conditional test rejected
#'     48 times. With logits off by .35 these were 69, 69 and 15 to 21 (80).}
#'   \item{`"joint"`}{The test that the interval of [ce_estimate()] inverts, which has the formulas. It is for class
#'     probabilities, and for distributions of one number (*Joint test of distributions* below). Two classes: intercept
#'     and slope together, the sum of the residuals with its sign, two quadratic forms of hat functions, and the group
#'     of neighbouring predictions with the most surprising number of events. More classes: the seven parts of *Joint
#'     test of classes* below. All parts have one p-value from the same simulated outcomes. The simulations have a fixed
#'     seed, so the result is the same in every call. Rows with importance weights or clusters are tested by flips of
#'     signs (vignette *Derivation of the test and the interval*). More than 20,000 rows, 100 classes or 500,000
#'     probabilities (rows times classes) of more than
#'     two classes are tested by leave-one-out projections of the residuals on nested bases. Their p-value
#'     \eqn{\min(1, 2M \min_m p_m)} over M bases is asymptotic. In simulations its level is below the nominal one, and
#'     its power is low. It can miss what the joint test of fewer rows finds, and the printed result says so.
#'     `estimate` is the calibration error itself, on the root scale, with its interval; the statistic is that of the
#'     part that decides. With `delta` it is the test of *Equivalence* below.}
#'   \item{`"cumulative"`}{The walk of cumulated residuals of one event's probability, predictions sorted by size:
#'     \eqn{S_k = \sum_{i \le k} (y_i - p_i) / \sqrt{V_n}} at the time \eqn{t_k = V_k / V_n}, \eqn{V_k = \sum_{i \le k}
#'     p_i (1 - p_i)}. `statistic = "ks"` is \eqn{\max_k |S_k|}, `"kuiper"` \eqn{\max_k S_k -
#'     \min_k S_k} (0 included), `"bridge"` the two-part statistic of Sadatsafavi and Petkau (2024): Fisher's
#'     combination \eqn{-2 \log p_A - 2 \log p_B} of the normal p-value of the mean part \eqn{S_n} and the Kolmogorov
#'     p-value of \eqn{B = \max_k |S_k - t_k S_n|}. The p-value is simulated as in the conditional test and exact for
#'     any n. Ties count together. It has no bins and no kernel, and the output says where the walk is farthest from 0;
#'     `plot()` draws the walk. `estimate` is [ks_error()]. O(n) per simulation, after a sort.}
#'   \item{`"consistency"`}{Consistency resampling (Bröcker & Smith): predictions drawn with replacement, outcomes
#'     drawn from them.}
#' }
#' The kernels are those of [skce()], and so is the estimate. They do not depend on the outcomes and are the same for
#' all simulations.
#'
#' `"auto"` is the joint test for class probabilities and distributions of one number (of quantile forecasts, unless an
#' outcome equals a quantile, whose level is not known). It is the conditional test for outcomes in several dimensions,
#' with `group`, and if a kernel is given, at any number of rows. There is one exception: above 256 rows, a kernel that
#' is a function gets the bootstrap. The printed method names the choice.
#' Up to 10,000 rows `estimate` of the conditional test uses the kernel itself, beyond that its factor, as the statistic
#' does.
#'
#' @section Joint test of classes:
#' With K > 2 classes, residuals \eqn{e_{ik}} (probability minus outcome), \eqn{l = \log p} (at least -12), \eqn{B_k =
#' \sum_i e_{ik}} and C the covariance matrix of B at calibration, the parts and their shares of the level are (in
#' sixteenths):
#' \describe{
#'   \item{temperature (3)}{The squared score \eqn{\sum_{ik} e_{ik} l_{ik}} over its variance, skewness taken out. A
#'     positive score means probabilities that are too extreme (overconfident).}
#'   \item{biases (6)}{\eqn{B' (C + I)^{-1} B}.}
#'   \item{bias (2)}{\eqn{\max_k B_k^2 / (C_{kk} + 1)}.}
#'   \item{slope (2)}{The largest statistic of intercept and slope of one class against the others, as for two classes.}
#'   \item{gap (1)}{The largest quadratic form of hats on 8 knots of one class.}
#'   \item{confidence, steps (1 each)}{The same two of the predicted class; of rows with several most probable classes,
#'     of all of these together.}
#' }
#' The 1 that is added to variances is the variance of one outcome: it keeps classes that are hardly ever expected from
#' dominating the statistics. The parts slope and gap are multiplied by \eqn{C_{kk} / (C_{kk} + 1)} for the same reason.
#' Labels are simulated 1,999 times from the predicted probabilities, and the p-value is that of the smallest ratio of a
#' part's p-value to its share, as in [ce_estimate()]. The printed result names the parts that reject, with their class.
#' The order of rows and classes does not change it. Time is linear in the number of rows times 1,999; memory is linear
#' in rows times classes.
#'
#' At the level 5% the test rejected 4.1 to 5.7% of calibrated samples (2,000 each of 100 and 300 rows with 3, 10 and 26
#' classes; flat, peaked and rare Dirichlet predictions). Its power was measured in 150 samples each of 300 rows and
#' flat Dirichlet predictions, next to the likelihood-ratio test of biases and temperature and the conditional test. It
#' found a temperature of 1.3 in 55% of samples with 3 classes (52 and 9%) and in 74% with 10 classes (53 and 7%). If
#' the odds of one of 3 classes were 1.5 times too low, these were 62, 63 and 65%. The test has less power than the
#' other two against biases of several classes together, since it shares its level. With the odds of two of 3 classes
#' 1.4 times too low it rejected 45% (48 and 48%).
#'
#' @section Joint test of distributions:
#' With \eqn{u = F(y)} and z its normal quantile, a the normal score of the rank of the predicted mean and b that of
#' the predicted standard deviation, each centred, the parts and their shares of the level are (in 21sts):
#' \describe{
#'   \item{place (3), spread (6)}{\eqn{\sum z} and \eqn{\sum (z^2 - 1)}.}
#'   \item{place by mean (2)}{\eqn{\sum a z}.}
#'   \item{spread by deviation (3), spread by mean (1)}{\eqn{\sum b (z^2 - 1)} and \eqn{\sum a (z^2 - 1)}.}
#'   \item{skewness (4), tails (1)}{\eqn{\sum (z^3 - 3 z)} and \eqn{\sum (z^4 - 6 z^2 + 3)}.}
#'   \item{PIT (1)}{\eqn{\sum (u - 1/2)}.}
#' }
#' Each part is tested on either side. Where F jumps at the outcome, terms are their means over the jump. An outcome and
#' the members of an ensemble are exchangeable, and of quantile forecasts only the cell between two levels counts.
#' Outcomes are simulated 9,999 times, above 4,000 rows less often (at least 499 times), with a fixed seed. The p-value
#' is that of the smallest ratio of a part's p-value to its share, `statistic` minus its decimal logarithm, and
#' `estimate` the mean of the strongest part's weighted terms (or their slope). Impossible outcomes give the p-value 0.
#'
#' At the level 5% and 50 rows it rejected 4 to 6% of calibrated samples, 70% of 500 with standard deviations 1.3 times
#' too small, 80% if these vary where the true one is constant, 51% of skewed outcomes (gamma, shape 2), and 54% of
#' Poisson predictions of negative binomial counts (size 4); the conditional test 24, 15, 3 and 11%.
#'
#' @section Equivalence:
#' A large p-value of a test above does not show that a model is calibrated. `delta` turns the question round: the
#' hypothesis is that the calibration error is at least `delta`, and it is rejected at level \eqn{\alpha} if the error
#' is shown to be smaller. With \eqn{u(a)} the upper limit of [ce_estimate()] that is missed with probability a, which
#' is `conf.high` at the level \eqn{1 - 2a} (before it is raised to a larger `conf.low`, which is rare),
#' \deqn{p = \inf\{a : u(a) < \delta\},}
#' so \eqn{p < \alpha} exactly if \eqn{u(\alpha) < \delta}. The limit falls in a, and the root is found by bisection.
#' `delta` is on the scale of the estimate of [ce_estimate()]: of two classes the binary error, of more the canonical
#' one. `statistic` is \eqn{u(\alpha)} at \eqn{\alpha = 1 -} `level`, `parameter` is `delta`, and the interval is the
#' one-sided one from 0 to \eqn{u(\alpha)}. Choose `delta` before you see the data.
#'
#' The test is as good as the upper limit: it concerns the error that is detectable at the resolution of
#' [ce_estimate()]. It was simulated at the level 5% with an error of exactly `delta` (400 samples each of 300 rows and
#' `delta` = .1, of 1,000 and of 5,000 rows and .05). It rejected 0 to 5.8% of samples of shifts, slopes, one
#' prediction, rare events, and errors in a quarter or a tenth of the rows. So it did with confident predictions (mean
#' .96) whose errors are in proportion to p(1 - p), or in the most confident tenth of them. An error that changed its
#' sign 16 times was called smaller in 9.2% of samples of 300 rows, whose finest basis has 18 knots, and in at most 3.7%
#' of larger ones.
#'
#' @section Weights and clusters:
#' The conditional test keeps importance weights in every simulation: it is exact for weights that do not depend on the
#' outcome given the prediction. The weights of `horizon` and of samples drawn by outcome do depend on it, and they
#' change the level: at 5% the test rejected 6 to 7% of calibrated samples with censoring. It rejected 12% if rare
#' events were thinned to a fifth and had the weight 5, and 2% if the other rows were thinned (`"joint"`: at most 4%).
#' With weighted rows `"joint"` flips the signs of weighted residuals. If rows belong together (`cluster`), outcomes are
#' not independent given the predictions. `"auto"` is then `"joint"`, which flips the signs of whole clusters; other
#' tests are refused with an error.
#'
#' @section Errors:
#' Those of [skce()], and: `calibrisk_error_argument` for blocks of which there are fewer than two,
#' `calibrisk_error_rows` for fewer observations than a test needs (2; 4 for blocks; one more than the locations of the
#' CME test). Equal block estimates or a singular covariance of the CME test give the p-value `NA` with a warning of
#' class `calibrisk_warning_degenerate`.
#'
#' @inheritParams skce
#' @param test A test with its options, such as `test_block(block = 10)`, or the name of one, such as `"block"` for
#'   [test_block()]; see [ce_tests]. Or `"auto"`.
#' @param delta A calibration error between 0 and 1, such as 0.05: tests whether the error is below it (`"joint"`); see
#'   *Equivalence*.
#' @return An object of class `ce_test` and `htest`. `tidy()` gives one row. Its first columns are `estimate` (of the
#'   squared kernel calibration error), `statistic`, `p.value`, `parameter` (times, block size, number of
#'   locations, the M of the bound, or `delta`), `conf.low` and `conf.high` (one-sided for blocks and with `delta`,
#'   two-sided for `"joint"`, else `NA`). Then follow `test` (the one that was run), `method` (in words), `alternative`
#'   and `n`. `glance()` adds `std.error`; `prediction` (what the predictions are), `kernel`, `target_kernel` and
#'   `target_computation`, as in [skce()].
#'   `plot()` and `autoplot()` (see [autoplot.ce_test()]) draw the statistic in its distribution under calibration. With
#'   `.by` or a grouped data frame, a [ce_grouped] of such objects.
#'
#' Resampling p-values are (1 + number of exceedances) / (times + 1), never 0; the option `add_one = FALSE`
#' gives the plain fraction.
#' @references `r ref_widmann()`
#'
#'   Widmann, Lindsten and Zachariah (2019) \doi{10.48550/arXiv.1910.11385} (the bound).
#'
#'   Sadatsafavi and Petkau (2024) Non-parametric inference on calibration of predicted risks, *Statistics in Medicine*
#'   43 \doi{10.1002/sim.10138} (cumulated residuals).
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(200)
#' ce_test(p, rbinom(200, 1, p), test = test_conditional(times = 200))
#' ce_test(p, rbinom(200, 1, p^2), test = test_block(block = 10))
#' # is the error below a tenth?
#' ce_test(p, rbinom(200, 1, p), delta = 0.1)
ce_test <- function(x, truth, ..., test = "auto", delta = NULL, kernel = NULL, target_kernel = NULL, group = NULL,
                    draws = 100, level = 0.95, event_level = "first", na_rm = TRUE, .by = NULL, threads = NULL,
                    weights = NULL, cluster = NULL, horizon = NULL) {
  call <- current_env()
  check_delta(delta)
  if (!is.null(delta)) test <- equivalence_choice(test, delta, call)
  auto <- identical(test, "auto")
  if (!auto) test <- as_choice(test, "test", also = "auto")
  check_count(draws, lower = 2)
  check_level(level)
  threads <- resolve_threads(threads)
  group <- enquo(group)
  input <- rows_input(copies = takes_counts(test, group, list(kernel, target_kernel)))
  name <- paste(short_label(enquo(x)), "and", short_label(input$truth))
  run <- function(part) {
    laws <- tested_laws(part, input, call)
    if (laws$na) return(missing_test(if (auto) "auto" else test$name, laws, name))
    laws$group <- ckce_group(group_values(group, part, call), NULL, laws, threads, call)
    check_test_design(if (auto) "auto" else test$name, laws, call)
    if (auto) {
      test <- as_choice(auto_test(laws, kernel, is.null(kernel) && is.null(target_kernel)), "test", call = call)
    }
    if (test$name %in% kernel_free_tests) {
      if (!is.null(kernel) || !is.null(target_kernel)) stop_kernel_free(test$name, !is.null(delta), call)
      result <- switch(test$name, joint = joint_test(test, laws, level, threads, call),
                       cumulative = cumulative_test(test, laws, threads, call))
      return(new_ce_test(result, test, list(laws = laws, n = laws$n), name))
    }
    problem <- kernel_problem(laws, kernel, target_kernel, draws, threads, call)
    result <- run_test(test, problem, level, threads, call)
    if (auto) result$method <- paste0(result$method, " (chosen for n = ", problem$n, ")")
    new_ce_test(result, test, problem, name)
  }
  objects_by_groups(x, input$by, run, call)
}

# Whether the joint test is made, from redraws or flips.
takes_counts <- function(test, group, kernels) {
  joint <- identical(test, "auto") || test$name == "joint" && is.null(test$bases)
  joint && rlang::quo_is_null(group) && all(vapply(kernels, is.null, NA))
}

# Rows that stand for several are repeated unless they are of an event.
tested_laws <- function(part, input, call) {
  laws <- laws_of(part, input, call)
  if (is.null(laws$design$copies) || !is_real(laws) && ncol(laws$probs) == 2) return(laws)
  input$design$copies <- FALSE
  laws_of(part, input, call)
}

kernel_free_tests <- c("joint", "cumulative")

# Only the joint test has a `delta`.
stop_kernel_free <- function(test, delta, call) {
  stop_input("{.code test = \"{test}\"} has no kernel.",
             "x" = "{.arg kernel} or {.arg target_kernel} is given{if (delta) ' beside `delta`'}.",
             arg = "kernel", call = call)
}

# Only the joint test asks whether the error is below a number.
equivalence_choice <- function(test, delta, call) {
  if (identical(test, "auto")) return(test_joint(delta = delta))
  test <- as_choice(test, "test", "test", "auto", call)
  if (test$name == "joint") return(test_joint(test$bases, delta))
  stop_input("{.arg delta} is an option of {.fn test_joint}.", "x" = "{.arg test} is {.val {test$name}}.",
             arg = "delta", value = delta, call = call)
}

# As rlang labels it, which takes longer than some tests where it is a call.
short_label <- function(quo) {
  text <- if (rlang::quo_is_call(quo)) deparse(rlang::quo_get_expr(quo), 60L, nlines = 2L)
  if (length(text) == 1 && nchar(text) <= 60) text else rlang::as_label(quo)
}

# Most null distributions assume independent, unweighted rows.
check_test_design <- function(test, laws, call) {
  design <- laws$design
  stop_if(!is.null(design$cluster) && (!test %in% c("auto", "joint") || !is.null(laws$law) || !is.null(laws$group)),
          "The null distribution of {.code test = \"{test}\"} assumes independent outcomes.",
          "x" = "{.arg cluster} is given: outcomes are correlated within clusters.",
          "i" = "Use {.code test = \"joint\"} (of class probabilities, without groups), or {.fn skce}, whose interval \\
                 takes pairs across clusters.", class = "cluster", arg = "test", call = call)
  stop_if(!is.null(design$w) && !test %in% c("auto", "conditional", "joint", "cumulative"),
          "{.code test = \"{test}\"} takes unweighted rows.", "x" = "{.arg weights} are importance weights.",
          "i" = "Use {.code test = \"conditional\"}, which keeps the weights of simulated outcomes, or {.val joint}.",
          class = "weights", arg = "test", call = call)
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
  quantity <- names(result$estimate) %||% estimand(test)
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
    class = c("ce_test", "htest")
  )
}

# The quantity that is 0 under the hypothesis.
estimand <- function(test) {
  switch(test, cme = "UCME", joint = "calibration error", cumulative = "KS calibration error", "SKCE")
}

missing_test <- function(test, laws, name) {
  new_ce_test(list(statistic = c(statistic = NA_real_), p.value = NA_real_, estimate = NA_real_,
                   method = "Calibration test: missing values and na_rm = FALSE"),
              list(name = test), list(laws = laws, n = laws$n), name)
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
