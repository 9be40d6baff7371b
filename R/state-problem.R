# States as ordinary problems: rows that stand for those of every cell and part, see R/ladder-cells.R.

# `...`: fewer nodes.
cells_problem <- function(edges, moments, ...) {
  rows <- cell_rows(edges, moments, ...)
  problem <- scalar_problem(rows$x, rows$y)
  problem$design <- new_design(length(rows$x), copies = rows$count)
  problem$part <- rows$part
  problem
}

# For the cells of the j-th problem. Blocks are clusters, and weights are those of mean 1. The folds of lower limits are
# made of whole parts.
state_problem <- function(state, j = 1, blocks = in_blocks(state)) {
  if (!blocks) {
    problem <- cells_problem(state$spec$edges, state_moments(state, j))
    problem$fold <- problem$part
    return(problem)
  }
  problem <- cells_problem(state$spec$edges, block_moments(state, j))
  w <- problem$design$copies
  w <- w * (state$n / sum(w))
  copies <- if (state$about$weights == "importance") block_copies(state, j, problem) else w
  problem$design <- new_design(length(w), w, cluster_codes(problem$part), copies)
  problem$fold <- as.integer((problem$part - 1) %% crossfit_folds + 1)
  problem
}

# Rows of weight W1 and squared weights W2 in all are W1^2 / W2 copies of one weight: those of a bin, outcome and block.
block_copies <- function(state, j, problem) {
  copies <- cpp_block_copies(state$sums[[j]]$squares, state$spec$bins, problem$features, problem$labels, problem$part,
                             problem$design$copies)
  # a changed state may have sums that do not belong together
  stop_if(is.null(copies), "The sums of a state must be of the same rows.",
          "x" = "Some squared weights have the sum 0, their weights do not.", class = c("state", "argument"),
          arg = "state")
  copies
}

# From rows of these weights in the blocks 1..n to the blocks: the mean of their rows' values, and their design.
block_means <- function(w, block, n) {
  weight <- sum_by_cluster(w, block, n)
  list(mean = function(x) sum_by_cluster(w * x, block, n) / weight, design = new_design(n, weight, seq_len(n)))
}
