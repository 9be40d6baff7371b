# Small functions of values that many files use.

drop_null <- function(x) x[!vapply(x, is.null, NA)]

`%|%` <- function(x, y) if (is.na(x)) y else x

# Seed for the counters of the core, from R's generator.
draw_seed <- function() floor(stats::runif(1) * 2^52)

# The value of an expression under this seed; the user's random numbers stay as they were.
with_seed_kept <- function(seed, value) {
  old <- globalenv()$.Random.seed
  on.exit(if (is.null(old)) rm(".Random.seed", envir = globalenv()) else assign(".Random.seed", old, globalenv()))
  set.seed(seed)
  force(value)
}
