# Moments of cells by their definition, T_k(u) = cos(k arccos u).
oracle_moments <- function(x, y, edges, m, count = rep(1, length(x))) {
  cell <- pmax(findInterval(x, edges, left.open = TRUE), 1)
  u <- (2 * x - edges[cell] - edges[cell + 1]) / (edges[cell + 1] - edges[cell])
  out <- array(0, c(m, 2, length(edges) - 1))
  for (i in seq_along(x)) {
    at <- out[, y[i] + 1, cell[i]]
    out[, y[i] + 1, cell[i]] <- at + count[i] * cos((seq_len(m) - 1) * acos(min(1, max(-1, u[i]))))
  }
  out
}

cell_sample <- function(n, seed, round = 20) {
  withr::with_seed(seed, {
    x <- round(rbeta(n, 3, 1), round)
    list(x = x, y = rbinom(n, 1, x^1.3))
  })
}

# The headline on rungs of hats with the given knots, from moments of cells.
moment_ladder <- function(edges, moments, knots, level) {
  rows <- cell_rows(edges, moments)
  joint_ladder(rows$x, rows$y, rows$count, level, knots[-1])
}
