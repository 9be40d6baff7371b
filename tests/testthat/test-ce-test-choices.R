# Tests as values.

test_that("options out of range, and those that another one switches off, are errors", {
  expect_error(test_bound(block = 5), "type = \"block\"", class = "calibrisk_error_argument")
  expect_error(test_cme(locations = list(x = 1)), "locations", class = "calibrisk_error_argument")
  expect_error(test_conditional(0), "times", class = "calibrisk_error_argument")
  expect_error(test_consistency(tolerance = 0), "tolerance", class = "calibrisk_error_argument")
  expect_error(test_bootstrap(add_one = 1), "add_one", class = "calibrisk_error_argument")
  expect_error(test_block(reference = "chisq"), "reference", class = "calibrisk_error_argument")
  expect_error(test_joint(bases = 3), "bases", class = "calibrisk_error_argument")
})
