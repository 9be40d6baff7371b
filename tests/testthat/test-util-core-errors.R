test_that("what the core throws is an error of the package, with the verb's call", {
  x <- matrix(runif(6), 3)
  cnd <- expect_error(cpp_pair_risk(x, matrix(0, 2, 2), NULL, 1L), class = "calibrisk_error_core")
  expect_s3_class(cnd, "calibrisk_error")
  expect_match(conditionMessage(cnd), "rows")
  form <- new_form("ragged")
  registerS3method("pair_features", "ce_form_ragged", function(form, features) matrix(0, 2, 2),
                   envir = asNamespace("calibrisk"))
  method <- new_method("ragged", NULL, NA)
  registerS3method("fit_form", "ce_method_ragged", function(method, problem, point, context) form,
                   envir = asNamespace("calibrisk"))
  cnd <- expect_error(ce_tune(runif(40), rep(0:1, 20), methods = list(method)), class = "calibrisk_error_core")
  expect_identical(cnd$call[[1]], quote(ce_tune))
})

test_that("memory that the core could not have is an error of its own, and R's errors inside of it keep their words", {
  cnd <- expect_error(raise_core_error("std::bad_alloc", "std::bad_alloc"), class = "calibrisk_error_memory")
  expect_match(conditionMessage(cnd), "More was needed", fixed = TRUE)
  h <- function(...) stop("mine")
  expect_error(cpp_pair_risk_function(diag(2), h, FALSE, 1L), "^mine$", class = "simpleError")
})
