# The ridge with the smallest leave-one-out error. `target`: of the outcome's embedding, or of the residual ("gap").
ridge_loo <- function(values = NULL, target = c("outcome", "gap")) {
  check_numbers(values, lower = 0, open = TRUE, null = TRUE)
  new_choice("ridge", "loo", values = values, target = check_choice(target, c("outcome", "gap")))
}

# The errors of the ridges of a ridge_loo(), and which is the smallest. Random features have no error of their own.
loo_path <- function(problem, kernel, choice, options, group, design) {
  check_clusters(design)
  n <- nrow(problem$residuals)
  ridge <- choice$values %||% (copy_count(design)^(-1 / 4) * 10^seq(-3, 1, by = 0.25))
  if (options$computation == "rff") options$computation <- "auto"
  options$targets <- choice$target
  options$times <- 0
  options$errors <- FALSE
  # a cluster, or one copy of a row, is left out
  left_out <- design$cluster %||% if (!is.null(design$copies)) seq_len(design$n)
  options$keep <- !is.null(left_out)
  problem$excess <- NULL
  numbers <- ckce_numbers(problem, kernel, ridge, options, group)
  warn_tiny_ridge(ridge, numbers$computation, ridge_share(ridge, problem, kernel))
  loo <- if (is.null(left_out)) {
    numbers$loo
  } else {
    targets <- ckce_targets(problem, choice$target)
    Reduce(`+`, lapply(numbers$blocks, function(block) {
      cpp_errors_without_clusters(block$factor, block$filters, targets[block$rows, , drop = FALSE],
                                  cluster_codes(left_out[block$rows]), thread_count(), design$copies[block$rows])
    })) / n
  }
  # 0 / 0: a row that is all of its own fit
  loo[is.nan(loo)] <- Inf
  columns_frame(ridge = ridge, loo = loo, selected = seq_along(ridge) == which.min(loo))
}
