# The main estimate, for one probability per row, from sums over the cells of a partition of [0, 1], without the rows.
# For each cell and outcome (0 or 1), the sums of w T_k(u) are kept, k < m. T_k are Chebyshev's polynomials; u is the
# place of a prediction in its cell, -1 at the lower edge and 1 at the upper one. Residuals are x - y, so every sum of
# e^b f(x) over rows is an integral of a smooth function over these two measures. Gauss's rule gives each measure as
# floor(m / 2) rows with counts (inst/include/calibrisk/states/cell_rule.h). It is exact if there are no more distinct
# values, and for polynomials up to degree m - 1. Code for repeated rows then runs on these rows.
#
#   edges    increasing; cells are (e_k, e_k+1], the first one with its lower edge
#   moments  array m x 2 x cells: sums of w T_k(u) over the rows with outcome 0 and 1

# Rows with counts: list(x, y, count, part), of all parts where moments are an array with the parts last.
cell_rows <- function(edges, moments, nodes = dim(moments)[1] %/% 2) {
  low <- rep(edges[-length(edges)], each = 2)
  high <- rep(edges[-1], each = 2)
  # the first cell has its lower edge
  groups <- list(low, high, replace(low, 1:2, -Inf), high)
  parts <- length(moments) / (dim(moments)[1] * length(low))
  rows <- do.call(cpp_group_rows, c(lapply(groups, rep, parts), list(moments, dim(moments)[1], nodes)))
  list(x = rows[, 2], y = (rows[, 1] - 1) %% 2, count = rows[, 3], part = (rows[, 1] - 1) %/% length(low) + 1)
}

# Sums of w u^k -> sums of w T_k(u): multiply the moments of a cell from the left by this m x m matrix.
monomial_to_chebyshev <- function(m) {
  out <- diag(m)
  for (k in seq_len(m)[-(1:2)]) out[k, ] <- 2 * c(0, out[k - 1, -m]) - out[k - 2, ]
  out
}

# Edges as knots of the rungs of the default ladder: of those in `inner` the nearest to quantiles of the predictions.
cell_knots <- function(edges, moments, inner = edges) {
  mass <- colSums(moments[1, , ])
  sizes <- vapply(ladder_bases("binary", 1, sum(mass)), `[[`, 0, "own")
  cpp_cell_knots(edges, mass, range(cell_rows(edges, moments)$x), match(inner, edges), sizes)
}

# The nested bases of rows that stand for those of clusters, which are left out as a whole. `knots`: of each class,
# those of every rung. `squares`: the sums of squares of the residuals of rows and of clusters; the larger one is the
# scatter. `total`: the sum of weights. `size`: the effective number of rows.
clustered_cells_ladder <- function(problem, knots, squares, total, size, df, level) {
  bases <- lapply(seq_along(knots[[1]]), function(m) list(recipe = "hats", at = lapply(knots, `[[`, m)))
  run_ladder(problem, bases, level, square_facts(problem, size), df, 4 * max(squares) / total^2,
             design_weights(problem$design) * size / total, sqrt(ncol(problem$residuals)))
}
