# Bets of a monitor: recalibrations q of a stream of predictions p, each fitted to the rows before, so that q(y)/p(y)
# multiplies its wealth. On the logit scale they shift z = logit p by f(z)'beta. A stream holds
#   cells    sums over cells of z, a row each: rows, events, sum of z
#   bets     beta of every bet; log_e: its wealth (log)
#   n        rows so far; next_fit: after how many of them beta is fitted anew

bet_knots <- -4:4
# Standard deviation of beta's prior: early bets are small.
bet_spread <- 0.5
cell_width <- 0.1
cell_end <- 8

# f(z) of every bet.
bet_features <- function(z) {
  at <- pmin(pmax(z, bet_knots[1]), bet_knots[length(bet_knots)])
  list(
    matrix(1, length(z), 1),
    cbind(1, z, deparse.level = 0),
    # linear B-splines: constant beyond the outer knots
    pmax(1 - abs(outer(at, bet_knots, `-`)), 0)
  )
}

new_stream <- function(settings) {
  cells <- matrix(0, 2 * cell_end / cell_width + 1, 3)
  bets <- lapply(bet_features(0), function(features) numeric(ncol(features)))
  list(cells = cells, bets = bets, log_e = numeric(length(bets)), n = 0, next_fit = settings$block)
}

# The stream after the rows of a problem, and its wealth after each of them (log, a column per bet).
run_stream <- function(stream, problem, settings) {
  p <- problem$features[, 1]
  y <- problem$labels
  n <- length(p)
  z <- stats::qlogis(p)
  certain <- !is.finite(z)
  wealth <- matrix(0, n, length(stream$bets))
  cluster <- problem$design$cluster
  ends <- if (!is.null(cluster)) which(c(cluster[-1] != cluster[-n], TRUE))
  done <- 0
  while (done < n) {
    last <- min(n, done + stream$next_fit - stream$n)
    # bets are made anew between clusters
    if (!is.null(ends)) last <- ends[ends >= last][1]
    rows <- seq.int(done + 1, last)
    sure <- certain[rows]
    gain <- matrix(0, length(rows), length(stream$bets))
    gain[sure, ] <- ifelse(p[rows][sure] == y[rows][sure], 0, Inf)
    gain[!sure, ] <- bet_gains(stream$bets, z[rows][!sure], y[rows][!sure])
    if (!is.null(ends)) gain <- cluster_gains(gain, cluster[rows])
    for (j in seq_along(stream$bets)) wealth[rows, j] <- stream$log_e[j] + cumsum(gain[, j])
    stream$log_e <- wealth[rows[length(rows)], ]
    stream$cells <- stream$cells + cell_sums(z[rows][!sure], y[rows][!sure])
    stream$n <- stream$n + length(rows)
    done <- done + length(rows)
    if (stream$n >= stream$next_fit) stream <- refit_bets(stream, settings)
  }
  list(stream = stream, wealth = wealth)
}

# The log of the mean of q(y) / p(y) over a cluster's rows, which stand together, at the last of them; 0 at the others.
cluster_gains <- function(gain, cluster) {
  out <- matrix(0, nrow(gain), ncol(gain))
  for (rows in split(seq_along(cluster), cluster)) {
    out[rows[length(rows)], ] <- log_mean_exp(t(gain[rows, , drop = FALSE]))
  }
  out
}

# log q(y) - log p(y), a column per bet.
bet_gains <- function(bets, z, y) {
  side <- 2 * y - 1
  plain <- stats::plogis(side * z, log.p = TRUE)
  shifted <- Map(function(features, beta) z + drop(features %*% beta), bet_features(z), bets)
  matrix(vapply(shifted, function(s) stats::plogis(side * s, log.p = TRUE) - plain, plain), ncol = length(bets))
}

cell_sums <- function(z, y) {
  n_cells <- 2 * cell_end / cell_width + 1
  cell <- round(pmin(pmax(z, -cell_end), cell_end) / cell_width) + cell_end / cell_width + 1
  sum_in <- function(v) {
    out <- numeric(n_cells)
    by_cell <- rowsum(v, cell)
    out[as.integer(rownames(by_cell))] <- by_cell
    out
  }
  if (length(z) == 0) return(matrix(0, n_cells, 3))
  cbind(tabulate(cell, n_cells), sum_in(y), sum_in(z))
}

# Every block at first, then after 2% more rows: as often as the estimates move.
refit_bets <- function(stream, settings) {
  blocks <- max(1, floor(0.02 * stream$n / settings$block))
  used <- stream$cells[stream$cells[, 1] > 0, , drop = FALSE]
  if (nrow(used) > 0) {
    features <- bet_features(used[, 3] / used[, 1])
    stream$bets <- Map(function(f, beta) fit_bet(f, used, beta), features, stream$bets)
  }
  # what the rows before this fit still count at the next one
  if (is.finite(settings$half_life)) {
    stream$cells <- stream$cells * 0.5^(blocks * settings$block / settings$half_life)
  }
  stream$next_fit <- stream$n + blocks * settings$block
  stream
}

# Penalised maximum likelihood on cells, from the last fit.
fit_bet <- function(features, cells, beta) {
  n <- cells[, 1]
  logistic_fit(features, cells[, 2] / n, beta, n, cells[, 3] / n, rep(1 / (2 * bet_spread^2), length(beta)),
               0 * beta)$theta
}

# Log of the mean of exp(x) over each row; Inf where one is.
log_mean_exp <- function(x) {
  top <- do.call(pmax, unname(as.data.frame(x)))
  shift <- ifelse(is.finite(top), top, 0)
  ifelse(top == Inf, Inf, shift + log(rowMeans(exp(x - shift))))
}

# Wealth of bets on different rows multiplies; what comes is bet on by what all of them say.
join_streams <- function(a, b, settings) {
  joined <- list(cells = a$cells + b$cells, bets = if (a$n >= b$n) a$bets else b$bets, log_e = a$log_e + b$log_e,
                 n = a$n + b$n)
  refit_bets(joined, settings)
}
