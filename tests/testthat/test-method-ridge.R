fit_eval <- function(notion) {
  data <- oracle_data()
  problem <- oracle_problem(data$P, data$y, notion)
  list(fit = oracle_rows(problem, data$fit), eval = oracle_rows(problem, data$eval))
}

test_that("constructors check and print their choices", {
  expect_identical(format(method_kkr(0.01)), "kernel ridge (ridge = 0.01, kernel = gaussian(0.7071))")
  expect_s3_class(method_ukkr(), c("ce_method_ukkr", "ce_method_ridge", "ce_method"), exact = TRUE)
  expect_error(method_kkr(0), class = "calibrisk_error_argument")
  expect_error(method_kkr(c(1, NA)), class = "calibrisk_error_argument")
  expect_error(method_kkr(exact = NA), class = "calibrisk_error_argument")
  expect_match(format(method_kkr(exact = TRUE)), "exact = TRUE", fixed = TRUE)
  expect_error(method_kkr(kernel = 3), class = "calibrisk_error_kernel")
  expect_error(method_kkr(kernel = list()), class = "calibrisk_error_kernel")
  expect_error(method_kkr(kernel = list(kernel_linear(), "gaussian")), class = "calibrisk_error_kernel")
})

test_that("default grids are those of the published tables", {
  expect_equal(default_grid(method_kkr(), "top_label", 100), 10^-seq(1, 17, 2) / 10)
  expect_equal(default_grid(method_kkr(), "canonical", 100), 10^(8:-9) / 10)
  expect_equal(default_grid(method_ukkr(), "class_wise", 1e4), 10^-(1:9) / 10)
  expect_equal(default_grid(method_ukkr(), "canonical", 1e4), 10^seq(4, -4.5, -0.5) / 10)
  grid <- method_grid(method_kkr(c(1, 2), list(kernel_linear(), kernel_laplace(1))), "binary", 10)
  expect_identical(grid$value, c(1, 2, 1, 2))
  expect_identical(vapply(grid$kernel, `[[`, "", "type"), c("linear", "linear", "laplace", "laplace"))
})

test_that("Kronecker and two-step ridge equal their dense solves", {
  for (notion in c("top_label", "canonical")) {
    p <- fit_eval(notion)
    fit_x <- p$fit$features
    kernels <- list(gamma_kernel(0.5), gamma_kernel(8), kernel_laplace(0.6), kernel_matern(1.5, 1),
                    kernel_tv(0.4), kernel_linear() + 0.5 * kernel_laplace(1),
                    kernel_tv(1) * kernel_gaussian(1), kernel_white())
    for (kernel in kernels) {
      gram <- kernel_matrix(kernel, fit_x)
      k_eval <- kernel_matrix(kernel, p$eval$features, fit_x)
      for (ridge in c(1e-6, 1e-2, 10)) {
        kkr <- fit_method(method_kkr(kernel = kernel), p$fit, ridge)
        expect_close(form_pairs(kkr, p$eval$features, fit_x),
                     dense_kkr(gram, p$fit$residuals, ridge, k_eval, gram), 1e-7)
        ukkr <- fit_method(method_ukkr(kernel = kernel), p$fit, ridge)
        gap <- dense_ukkr_gap(gram, p$fit$residuals, ridge, k_eval)
        expect_close(form_gap(ukkr, p$eval$features), cpp_bounded_gap(gap, p$eval$features), 1e-7)
      }
    }
    expect_false(have_gaps(list(kkr)))
  }
})

test_that("the sheet's values are met", {
  # risk, Hajek standard error, mean h(p, p)
  expected <- list(
    top_label = list(
      kkr_0.5 = c(0.029446901587, 0.0143450006814, 0.0026620898684),
      ukkr_0.5 = c(0.030233567681, 0.0143673114347, 0.0189541038717), kkr_1 = c(0.0296531596526, NA, 0.0080168860611),
      ukkr_1 = c(0.0306026325442, NA, 0.0233957379214)
    ),
    canonical = list(
      kkr_0.5 = c(0.0640501266797, 0.0463055658599, 0.0218065841218),
      ukkr_0.5 = c(0.0657340595261, 0.0482645496105, 0.0371598363179),
      kkr_1 = c(0.0650665462397, 0.0474074733924, 0.0288341579601), ukkr_1 = c(0.0669679533797, NA, 0.0420094053427)
    )
  )
  for (notion in names(expected)) {
    p <- fit_eval(notion)
    for (name in names(expected[[notion]])) {
      parts <- strsplit(name, "_")[[1]]
      method <- if (parts[1] == "kkr") method_kkr else method_ukkr
      form <- fit_method(method(kernel = gamma_kernel(as.numeric(parts[2]))), p$fit, 0.01)
      risk <- form_risk(form, p$eval$features, p$eval$residuals)
      value <- c(risk$risk, risk_std_error(risk$projections), mean(risk$squared))
      given <- !is.na(expected[[notion]][[name]])
      expect_close(value[given], expected[[notion]][[name]][given], tol$oracle)
    }
  }
})

test_that("the sheet's Algorithm 1 is met", {
  data <- oracle_data()
  problem <- oracle_problem(data$P, data$y, "canonical")
  fold <- c(rep(1:4, each = 4), rep(0L, 4))
  ridges <- c(1, .1, .01, .001)
  run <- function(method) {
    method <- method(ridges, gamma_kernel(0.5))
    tune_path(method, problem, fold, method_grid(method, "canonical", 12), new_context())
  }
  kkr <- run(method_kkr)
  expect_close(t(kkr$risk), c(
    0.0242431938514, 0.0366670082653, 0.038981485116, 0.0250092120121,
    0.0259638756643, 0.0376583656914, 0.0391081494726, 0.0242683974016,
    0.0282265944901, 0.0399523332298, 0.0399088770095, 0.0224289580434,
    0.0298255183171, 0.04354088432, 0.0415545279319, 0.0189596174288
  ), tol$oracle)
  expect_close(kkr$squared_error_test[1, ],
               c(0.00623371277295, 0.00128484194193, 0.0065824228634, 0.0041882521385), tol$oracle)
  expect_close(mean(kkr$squared_error_test[1, ]), 0.00457230742919, tol$oracle)
  ensemble <- ensemble_form(lapply(1:4, function(f) kkr$form(1, f)))
  expect_close(mean(form_squared(ensemble, problem$features[17:20, ])), 0.00457230742919, tol$oracle)
  ukkr <- run(method_ukkr)
  expect_close(rowMeans(ukkr$risk), c(0.0311585275486, 0.0318040660889, 0.0334899654787, 0.0386092761687), tol$oracle)
  expect_close(ukkr$risk[, 4], c(0.0251562058355, 0.0238697659345, 0.0200230745801, 0.0169928791961), tol$oracle)
  expect_close(mean(ukkr$squared_error_test[1, ]), 0.00240458524169, tol$oracle)
})

test_that("paths equal the plain loop over folds and ridges", {
  scalar <- random_problem(60)
  fold <- withr::with_seed(3, sample(test_folds(60, 4, 12)))
  canonical <- ridge_problem(70, 4)
  vector_fold <- withr::with_seed(4, sample(test_folds(70, 3, 10)))
  for (method in list(method_kkr, method_ukkr)) {
    for (kernel in list(kernel_gaussian(0.7), kernel_laplace(0.5))) {
      expect_path_is_plain(method(kernel = kernel), scalar, fold, tibble::tibble(value = c(1, 1e-4, 1e-7)), 1e-8)
    }
    expect_path_is_plain(method(kernel = kernel_gaussian(0.5)), canonical, vector_fold,
                         tibble::tibble(value = c(1e-5, 100, 1e-3)), 1e-8)
  }
})

test_that("a list of kernels is a grid, with or without a median bandwidth", {
  problem <- ridge_problem(40, 3)
  fold <- test_folds(40, 4, 8)
  kernels <- list(kernel_laplace("median"), kernel_gaussian(1))
  grid <- method_grid(method_kkr(c(0.1, 1e-3), kernels), "canonical", 30)
  path <- tune_path(method_kkr(c(0.1, 1e-3), kernels), problem, fold, grid, new_context())
  resolved <- kernel_laplace(median(dist(problem$features[fold > 0, ])))
  for (v in 1:4) {
    one <- if (v <= 2) resolved else kernel_gaussian(1)
    single <- tune_path(method_kkr(kernel = one), problem, fold, grid[v, "value"], new_context())
    expect_close(path$risk[v, ], single$risk, 1e-9)
    expect_close(form_squared(path$form(v, 2), problem$features),
                 form_squared(single$form(1, 2), problem$features), 1e-9)
  }
})

test_that("two classes: twice the squared error and four times the risk of the scalar", {
  z <- withr::with_seed(8, runif(60))
  y <- withr::with_seed(9, as.integer(runif(60) < z^2))
  scalar <- list(features = matrix(z), residuals = matrix(z - y), labels = y)
  pair <- list(features = cbind(1 - z, z), residuals = cbind(y - z, z - y), labels = y + 1L)
  fold <- test_folds(60, 4, 12)
  grid <- tibble::tibble(value = c(0.1, 1e-4))
  for (method in list(method_kkr, method_ukkr)) {
    one <- tune_path(method(kernel = gamma_kernel(2)), scalar, fold, grid, new_context())
    two <- tune_path(method(kernel = gamma_kernel(1)), pair, fold, grid, new_context())
    expect_close(two$squared_error_test, 2 * one$squared_error_test, 1e-9)
    expect_close(two$risk, 4 * one$risk, 1e-9)
  }
})

test_that("ties, constant features, one-row folds and tiny problems are defined", {
  z <- c(.9, .9, .9, .5, .5, .9, .5, .9)
  y <- c(1, 0, 1, 1, 0, 1, 0, 1)
  tied <- list(features = matrix(z), residuals = matrix(z - y), labels = y)
  constant <- list(features = matrix(rep(.8, 8)), residuals = matrix(.8 - y), labels = y)
  vectors <- list(features = cbind(z, 1 - z), residuals = cbind(z - y, y - z), labels = y + 1L)
  fold <- c(1L, 2L, 2L, 3L, 3L, 3L, 0L, 0L)
  for (problem in list(tied, constant, vectors)) {
    for (method in list(method_kkr, method_ukkr)) {
      for (kernel in list(kernel_gaussian(1), kernel_laplace(1))) {
        path <- tune_path(method(kernel = kernel), problem, fold, tibble::tibble(value = c(1e-18, 1e-3, 1e6)),
                          new_context())
        expect_true(all(is.na(path$risk[, 1])))
        expect_true(all(is.finite(path$risk[, 2:3])))
        expect_true(all(is.finite(path$squared_error)))
        expect_true(all(is.finite(path$squared_error_test)))
        for (f in 1:3) {
          train <- fold != f & fold != 0
          gram <- kernel_matrix(kernel, problem$features)
          d <- problem$residuals[train, , drop = FALSE]
          h <- if (method(1)$name == "kkr") {
            spectral_kkr(gram[train, train], d, 1e-3, gram[fold == f, train, drop = FALSE])
          } else {
            tcrossprod(dense_ukkr_gap(gram[train, train], d, 1e-3, gram[fold == f, train, drop = FALSE]))
          }
          expect_close(path$squared_error[2, f], mean(diag(h)), 1e-9)
        }
      }
    }
  }
  two <- take_rows(tied, c(1, 4))
  path <- tune_path(method_kkr(), two, 1:2, tibble::tibble(value = 0.1), new_context())
  expect_true(all(is.finite(path$squared_error)) && all(is.na(path$squared_error_test)))
})

test_that("ridges above the size of the kernel, and kernels that are zero, have forms", {
  problem <- random_problem(60)
  context <- new_context()
  for (method in list(method_kkr(kernel = kernel_laplace(1)), method_ukkr(kernel = kernel_laplace(1)))) {
    form <- fit_form(method, problem, list(value = 1e9), context)
    method$exact <- TRUE
    exact <- fit_form(method, problem, list(value = 1e9), new_context())
    expect_close(mean(form_squared(form, problem$features)), mean(form_squared(exact, problem$features)), 0.05)
  }
  for (method in list(method_kkr(1, kernel_linear()), method_ukkr(1, kernel_linear()))) {
    row <- glance(with_threads(1L, ce_tune(rep(0, 40), rep(0:1, 20), notion = "binary", methods = method)))
    expect_identical(c(row$estimate_holdout, row$skill), c(0, 0))
  }
})
