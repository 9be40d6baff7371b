step_example <- function(sizes = c(3, 5, 4), n = 80) {
  problem <- random_problem(n)
  problem$features <- round(problem$features, 2)
  problem$residuals <- problem$features - problem$labels
  forms <- lapply(sizes, function(size) {
    rows <- take_rows(problem, withr::with_seed(size, sample(n, n / 2)))
    fit_form(method_bins(size, debias = TRUE), rows, list(value = size), new_context())
  })
  list(forms = forms, eval = random_problem(30, seed = 2))
}

test_that("the mean of debiased bins with different cells is the mean of their h", {
  for (sizes in list(c(3, 5, 4), c(1, 1), c(40, 7))) {
    example <- step_example(sizes)
    x <- example$eval$features
    H <- Reduce(`+`, lapply(example$forms, form_pairs, x, x)) / length(sizes)
    mean_form <- ensemble_form(example$forms)
    expect_s3_class(mean_form, "ce_form_steps")
    expect_equal(form_pairs(mean_form, x, x), H, tolerance = 1e-13)
    expect_equal(form_squared(mean_form, x), diag(H), tolerance = 1e-13)
    expect_risk_equals_oracle(form_risk(mean_form, x, example$eval$residuals), H, example$eval$residuals, 1e-10)
    phi <- with_threads(1L, pair_features(mean_form, x))
    expect_equal(phi %*% core_matrix(mean_form$core) %*% t(phi), H, tolerance = 1e-13)
  }
})

test_that("many debiased bins cost memory by the bin, not by pairs of bins", {
  problem <- random_problem(200)
  form <- fit_form(method_bins(20000, debias = TRUE), problem, list(value = 20000), new_context())
  expect_lt(as.numeric(object.size(form)), 1e6)
  both <- ensemble_form(list(form, form))
  expect_lt(as.numeric(object.size(both)), 2e6)
  few <- form_risk(both, problem$features, problem$residuals)
  expect_close(few$risk, form_risk(form, problem$features, problem$residuals)$risk, 1e-10)
  row <- with_threads(1L, ce_estimate(problem$features[, 1], problem$labels, method = method_bins(20000, debias = TRUE)))
  expect_true(is.finite(row$estimate))
})
