# Algorithm 1 on a state in blocks: of weighted or clustered rows, and of the classes of a row together.
# Folds and test rows are whole blocks, and a risk is the mean over pairs of rows in different blocks. Pairs within a
# cluster, or of a row with itself, are left out, so its expectation is that of the risk over pairs of independent rows.
# It is the risk of ce_tune() with the blocks as clusters: that of rows with the sums of every block.

# For the blocks that have rows: their part of test rows (0) or folds. As cluster_split() of clusters in this order.
fold_of_blocks <- function(n_blocks, spec) {
  tune <- floor((1 - spec$test) * n_blocks + 1e-9)
  c(rep(0L, n_blocks - tune), block_folds(tune, spec$folds))
}

# Blocks with rows, their folds and numbers of rows.
state_folds <- function(state) {
  rows <- block_rows(state)
  used <- which(rows > 0)
  fold <- fold_of_blocks(length(used), state$spec)
  check_fold_blocks(state, length(used), sum(fold > 0))
  list(used = used, fold = fold, sizes = as.vector(rowsum(rows[used], fold)))
}

block_rows <- function(state) {
  counts <- state$sums[[1]]$counts
  if (is.null(counts)) return(block_weights(block_moments(state)))
  colSums(sum_array(counts, bins_dim(state$spec)), dims = 3)
}

check_fold_blocks <- function(state, used, tune) {
  folds <- state$spec$folds
  stop_if(
    tune < 2 * folds, "Every fold must have two blocks with rows: pairs are those of rows in different blocks.",
    "x" = "{used} of the {state$spec$blocks} blocks {cli::qty(used)}{?has/have} rows; {folds} folds and the test rows \\
           need {ceiling(2 * folds / (1 - state$spec$test))}.",
    "i" = "Fewer {.arg folds} or more {.arg blocks} in {.fn ce_state} do with fewer rows or clusters.",
    "i" = if (state$about$owner[["given"]] == "none") {
      "Rows with the same values are in the same block; give {.arg id} in {.fn update} to tell them apart."
    }, class = c("state", "folds")
  )
}

# Rows without an id are in the block of their values, as if they were a cluster: none of the pairs that have the same
# ones counts. Distinct values fall into blocks as balls into boxes.
warn_tied_rows <- function(state) {
  if (!in_blocks(state) || state$about$owner[["given"]] != "none") return(invisible())
  rows <- block_rows(state)
  n <- sum(rows)
  tied <- (sum(rows^2) / n^2 - 1 / length(rows)) / (1 - 1 / length(rows)) - 1 / n
  warn_if(
    n * tied > 0.5 + 3 * sqrt(2 / length(rows)),
    "Many rows have the same values, and without an {.arg id} they are in the same block.",
    "x" = "They count as a cluster: limits are too wide for independent rows, and risks leave out their pairs.",
    "i" = "Give {.arg id} (or {.arg cluster}) in {.fn update} to tell rows apart.", class = "ties"
  )
}

# The sentence on weights, clusters and classes in blocks.
blocks_sentence <- function(state, used) {
  weighted <- state$about$weights == "importance"
  kinds <- c(if (weighted) "weighted", if (state$about$owner[["given"]] == "cluster") "clustered")
  rows <- if (length(kinds) > 0) paste(paste(kinds, collapse = ", "), "rows") else "classes of a row together"
  if (weighted) {
    rows <- paste0(rows, " (effective sample size ", count_text(signif(effective_rows(state), 3)), " of ",
                   count_text(state$n), ")")
  }
  paste0(first_upper(rows), ": risks of pairs across ", count_of(used, "block"),
         "; folds and test rows are whole blocks.")
}

# The rows of one problem, and those of its narrow cells, for bins.
block_problem <- function(state, j) {
  problem <- state_problem(state, j)
  if (state$about$notion == "class_wise") problem$class <- state$about$levels[j]
  problem$count <- problem$design$w
  problem$narrow <- narrow_rows(state, j, problem)
  problem
}

# Two rows for each narrow cell of a block (src/states.cpp).
narrow_rows <- function(state, j, problem) {
  found <- cpp_narrow_rows(state$sums[[j]]$fine, state$spec$fine, state$n, problem$part, problem$design$w,
                           problem$residuals)
  n <- length(found$w)
  out <- new_problem(matrix(found$x), matrix(found$e), integer(n),
                     design = new_design(n, found$w, cluster_codes(found$part)))
  out$part <- found$part
  out
}

# The problem with what tune_problem() needs of blocks: for a method its rows, their split, and results in which blocks
# take the place of their rows. Classes have different rows of one block, and so have bins.
in_own_blocks <- function(problem, blocks) {
  force(blocks)
  all <- problem
  problem$per_block <- function(method) {
    rows <- if (inherits(method, "ce_method_bins")) all$narrow else all
    fold <- blocks$fold[match(rows$part, blocks$used)]
    of_fold <- function(f) {
      own <- blocks$used[blocks$fold == f]
      block_means(rows$design$w[fold == f], match(rows$part[fold == f], own), length(own))
    }
    by_block <- function(out) {
      out$risks <- list(Map(function(risk, f) {
        block <- of_fold(f)
        means <- lapply(risk[c("projections", "zero_projections")], block$mean)
        c(risk[c("risk", "zero_risk")], means, list(design = block$design))
      }, out$risks[[1]], seq_along(out$risks[[1]])))
      test <- of_fold(0)
      replace(out, c("squared", "designs"), list(list(test$mean(out$squared[[1]])), list(test$design)))
    }
    list(problem = rows, splits = list(list(fold = fold, k = max(blocks$fold))), by_block = by_block)
  }
  problem
}
