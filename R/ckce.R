#' Conditional kernel calibration error
#'
#' Says how far the conditional distributions of the outcome given the prediction are from
#' the predictions themselves, in a norm that hardly depends on how often each prediction
#' is made. It is meant for ranking models (see [ce_rank()]), not for testing one.
#'
#' @section Definition:
#' Moskvichev & Sejdinovic (2025, section 3): the squared Hilbert-Schmidt norm
#' \eqn{CKCE = \| C_{Y|Q} - C_{Z|Q} \|^2} of the difference of two conditional mean
#' operators, of the outcome \eqn{Y} and of a draw \eqn{Z} from the prediction \eqn{Q}.
#' With residuals \eqn{D} (rows \eqn{q_i - e_{y_i}}), \eqn{G = DD'}, the kernel's Gram matrix
#' \eqn{K} and \eqn{A = K + n\,ridge\,I},
#' \deqn{\widehat{CKCE} = tr(A^{-1} G A^{-1} K).}
#'
#' The value depends on the ridge, the bandwidth and \eqn{n}: values at different settings are not comparable. The
#' estimate is of the regularised quantity (the default ridge \eqn{n^{-1/4}} shrinks heavily) and is biased upwards;
#' `debias = "off_diagonal"` removes the diagonal and has conditional mean zero under calibration, `"null_mean"` removes
#' its expectation instead.
#' `error_bound` and `certified` say how close a low-rank factor comes.
#'
#' @section Intervals:
#' The interval is one for the *regularised* error at this ridge. It does not account for a ridge or bandwidth chosen on
#' the same data. Standard error and interval are those of [skce()] for the sum over pairs of different rows, for every
#' `debias`. Whether a model is calibrated is a question for the p-value of `times`, or [ce_test()]. The vignette
#' *Derivation of the test and the interval* has the formulas.
#' @param x Predictions, see [ce_args]; or distributions, see [pred].
#' @param truth Outcomes; numbers for predictive distributions.
#' @param ... For a data frame, the probability columns, or an expression that makes distributions: `pred_normal(mu,
#'   sigma)`.
#' @param kernel Kernel on the predictions; see [ce_kernels].
#' @param target_kernel Kernel on the outcomes: [kernel_white()] for classes and counts, else [kernel_gaussian()].
#' @param ridge Positive numbers (one row each), `NULL` for \eqn{n^{-1/4}}, or `"loo"` for the one with the smallest
#'   leave-one-out error of the outcome's embedding.
#' @param computation `"auto"`, `"dual"`, `"eigen"`, `"low_rank"` or `"rff"`; see [computation()].
#' @param debias `"none"`, `"off_diagonal"` (or `TRUE`) or `"null_mean"`.
#' @param group Groups or covariates that calibration conditions on besides the prediction: a column of `x`, or a
#'   vector, matrix or data frame.
#' @param group_kernel `"delta"` (groups on their own), `"shared"` (1 + delta), or a kernel on numeric covariates, to
#'   which 1 is added.
#' @param times Number of simulated label vectors for `p.value`.
#' @param draws,draws_diagonal Number of draws where there is no closed form, and which pairs of them the diagonal uses
#'   (`"all"` is about 1/draws too large).
#' @inheritParams ce_args
#' @return A tibble with one row per ridge (and group of `.by`): `.metric`, `.estimator`, `.estimate`, `std.error`,
#'   `conf.low`, `conf.high`, `n`, `ridge`, `bandwidth`, `kernel`, `computation`, `rank`, `error_bound`, `certified`.
#'   `times` adds `p.value` and `null_mean`, the mean of the draws. `ridge = "loo"` adds the selected ridge's
#'   leave-one-out error `loo` and the list column `path` of all of them. A `group` whose kernel is `"delta"` adds the
#'   list column `groups`. Predictive distributions add `target_kernel` and `target_computation`. Units: squared norm in
#'   the kernel's space.
#' @references `r ref_moskvichev`
#' @seealso [skce()] with `kernel = "ckce"` for the joint version, [ce_rank()].
#' @concept conditional kernel calibration error
#' @concept CKCE
#' @concept model ranking
#' @concept conditional mean operator
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4),
#'                c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
#' truth <- c(1, 2, 3, 2, 3, 1)
#' ckce(probs, truth)
#' ckce(probs, truth, ridge = c(1, .1, .01), debias = "off_diagonal")
ckce <- function(x, truth, ..., kernel = kernel_linear() + kernel_gaussian("median"),
                 target_kernel = NULL, ridge = NULL, computation = "auto",
                 debias = c("none", "off_diagonal", "null_mean"), group = NULL,
                 group_kernel = NULL, times = 0, draws = 100, draws_diagonal = c("all", "different"),
                 level = 0.95, .by = NULL, event_level = "first", na_rm = TRUE, weights = NULL,
                 cluster = NULL, horizon = NULL) {
  check_kernel(kernel)
  if (!is.null(target_kernel)) check_kernel(target_kernel)
  choices <- read_computation(list(
    kernel = kernel, default_kernel = missing(kernel), target_kernel = target_kernel, group_kernel = group_kernel,
    ridge = check_ridge(ridge), computation = computation, debias = check_debias(debias),
    times = check_count(times, lower = 0), draws = check_count(draws, lower = 2),
    draws_diagonal = check_choice(draws_diagonal, c("all", "different")), level = check_level(level)
  ))
  group <- enquo(group)
  # redrawn outcomes and groups take a row for each copy
  counted <- choices$times == 0 && rlang::quo_is_null(group)
  input <- rows_input(copies = counted, clustered = FALSE)
  out <- by_groups(x, input$by, function(part) {
    laws <- counted_laws(part, input)
    values <- group_values(group, part)
    rows <- if (is.null(laws$law)) laws$predictions else laws
    columns <- function() {
      check_ckce_design(rows$design, choices)
      ckce_columns(ckce_inputs(laws, choices, values, progress_callback("CKCE")), rows$design, choices)
    }
    frame <- if (is.null(laws$law)) class_frame("ckce", rows, columns, kept = c("n", "ridge")) else
      result_frame("ckce", family_text(laws), if (laws$na) list(.estimate = NA_real_, n = laws$n) else columns(),
                   read = laws)
    with_read(frame, laws)
  })
  with_terms(out)
}

# inputs: of ckce_inputs()
ckce_columns <- function(inputs, design, choices) {
  problem <- inputs$problem
  kernel <- inputs$kernel
  options <- inputs$options
  n <- copy_count(design)
  path <- NULL
  ridge <- choices$ridge %||% n^(-1 / 4)
  if (is_choice(ridge, "ridge")) {
    path <- loo_path(problem, kernel, ridge, options, inputs$group, design)
    ridge <- path$ridge[path$selected]
  }
  numbers <- ckce_numbers(problem, kernel, ridge, options, inputs$group)
  if (too_coarse(numbers, problem, choices, kernel, inputs$group)) {
    options <- random_feature_options(options, problem, kernel, choices)
    numbers <- ckce_numbers(problem, kernel, ridge, options, inputs$group)
  }
  if (options$keep) numbers <- with_law_null(numbers, inputs, choices)
  if (!is.null(design$copies)) numbers$values <- copied_values(numbers$values, problem, kernel, ridge, options, design)
  warn_tiny_ridge(ridge, numbers$computation, ridge_share(ridge, problem, kernel))
  estimate <- check_computable(debiased(numbers$values, choices$debias, cut = is.null(problem$excess)))
  effect <- cluster_effect(design, problem_pairs(problem, kernel, inputs$group))
  estimates <- lapply(seq_along(estimate), function(v) {
    operator_estimate(estimate[v], numbers$influence[, v], numbers$values[v, ], design, effect)
  })
  # the null mean is the same for all draws and shifts nothing
  null <- if (choices$times > 0) {
    debiased(list(estimate = numbers$null_estimate, diagonal = numbers$null_diagonal,
                  null_mean = rep(numbers$values$null_mean, each = choices$times)), choices$debias, cut = FALSE)
  }
  target <- inputs$target
  drop_null(c(squared_columns(estimates, choices$level), list(
    n = n, ridge = ridge, bandwidth = first_bandwidth(inputs$shown),
    kernel = format(inputs$shown), computation = numbers$computation, rank = as.integer(numbers$rank),
    error_bound = numbers$values$error_bound,
    certified = numbers$values$error_bound <= choices$tolerance * numbers$values$estimate,
    target_kernel = if (!is.null(target)) format(target$kernel), target_computation = target$computation,
    loo = path$loo[path$selected], path = if (!is.null(path)) list(path),
    # constant models have atoms
    p.value = if (!is.null(null)) vapply(seq_along(estimate), function(v) {
      resampled_p(estimate[v], null[, v], TRUE, rounding = 1e-10)
    }, 0),
    null_mean = if (!is.null(null)) colMeans(null),
    # per ridge, the groups' terms, debiased like their sum
    groups = if (!is.null(numbers$groups)) lapply(numbers$groups, function(g) {
      replace(g$labels, "estimate", list(debiased(g$values, choices$debias)))
    })
  )))
}

# q as in inst/include/calibrisk/ckce/influence.h, of rows that are scaled by the roots of their weights: the influence
# is 2 W1 q_i / w_i. Without its diagonal the estimate is a sum over pairs of different rows, as the unbiased skce(),
# and the interval is that of this sum. M_ij G_ij within a cluster are as dependent as K_ij G_ij: `effect` is that of
# skce().
operator_estimate <- function(value, q, values, design, effect) {
  estimate <- new_estimate(value, 2 * total_weight(design) * q / (design$w %||% 1), design)
  estimate$noise <- 2 * values$squares * effect$squares
  if (max(values$squares, values$known) > 0) {
    trace <- values$diagonal * effect$within
    estimate$pairs <- list(value = values$estimate - trace, influence = estimate$influence, trace = trace,
                           known = null_known(2 * values$known * effect$squares, estimate$noise, estimate$design),
                           known_trace = values$trace * effect$within)
  }
  estimate
}

# Of rows that stand for several: sums over single copies, and over pairs of different ones, among them those of a row.
# M_ij has the weights of both rows, so that residuals have none.
copied_values <- function(values, problem, kernel, ridge, options, design) {
  copies <- design$copies
  problem$residuals <- problem$residuals / sqrt(copies)
  problem$variances <- problem$variances / copies
  problem$weight <- problem$scale^2 / copies
  numbers <- ckce_numbers(problem, kernel, ridge, replace(options, "keep", TRUE))
  single <- c("diagonal", "null_mean", "squares", "known", "trace")
  values[single] <- numbers$values[single]
  moments <- problem_moments(problem)
  known <- (rowSums(moments$probs * moments$squares) - 2 * rowSums(moments$probs * moments$probs_right^2) +
              rowSums(moments$probs * moments$probs_right)^2) * moments$weight^2
  block <- numbers$blocks[[1]]
  weights <- (1 - 1 / copies) * (block$factor^2 %*% block$filters^2)^2
  values$squares <- values$squares + colSums(weights * rowSums(problem$residuals^2)^2)
  values$known <- values$known + colSums(weights * drop(known))
  values
}

# Sums over pairs within a cluster would have to be left out of what is debiased, and redrawn outcomes are independent.
check_ckce_design <- function(design, choices) {
  if (is_plain(design)) return(invisible())
  stop_if(!is.null(design$cluster) && choices$debias != "none", "Debiased CKCE takes rows as independent.",
          "x" = "{.arg cluster} is given.",
          "i" = "Use {.code debias = \"none\"}, or {.fn skce}, which takes pairs across clusters.",
          class = "cluster", arg = "debias")
  given <- c(weights_arg(design), "cluster")[c(!is.null(design$w), !is.null(design$cluster))]
  stop_if(choices$times > 0, "{.arg times} needs independent, unweighted rows.",
          "x" = "{.arg {given}} {?is/are} given.",
          "i" = "Use {.code times = 0}, or {.code ce_test(test = \"joint\")}.", class = "weights", arg = "times")
}

# If the largest allowed rank leaves more than 1% of the trace of a kernel with diagonal near 1, the factor is worse
# than random features (about 1% at 100 frequencies).
too_coarse <- function(numbers, problem, choices, kernel, group) {
  if (choices$computation != "auto" || numbers$computation != "low_rank") return(FALSE)
  plain <- is.null(group) && is.null(problem$scale) && is.null(problem$source) && is.null(problem$excess)
  plain && numbers$trace_remainder > 0.01 * nrow(problem$features) && has_features(kernel)
}

has_features <- function(kernel) {
  if (kernel$type == "sum") return(all(vapply(kernel$parts, has_features, NA)))
  kernel$type %in% featured_kernels
}

# share: see ridge_share()
warn_tiny_ridge <- function(ridge, computation, share) {
  if (share < if (computation == "dual") 1e-6 else 1e-10) {
    warn_result("{.arg ridge} = {.val {signif(min(ridge), 3)}} is below the rounding error of the kernel matrix.",
                "i" = if (computation == "dual") {
                  "Use {.code computation = \"eigen\"}, which keeps more digits."
                } else {
                  "Digits are lost unless the predictions take few distinct values."
                }, class = "tiny_ridge")
  }
}

first_bandwidth <- function(kernel) {
  if (is.null(kernel$parts)) return(as.numeric(kernel$bandwidth %||% NA_real_))
  found <- vapply(kernel$parts, first_bandwidth, 0)
  c(found[!is.na(found)], NA_real_)[1]
}
