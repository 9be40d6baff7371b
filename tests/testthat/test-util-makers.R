test_that("every exported function that makes a value refuses other arguments", {
  namespace <- asNamespace("calibrisk")
  makers <- Filter(function(name) {
    fn <- get(name, namespace)
    is.function(fn) && is_maker(fn)
  }, getNamespaceExports(namespace))
  families <- "^(assume|basis|computation|curve|kernel|map|method|pred|ridge|score|test)_"
  exported <- grep(families, getNamespaceExports(namespace), value = TRUE)
  # these read data or records, or are generic
  others <- c("assume_pilot", "pred_family", "pred_mixture", "score_parts")
  expect_setequal(setdiff(exported, makers), others)
  expect_error(map_histogram(10, "mass", 3), class = "calibrisk_error_argument")
  for (name in makers) {
    error <- without_backtraces(tryCatch(do.call(name, list(nonsense = 1), envir = namespace), error = identity))
    expect_s3_class(error, "calibrisk_error_argument")
    expect_match(conditionMessage(error), "nonsense")
  }
})

test_that("a missing argument of a maker is a classed error with the form of the call", {
  expect_error(pred_normal(1), "pred_normal\\(mean, sd\\)", class = "calibrisk_error_argument")
  expect_error(pred_gamma(), "`shape` must be given", class = "calibrisk_error_argument")
})

test_that("other names of arguments keep the meaning of their values", {
  message <- function(code) gsub("\\s+", " ", conditionMessage(tryCatch(code, error = identity)))
  # exp(-gamma d^2) = exp(-d^2 / (2 bandwidth^2))
  expect_match(message(kernel_gaussian(gamma = 2)), "bandwidth = 1/sqrt(2 * 2)", fixed = TRUE)
  expect_match(message(pred_gamma(shape = 1, scale = 4)), "rate = 1/4", fixed = TRUE)
  expect_match(message(pred_normal(1, var = 9)), "sd = sqrt(9)", fixed = TRUE)
  expect_match(message(pred_t(df = 3, mu = 0, sigma = 1)), "pred_t(df = 3, location = 0, scale = 1)", fixed = TRUE)
})
