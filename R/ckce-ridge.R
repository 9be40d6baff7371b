#' Leave-one-out error of the conditional mean operator
#'
#' Chooses the ridge of [ckce()] by treating the conditional mean operator as the
#' vector-valued regression it is.
#'
#' @section Definition:
#' With \eqn{S = K(K + n\,ridge\,I)^{-1}} and targets \eqn{T},
#' \eqn{LOO = \frac1n\sum_i |(T - ST)_i|^2 / (1 - S_{ii})^2}, which is the exact error of the fits that
#' leave one row out with \eqn{n\,ridge} held fixed. `target = "outcome"` regresses the
#' outcome's embedding on the prediction (the operator \eqn{C_{Y|Q}}), `"gap"` the residual. With `cluster` whole
#' clusters are left out, \eqn{LOO = \frac1n\sum_c |(I - S_{cc})^{-1}(T - ST)_c|^2}: the rows of one would choose a
#' ridge that predicts the others of the same. It is infinite where the ridge is so small that a row, or a cluster, has
#' all the weight in its own fit, to rounding. With weights all of this is of rows and targets times \eqn{\sqrt{w}}.
#'
#' @inheritParams ckce
#' @param ridge Values to try; `NULL` for \eqn{n^{-1/4}} times powers of ten from
#'   \eqn{10^{-3}} to 10, four per decade.
#' @param target `"outcome"` or `"gap"`.
#' @param tolerance,max_rank Options of `computation`, see [ce_computations]; one that it does not have is an error.
#' @param draws Number of draws or quantiles per prediction, where expectations of a kernel have no closed form.
#' @return A tibble with a row per value: `ridge`, `loo`, `selected`. Cost: one
#'   eigendecomposition or factor, then \eqn{O(n r)} per value and class.
#' @seealso [ckce()] with `ridge = "loo"`.
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4),
#'                c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
#' ckce_ridge(probs, c(1, 2, 3, 2, 3, 1), ridge = c(1, .1, .01))
ckce_ridge <- function(x, truth, ..., kernel = kernel_linear() + kernel_gaussian("median"),
                       target_kernel = NULL, ridge = NULL,
                       target = c("outcome", "gap"),
                       computation = "auto", group = NULL,
                       group_kernel = NULL, tolerance = NULL, max_rank = NULL, draws = 100, .by = NULL,
                       event_level = "first", na_rm = TRUE, threads = NULL, weights = NULL, cluster = NULL,
                       horizon = NULL) {
  check_numbers(ridge, lower = 0, open = TRUE, null = TRUE)
  target <- check_choice(target, c("outcome", "gap"))
  choices <- list(
    kernel = check_kernel(kernel), default_kernel = missing(kernel),
    target_kernel = if (!is.null(target_kernel)) check_kernel(target_kernel), group_kernel = group_kernel,
    computation = computation, debias = "none", n_draws = 0, tolerance = tolerance, max_rank = max_rank,
    draws = check_count(draws, lower = 2)
  )
  choices <- read_computation(choices, "rff")
  threads <- resolve_threads(threads)
  call <- current_env()
  group <- enquo(group)
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  dots <- column_dots(...)
  out <- conditional_frame(x, enquo(truth), dots, enquo(.by), group, design, "loo", event_level, na_rm, list(
    classes = function(predictions, group) {
      inputs <- ckce_inputs(predictions, choices, group, threads, progress_callback("LOO"), call)
      loo_path(inputs$problem, inputs$kernel, ridge, inputs$options, inputs$group, predictions$design, target, call)
    },
    laws = function(laws, group) {
      inputs <- ckce_law_inputs(laws, choices, group, threads, progress_callback("LOO"), call, target == "outcome")
      loo_path(inputs$problem, inputs$kernel, ridge, inputs$options, inputs$group, laws$design, target, call)
    }
  ), call)
  out[setdiff(names(out), c(".metric", ".estimator"))]
}

loo_path <- function(problem, kernel, ridge, options, group, design, target = "outcome",
                     call = caller_env()) {
  check_clusters(design, call = call)
  n <- nrow(problem$residuals)
  ridge <- ridge %||% (n^(-1 / 4) * 10^seq(-3, 1, by = 0.25))
  options$targets <- target
  options$n_draws <- 0
  options$errors <- FALSE
  options$keep <- !is.null(design$cluster)
  problem$excess <- NULL
  numbers <- ckce_numbers(problem, kernel, ridge, options, group, call)
  warn_tiny_ridge(ridge, numbers$computation, ridge_share(ridge, problem, kernel))
  loo <- if (is.null(design$cluster)) {
    numbers$loo
  } else {
    leave_clusters_out(numbers$blocks, ckce_targets(problem, target), design$cluster)
  }
  # 0 / 0: a row that is all of its own fit
  loo[is.nan(loo)] <- Inf
  list(ridge = ridge, loo = loo, selected = seq_along(ridge) == which.min(loo))
}

# |(I - S_cc)^-1 (T - S T)_c|^2 / n, summed over clusters c of rows: S = P diag(filter) P' within each block.
leave_clusters_out <- function(blocks, targets, cluster) {
  parts <- lapply(blocks, function(block) {
    own <- targets[block$rows, , drop = FALSE]
    members <- split(seq_along(block$rows), cluster[block$rows])
    apply(block$filters, 2, function(filter) {
      smoother <- block$factor * rep(filter, each = nrow(block$factor))
      error <- own - smoother %*% crossprod(block$factor, own)
      sum(vapply(members, function(at) {
        within <- tcrossprod(smoother[at, , drop = FALSE], block$factor[at, , drop = FALSE])
        left <- diag(length(at)) - within
        if (is.infinite(determinant(left)$modulus)) return(Inf)
        sum(solve(left, error[at, , drop = FALSE], tol = 0)^2)
      }, 0))
    })
  })
  Reduce(`+`, parts) / nrow(targets)
}

best_ridge <- function(problem, kernel, options, group, design, call) {
  if (options$computation == "rff") options$computation <- "auto"
  path <- loo_path(problem, kernel, NULL, options, group, design, call = call)
  list(ridge = path$ridge[path$selected], loo = path$loo[path$selected])
}
