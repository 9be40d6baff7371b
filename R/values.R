# Small functions of values that many files use.

drop_null <- function(x) x[!vapply(x, is.null, NA)]

`%|%` <- function(x, y) if (is.na(x)) y else x

# Seed for the counters of the core, from R's generator.
draw_seed <- function() floor(stats::runif(1) * 2^52)

# rowsum() with a row for every level.
rowsum_all <- function(x, by) {
  out <- matrix(0, nlevels(by), ncol(x))
  if (nrow(x) == 0) return(out)
  found <- rowsum(x, as.integer(by), reorder = TRUE)
  out[as.integer(rownames(found)), ] <- found
  out
}
