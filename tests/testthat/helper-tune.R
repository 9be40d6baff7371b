# A fold vector with test rows (0) and k consecutive folds.
test_folds <- function(n, k, n_test = 0) c(sort(rep_len(seq_len(k), n - n_test)), rep(0L, n_test))

# A method's own path must equal the plain loop over folds and grid.
expect_path_is_plain <- function(method, problem, fold, grid, tolerance = 1e-10) {
  context <- new_context()
  path <- tune_path(method, problem, fold, grid, context)
  plain <- getS3method("tune_path", "default", envir = asNamespace("calibrisk"))(method, problem, fold, grid, context)
  for (name in c("risk", "squared_error", "squared_error_test")) {
    testthat::expect_identical(dim(path[[name]]), dim(plain[[name]]))
    expect_close(path[[name]], plain[[name]], tolerance)
  }
  x <- problem$features[1:3, , drop = FALSE]
  for (f in seq_len(max(fold))) {
    v <- nrow(grid)
    expect_close(form_pairs(path$form(v, f), x, x), form_pairs(plain$form(v, f), x, x), tolerance)
  }
  invisible(path)
}

# Scalar predictions with outcomes.
random_problem <- function(n, seed = 1) {
  withr::with_seed(seed, {
    z <- rbeta(n, 3, 1)
    y <- as.integer(runif(n) < z^1.4)
  })
  list(features = matrix(z), residuals = matrix(z - y), labels = y, class = NULL)
}
