# The headline of a state.

check_state_rows <- function(state) {
  stop_if(state$n == 0, "A state must have rows.",
          "x" = if (state$dropped > 0) "All {state$dropped} of them were incomplete." else "It has none yet.",
          "i" = "{.code update(state, data, truth)} adds them.", class = c("empty", "state"))
  warn_tied_rows(state)
}

# The sentence on the test, of which that of the rows may differ.
state_test_sentence <- function(state) {
  if (!in_blocks(state)) {
    return(paste("The knots of the test are edges of the state's cells. `ce_estimate()` of the rows has quantiles of",
                 "the predictions as knots, so its p-value can differ."))
  }
  of_rows <- if (state$about$blocked) "flips those of single rows or clusters" else "simulates labels"
  paste0("The test flips the signs of whole blocks. `ce_estimate()` of the rows ", of_rows,
         ", so its p-value differs and it can reject where this test does not.")
}

# The sentence on censored rows and events of a state with a horizon.
followed_sentence <- function(state) {
  if (is.null(state$about$horizon)) return(NULL)
  paste0(follow_up_text(state_rows(state), state$follow_up[["events"]], state$follow_up[["censored"]],
                        effective_rows(state), state$about$horizon), ".")
}

# All rows that entered.
state_rows <- function(state) state$n + state$follow_up[["censored"]]

# Effective sample size of weighted rows.
effective_rows <- function(state) {
  sum(block_weights(block_moments(state)))^2 / state_scores(state)[["weight_square"]]
}

state_ladder <- function(state, level) {
  out <- if (in_blocks(state)) block_ladder(state, level) else {
    rows <- cell_rows(state$spec$edges, over_parts(state_moments(state)))
    joint_ladder(rows$x, rows$y, rows$count, level, state_knots(state, 1)[-1])
  }
  if (!is.null(out$least)) out$least <- c(block = unname(out$least))
  c(out, note = state_test_sentence(state))
}

state_headline <- function(state, level) {
  headline_row(state_ladder(state, level), state$about$notion, state_rows(state))
}

# Rescales weights to sum to n: the number of knots depends on the number of rows, not on the scale of the weights.
state_knots <- function(state, j) {
  moments <- over_parts(state_moments(state, j))
  cell_knots(state$spec$edges, moments * state$n / sum(moments[1, , ]), state$spec$inner)
}

# A few rows represent the sums of every block. Blocks are left out as a whole, so the rungs are those of clusters with
# the blocks as clusters. Squares of rows have sums of their own. For K classes every class has its own rows (no others
# have its feature), all in one problem: residuals times the root of K compensate for K times the rows.
block_ladder <- function(state, level) {
  classes <- seq_along(state$sums)
  own <- lapply(classes, function(j) cell_rows(state$spec$edges, block_moments(state, j)))
  class <- rep(classes, lengths(lapply(own, `[[`, "x")))
  rows <- lapply(setNames(nm = names(own[[1]])), function(name) unlist(lapply(own, `[[`, name)))
  e <- (rows$x - rows$y) * sqrt(length(classes))
  at <- cbind(seq_along(e), class)
  features <- replace(matrix(NaN, length(e), length(classes)), at, rows$x)
  residuals <- replace(0 * features, is.na(features), 0)
  residuals[at] <- e
  design <- new_design(length(e), rows$count, match(rows$part, sort(unique(rows$part))))
  total <- sum(own[[1]]$count)
  scores <- vapply(classes, function(j) state_scores(state, j), numeric(length(score_sums)))
  # of the blocks, and as cpp_design_df() of the rows' weights
  blocks <- cpp_design_df(replace(design, "copies", list(rows$count)))
  df <- min(blocks, 1 / max(scores["weight_square", 1] / total^2 - 1 / state$n, 0))
  knots <- lapply(classes, function(j) state_knots(state, j))
  of_blocks <- rowsum(rows$count * residuals, rows$part) / sqrt(length(classes))
  # the rows of the lower triangle, of which eigen() takes nothing else
  of_rows <- diag(length(classes))
  of_rows[upper.tri(of_rows, TRUE)] <- if (length(classes) == 1) scores["square", 1] else rowSums(state$sums[[1]]$cross)
  largest <- vapply(list(t(of_rows), crossprod(of_blocks)), function(s) eigen(s, TRUE, TRUE)$values[1], 0)
  problem <- list(features = features, residuals = residuals, design = design)
  size <- total^2 / scores["weight_square", 1]
  out <- clustered_cells_ladder(problem, knots, largest, total, size, df, level)
  if (length(classes) > 1) return(flipped_sums(out, state, own, knots, level))
  flipped_ladder(out, rows$x, rows$y, design, level, knots[[1]][-1])
}

# The class-wise test of blocks, from the rows of each class (see block_ladder()).
flipped_sums <- function(ladder, state, own, knots, level) {
  if (is.na(ladder$p.value)) return(ladder)
  blocks <- sort(unique(unlist(lapply(own, `[[`, "part"))))
  classes <- Map(function(rows, knots) {
    c(rows[c("x", "y", "count")], list(cluster = match(rows$part, blocks), knots = unname(knots[-1])))
  }, own, knots)
  found <- cpp_class_sums_flips(classes, state$n, level, joint_redraws, thread_count())
  with_flips(ladder, found, found$low, list(cluster = blocks))
}

block_weights <- function(moments) colSums(moments[1, , , , drop = FALSE], dims = 3)

used_blocks <- function(state) sum(block_weights(block_moments(state)) > 0)

# Sums of scores over all parts, by name.
state_scores <- function(state, problem = 1) {
  pairs <- state$sums[[problem]]$scores
  sums <- sum_array(pairs, c(length(score_sums), nrow(pairs) / length(score_sums)))
  setNames(rowSums(sums), score_sums)
}
