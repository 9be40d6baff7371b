library(calibrisk)

# only suggested
if (requireNamespace("testthat", quietly = TRUE)) {
  library(testthat)
  test_check("calibrisk")
}
