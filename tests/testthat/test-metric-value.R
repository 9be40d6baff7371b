test_that("metrics as values say what they are", {
  expect_output(print(ce_metric(ece, n_bins = 5, name = "five")), "<ce_metric> five(n_bins = 5)", fixed = TRUE)
  expect_identical(format(ce_metric(rbs)), "of one number")
  expect_identical(format(ce_metric(ece, n_bins = 5)), "of one number (n_bins = 5)")
})

test_that("nothing is collected outside of a comparison", {
  found <- collect_estimates(rbs(c(.2, .7), 0:1))
  expect_length(found$estimates, 1)
  expect_null(collector$estimates)
  rbs(c(.2, .7), 0:1)
  expect_null(collector$estimates)
})
