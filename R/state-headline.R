# The headline of a state.

# What ce_estimate(state) returns.
state_estimate <- function(state, level, threads, call) {
  check_state(state, call)
  check_state_rows(state, call)
  if (state$about$notion == "class_wise") {
    stop_input(c(
      "A state has no headline of the class-wise error.",
      "x" = "Its variance needs products of the residuals of two classes, of which no sums are kept.",
      "i" = "{.fn estimate} and {.fn ce_tune} of the state are class by class; a state of one class has a headline \\
             with {.code notion = \"binary\"}."
    ), c("state", "notion"), call = call)
  }
  out <- state_headline(state, level, threads)
  attr(out, "dropped") <- c(state$dropped, state$n + state$dropped)
  if (state$about$blocked) {
    attr(out, "design") <- paste0("Weighted or clustered rows: errors from ", used_blocks(state), " blocks.")
  }
  new_estimate_table(out, level)
}

# What the sums were made of is settled: the verbs take no other choices with a state.
check_state_call <- function(no_truth, called, known, call) {
  other <- setdiff(names(called)[-1], c(known, ""))
  if (no_truth && length(other) == 0) return(invisible())
  stop_input(c(
    "With a state only {.arg {setdiff(known, 'x')}} can be chosen.",
    "x" = if (length(other) > 0) "{.arg {other}} {?was/were} given." else "{.arg truth} was given.",
    "i" = "What is kept of the rows is settled by {.fn ce_state_spec}."
  ), c("state", "argument"), call = call)
}

check_state_rows <- function(state, call) {
  if (state$n > 0) return(invisible())
  stop_input(c(
    "A state must have rows.",
    "x" = if (state$dropped > 0) "All {state$dropped} of them were incomplete." else "It has none yet.",
    "i" = "{.code update(state, data, truth)} adds them."
  ), c("empty", "state"), call = call)
}

state_headline <- function(state, level, threads) {
  moments <- state_moments(state)
  total <- over_parts(moments)
  knots <- cell_knots(state$spec$edges, total, state$spec$inner)
  ladder <- if (state$about$blocked) {
    block_ladder(state, moments, knots, level, threads)
  } else {
    moment_ladder(state$spec$edges, total, knots, level, threads)
  }
  out <- headline_row(ladder, state$about$notion, state$n)
  attr(out, "error") <- ladder$error
  out
}

# The rows of every block stand for its sums, so that rungs that leave whole blocks out are those of clusters. What
# takes squares of rows has its own sums.
block_ladder <- function(state, moments, knots, level, threads) {
  rows <- part_rows(state$spec$edges, moments)
  e <- rows$x - rows$y
  design <- new_design(length(e), rows$count, match(rows$part, sort(unique(rows$part))))
  problem <- list(features = matrix(rows$x), residuals = matrix(e), design = design)
  scores <- state_scores(state)
  # as design_df()
  df <- min(used_blocks(state) - 1, 1 / max(scores[["weight_square"]] / sum(rows$count)^2 - 1 / state$n, 0))
  bases <- lapply(knots, function(at) list(recipe = "hats", at = list(at)))
  of_blocks <- rowsum(rows$count * e, rows$part)
  scatter <- 4 * max(scores[["square"]], sum(of_blocks^2)) / sum(rows$count)^2
  rungs <- lapply(core_ladder(problem, bases, TRUE, threads), function(rung) {
    rung$scatter <- scatter
    rung
  })
  cap <- brier_cap(row_mean(e^2, design), row_std_error(e^2, design), level, df)
  finish_ladder(rungs, design, cap, level, df)
}

block_weights <- function(moments) colSums(moments[1, , , , drop = FALSE], dims = 3)

used_blocks <- function(state) sum(block_weights(state_moments(state)) > 0)

# Sums of scores over all parts, by name.
state_scores <- function(state, problem = 1) {
  pairs <- state$sums[[problem]]$scores
  sums <- sum_array(pairs, c(length(score_sums), nrow(pairs) / length(score_sums)))
  setNames(rowSums(sums), score_sums)
}
