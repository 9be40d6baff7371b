# The incomplete U-statistic of neighbouring rows: unbiased, linear, and noisier than the mean over all pairs.

incomplete_risk <- function(h, residuals, disjoint, na_rm) {
  m <- nrow(residuals)
  first <- if (m < 2) integer() else seq(1, m - 1, by = if (disjoint) 2 else 1)
  second <- first + 1L
  values <- cbind(pair_values(h, first, second), pair_values(h, second, first))
  squared <- pair_values(h, seq_len(m), seq_len(m))
  products <- rowSums(residuals[first, , drop = FALSE] * residuals[second, , drop = FALSE])
  terms <- rowMeans((products - values)^2)
  missing <- sum(is.na(values)) + sum(is.na(squared))
  if (na_rm) terms <- terms[!is.na(terms)] else if (anyNA(values)) terms <- NA_real_
  list(
    risk = if (length(terms) > 0) mean(terms) else NA_real_, std.error = neighbour_error(terms, disjoint),
    zero_risk = if (m > 1) mean(products^2) else NA_real_, squared = squared, n = m, n_missing = missing
  )
}

# h(a_k, b_k) of a matrix, or of a function of row numbers in small tiles.
pair_values <- function(h, a, b) {
  if (is.matrix(h)) return(h[cbind(a, b)])
  parts <- split(seq_along(a), (seq_along(a) - 1) %/% 32)
  unlist(lapply(parts, function(k) diag(index_tile(h, a[k], b[k]))), use.names = FALSE) %||% numeric()
}

# Standard error of the mean of independent, or of 1-dependent terms.
neighbour_error <- function(terms, independent) {
  k <- length(terms)
  if (k < 3 || anyNA(terms)) return(NA_real_)
  if (independent) return(sd(terms) / sqrt(k))
  centred <- terms - mean(terms)
  sqrt(max(0, sum(centred^2) + 2 * sum(centred[-1] * centred[-k])) / (k * (k - 1)))
}
