# An honest lower end for classical errors. A plug-in estimate takes the absolute value of its own
# noise, so that it, and every interval around it, lies above 0 for a calibrated model too. Gaps c
# that were fitted without a row's outcome give a bound from below (tangent of |.|^p, any fixed c):
#   E|Delta|^p >= E[ p |c|^(p-1) sign(c) e - (p-1) |c|^p ],   equality at c = Delta,
# where e is prediction minus outcome; with p = 1, E[ sign(c) e ]. The gaps of a row are those of
# the other folds.

crossfit_folds <- 5

# Fold of every row, from its values (predictions and outcome): scattered, and the same whatever the order of the
# rows. Equal rows are told apart by how many came before. In a class-wise problem the values are those of
# all classes, so that a row has one fold.
problem_folds <- function(problem) problem$fold %||% value_folds(problem$features, problem$labels)

value_folds <- function(features, labels) cpp_row_folds(features, as.integer(labels), crossfit_folds)

# Two rows of different folds may each have shaped the other's gap. Where the error is small this
# at most doubles the variance of the mean. Above p = 2 the scale of the tangent makes up for it.
crossfit_limit <- function(mean, std_error, p, level) {
  mean - qnorm((1 + level) / 2) * std_error * if (p < 2 || is.infinite(p)) sqrt(2) else 1
}

rows_limit <- function(rows, p, level) crossfit_limit(mean(rows), row_error(rows), p, level)

# Scale of the gaps at which the tangent's mean is largest; n * mean of |c|^(p-1) sign(c) e and |c|^p
tangent_scale <- function(product, size) if (size > 0) max(0, product / size) else 0

# Per row, the term of the bound; residuals and gaps in columns (summed), NaN where there is no gap.
tangent_rows <- function(residuals, gaps, p) {
  gaps[!is.finite(gaps)] <- 0
  slope <- sign(gaps) * abs(gaps)^(p - 1)
  size <- abs(gaps)^p
  scale <- tangent_scale(sum(slope * residuals), sum(size))
  rowSums(p * scale^(p - 1) * slope * residuals - (p - 1) * scale^p * size)
}

# A mean residual of 0 is one up to rounding, which must not choose a sign.
no_gap <- 1e-13

# Prefix sums of each fold's rows, in the order of the predictions.
fold_prefixes <- function(sorted, fold) {
  lapply(split(seq_len(sorted$n), factor(fold[sorted$order], seq_len(crossfit_folds))), function(at) {
    list(at = at, sum_d = c(0, cumsum(sorted$d[at])), sum_d2 = c(0, cumsum(sorted$d[at]^2)))
  })
}

# The bound for bins: per bin and fold a row's term is slope * d - offset. Sums over bins only.
crossfit_bins <- function(prefixes, bins, p) {
  cells <- lapply(prefixes, function(fold) {
    upto <- findInterval(bins$ends, fold$at)
    list(size = diff(c(0, upto)), d = diff(c(0, fold$sum_d[upto + 1])),
         d2 = diff(c(0, fold$sum_d2[upto + 1])))
  })
  collect <- function(name) matrix(unlist(lapply(cells, `[[`, name), use.names = FALSE), ncol = length(prefixes))
  size <- collect("size")
  d <- collect("d")
  n <- sum(size)
  gap <- (bins$size * bins$gap - d) / (bins$size - size)
  gap[bins$size - size < .5 | abs(gap) < no_gap] <- 0
  offset <- 0 * gap
  if (is.infinite(p)) {
    top <- cbind(max.col(t(abs(gap)), "first"), seq_along(prefixes))
    slope <- 0 * gap
    slope[top] <- sign(gap[top]) * n / bins$size[top[, 1]]
  } else {
    slope <- sign(gap) * abs(gap)^(p - 1)
    scale <- tangent_scale(sum(slope * d), sum(size * abs(gap)^p))
    slope <- p * scale^(p - 1) * slope
    offset <- (p - 1) * scale^p * abs(gap)^p
  }
  mean <- sum(slope * d - offset * size) / n
  square <- sum(slope^2 * collect("d2") - 2 * slope * offset * d + offset^2 * size) / n
  list(mean = mean, std.error = if (n > 1) sqrt(max(square - mean^2, 0) / n) else NA_real_,
       slope = slope, offset = offset)
}

# The same row by row, in the order of the data.
crossfit_bin_rows <- function(sorted, bins, prefixes, bound) {
  bin <- rep(seq_along(bins$size), bins$size)
  out <- numeric(sorted$n)
  for (f in seq_along(prefixes)) {
    at <- prefixes[[f]]$at
    out[at] <- bound$slope[bin[at], f] * sorted$d[at] - bound$offset[bin[at], f]
  }
  out[sorted$order] <- out
  out
}

# Gaps of cells: mean residual of the cell's rows in the other folds.
crossfit_cell_gaps <- function(residuals, cell, fold) {
  total <- rowsum(residuals, cell, reorder = TRUE)
  size <- tabulate(cell)
  gaps <- 0 * residuals
  for (f in seq_len(crossfit_folds)) {
    rows <- which(fold == f)
    if (length(rows) == 0) next
    own <- factor(cell[rows], seq_along(size))
    inside <- rowsum(residuals[rows, , drop = FALSE], cell[rows], reorder = TRUE)
    others <- total
    present <- as.integer(rownames(inside))
    others[present, ] <- others[present, , drop = FALSE] - inside
    others <- others / (size - as.vector(table(own)))
    gaps[rows, ] <- others[cell[rows], ]
  }
  gaps[abs(gaps) < no_gap] <- 0
  gaps
}

# Gaps of a function of the features that is fitted on the other folds: fit(rows) -> function(rows).
crossfit_gaps <- function(problem, fit) {
  fold <- problem_folds(problem)
  gaps <- 0 * problem$residuals
  for (f in seq_len(crossfit_folds)) {
    rows <- which(fold == f)
    others <- which(fold != f)
    if (length(rows) > 0 && length(others) > 0) gaps[rows, ] <- fit(others)(rows)
  }
  gaps
}
