test_that("the power map on the oracle rows", {
  data <- oracle_data()
  eval <- oracle_rows(oracle_problem(data$P, data$y, "canonical"), data$eval)
  form <- fit_form(method_power(1.5), eval, list(value = 1.5), new_context())
  risk <- form_risk(form, eval$features, eval$residuals)
  expect_close(c(risk$risk, risk_std_error(risk$projections), mean(risk$squared)),
               c(0.0646717707947, 0.0475465594582, 0.014122088402), tol$oracle)
  expect_close(c(risk$zero_risk, risk_std_error(risk$zero_projections)), c(0.0636919525, 0.045862817292), tol$oracle)
})

power_map <- function(p, exponent) p - pair_features(new_form("power", exponent = exponent), p)

test_that("exponent 1 is h = 0; scalars are read as two classes; zeros stay zeros", {
  p <- matrix(c(0, 1, .3, 1e-300))
  for (exponent in c(.25, 1, 8)) {
    g <- power_map(p, exponent)
    expect_equal(c(g), c(0, 1, .3^exponent / (.3^exponent + .7^exponent), 1e-300^exponent))
    expect_equal(power_map(cbind(p, 1 - p), exponent)[, 1], c(g))
  }
  expect_equal(power_map(rbind(c(0, .5, .5)), 30), rbind(c(0, .5, .5)))
})

test_that("exponents are positive, and the mean over folds with one exponent is the form itself", {
  forms <- lapply(c(1.5, 1.5), function(t) new_form("power", exponent = t, gap = TRUE))
  expect_s3_class(ensemble_form(forms), "ce_form_power")
  expect_error(method_power(0), class = "calibrisk_error_argument")
  expect_error(method_power(c(1, NA)), class = "calibrisk_error_argument")
  expect_true(1 %in% method_grid(method_power(), "canonical", 10)$value)
})
