#' Squared kernel calibration error
#'
#' Distance of predictions from calibration in the strong sense (the outcome has the predicted distribution, given the
#' prediction), for class probabilities and any other predictive distribution.
#'
#' @section Definition:
#' With kernels k on predictions and l on outcomes, and \eqn{Z_i} a draw from prediction \eqn{P_i} (Widmann,
#' Lindsten & Zachariah 2021, Definition 3 and Lemma B.2; estimators: section 3.2),
#' \deqn{h_{ij} = k(P_i, P_j)\,[l(Y_i, Y_j) - E\,l(Z_i, Y_j) - E\,l(Y_i, Z_j) + E\,l(Z_i, Z_j)],}
#' the squared error is \eqn{E\,h} over independent pairs, 0 exactly for calibrated predictions when the product
#' kernel is characteristic. `"unbiased"` is the mean of \eqn{h_{ij}} over \eqn{i \ne j} (it can be negative),
#' `"biased"` the mean over all i, j (the squared norm of a mean embedding, with its root in column `root`). `"block"`
#' is the mean of the unbiased estimates of consecutive blocks of `block` rows, `"block_biased"` that of the biased
#' ones. Rows left over after the last block are not used; shuffle ordered data.
#'
#' With `kernel = "ckce"`, the kernel of [ckce()], it is the joint kernel calibration error JKCE (Moskvichev &
#' Sejdinovic 2025, section 4.3): the distance of the joint distributions of (outcome, prediction) and (draw from the
#' prediction, prediction). Unlike the conditional error it weighs predictions by how often they are made.
#'
#' The expectations over Z are closed forms for classes, counts, normal and multivariate normal (Gaussian target kernel;
#' univariate also Laplace and Matérn), Laplace (Laplace and Gaussian target kernel) and their mixtures. Other families
#' with a quantile function use means over `draws` evenly spaced quantiles. Mixtures, several dimensions and given draws
#' use means over draws; the diagonal is taken over pairs of different draws, so no entry is biased. Column
#' `target_computation` says which.
#'
#' @section Intervals:
#' Under calibration the mean over pairs varies by its second-order terms alone, with the variance
#' \deqn{\nu = \frac{2}{n^2(n-1)^2}\sum_{i \ne j} h_{ij}^2.}
#' With importance weights the terms are \eqn{w_i w_j h_{ij}}, over the squared sum of the \eqn{w_i w_j}. Outcomes of a
#' cluster may be dependent: with clusters the terms are the sums of \eqn{h_{ij}} over the rows of two different
#' clusters, if that gives a larger variance. Above 4,000 rows these come from evenly spaced clusters with about as many
#' rows, at least 20 clusters. At a squared error x the variance is \eqn{\nu + s x}. The slope s comes from the Hajek
#' projection (the rows' influence, whose variance \eqn{\tau} counts \eqn{\nu} twice) and, if the estimate U is small,
#' from the mean eigenvalue, with \eqn{t = \sum_i h_{ii}/n^2}:
#' \deqn{s = \frac{\max(\tau - 2\nu, 0) + 4\nu^{3/2}/t}{\max(U, 0) + 2\sqrt\nu}.}
#' `std.error` is \eqn{\sqrt{\nu + s\max(U, 0)}}. The interval holds every x that a test with the variance \eqn{\nu + s
#' x} does not reject; for the upper end a negative U is taken as 0. Quantiles are those of a Pearson III distribution
#' with third moment \eqn{2\nu^2/t + 3 \nu s x/t}, as for \eqn{t^2 / (\nu / 2)} equal eigenvalues. For classes and
#' counts the expectations of \eqn{\nu} and \eqn{t} over outcomes drawn from the predictions are known. The lower end
#' takes them at x = 0 (linear in x up to \eqn{\nu + s U} at U), so it is above 0 only if U is above the known null's
#' quantile: few events make \eqn{\nu} too small. An error is not negative: under calibration only the lower end can
#' miss, and near it the upper end does not. In 210 simulated samples of calibrated predictions (150 and 600 rows, seven
#' distributions, most with few events) 4% of the intervals were above 0. In clusters of 8 rows with correlated outcomes
#' and predictions it was 4% as well. Standard errors near calibration are too large by up to a third. For both types,
#' standard error and interval are those of the `"unbiased"` mean U: the upward bias of `"biased"`, about t, is not in
#' them, and the upper end is at least the estimate. From a factor the sum of squares is estimated from the pairs of all
#' rows with some 500 of them (`"rff"`: 100). Block estimates use the standard deviation of the blocks, with quantiles
#' of Student's t; ends below 0 are 0. Whether a model is calibrated at all is a question for [ce_test()].
#'
#' @section Cost:
#' \eqn{n^2/2} evaluations of \eqn{h}, memory O(n) times threads, for any number of rows: nothing is approximated
#' unless `tolerance` or a block estimator is asked for; `n block / 2` for blocks. Kernels on mixtures,
#' full covariances that do not commute, and [kernel_mmd()] keep an n x n matrix. Predictions given by S draws with a
#' smooth target kernel (Gaussian, sums and products) go through the r features of a factor. It reproduces the kernel at
#' every draw to \eqn{10^{-12}}, or as closely as four rounds allow, at least to \eqn{10^{-6}} (`target_computation`
#' then is `"draws (500), features to 3e-10"`): \eqn{n S r^2 + n^2 r}, seconds for 3,000 predictions of 500 draws.
#' Univariate outcomes with a Laplace or Matérn target kernel take \eqn{n^2 S} (the draws are sorted). Otherwise (rough
#' kernels, or many features in several dimensions) the cost is \eqn{n^2 S^2/2} evaluations of the target kernel. If
#' there are more draws than \eqn{2 \cdot 10^9} evaluations allow, evenly spaced ones are taken, at least 8, and
#' `target_computation` then is `"draws (21 of 500)"`. With `tolerance` the kernel on the predictions is replaced by a
#' low-rank factor whose mean neglected diagonal is below it: cost \eqn{n r^2}, at most \eqn{r = \max(1000, 10^8 / n)}.
#' Where that is not enough, as for [kernel_tv()] of very many rows, `error_bound` is that of the rank that was reached,
#' and the exact kernel costs less. The factors of `computation` are those of [ckce()] at its default ridge.
#'
#' @section Errors:
#' Errors have the class `calibrisk_error_<what>`. The values of `<what>` are: `rows` (one observation and an estimator
#' of pairs); `argument` (`block` larger than n, `tolerance` without a factor, an option of other estimators);
#' `computation` (random features of other kernels); `group` (missing values); `length` (another number or dimension of
#' outcomes). Also `truth` (all outcomes missing, outcomes that are not finite, or not counts for predictions of counts)
#' and `kernel` (one that cannot compare these predictions or outcomes). A Gram matrix that is not positive semidefinite
#' is a warning of class `calibrisk_warning_not_psd`, with its eigenvalue. Defined, not errors: point masses (scales of
#' 0), tied and constant predictions (where the median distance is 0 the bandwidth is the median of the positive ones, 1
#' where there are none).
#'
#' @param x A data frame, matrix or vector of probabilities as in [ce_fit()], or a vector of predictive
#'   distributions (see [pred]).
#' @param truth Outcomes: column of `x`, or a vector; n x d matrix (or d columns) for multivariate predictions.
#' @param ... For a data frame, the probability columns (default `starts_with(".pred_")`), the column of predictive
#'   distributions, or an expression that makes them: `pred_normal(mu, sigma)`.
#' @param kernel Kernel on predictions; default [kernel_tv()] with median bandwidth for classes, [kernel_wasserstein()]
#'   for univariate and normal predictions, [kernel_mmd()] for mixtures and multivariate draws. `"ckce"` is the default
#'   kernel of [ckce()]. For classes also a function `k(p, y, q, z)` of two pairs of probabilities and class: a kernel
#'   that need not be a product (an R call per pair of rows and of classes: for small data).
#' @param target_kernel Kernel on outcomes: default [kernel_white()] for classes and counts, [kernel_gaussian()] for
#'   numbers. For numbers its default bandwidth, and `"median"`, is the root mean squared distance between outcomes of
#'   two predictions. It depends on the predictions alone, so outcomes can be simulated with the same kernel.
#' @param type Estimator.
#' @param block Block size; default \eqn{\sqrt n}. 2 gives the linear-time estimator.
#' @param computation `"dual"` sums all pairs of rows, without a matrix. `"low_rank"` and `"rff"` take a factor of the
#'   kernel, by name or as a value with its options ([computation()]). `"auto"` is `"dual"` up to 5,000 predictions of
#'   classes, then `"low_rank"`; for predictive distributions of numbers it is `"dual"`.
#' @param tolerance `NULL` for the exact kernel, or the tolerance of a low-rank factor with a bound on its error.
#' @param group Groups or covariates that calibration conditions on besides the prediction, as in [ckce()].
#' @param group_kernel `"delta"` (default: the kernel is multiplied by the indicator of the same group), `"shared"` (by
#'   1 + delta), or a kernel on numeric covariates, to which 1 is added.
#' @param locations For the unnormalised calibration mean embedding (UCME) in place of the mean over pairs: a number of
#'   test locations, or a list with elements `x` (predictions) and `truth`. At a location \eqn{T_j = (p_j, t_j)}
#'   \eqn{z_{ij} = k(p_j, P_i)\,[l(t_j, Y_i) - E\,l(t_j, Z_i)]}, and the estimate is the mean over j of the squared mean
#'   over i: \eqn{n J} evaluations. Columns `locations` (their number) and `witness` (the mean at each). A number takes the
#'   predictions farthest from each other, with outcomes drawn from them.
#' @param draws Number of quantiles or draws per prediction where there is no closed form.
#' @inheritParams ece
#' @return A tibble with one row per group of `.by`: `.metric`, `.estimator` (the kind of predictions: `"binary"`,
#' `"multiclass"`, `"normal"`, ...), `.estimate` (squared scale), `std.error`, `conf.low`, `conf.high`, `root`, `n`,
#' `type`, `block`, `bandwidth` (of the kernel's first part that has one), `kernel`, `target_kernel`,
#' `target_computation`. A factor adds `computation` and its `rank` (or number of features), `tolerance` adds `rank`
#' and `error_bound` (on `.estimate`). A `group` whose kernel is `"delta"` adds the list column `groups` (per group its
#' `n`, its own error `.estimate` and its `term` in the sum), which is printed below the row and returned by `tidy()`.
#' @references `r ref_widmann()`
#'
#' `r ref_moskvichev()`
#' @aliases jkce ucme
#' @concept joint kernel calibration error
#' @export
#' @examples
#' set.seed(1)
#' p <- matrix(rgamma(300, 2), 100)
#' p <- p / rowSums(p)
#' y <- sample(3, 100, replace = TRUE)
#' skce(p, y)
#' # JKCE, and the same from a factor of the kernel
#' skce(p, y, kernel = "ckce")
#' skce(p, y, kernel = "ckce", computation = "low_rank")
#' d <- data.frame(mu = rnorm(100), sigma = 1)
#' d$y <- rnorm(100, d$mu, 2)
#' skce(d, y, pred_normal(mu, sigma))
skce <- function(x, truth, ..., kernel = NULL, target_kernel = NULL,
                 type = c("unbiased", "biased", "block", "block_biased"), block = NULL, computation = "dual",
                 tolerance = NULL, group = NULL, group_kernel = NULL, locations = NULL, draws = 100, level = 0.95,
                 event_level = "first", na_rm = TRUE, .by = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  type <- check_choice(type, c("unbiased", "biased", "block", "block_biased"))
  check_level(level)
  check_count(draws, lower = 2)
  check_number(tolerance, lower = 0, open = TRUE, null = TRUE)
  check_estimator_options(type, list(block = block, tolerance = tolerance))
  stop_if(identical(kernel, ckce), "{.arg kernel} must be a kernel, or {.val ckce}.",
          "x" = "It is the function {.fn ckce}.", class = "kernel", arg = "kernel", value = kernel)
  choices <- read_computation(list(computation = computation), "eigen")
  check_factor(choices$computation, type, tolerance, kernel)
  if (!is.null(locations)) check_locations(locations)
  input <- rows_input()
  group <- enquo(group)
  out <- by_groups(x, input$by, function(part) {
    laws <- laws_of(part, input)
    if (laws$na && !is.null(locations)) {
      return(columns_frame(.metric = "ucme", .estimator = family_text(laws), .estimate = NA_real_, n = laws$n))
    }
    if (laws$na) return(skce_row(NULL, laws, type))
    laws$group <- ckce_group(group_values(group, part), group_kernel, laws)
    if (identical(kernel, "ckce")) kernel <- joint_kernel(laws, target_kernel)
    problem <- kernel_problem(laws, kernel, target_kernel, draws)
    if (!is.null(locations)) return(ucme_row(problem, locations, laws, level))
    value <- skce_value(problem, type, block, tolerance, choices)
    row <- skce_row(value, laws, type, problem, level)
    check_computable(row$std.error[!is.na(row$std.error)])
    row
  })
  with_terms(out)
}

# An option of other estimators would be ignored.
check_estimator_options <- function(type, given) {
  foreign <- if (startsWith(type, "block")) "tolerance" else "block"
  if (is.null(given[[foreign]])) return(invisible())
  owners <- if (foreign == "block") c("block", "block_biased") else c("unbiased", "biased")
  stop_input("{.arg {foreign}} is not an option of {.code type = \"{type}\"}.",
             "i" = "The estimators {.val {owners}} have it.", arg = foreign, value = given[[foreign]])
}

# A factor has the sums over all pairs alone.
check_factor <- function(computation, type, tolerance, kernel) {
  if (computation %in% c("dual", "auto")) return(invisible())
  stop_if(!is.null(tolerance), "{.arg tolerance} is not an option beside {.code computation = \"{computation}\"}.",
          "i" = "The factor has its own, in its value: {.code computation(\"low_rank\", tolerance = 0.001)}.",
          arg = "tolerance", value = tolerance)
  stop_if(startsWith(type, "block") || is.function(kernel),
          "{.arg computation} must be {.val dual} for estimators of blocks and for a function as {.arg kernel}.",
          "x" = "It is {.val {computation}}.", arg = "computation", value = computation)
}

# The kernel of ckce(), by which the error is the joint one.
joint_kernel <- function(laws, target_kernel) {
  if (is.null(laws$law)) return(eval(formals(ckce)$kernel))
  default_ckce_kernel(laws, outcome_kernel(target_kernel, laws))
}

skce_row <- function(value, laws, type, problem = NULL, level = 0.95) {
  columns <- if (is.null(value)) {
    list(.estimate = NA_real_, std.error = NA_real_, conf.low = NA_real_, conf.high = NA_real_)
  } else {
    squared_columns(list(value$estimate), level)
  }
  text <- function(name) if (is.null(problem)) NA_character_ else format(problem[[name]])
  result_frame("skce", family_text(laws), c(columns, list(
    root = sqrt(pmax(columns$.estimate, 0)), n = laws$n, type = type, block = value$block %||% NA_integer_,
    bandwidth = if (is.null(problem)) NA_real_ else first_bandwidth(problem$kernel), kernel = text("kernel"),
    target_kernel = text("target_kernel"), target_computation = text("target_computation"),
    computation = value$computation, rank = value$rank, error_bound = value$error_bound,
    groups = if (!is.null(value$groups)) list(value$groups)
  )))
}

# list(estimate, block, computation, rank, error_bound, groups); choices: see read_computation().
skce_value <- function(problem, type, block = NULL, tolerance = NULL, choices = list(computation = "dual")) {
  n <- problem$n
  design <- problem$laws$design %||% new_design(n)
  if (startsWith(type, "block")) return(block_value(problem, type, block, design))
  if (choices$computation == "auto") {
    many <- is.null(problem$laws$law) && !is.function(problem$asked$kernel) && n > 5000 && is.null(tolerance)
    choices$computation <- if (many) "low_rank" else "dual"
  }
  factored <- choices$computation != "dual"
  sums <- if (factored) {
    low_rank_sums(problem, choices, type, design)
  } else if (is.null(tolerance)) {
    exact_sums(problem, type, design)
  } else {
    factored_sums(problem, tolerance, type, design)
  }
  value <- list(estimate = pair_estimate(sums, type, design), block = NA_integer_,
                computation = if (factored) choices$computation)
  if (factored || !is.null(tolerance)) value[c("rank", "error_bound")] <- sums[c("rank", "error_bound")]
  if (identical(problem$laws$group$type, "delta")) value$groups <- group_terms(sums, problem$laws$group, type, design)
  value
}

# Blocks of rows are independent and few: their standard deviation is estimated, hence Student's quantile. The lower end
# is that of the unbiased estimates, whose variance under calibration is known.
block_value <- function(problem, type, block, design) {
  n <- problem$n
  stop_if(!is_plain(design), "Block estimators need independent, unweighted rows.",
          "i" = "Use {.code type = \"unbiased\"} for rows with {.arg weights} or {.arg cluster}.", class = "weights",
          arg = "type")
  least <- if (type == "block") 2 else 1
  check_rows(n, least, "The block estimator")
  block <- check_block(block, n, least)
  sums <- with_bar("Summing blocks", function(progress) {
    cpp_block_sums(problem$prediction, problem$target, block, thread_count(), progress)
  })
  eta <- check_computable(if (type == "block") sums$unbiased else sums$biased)
  blocks <- length(eta)
  estimate <- mean_estimate(eta, new_design(blocks, cluster = seq_len(blocks)))
  if (block > 1 && blocks > 1) {
    known <- 2 * mean(sums$known) / (blocks * block * (block - 1))
    seen <- new_design(blocks)
    estimate$lower <- function(level) {
      # as skewed as the square of one normal variable, at most
      cpp_known_limit(mean(sums$unbiased), known, row_std_error(sums$unbiased, seen)^2,
                      stats::qt((1 + level) / 2, blocks - 1), sqrt(8 / blocks))
    }
  }
  list(estimate = estimate, block = block)
}
