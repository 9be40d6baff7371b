# A user's method: shrinks p towards the training rows' mean outcome.
shrink_method <- function(values) {
  structure(list(name = "shrink", parameter = "weight", values = values), class = c("ce_method_shrink", "ce_method"))
}
registerS3method("fit_form", "ce_method_shrink", function(method, problem, point, context) {
  new_form("fixed", map = function(x) point$value * (x - mean(problem$labels)), gap = TRUE)
}, envir = asNamespace("calibrisk"))

test_that("any method goes through folds and grid", {
  problem <- random_problem(24, seed = 8)
  fold <- test_folds(24, 3, 6)
  grid <- tibble::tibble(value = c(0, .2, .5))
  seen <- c()
  context <- new_context(progress = function(fraction) seen <<- c(seen, fraction))
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
      expect_close(form_gap(path$form(v, f), problem$features), gap, tol$law)
    }
  }
})

test_that("one-row folds have no risk, no test rows no test error", {
  problem <- random_problem(5)
  path <- tune_path(shrink_method(.1), problem, 1:5, tibble::tibble(value = .1), new_context())
  expect_identical(path$risk[1, ], rep(NA_real_, 5))
  expect_false(anyNA(path$squared_error))
  expect_identical(path$squared_error_test[1, ], rep(NA_real_, 5))
})

test_that("the paths of rows with weights are those of fits one by one", {
  problem <- random_problem(160, seed = 3)
  z <- problem$features[, 1]
  # ties, both ends, and a fold of one row
  z <- replace(z, 1:60, round(z[1:60], 1))
  problem$features <- matrix(replace(z, 61:62, 0:1))
  problem$residuals <- problem$features - problem$labels
  weights <- withr::with_seed(4, sample(c(.1, 1.5, 2.25, 7), 160, replace = TRUE))
  problem$design <- new_design(160, weights)
  fold <- c(test_folds(159, 4, 30), 5L)
  methods <- list(
    method_bins(c(1, 5, 40)), method_bins(c(1, 5, 40), debias = TRUE), method_bins(c(3, 20), "mass"),
    method_bins(c(3, 20), "mass", debias = TRUE), method_kde(c(1e-4, .01, .3)), method_kkr(c(1e-2, 1e-6)),
    method_ukkr(c(.1, 1e-4), kernel = list(kernel_gaussian(1), kernel_gaussian(.3)))
  )
  for (method in methods) {
    expect_path_is_plain(method, problem, fold, method_grid(method, "binary", 160), 1e-9)
    path <- tune_path(method, problem, fold, method_grid(method, "binary", 160)[2, ], new_context())
    if (is.null(path$unseen)) next
    rows <- unseen_parts(problem, fold, new_context()$cache)
    for (f in c(1, 5)) {
      held_out <- rows$held_out[[f]]
      one <- path$unseen(1)[[f]]
      risk <- form_risk(path$form(1, f), held_out$features, held_out$residuals, held_out$design)
      expect_close(one$risk$projections, risk$projections, 1e-9)
      expect_close(one$test_squared, form_squared(path$form(1, f), rows$test), 1e-9)
    }
  }
})

test_that("kernels without explicit features, and debiased bins of clusters, take the loop over fits", {
  problem <- random_problem(60, seed = 6)
  problem$design <- new_design(60, rep(1:2, 30))
  for (kernel in list(kernel_laplace(.5), kernel_gaussian("median"), kernel_gaussian(1e-4))) {
    expect_false(has_own_path(method_kkr(kernel = kernel), problem))
    method <- method_kkr(c(.1, .01), kernel = kernel)
    expect_path_is_plain(method, problem, test_folds(60, 3), method_grid(method, "binary", 60))
  }
  expect_true(has_own_path(method_kkr(), problem))
  problem$design <- new_design(60, cluster = rep(1:20, 3))
  for (method in list(method_bins(3, debias = TRUE), method_kde(.1))) expect_false(has_own_path(method, problem))
})

test_that("paths of clusters are the loop over fits", {
  problem <- random_problem(240, seed = 7)
  fold <- test_folds(240, 3, 60)
  # small clusters, some of one row; one larger than the rank of the features; those that folds cut
  by_row <- withr::with_seed(8, sample(90, 240, TRUE))
  codes <- cluster_codes(paste(fold, ifelse(fold == 2, 0, by_row)))
  methods <- list(method_bins(c(2, 9)), method_bins(c(3, 7), "mass"), method_kkr(c(.1, 1e-5)), method_ukkr(c(.1, 1e-4)))
  for (cluster in list(codes, cluster_codes(by_row))) {
    for (w in list(NULL, withr::with_seed(9, rexp(240)))) {
      problem$design <- new_design(240, w, cluster)
      for (method in methods) {
        expect_true(has_own_path(method, problem))
        expect_path_is_plain(method, problem, fold, method_grid(method, "binary", 240), 1e-8)
      }
    }
  }
  # no pair is left of a single cluster
  problem$design <- new_design(240, cluster = rep(1L, 240))
  path <- tune_path(method_ukkr(.1), problem, fold, method_grid(method_ukkr(.1), "binary", 240), new_context())
  expect_true(all(is.nan(path$risk) | is.na(path$risk)))
  expect_false(anyNA(path$squared_error))
})
