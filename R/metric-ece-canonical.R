# Binned errors of whole probability vectors: cells of the simplex.

# Cells of the simplex: equal rows, the product grid of n_bins per class, or splits at medians.
simplex_cells <- function(probs, type, n_bins, min_size, copies = NULL) {
  if (type == "median_variance") return(cpp_median_cells(probs, min_size, copies))
  if (type == "width") {
    edges <- seq_len(n_bins) / n_bins
    cell <- findInterval(probs, edges, left.open = TRUE)
    probs <- matrix(as.numeric(cell), nrow(probs))
  }
  vctrs::vec_group_id(probs)
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
  distance <- !is.null(scheme$distance)
  problem <- if (honest && !distance) fold_copies(problems[[1]]) else problems[[1]]
  fold <- if (honest && !distance) problem_folds(problem)
  parts <- lapply(scheme$n_bins, function(n_bins) {
    cell <- simplex_cells(problem$features, scheme$type, n_bins, scheme$min_size, problem$design$copies)
    estimate <- if (distance) distance_estimate(problem, cell, scheme) else cell_estimate(problem, cell, fold, scheme)
    list(estimate = estimate, cells = max(cell))
  })
  list(estimates = lapply(parts, `[[`, "estimate"), cells = vapply(parts, `[[`, 0L, "cells"))
}

cell_estimate <- function(problem, cell, fold, scheme) {
  p <- scheme$p
  of <- cpp_simplex_errors(problem$features, problem$residuals, cell, fold %||% integer(),
                           problem$design$w %||% numeric(), p, scheme$debias, problem$design$copies)
  # the largest gap has no tangent, but a slope
  honest <- if (!is.null(fold)) if (is.finite(p)) tangent_bound(problem, of$gaps, p) else linear_bound(problem, of$gaps)
  new_estimate(of$value, of$rows, problem$design, reported_power(p), honest, largest = 1 + is.finite(p), lone = of$lone)
}
