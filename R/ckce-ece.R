# Binned canonical calibration error in L1, sum over classes without a factor 1/2: each
# coordinate of the simplex in `n_bins` equal right-closed intervals, occupied cells only.
#   binmean    sum_b (n_b / n) |mean outcome - mean prediction|_1
#   pointwise  (1 / n) sum_i |mean outcome of i's cell - q_i|_1
# Moskvichev & Sejdinovic 2025 use 3 intervals (sections 4.2, 5); their text does not say which of the two.
# probs: matrix n x m on the simplex; truth: integer 1..m.
canonical_ece <- function(probs, truth, n_bins = 3L, type = c("binmean", "pointwise")) {
  type <- check_choice(type, c("binmean", "pointwise"))
  check_bins(n_bins)
  values <- cpp_canonical_ece(probs, as.integer(truth), as.integer(n_bins))
  list(estimate = values[[type]], occupied = as.integer(values[["occupied"]]))
}
