bins_form <- function(method, problem) fit_form(method, problem, list(value = method$values), new_context())

test_that("bins on the oracle rows: values, risk, standard error, squared error", {
  data <- oracle_data()
  all <- oracle_problem(data$P, data$y)
  train <- oracle_rows(all, data$fit)
  eval <- oracle_rows(all, data$eval)
  expected <- list(
    list(method_bins(5), c(0.0352535833953, 0.0144558583967, 0.0678732638889)),
    list(method_bins(5, debias = TRUE), c(0.0339533601811, 0.0135638103252, 0.0366232638889)),
    list(method_bins(3, "mass"), c(0.0469715404032, 0.0248637369265, 0.1104390625))
  )
  for (case in expected) {
    risk <- form_risk(bins_form(case[[1]], train), eval$features, eval$residuals)
    expect_close(c(risk$risk, risk_std_error(risk$projections), mean(risk$squared)), case[[2]], tol$oracle)
    expect_close(risk$zero_risk, 0.0293726517857, tol$oracle)
    expect_close(risk_std_error(risk$zero_projections), 0.014331493598, tol$oracle)
  }
  plain <- bins_form(method_bins(5), train)
  expect_close(plain$values, c(-0.000833333333333, 0.34, 0.275, -0.275, -0.116666666667), 1e-9)
  debiased <- bins_form(method_bins(5, debias = TRUE), train)
  expect_close(debiased$parts[[1]]$v[3], 0.0625, tol$law)
  mass <- bins_form(method_bins(3, "mass"), train)
  expect_equal(mass$edges, c(.55, .75))
  expect_close(mass$values, c(0.46, -0.325, -0.1375), tol$law)
})

test_that("every kind of bins equals the naive one on tied and extreme predictions", {
  n <- 60
  problem <- random_problem(n)
  problem$features <- round(problem$features, 1)
  problem$features[1:4] <- c(0, 1, 1, 0.14 * 50 / 50)
  problem$residuals <- problem$features - problem$labels
  eval <- random_problem(25, seed = 2)
  eval$features[1:3] <- c(0, 1, 0.5)
  for (type in c("width", "mass")) {
    for (n_bins in c(1, 2, 7, 50)) {
      oracle <- oracle_bins(problem, n_bins, type)
      for (debias in c(FALSE, TRUE)) {
        form <- bins_form(method_bins(n_bins, type, debias), problem)
        H <- oracle_bins_h(oracle, eval$features, eval$features, debias)
        expect_equal((if (debias) form$parts[[1]] else form)$edges, oracle$edges)
        expect_equal(form_pairs(form, eval$features, eval$features), H, tolerance = 1e-12)
        expect_equal(form_squared(form, eval$features), diag(H), tolerance = 1e-12)
        risk <- form_risk(form, eval$features, eval$residuals)
        expected <- oracle_risk(H, eval$residuals)
        expect_close(risk$risk, expected$risk, 1e-11)
        expect_close(risk$projections, expected$projections, 1e-10)
        expect_close(risk_std_error(risk$projections), expected$std.error, 1e-10)
      }
    }
  }
})

test_that("on its own rows the mean of h(p, p) is the binned squared error", {
  data <- oracle_data()
  problem <- oracle_problem(data$P, data$y)
  plain <- bins_form(method_bins(5), problem)
  debiased <- bins_form(method_bins(5, debias = TRUE), problem)
  expect_close(mean(form_squared(plain, problem$features)), 0.0147534821429, tol$oracle)
  expect_close(mean(form_squared(debiased, problem$features)), -0.00667508928571, tol$oracle)
})

test_that("degenerate data are defined: one row, all equal, one outcome only", {
  one <- oracle_rows(random_problem(3), 1)
  equal <- random_problem(20)
  equal$features[] <- 0.7
  equal$residuals <- equal$features - equal$labels
  for (type in c("width", "mass")) {
    for (debias in c(FALSE, TRUE)) {
      form <- bins_form(method_bins(15, type, debias), one)
      expect_close(form_squared(form, matrix(c(0, .5, 1))), rep(one$residuals[1]^2, 3), tol$law)
      form <- bins_form(method_bins(15, type, debias), equal)
      expect_true(all(is.finite(form_squared(form, matrix(c(0, .7, 1))))))
    }
  }
})

test_that("one held-out row has no risk, debiased or not", {
  p <- withr::with_seed(1, stats::runif(20))
  y <- withr::with_seed(2, stats::rbinom(20, 1, p))
  fit <- ce_fit(p, y, method = method_bins(5, debias = TRUE))
  for (i in 1:6) {
    out <- ce_risk(fit, p[i], y[i])
    expect_identical(c(out$risk, out$root_risk, out$zero_risk, out$skill), rep(NA_real_, 4))
  }
  fold <- c(rep(1:4, each = 4), 5L)
  tuned <- ce_tune(p[1:17], y[1:17], methods = method_bins(5, debias = TRUE), folds = fold, test = 0)
  expect_equal(glance(tuned)$risk, mean(tidy(tuned)$risk[1:4]))
})

test_that("the path over all numbers of bins equals one fit each", {
  problem <- random_problem(103)
  problem$features[1:10] <- 0.5
  problem$residuals <- problem$features - problem$labels
  grid <- tibble::tibble(value = c(1, 5, 15, 40))
  for (type in c("width", "mass")) {
    for (debias in c(FALSE, TRUE)) {
      method <- method_bins(grid$value, type, debias)
      expect_path_is_plain(method, problem, test_folds(103, 5, 20), grid)
      expect_path_is_plain(method, problem, withr::with_seed(1, sample(test_folds(103, 3))), grid)
      expect_path_is_plain(method, oracle_rows(problem, 1:6), test_folds(6, 5, 1), grid)
    }
  }
})

test_that("the average of folds' debiased bins is one form on their common cells", {
  problem <- random_problem(80)
  eval <- random_problem(30, seed = 2)
  for (type in c("width", "mass")) {
    forms <- lapply(1:4, function(f) {
      bins_form(method_bins(6, type, TRUE), oracle_rows(problem, which(rep_len(1:4, 80) != f)))
    })
    ensemble <- ensemble_form(forms)
    H <- Reduce(`+`, lapply(forms, form_pairs, eval$features, eval$features)) / 4
    expect_close(form_pairs(ensemble, eval$features, eval$features), H, tol$law)
    risk <- form_risk(ensemble, eval$features, eval$residuals)
    expect_close(risk$projections, oracle_risk(H, eval$residuals)$projections, 1e-10)
  }
})

test_that("bins of a probability vector are an error that names the remedy", {
  canonical <- oracle_problem(oracle_data()$P, oracle_data()$y, "canonical")
  context <- new_context()
  expect_error(fit_form(method_bins(5), canonical, list(value = 5), context), class = "calibrisk_error_notion")
  expect_error(
    tune_path(method_bins(5), canonical, test_folds(20, 2), tibble::tibble(value = 5), context),
    "top_label", class = "calibrisk_error_notion"
  )
  expect_error(method_bins(0), class = "calibrisk_error_argument")
  expect_error(method_bins(2.5), class = "calibrisk_error_argument")
  expect_error(method_bins(1e9), class = "calibrisk_error_argument")
  expect_error(method_bins(5, debias = NA), class = "calibrisk_error_argument")
})
