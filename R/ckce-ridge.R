#' Ridge with the smallest leave-one-out error
#'
#' Has [ckce()] choose its ridge: the conditional mean operator is a vector-valued regression, and its leave-one-out
#' error says which ridge predicts best.
#'
#' @section Definition:
#' With \eqn{S = K(K + n\,ridge\,I)^{-1}} and targets \eqn{T},
#' \eqn{LOO = \frac1n\sum_i |(T - ST)_i|^2 / (1 - S_{ii})^2}, which is the exact error of the fits that
#' leave one row out with \eqn{n\,ridge} held fixed. `target = "outcome"` regresses the
#' outcome's embedding on the prediction (the operator \eqn{C_{Y|Q}}), `"gap"` the residual. With `cluster` whole
#' clusters are left out, \eqn{LOO = \frac1n\sum_c |(I - S_{cc})^{-1}(T - ST)_c|^2}: the rows of one would choose a
#' ridge that predicts the others of the same. It is infinite where the ridge is so small that a row, or a cluster, has
#' all the weight in its own fit, to rounding. With weights all of this is of rows and targets times \eqn{\sqrt{w}}.
#' Random features (`computation = "rff"`) have the ridge of `"auto"`.
#'
#' @section Cost:
#' One eigendecomposition or factor, then \eqn{O(n r)} per value and class.
#' @param values Ridges to try; `NULL` for \eqn{n^{-1/4}} times powers of ten from
#'   \eqn{10^{-3}} to 10, four per decade.
#' @param target `"outcome"` or `"gap"`.
#' @return A `ce_choice` for `ckce(ridge = )`; `"loo"` is short for `ridge_loo()`. The result of [ckce()] then has the
#'   columns `loo` and `path`: a list of tibbles with a row per value and the columns `ridge`, `loo`, `selected`.
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4),
#'                c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
#' found <- ckce(probs, c(1, 2, 3, 2, 3, 1), ridge = ridge_loo(c(1, .1, .01)))
#' found$path[[1]]
ridge_loo <- function(values = NULL, target = c("outcome", "gap")) {
  check_numbers(values, lower = 0, open = TRUE, null = TRUE)
  new_choice("ridge", "loo", values = values, target = check_choice(target, c("outcome", "gap")))
}

# The errors of the ridges of a ridge_loo(), and which is the smallest. Random features have no error of their own.
loo_path <- function(problem, kernel, choice, options, group, design) {
  check_clusters(design)
  n <- nrow(problem$residuals)
  ridge <- choice$values %||% (n^(-1 / 4) * 10^seq(-3, 1, by = 0.25))
  if (options$computation == "rff") options$computation <- "auto"
  options$targets <- choice$target
  options$times <- 0
  options$errors <- FALSE
  options$keep <- !is.null(design$cluster)
  problem$excess <- NULL
  numbers <- ckce_numbers(problem, kernel, ridge, options, group)
  warn_tiny_ridge(ridge, numbers$computation, ridge_share(ridge, problem, kernel))
  loo <- if (is.null(design$cluster)) {
    numbers$loo
  } else {
    leave_clusters_out(numbers$blocks, ckce_targets(problem, choice$target), design$cluster)
  }
  # 0 / 0: a row that is all of its own fit
  loo[is.nan(loo)] <- Inf
  columns_frame(ridge = ridge, loo = loo, selected = seq_along(ridge) == which.min(loo))
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
