test_that("every export of the core is wrapped", {
  exports <- ls(asNamespace("calibrisk"), pattern = "^cpp_")
  expect_gt(length(exports), 50)
  for (name in exports) {
    expect_identical(body(get(name, asNamespace("calibrisk")))[[1]], quote(core_call), info = name)
  }
})

test_that("what the core throws is an error of the package, with the verb's call", {
  x <- matrix(runif(6), 3)
  cnd <- expect_error(cpp_pair_risk(x, matrix(0, 2, 2), NULL, 1L), class = "calibrisk_error_core")
  expect_s3_class(cnd, "calibrisk_error")
  expect_match(conditionMessage(cnd), "rows")
  form <- new_form("ragged")
  registerS3method("pair_features", "ce_form_ragged", function(form, features, threads) matrix(0, 2, 2),
                   envir = asNamespace("calibrisk"))
  method <- new_method("ragged", NULL, NA)
  registerS3method("fit_form", "ce_method_ragged", function(method, problem, point, context) form,
                   envir = asNamespace("calibrisk"))
  cnd <- expect_error(ce_tune(runif(40), rep(0:1, 20), methods = list(method)), class = "calibrisk_error_core")
  expect_identical(cnd$call[[1]], quote(ce_tune))
})

test_that("conditions that are not the core's pass", {
  expect_error(core_call(stop("mine")), "mine", class = "simpleError")
  expect_warning(core_call(warning("mine")), "mine")
  expect_identical(core_call(3), 3)
})
