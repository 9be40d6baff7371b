# Functions that a record of a family lacks, derived from its distribution and quantile functions.

# Double exponential nodes on (0, 1) with their complements, which are exact near 1: integrands may be singular at
# the ends.
unit_nodes <- function() {
  t <- seq(-3.2, 3.2, by = 0.1)
  s <- pi * sinh(t)
  at <- 1 / (1 + exp(-s))
  rest <- 1 / (1 + exp(s))
  list(at = at, rest = rest, weight = 0.1 * pi * cosh(t) * at * rest)
}

largest_level <- 1 - .Machine$double.neg.eps

# fn(node, complement, weight) summed over nodes, a vector over rows.
sum_nodes <- function(nodes, fn) {
  total <- 0
  for (k in seq_along(nodes$at)) total <- total + fn(nodes$at[k], nodes$rest[k], nodes$weight[k])
  total
}

# int_0^1 Q and int_0^1 (Q - mean)^2, or sums over counts.
moments_by_quadrature <- function(law) {
  n <- length(law)
  if (is_count(law)) {
    finite <- count_probs(law)
    mean <- drop(finite$probs %*% finite$support)
    square <- rowSums(finite$probs * outer(mean, finite$support, `-`)^2)
    return(list(mean = matrix(mean), cov = matrix(square)))
  }
  quantile <- record_of(law)$quantile
  nodes <- unit_nodes()
  level <- function(at, rest) rep(if (at < 0.5) at else min(1 - rest, largest_level), n)
  mean <- sum_nodes(nodes, function(at, rest, w) w * quantile(law, level(at, rest)))
  square <- sum_nodes(nodes, function(at, rest, w) w * (quantile(law, level(at, rest)) - mean)^2)
  list(mean = matrix(mean), cov = matrix(square))
}

# int_0^F 2 u (y - Q(u)) du + int_F^1 2 (1 - u) (Q(u) - y) du with F = F(y).
crps_by_quantiles <- function(law, y) {
  record <- record_of(law)
  y <- rep_len(y, length(law))
  below <- pmin(pmax(record$cdf(law, y), 0), 1)
  nodes <- unit_nodes()
  part <- function(share, level, gap) {
    some <- which(share > 0)
    value <- numeric(length(y))
    if (length(some) == 0) return(value)
    inside <- law[some]
    value[some] <- 2 * share[some]^2 * sum_nodes(nodes, function(at, rest, w) {
      w * at * gap(record$quantile(inside, level(share[some] * at)), y[some])
    })
    value
  }
  within <- function(u) pmin(pmax(u, .Machine$double.xmin), largest_level)
  part(below, within, function(q, y) y - q) + part(1 - below, function(u) within(1 - u), function(q, y) q - y)
}

# sum_k int_k^(k+1) (F(k) - 1{x >= y})^2 dx
crps_by_counts <- function(law, y) {
  record <- record_of(law)
  y <- rep_len(y, length(law))
  support <- count_support(law)
  first <- support[1]
  last <- support[length(support)]
  value <- pmax(first - y, 0) + pmax(y - last - 1, 0)
  for (k in support) {
    before <- pmin(pmax(y - k, 0), 1)
    level <- record$cdf(law, rep(k, length(law)))
    value <- value + before * level^2 + (1 - before) * (1 - level)^2
  }
  value
}

# Counts that leave out `tail` of every prediction on either side.
count_window <- function(law, tail) {
  record <- record_of(law)
  if (!is.null(record$window)) return(record$window(law, tail))
  level <- function(u) rep(u, length(law))
  list(from = record$quantile(law, level(max(tail, 1e-300))), to = record$quantile(law, level(1 - max(tail, 1e-15))))
}

most_counts <- 5000L

# All counts between the smallest and the largest that are likelier than 1e-18, and `y`.
count_support <- function(law, y = NULL) {
  window <- count_window(law, 1e-18)
  from <- min(window$from, y)
  to <- max(window$to, y)
  stop_if(to - from > most_counts, "Predictions of counts must span at most {most_counts} counts.",
          "x" = "They span {to - from + 1}.",
          "i" = "For counts this large use {.code pred_normal(mean, sd)} with their moments, or {.fn pred_draws}.",
          class = "distribution", arg = "x")
  seq(from, to)
}

# To rounding, a distribution of counts is a finite one.
count_probs <- function(law, y = NULL) {
  support <- count_support(law, y)
  density <- record_of(law)$density
  n <- length(law)
  probs <- matrix(vapply(support, function(k) density(law, rep(k, n)), numeric(n)), n)
  list(support = support, probs = probs)
}

# Evenly spaced quantiles, n x size.
spaced_quantiles <- function(law, size) {
  quantile <- record_of(law)$quantile
  n <- length(law)
  matrix(vapply((seq_len(size) - 0.5) / size, function(u) quantile(law, rep(u, n)), numeric(n)), n)
}

draw_by_quantile <- function(law, size, roots) {
  rows <- rep(seq_along(law), size)
  u <- stats::runif(length(rows))
  matrix(record_of(law)$quantile(if (size > 1) law[rows] else law, u), length(law))
}
