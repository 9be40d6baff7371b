# The ridge with the smallest leave-one-out error. `target`: of the outcome's embedding, or of the residual ("gap").
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
