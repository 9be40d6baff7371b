# What reaches the core from outside the package: sizes and codes are checked at the generics.
context <- list(progress = NULL, cache = new.env())
grid <- data.frame(value = 5)
methods_of <- function(problem) {
  if (ncol(problem$residuals) == 1) {
    list(method_bins(5), method_bins(5, debias = TRUE), method_kde(), method_kkr(), method_power(1))
  } else {
    list(method_kde(), method_kkr(), method_ukkr())
  }
}

broken <- function(problem) {
  k <- ncol(problem$residuals)
  list(
    within(problem, labels <- labels[-1]), within(problem, labels[3] <- k + 1L), within(problem, labels[3] <- -1L),
    within(problem, labels[3] <- NA), within(problem, residuals <- residuals[-1, , drop = FALSE]),
    within(problem, residuals <- residuals[, 1]), within(problem, features <- features[-1, , drop = FALSE]),
    within(problem, features[2, 1] <- NaN), within(problem, features <- as.data.frame(features)),
    within(problem, features <- features[, 0, drop = FALSE]), problem["features"], NULL
  )
}

test_that("inconsistent problems are errors of every method", {
  for (problem in list(random_problem(30), ridge_problem(30, 4))) {
    methods <- methods_of(problem)
    for (m in seq_along(methods)) {
      method <- methods[[m]]
      # all with the first; the others go through the same door
      for (wrong in if (m == 1) broken(problem) else broken(problem)[c(1, 7, 12)]) {
        expect_error(fit_form(method, wrong, list(value = 5), context), class = "calibrisk_error_problem")
        expect_error(tune_path(method, wrong, rep(1:3, 10), grid, context), class = "calibrisk_error_problem")
      }
      expect_s3_class(fit_form(method, problem, list(value = 5), context), "ce_form")
    }
  }
})

test_that("folds that are none are errors of every method", {
  problem <- random_problem(30)
  wrong <- list(rep(1:3, 9), rep(0L, 30), rep(c(1, 1.5, 2), 10), c(-1, rep(1:2, length.out = 29)),
                c(NA, rep(1:2, length.out = 29)), factor(rep(1:3, 10)), c(1e9, rep(1, 29)), NULL)
  for (method in methods_of(problem)) {
    for (fold in wrong) expect_error(tune_path(method, problem, fold, grid, context), class = "calibrisk_error_folds")
    path <- tune_path(method, problem, rep(c(1, 2, 0), 10), grid, context)
    expect_identical(dim(path$risk), c(1L, 2L))
  }
})

test_that("grids, points, contexts and methods that are none are errors", {
  problem <- random_problem(30)
  fold <- rep(1:3, 10)
  method <- method_bins(5)
  for (wrong in list(5, data.frame(x = 5), data.frame(value = "5"), data.frame(value = numeric()))) {
    expect_error(tune_path(method, problem, fold, wrong, context), class = "calibrisk_error_argument")
  }
  for (wrong in list(5, list(), list(value = 1:2))) {
    expect_error(fit_form(method, problem, wrong, context), class = "calibrisk_error_argument")
  }
  for (wrong in list(NULL, list(progress = NULL), list(cache = 1))) {
    expect_error(fit_form(method, problem, list(value = 5), wrong), class = "calibrisk_error_argument")
  }
  expect_error(fit_form("bins", problem, list(value = 5), context), class = "calibrisk_error_method")
})
