# A user's method: shrinks p towards the training rows' mean outcome.
shrink_method <- function(values) {
  structure(list(name = "shrink", parameter = "weight", values = values),
            class = c("ce_method_shrink", "ce_method"))
}
registerS3method("fit_form", "ce_method_shrink", function(method, problem, point, context) {
  new_form("fixed", map = function(x) point$value * (x - mean(problem$labels)), gap = TRUE)
}, envir = asNamespace("calibrisk"))

test_that("any method goes through folds and grid", {
  problem <- random_problem(24, seed = 8)
  fold <- test_folds(24, 3, 6)
  grid <- tibble::tibble(value = c(0, .2, .5))
  seen <- c()
  context <- new_context(1L, progress = function(fraction) seen <<- c(seen, fraction))
  path <- tune_path(shrink_method(grid$value), problem, fold, grid, context)
  expect_identical(dim(path$risk), c(3L, 3L))
  expect_equal(seen, 1:9 / 9)
  for (f in 1:3) {
    train <- which(fold != f & fold != 0)
    held_out <- oracle_rows(problem, fold == f)
    for (v in 1:3) {
      gap <- grid$value[v] * (problem$features - mean(problem$labels[train]))
      H <- tcrossprod(gap[fold == f])
      expect_close(path$risk[v, f], oracle_risk(H, held_out$residuals)$risk, 1e-11)
      expect_close(path$squared_error[v, f], mean(diag(H)), tol$law)
      expect_close(path$squared_error_test[v, f], mean(gap[fold == 0]^2), tol$law)
      expect_close(form_gap(path$form(v, f), problem$features, 1L), gap, tol$law)
    }
  }
})

test_that("one-row folds have no risk, no test rows no test error", {
  problem <- random_problem(5)
  path <- tune_path(shrink_method(.1), problem, 1:5, tibble::tibble(value = .1), new_context(1L))
  expect_identical(path$risk[1, ], rep(NA_real_, 5))
  expect_false(anyNA(path$squared_error))
  expect_identical(path$squared_error_test[1, ], rep(NA_real_, 5))
})
