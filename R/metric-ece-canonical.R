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
    low <- if (length(rows) >= 2 * min_size) {
      own <- probs[rows, , drop = FALSE]
      widest <- own[, which.max(colSums((own - rep(colMeans(own), each = length(rows)))^2))]
      widest < median(widest)
    }
    if (sum(low) >= min_size && sum(!low) >= min_size) {
      waiting <- c(waiting, list(rows[!low], rows[low]))
    } else {
      count <- count + 1L
      cell[rows] <- count
    }
  }
  cell
}

canonical_columns <- function(predictions, scheme, interval) {
  problem <- notion_problems(predictions, "canonical")[[1]]
  counts <- scheme$n_bins
  value <- canonical_estimates(list(problem), scheme)
  statistic <- function(part) vapply(canonical_estimates(part, scheme, honest = FALSE)$estimates, `[[`, 0, "value")
  columns <- error_columns(value$estimates, interval, list(problem), statistic)
  if (!is.null(scheme$distance) && interval$type == "bootstrap") {
    least <- columns$.estimate - distance_noise(problem, statistic, interval)
    columns$conf.low <- pmax(pmin(columns$conf.low, least), 0)
  }
  c(columns, list(n_bins = ifelse(is.na(counts), value$cells, counts), n = n_obs(predictions)))
}

# An estimate per entry of n_bins.
canonical_estimates <- function(problems, scheme, honest = TRUE) {
  problem <- problems[[1]]
  distance <- !is.null(scheme$distance)
  fold <- if (honest && !distance) problem_folds(problem)
  parts <- lapply(scheme$n_bins, function(n_bins) {
    cell <- simplex_cells(problem$features, scheme$type, n_bins, scheme$min_size)
    estimate <- if (distance) distance_estimate(problem, cell, scheme) else cell_estimate(problem, cell, fold, scheme)
    list(estimate = estimate, cells = max(cell))
  })
  list(estimates = lapply(parts, `[[`, "estimate"), cells = vapply(parts, `[[`, 0L, "cells"))
}

cell_estimate <- function(problem, cell, fold, scheme) {
  p <- scheme$p
  design <- problem$design
  w <- design_weights(design)
  size <- rowsum(w, cell, reorder = TRUE)[, 1]
  share <- unname(size / sum(w))
  gap <- rowsum(w * problem$residuals, cell, reorder = TRUE) / size
  if (is.infinite(p)) {
    top <- arrayInd(which.max(abs(gap)), dim(gap))
    value <- max(abs(gap))
    inside <- which(cell == top[1])
    rows <- rep(value, length(cell))
    rows[inside] <- value + sign(gap[top]) * (problem$residuals[inside, top[2]] - gap[top]) / share[top[1]]
  } else {
    centre <- rowSums(abs(gap)^p)
    # a gap of 0, up to rounding, has noise on both sides
    slope <- if (p == 1) ifelse(gap < -no_gap, -1, 1) else p * abs(gap)^(p - 1) * sign(gap)
    if (scheme$debias) {
      # sum over classes of the variances of the observed frequencies
      frequency <- rowsum(w * (problem$features - problem$residuals), cell, reorder = TRUE) / size
      concentration <- rowsum(w^2, cell, reorder = TRUE)[, 1] / size^2
      noise <- rowSums(frequency * (1 - frequency)) * concentration / (1 - concentration)
      several <- tabulate(cell) >= 2
      centre <- ifelse(several, centre - noise, 0)
      slope[!several, ] <- 0
    }
    value <- sum(share * centre)
    rows <- centre[cell] + rowSums(slope[cell, , drop = FALSE] * (problem$residuals - gap[cell, , drop = FALSE]))
  }
  honest <- if (!is.null(fold)) honest_cells(problem, cell, fold, share, p)
  new_estimate(value, rows, design, reported_power(p), honest, largest = if (is.finite(p)) 2 else 1)
}

# The largest gap has no tangent: each fold looks at the cell and class that stand out in the others.
honest_cells <- function(problem, cell, fold, share, p) {
  gaps <- cpp_cell_gaps(problem$residuals, cell, fold, problem$design$w %||% numeric(), no_gap)
  if (is.finite(p)) return(tangent_bound(problem, gaps, p))
  gaps[!is.finite(gaps)] <- 0
  slope <- 0 * gaps
  for (f in unique(fold)) {
    at <- arrayInd(which.max(abs(gaps) * (fold == f)), dim(gaps))
    slope[which(fold == f & cell == cell[at[1]]), at[2]] <- sign(gaps[at]) / share[cell[at[1]]]
  }
  linear_bound(problem, slope)
}
