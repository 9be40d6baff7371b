# The cells, bins and folds of a state are fixed before the first row. A spec is a list of the choices with
#   edges  of the cells: every hundredth, the edges of the panel's bins, the given knots, and towards 0 and 1 halved
#          octaves, on which functions of logit(p) are smooth
#   bins   edges of the panel's bins
#   fine   edges of the cells whose unions are the bins of Algorithm 1, and every hundredth
#   inner  knots the ladder may choose among

state_edges <- function(spec) {
  octaves <- 2^-(7:20)
  tail <- c(octaves, 0.75 * octaves)
  fixed <- sort(unique(c((0:100) / 100, tail, 1 - tail, spec$bins)))
  # a knot that is an edge up to rounding is that edge
  own <- spec$knots[vapply(spec$knots, function(knot) min(abs(knot - fixed)) > 1e-12, NA)]
  edges <- sort(unique(c(fixed, own)))
  near <- vapply(edges, function(edge) is.null(spec$knots) || min(abs(edge - spec$knots)) <= 1e-12, NA)
  fine <- sort(unique(c((0:100) / 100, unlist(lapply(spec$grid, function(b) seq_len(b) / b)))))
  c(spec, list(edges = edges, inner = edges[near], fine = fine))
}

# Moments kept of a cell, by outcome; of a block's cell; of a narrow one, of which risks need fourth powers.
moments_of_cell <- 10L
moments_of_block <- 4L
moments_of_narrow <- 6L

moments_dim <- function(spec, blocked) {
  c(if (blocked) moments_of_block else moments_of_cell, 2, length(spec$edges) - 1, n_parts(spec, blocked))
}

bins_dim <- function(spec) c(1L, 2, spec$n_bins, spec$blocks)

# In blocks the sums of w and w e of a narrow cell, else its moments by outcome.
fine_dim <- function(spec, blocks) {
  c(if (blocks) 1L else moments_of_narrow, 2, length(spec$fine) - 1, n_parts(spec, blocks))
}

n_parts <- function(spec, blocked) if (blocked) spec$blocks else spec$folds + 1

# The dimensions of the sums by their names.
sums_dim <- function(spec, about) {
  class_wise <- about$notion == "class_wise"
  bins <- if (about$blocked) bins_dim(spec)
  drop_null(list(
    moments = moments_dim(spec, about$blocked), scores = c(length(score_sums), n_parts(spec, about$blocked)),
    counts = bins, squares = bins, blocks = if (!about$blocked && class_wise) moments_dim(spec, TRUE),
    fine = if (!isTRUE(about$in_database)) fine_dim(spec, about$blocked || class_wise)
  ))
}

# The sums as an array, the parts last; of scores those of R's names.
score_sums <- c("log", "log_square", "infinite", "extreme", "square", "weight_square")

sum_array <- function(pairs, dim) array(pairs[, 1] + pairs[, 2], dim)

in_blocks <- function(state) state$about$blocked || state$about$notion == "class_wise"

block_moments <- function(state, problem = 1) {
  sum_array(state$sums[[problem]][[if (state$about$blocked) "moments" else "blocks"]], moments_dim(state$spec, TRUE))
}

state_moments <- function(state, problem = 1) {
  sum_array(state$sums[[problem]]$moments, moments_dim(state$spec, state$about$blocked))
}

over_parts <- function(sums) rowSums(sums, dims = length(dim(sums)) - 1)
