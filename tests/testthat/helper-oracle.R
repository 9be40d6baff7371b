# Oracles: the definitions as naive loops in base R. Slow, obvious, independent of the package.

# Twenty rows with three classes; fits use rows 1-12, evaluations rows 13-20.
oracle_data <- function() {
  P <- matrix(c(
    .70, .20, .10,  .55, .35, .10,  .15, .80, .05,  .10, .15, .75,  .90, .06, .04,
    .33, .34, .33,  .05, .90, .05,  .25, .30, .45,  .60, .15, .25,  .20, .65, .15,
    .85, .10, .05,  .40, .50, .10,  .12, .28, .60,  .30, .60, .10,  .95, .03, .02,
    .45, .20, .35,  .08, .12, .80,  .50, .25, .25,  .22, .70, .08,  .64, .30, .06
  ), ncol = 3, byrow = TRUE)
  y <- c(1, 2, 2, 3, 1, 3, 2, 1, 1, 2, 1, 1, 3, 2, 1, 3, 3, 1, 3, 1)
  list(P = P, y = y, fit = 1:12, eval = 13:20)
}

# Features, residuals and labels of a notion, in the shape of the package's problems.
oracle_problem <- function(P, y, notion = "top_label") {
  if (notion == "canonical") {
    E <- P
    for (i in seq_along(y)) E[i, y[i]] <- E[i, y[i]] - 1
    return(list(features = P, residuals = E, labels = as.integer(y), class = NULL))
  }
  z <- apply(P, 1, max)
  correct <- as.integer(apply(P, 1, which.max) == y)
  list(features = matrix(z), residuals = matrix(z - correct), labels = correct, class = NULL)
}

oracle_rows <- function(problem, rows) {
  problem$features <- problem$features[rows, , drop = FALSE]
  problem$residuals <- problem$residuals[rows, , drop = FALSE]
  problem$labels <- problem$labels[rows]
  problem
}

# Risk, projections and standard error of the matrix H.
oracle_risk <- function(H, E) {
  m <- nrow(E)
  loss <- matrix(0, m, m)
  for (i in seq_len(m)) {
    for (j in seq_len(m)) if (i != j) loss[i, j] <- (sum(E[i, ] * E[j, ]) - H[i, j])^2
  }
  risk <- sum(loss) / (m * (m - 1))
  projections <- (rowSums(loss) + colSums(loss)) / 2 / (m - 1)
  list(risk = risk, projections = projections, std.error = sqrt(4 / (m * (m - 1)) * sum((projections - risk)^2)))
}

# Bin of each p: right-closed bins with the given inner edges, 1 + number of edges below p.
oracle_bin <- function(p, edges) vapply(p, function(v) 1L + sum(edges < v), 0L)

oracle_edges <- function(p, n_bins, type = "width") {
  k <- seq_len(n_bins - 1)
  if (type == "width") return(k / n_bins)
  unique(sort(p)[ceiling(length(p) * k / n_bins)])
}

# b per bin and v per bin from the fit rows.
oracle_bins <- function(problem, n_bins, type = "width") {
  edges <- oracle_edges(problem$features[, 1], n_bins, type)
  bin <- oracle_bin(problem$features[, 1], edges)
  e <- problem$residuals[, 1]
  n_cells <- length(edges) + 1
  b <- v <- numeric(n_cells)
  for (m in seq_len(n_cells)) {
    inside <- bin == m
    b[m] <- if (any(inside)) mean(e[inside]) else mean(e)
    acc <- mean(problem$labels[inside])
    if (sum(inside) >= 2) v[m] <- acc * (1 - acc) / (sum(inside) - 1)
  }
  list(edges = edges, b = b, v = v)
}

oracle_bins_h <- function(bins, p, q, debias = FALSE) {
  i <- oracle_bin(p, bins$edges)
  j <- oracle_bin(q, bins$edges)
  H <- outer(bins$b[i], bins$b[j])
  if (debias) H <- H - outer(i, j, "==") * bins$v[i]
  H
}

# Projections of the risk of H for more rows than the double loop is fit for.
oracle_loss_means <- function(H, E) {
  loss <- (tcrossprod(E) - H)^2
  diag(loss) <- 0
  (rowSums(loss) + colSums(loss)) / 2 / (nrow(E) - 1)
}

# Rows of positive numbers as probabilities; rows of a symmetric Dirichlet law.
to_simplex <- function(x) x / rowSums(x)
random_simplex <- function(n, k, shape = 0.5) to_simplex(matrix(stats::rgamma(n * k, shape), n))
