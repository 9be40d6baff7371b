# Small functions of values that many files use.

drop_null <- function(x) x[!vapply(x, is.null, NA)]

`%|%` <- function(x, y) if (is.na(x)) y else x

# Seed for the counters of the core, from R's generator.
draw_seed <- function() floor(stats::runif(1) * 2^52)
