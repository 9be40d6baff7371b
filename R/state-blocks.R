# The panel of a state in blocks: bins of weighted rows, and honest lower limits.

# function(blocks): of every bin the number of its rows in these blocks and the sum of their squared weights; NULL
# without weights.
block_bins <- function(state, problem) {
  sums <- state$sums[[problem]]
  if (is.null(sums$counts)) return(function(blocks) NULL)
  by_block <- lapply(sums[c("counts", "squares")], function(pairs) colSums(sum_array(pairs, bins_dim(state$spec)[-1])))
  function(blocks) lapply(by_block, function(of) rowSums(of[, blocks, drop = FALSE]))
}

# The bins that have rows, as binned_power() takes them.
counted_bins <- function(rows, spec, counts) {
  bins <- counted_table(rows, spec$bins)$bins
  if (is.null(counts)) return(bins)
  kept <- counts$counts > 0
  check_counted(sum(kept), length(bins$size))
  bins$draws <- counts$counts[kept]
  bins$concentration <- counts$squares[kept] / bins$size^2
  bins
}

# A changed state may have moments and numbers of rows that do not belong together.
check_counted <- function(counted, bins) {
  if (counted == bins) return(invisible())
  stop_input(c("The sums of a state must be of the same rows.",
               "x" = "Moments are in {bins} bin{?s}, numbers of rows in {counted}.",
               "i" = "Fields of this state were changed or lost. Create it again."), c("object", "argument"),
             arg = "state", field = "sums", call = called_verb())
}

# The variance of binned errors under calibration.
bin_noise <- function(rows, spec, counts) {
  bins <- counted_bins(rows, spec, counts)
  noise <- function(p, debias) binned_power(bins, p, debias)$noise
  c("ece 1" = noise(1, FALSE), "ece 2" = noise(2, FALSE), "ece 2 debiased" = noise(2, TRUE))
}

# For every block its part of the sum whose mean is an expected lower bound of the error (R/crossfit.R): gaps and signs
# are those of the blocks in other folds.
block_terms <- function(moments, spec) {
  n_blocks <- dim(moments)[4]
  fold <- (seq_len(n_blocks) - 1) %% crossfit_folds + 1
  by_fold <- function(sums) t(rowsum_all(t(sums), factor(fold, seq_len(crossfit_folds))))
  rows <- part_rows(spec$edges, moments)
  table <- counted_table(rows, spec$bins, n_blocks)
  binned <- function(p) {
    bound <- crossfit_sums(by_fold(table$size), by_fold(table$d), by_fold(table$d2), table$bins, p)
    colSums(bound$slope[, fold, drop = FALSE] * table$d - bound$offset[, fold, drop = FALSE] * table$size)
  }
  paths <- vapply(seq_len(n_blocks), function(b) cumulated_residuals(rows_of(rows, b), spec$edges)$at,
                  numeric(length(spec$edges) - 1))
  others <- rowSums(paths) - by_fold(paths)
  top <- max.col(t(abs(others)), "first")
  sign <- sign(others[cbind(top, seq_along(top))])
  squared <- binned(2)
  list("ece 1" = binned(1), "ece 2" = squared, "ece 2 debiased" = squared,
       ks_error = sign[fold] * paths[cbind(top[fold], seq_len(n_blocks))])
}

# Honest estimates from such terms and the weights of the blocks.
block_bounds <- function(terms, weights) {
  used <- weights > 0
  design <- new_design(sum(used), cluster = seq_len(sum(used)))
  lapply(terms, function(term) clustered_mean(weights[used], term[used], design))
}

# The mean of a number, as an estimate, from the clusters' weights and sums.
clustered_mean <- function(weight, sums, design = new_design(length(weight))) {
  mean <- sum(sums) / sum(weight)
  clusters <- length(weight)
  squares <- sum((sums - mean * weight)^2)
  variance <- if (clusters > 1) clusters / (clusters - 1) * squares / sum(weight)^2 else NA_real_
  new_estimate(mean, no_rows, design, variance = variance)
}
