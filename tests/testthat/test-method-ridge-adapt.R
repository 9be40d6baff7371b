# Factors that do not compress, with limits that make small problems large.

tight_context <- function(...) {
  context <- new_context()
  context$factor_limits <- utils::modifyList(
    list(direct = 40, single = 40, start = 24, most = 400, gram = 0), list(...)
  )
  context
}

adapted_and_exact <- function(method, limits = list()) {
  problem <- ridge_problem(420, 12)
  fold <- test_folds(420, 3, 60)
  grid <- method_grid(method, "canonical", 240)
  exact <- method
  exact$exact <- TRUE
  list(
    problem = problem, grid = grid, adapted = tune_path(method, problem, fold, grid, do.call(tight_context, limits)),
    exact = tune_path(exact, problem, fold, grid, new_context())
  )
}

test_that("the selected ridge reaches the accuracy, and flags tell the others", {
  for (method in list(method_kkr(), method_ukkr())) {
    run <- adapted_and_exact(method)
    d <- run$adapted$diagnostics
    v <- select_value(run$exact$risk, run$grid$value)
    expect_identical(select_value(run$adapted$risk, run$grid$value), v)
    expect_true(d$reliable[v])
    expect_identical(d$rank[v], max(d$rank))
    expect_lt(min(d$rank), max(d$rank))
    error <- abs(rowMeans(run$adapted$risk) / rowMeans(run$exact$risk) - 1)
    squared <- abs(rowMeans(run$adapted$squared_error_test) / rowMeans(run$exact$squared_error_test) - 1)
    expect_lt(error[v], 4e-6)
    expect_lt(squared[v], 4e-4)
    expect_lt(max(error[d$reliable]), 2e-5)
    expect_true(all(d$reliable[error < 1e-9 & squared < 1e-6]))
    expect_gt(max(error[!d$reliable]), 2e-6)
    form <- run$adapted$form(v, 2)
    held_out <- take_rows(run$problem, test_folds(420, 3, 60) == 2)
    risk <- form_risk(form, held_out$features, held_out$residuals)
    expect_close(risk$risk, run$adapted$risk[v, 2], 1e-7)
  }
})

test_that("a limit on the rank is flagged", {
  run <- adapted_and_exact(method_kkr(), list(most = 36))
  v <- select_value(run$adapted$risk, run$grid$value)
  expect_false(run$adapted$diagnostics$reliable[v])
  expect_lt(max(run$adapted$diagnostics$rank), 36 + 65)
})

test_that("a single fit grows its rank too", {
  problem <- ridge_problem(300, 12)
  for (method in list(method_kkr(), method_ukkr())) {
    adapted <- fit_form(method, problem, list(value = 1e-4), tight_context())
    exact <- fit_form(method, problem, list(value = 1e-4), new_context())
    expect_lt(nrow(adapted$map$triangle), nrow(exact$map$triangle))
    expect_close(mean(form_squared(adapted, problem$features)), mean(form_squared(exact, problem$features)), 1e-3)
  }
})

test_that("the mean of kkr forms has one core where that is smaller", {
  problem <- ridge_problem(60, 4)
  path <- tune_path(method_kkr(), problem, test_folds(60, 4), tibble::tibble(value = 1e-3), new_context())
  forms <- lapply(1:4, function(f) path$form(1, f))
  one <- ensemble_form(forms)
  expect_s3_class(one, "ce_form_factor")
  x <- problem$features[1:7, ]
  expect_close(form_pairs(one, x, x), Reduce(`+`, lapply(forms, form_pairs, x, x)) / 4, 1e-9)
  expect_close(form_squared(one, x), diag(form_pairs(one, x, x)), 1e-9)
})

test_that("the selected risk is that of exact ridges to 1e-6, for few and for many classes", {
  for (k in c(3, 12)) {
    problem <- ridge_problem(400, k, seed = k)
    fold <- test_folds(400, 4)
    for (make in list(method_kkr, method_ukkr)) {
      grid <- method_grid(make(), "canonical", 300)
      run <- function(method) tune_path(method, problem, fold, grid, new_context())$risk
      exact <- run(make(exact = TRUE))
      fast <- run(make())
      v <- select_value(exact, grid$value)
      expect_identical(select_value(fast, grid$value), v)
      expect_close(mean(fast[v, ]), mean(exact[v, ]), 1e-6)
    }
  }
})
