# The sums of a state by their definition, in plain doubles.
state_of <- function(d, empty = ce_state(), ...) update(empty, d$x, d$y, ...)

# Rows in chunks of random sizes, in random order, merged two by two.
chunked_state <- function(d, seed, empty = ce_state(), weights = NULL, cluster = NULL, id = NULL) {
  withr::with_seed(seed, {
    order <- sample(length(d$x))
    chunk <- sample(5, length(d$x), TRUE)
    parts <- lapply(split(order, chunk[order]), function(rows) {
      update(empty, d$x[rows], d$y[rows], weights = weights[rows], cluster = cluster[rows], id = id[rows])
    })
    names(parts) <- NULL
    while (length(parts) > 1) {
      at <- sample(length(parts), 2)
      parts <- c(parts[-at], list(c(parts[[at[1]]], parts[[at[2]]])))
    }
    parts[[1]]
  })
}

columns_of <- function(table) unlist(Filter(is.numeric, as.list(table)), use.names = FALSE)

expect_same_numbers <- function(a, b, tolerance = tol$law) {
  a <- columns_of(a)
  b <- columns_of(b)
  testthat::expect_identical(is.na(a), is.na(b))
  same <- a == b | abs(a - b) <= tolerance * pmax(1, abs(b))
  testthat::expect_true(all(same, na.rm = TRUE))
}

# Rows inside (0, 1), as Cox's regression needs them.
inside_sample <- function(n, seed) {
  d <- cell_sample(n, seed)
  d$x <- 0.001 + 0.998 * d$x
  d
}
