# The classical errors of a scalar problem are sums over stretches of the data sorted by confidence. A binning is the
# vector of its bins' ends (number of rows at or below the upper edge). One sort serves every binning and every number
# of bins.

# x ascending with its outcome y, residual d = x - y, weights w (NULL: none), the ends of the tie blocks, and prefix
# sums; n is the total weight, sum_copies counts the copies where rows stand for several. (Sums are in long double, so a
# prefix is off by one rounding.) A problem may carry its sorted form, so that several errors share one sort.
sort_problem <- function(problem) {
  problem$sorted %||% sort_values(problem$features[, 1], problem$labels, problem$design$w, problem$design$copies)
}

# Equal values are sorted by outcome, then by weight: the same digits for every order of the rows.
sort_values <- function(x, y, w = NULL, copies = NULL) cpp_sorted_rows(x, y, w, FALSE, copies)

edge_ends <- function(sorted, edges) unique(c(cpp_count_below(sorted$x, edges, TRUE), length(sorted$x)))

# Equal mass: edges are the order statistics ceiling(n b / B), so that ties stay together; of weights, where their
# sum reaches the share b / B.
mass_ends <- function(sorted, n_bins) {
  if (!is.null(sorted$w)) return(unique(weighted_ends(sorted, seq_len(n_bins) / n_bins)))
  at <- (sorted$n * seq_len(n_bins) + n_bins - 1) %/% n_bins
  unique(sorted$ties[cpp_count_below(sorted$ties, at, FALSE) + 1])
}

# The first ties up to which the rows have these shares of the weight.
weighted_ends <- function(sorted, shares) {
  reached <- sorted$sum_w[sorted$ties]
  at <- cpp_count_below(reached, sorted$n * shares * (1 - 1e-12), FALSE) + 1
  # all of it is all rows, however little the last ones weigh
  at[shares == 1] <- length(reached)
  sorted$ties[pmin(at, length(reached))]
}

bin_ends <- function(sorted, type, n_bins) {
  switch(type,
    # bins ((b-1)/B, b/B], 0 in the first. Edges are b / B, one division, and values are compared with them
    # (ceiling(x * B) can differ on an edge)
    width = edge_ends(sorted, seq_len(n_bins) / n_bins),
    mass = mass_ends(sorted, n_bins),
    sweep = mass_ends(sorted, cpp_sweep_bins(sorted$y, sorted$ties, sorted$sum_w,
                                             if (!is.null(sorted$w)) sorted$sum_y, sorted$copies)),
    discrete = sorted$ties
  )
}

# sum_b (N_b / N) |gap_b|^p (Gruber & Buettner 2022, Eq. 3 and Definition C.1; p = Inf: the
# largest |gap_b|) and what its standard error needs. With the bins (of cpp_bin_table()) taken as fixed the
# influence of row i in bin b is  offset_b + slope_b d_i.
binned_power <- function(bins, p, debias = FALSE) cpp_bin_terms(bins, sum(bins$size), p, debias)

# The influence row by row, in the order of the data; of a bound its terms, slopes and offsets have a column for each
# fold.
row_influence <- function(sorted, bins, slope, offset, fold = rep(1L, length(sorted$d))) {
  at <- cbind(rep(seq_along(bins$size), diff(c(0, bins$ends))), fold[sorted$order])
  replace(sorted$d, sorted$order, as.matrix(slope)[at] * sorted$d + as.matrix(offset)[at])
}
