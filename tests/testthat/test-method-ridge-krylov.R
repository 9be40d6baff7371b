# Block Krylov spaces, with limits that send small problems there.

krylov_context <- function(...) {
  context <- new_context()
  context$factor_limits <- list(direct = 8, small = 0, ...)
  context
}

test_that("the selected ridge is exact to 1e-6, and flags tell the others", {
  problem <- ridge_problem(420, 12)
  fold <- test_folds(420, 3, 60)
  for (make in list(method_kkr, method_ukkr)) {
    grid <- method_grid(make(), "canonical", 240)
    exact <- tune_path(make(exact = TRUE), problem, fold, grid, new_context())
    krylov <- tune_path(make(), problem, fold, grid, krylov_context())
    d <- krylov$diagnostics
    v <- select_value(exact$risk, grid$value)
    expect_identical(select_value(krylov$risk, grid$value), v)
    expect_true(d$reliable[v])
    expect_lt(max(d$rank), 240)
    error <- abs(rowMeans(krylov$risk) / rowMeans(exact$risk) - 1)
    expect_lt(max(error[d$reliable]), 1e-6)
    expect_true(all(error <= d$risk_error + 1e-8))
    expect_gt(max(error[!d$reliable]), 1e-6)
    squared <- abs(rowMeans(krylov$squared_error_test) / rowMeans(exact$squared_error_test) - 1)
    expect_lt(squared[v], 2e-4)
    form <- krylov$form(v, 2)
    expect_s3_class(form, "ce_form_gram")
    held_out <- take_rows(problem, fold == 2)
    expect_close(form_risk(form, held_out$features, held_out$residuals)$risk, krylov$risk[v, 2], 1e-7)
    expect_close(mean(form_squared(form, problem$features[fold == 0, ])), krylov$squared_error_test[v, 2], 1e-6)
  }
})

test_that("features of unseen rows that a path has are those of its form", {
  problem <- ridge_problem(200, 8)
  fold <- test_folds(200, 3, 30)
  limits <- list(spaces = list(direct = 8, small = 0), factor = list(direct = 8, small = 0, gram = 0))
  for (kind in names(limits)) {
    context <- new_context()
    context$factor_limits <- limits[[kind]]
    for (method in list(method_kkr(10^-(1:4)), method_ukkr(10^-(1:4)))) {
      path <- tune_path(method, problem, fold, method_grid(method, "canonical", 100), context)
      unseen <- path$unseen(3)
      for (f in 1:3) {
        form <- path$form(3, f)
        expect_s3_class(form, if (kind == "spaces") "ce_form_gram" else "ce_form_factor")
        held_out <- take_rows(problem, fold == f)
        risk <- form_risk(form, held_out$features, held_out$residuals)
        expect_equal(unseen[[f]]$risk, risk, tolerance = 1e-9)
        expect_equal(unseen[[f]]$test_squared, form_squared(form, problem$features[fold == 0, ]), tolerance = 1e-9)
      }
    }
  }
  no_test <- tune_path(method_ukkr(0.1), problem, test_folds(200, 3), data.frame(value = 0.1), krylov_context())
  expect_null(no_test$unseen(1)[[1]]$test_squared)
})

test_that("an external pointer to something else is refused", {
  kernel <- kernel_laplace(1)
  bases <- cpp_ridge_bases(kernel, matrix(0, 2, 1), matrix(0, 2, 1), 1:2, NULL, NULL, 1, 1L, NULL)
  expect_error(cpp_bins_path(bases, 2L, "width", FALSE, 1L), "not valid", class = "calibrisk_error_core")
})

test_that("tied rows and residuals of 0 do no harm", {
  problem <- ridge_problem(90, 5)
  twice <- take_rows(problem, c(1:60, 1:30))
  perfect <- problem
  perfect$residuals[] <- 0
  fold <- test_folds(90, 3)
  grid <- tibble::tibble(value = 10^c(2, -1, -4, -7))
  for (data in list(problem, twice)) {
    for (make in list(method_kkr, method_ukkr)) {
      method <- function(...) make(kernel = kernel_laplace(0.1), ...)
      exact <- tune_path(method(exact = TRUE), data, fold, grid, new_context())
      krylov <- tune_path(method(), data, fold, grid, krylov_context())
      settled <- krylov$diagnostics$reliable
      expect_true(any(settled))
      expect_close(rowMeans(krylov$risk)[settled], rowMeans(exact$risk)[settled], 1e-6)
    }
  }
  none <- tune_path(method_kkr(kernel = kernel_laplace(0.1)), perfect, fold, grid, krylov_context())
  expect_identical(none$risk, matrix(0, 4, 3))
  expect_true(all(none$diagnostics$reliable))
})

# Predictions of 26 letters, as they are and in ways that are odd.
letters_problem <- function(kind, n, seed) {
  withr::with_seed(seed, {
    rows <- sample(nrow(letters_predictions), n)
    p <- unname(as.matrix(letters_predictions[rows, -(1:2)]))
    labels <- as.integer(letters_predictions$truth)[rows]
    if (kind == "duplicates") {
      again <- sample(n / 3, n, TRUE)
      p <- p[again, ]
      labels <- labels[again]
    }
    if (kind == "one-hot") p[1:(n / 2), ] <- diag(26)[max.col(p[1:(n / 2), ], "first"), ]
    # all outcomes of one class: what is left of the risk is far smaller than that of no gap
    if (kind == "one class") labels[] <- 1L
  })
  list(features = p, residuals = p - diag(26)[labels, ], labels = labels)
}

test_that("the risk of the selected ridge is that of exact fits to 1e-6 on odd predictions", {
  skip_on_cran()
  fold <- test_folds(300, 5)
  for (kind in c("letters", "duplicates", "one-hot", "one class")) {
    problem <- letters_problem(kind, 300, 21)
    for (make in list(method_kkr, method_ukkr)) {
      grid <- method_grid(make(), "canonical", 240)
      exact <- tune_path(make(exact = TRUE), problem, fold, grid, new_context())
      krylov <- tune_path(make(), problem, fold, grid, krylov_context())
      v <- select_value(exact$risk, grid$value)
      expect_identical(select_value(krylov$risk, grid$value), v)
      expect_true(krylov$diagnostics$reliable[v])
      expect_lt(abs(mean(krylov$risk[v, ]) / mean(exact$risk[v, ]) - 1), 1e-6)
      expect_lt(abs(mean(krylov$squared_error[v, ]) / mean(exact$squared_error[v, ]) - 1), 2e-4)
    }
  }
})
