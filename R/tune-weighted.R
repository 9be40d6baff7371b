# Cells of rows with importance weights, see R/tune-cells.R: sums are named by the powers of w and of d that they are
# of; "n", "y", "d1" and "d2" are those of w, w y, w d and w d^2 as there, "rows" counts.

weighted_sums <- function() {
  powers <- list(w2 = c(0, 1, 2, 4), w3 = 0:3, w4 = c(0, 2, 4))
  more <- lapply(seq_along(powers), function(k) {
    setNames(vapply(powers[[k]], function(d) paste(rep(c("w", "d"), c(k + 1, d)), collapse = " * "), ""),
             paste0(names(powers)[k], "d", powers[[k]]))
  })
  c(n = "w", y = "w * y", d1 = "w * d", d2 = "w * d * d", rows = "1", w2y = "w * w * y", unlist(more))
}

has_weights <- function(sums) "w2d0" %in% colnames(sums)

row_count <- function(sums) sum(sums[, if (has_weights(sums)) "rows" else "n"])

# The squared standard errors of the bins' frequencies.
weighted_noise <- function(train) {
  n <- train[, "n"]
  rows <- train[, "rows"]
  accuracy <- train[, "y"] / n
  squares <- pmax(train[, "w2y"] * (1 - 2 * accuracy) + accuracy^2 * train[, "w2d0"], 0)
  ifelse(rows >= 2, rows / (rows - 1) * squares / n^2, 0)
}

# a and c1, and what a pair of a row with itself takes.
weighted_coefficients <- function(held, h) {
  n <- held[, "n"]
  list(a = h$b^2 * sum(n * h$b^2) - 2 * n * h$b^2 * h$v + n * h$v^2,
       c1 = -2 * (h$b * sum(h$b * held[, "d1"]) - h$v * held[, "d1"]), m = h$b^2 - h$v)
}

pair_weight_of_cells <- function(sums) sum(sums[, "n"])^2 - sum(sums[, "w2d0"])

# `fourth`: sum of w^2 d^4.
weighted_risk <- function(held, h, fourth) {
  if (row_count(held) < 2) return(NA_real_)
  of <- weighted_coefficients(held, h)
  sums <- sum(of$a * held[, "n"]) + sum(of$c1 * held[, "d1"]) + sum(held[, "d2"])^2
  own <- fourth - 2 * sum(of$m * held[, "w2d2"]) + sum(of$m^2 * held[, "w2d0"])
  max(0, (sums - own) / pair_weight_of_cells(held))
}

# The difference in one fold and its standard error, from the coefficients of both by cell.
weighted_difference <- function(sums, first, second) {
  rows <- row_count(sums)
  size <- pair_weight_of_cells(sums)
  of <- function(name) sums[, name]
  a <- first$a - second$a
  b <- first$c1 - second$c1
  e <- second$m^2 - first$m^2
  f <- 2 * (first$m - second$m)
  difference <- sum(a * of("n") + b * of("d1") + e * of("w2d0") + f * of("w2d2")) / size
  if (rows < 3) return(c(difference, NA_real_))
  a <- a - difference * sum(of("n"))
  e <- e + difference
  squares <- sum(
    a^2 * of("w2d0") + 2 * a * b * of("w2d1") + b^2 * of("w2d2") +
      2 * (a * e * of("w3d0") + b * e * of("w3d1") + a * f * of("w3d2") + b * f * of("w3d3")) +
      e^2 * of("w4d0") + 2 * e * f * of("w4d2") + f^2 * of("w4d4")
  )
  c(difference, 2 * sqrt(rows / (rows - 1) * max(squares, 0)) / size)
}

# The mean of a number per cell, as an estimate.
weighted_mean_of_cells <- function(held, values) {
  total <- sum(held$n)
  n <- sum(held$rows)
  mean <- sum(held$n * values) / total
  variance <- if (n > 1) n / (n - 1) * sum(held$w2d0 * (values - mean)^2) / total^2 else NA_real_
  new_estimate(mean, no_rows, new_design(n), variance = variance)
}
