# Binned errors of whole probability vectors: cells of the simplex.

# Cells of the simplex: equal rows, the product grid of n_bins per class, or splits at medians.
simplex_cells <- function(probs, type, n_bins, min_size) {
  if (type == "median_variance") return(median_variance_cells(probs, min_size))
  if (type == "width") {
    edges <- seq_len(n_bins) / n_bins
    cell <- findInterval(probs, edges, left.open = TRUE)
    probs <- matrix(as.numeric(cell), nrow(probs))
  }
  vctrs::vec_group_id(probs)
}

# Integer cell of every row. The order of the splits does not matter: each looks at its own set only.
median_variance_cells <- function(probs, min_size) {
  cell <- integer(nrow(probs))
  count <- 0L
  waiting <- list(seq_len(nrow(probs)))
  while (length(waiting) > 0) {
    rows <- waiting[[length(waiting)]]
    waiting[[length(waiting)]] <- NULL
    low <- if (length(rows) >= 2 * min_size) below_median(probs[rows, , drop = FALSE])
    if (sum(low) >= min_size && sum(!low) >= min_size) {
      waiting <- c(waiting, list(rows[!low], rows[low]))
    } else {
      count <- count + 1L
      cell[rows] <- count
    }
  }
  cell
}

below_median <- function(probs) {
  spread <- colSums((probs - rep(colMeans(probs), each = nrow(probs)))^2)
  widest <- probs[, which.max(spread)]
  widest < median(widest)
}

canonical_columns <- function(predictions, scheme, interval) {
  problem <- canonical_problem(predictions)
  counts <- scheme$n_bins
  if (!is.null(scheme$distance)) return(distance_columns(problem, scheme, interval))
  value <- canonical_power(list(problem), scheme, interval$level)
  columns <- root_columns(value$power, value$std.error, scheme$p, interval, list(problem),
                          function(part) canonical_power(part, scheme, NULL)$power, value$bound)
  c(columns, list(n_bins = ifelse(is.na(counts), value$cells, counts), n = n_obs(predictions)))
}

canonical_power <- function(problems, scheme, level = 0.95) {
  problem <- problems[[1]]
  fold <- if (!is.null(level)) problem_folds(problem)
  one <- function(n_bins) {
    cell <- simplex_cells(problem$features, scheme$type, n_bins, scheme$min_size)
    size <- tabulate(cell)
    gap <- rowsum(problem$residuals, cell, reorder = TRUE) / size
    p <- scheme$p
    bound <- if (is.null(level)) NA_real_ else canonical_bound(problem$residuals, cell, fold, p, level)
    if (is.infinite(p)) {
      top <- arrayInd(which.max(abs(gap)), dim(gap))
      return(list(power = max(abs(gap)), std.error = row_error(problem$residuals[cell == top[1], top[2]]),
                  bound = bound, cells = length(size)))
    }
    centre <- rowSums(abs(gap)^p)
    # a gap of 0, up to rounding, has noise on both sides
    slope <- if (p == 1) ifelse(gap < -no_gap, -1, 1) else p * abs(gap)^(p - 1) * sign(gap)
    if (scheme$debias) {
      # sum over classes of the variances of the observed frequencies
      frequency <- rowsum(problem$features - problem$residuals, cell, reorder = TRUE) / size
      noise <- rowSums(frequency * (1 - frequency)) / (size - 1)
      centre <- ifelse(size >= 2, centre - noise, 0)
      slope[size < 2, ] <- 0
    }
    rows <- centre[cell] + rowSums(slope[cell, , drop = FALSE] *
                                     (problem$residuals - gap[cell, , drop = FALSE]))
    list(power = mean(centre[cell]), std.error = row_error(rows), bound = bound, cells = length(size))
  }
  values <- lapply(scheme$n_bins, one)
  list(
    power = vapply(values, `[[`, 0, "power"),
    std.error = vapply(values, `[[`, 0, "std.error"),
    bound = vapply(values, `[[`, 0, "bound"),
    cells = vapply(values, `[[`, 0L, "cells")
  )
}

# The largest gap has no tangent: each fold looks at the cell and class that stand out in the others.
canonical_bound <- function(residuals, cell, fold, p, level) {
  gaps <- crossfit_cell_gaps(residuals, cell, fold)
  if (is.finite(p)) return(rows_limit(tangent_rows(residuals, gaps, p), p, level))
  gaps[!is.finite(gaps)] <- 0
  share <- tabulate(cell) / length(cell)
  rows <- numeric(length(cell))
  for (f in unique(fold)) {
    at <- arrayInd(which.max(abs(gaps) * (fold == f)), dim(gaps))
    inside <- which(fold == f & cell == cell[at[1]])
    rows[inside] <- sign(gaps[at]) * residuals[inside, at[2]] / share[cell[at[1]]]
  }
  rows_limit(rows, p, level)
}
