# Tolerances by what they compare.
tol <- list(
  law = 1e-12,      # two ways to the same number
  oracle = 1e-10,   # printed with 12 significant digits
  fixture = 1e-8,   # independent high-precision values
  canonical = 5e-7  # canonical ridges, exact in double precision
)

# Relative difference of two numeric arrays, element by element; 0 where both are NA.
relative_error <- function(x, y) {
  stopifnot(length(x) == length(y), identical(is.na(c(x)), is.na(c(y))))
  error <- abs(c(x) - c(y)) / pmax(abs(c(y)), .Machine$double.xmin)
  error[is.na(error) | c(x) == c(y)] <- 0
  max(0, error)
}

expect_close <- function(x, y, tolerance) expect_lt(relative_error(unname(x), unname(y)), tolerance)
