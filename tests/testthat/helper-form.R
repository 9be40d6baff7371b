# A form whose feature map is given: h(p, p') = map(p)' M map(p').
fixed_form <- function(core = NULL, map = identity, gap = FALSE) new_form("fixed", map = map, core = core, gap = gap)

registerS3method("pair_features", "ce_form_fixed",
                 function(form, features) form$map(features),
                 envir = asNamespace("calibrisk"))

# Random residuals, features and a symmetric core.
random_pairs <- function(m, d, r, seed = 1) {
  withr::with_seed(seed, {
    core <- matrix(rnorm(r * r), r)
    list(E = matrix(rnorm(m * d), m), X = matrix(rnorm(m * r), m), M = core + t(core))
  })
}

expect_risk_equals_oracle <- function(risk, H, E, tolerance = tol$law) {
  oracle <- oracle_risk(H, E)
  zero <- oracle_risk(0 * H, E)
  expect_close(risk$risk, oracle$risk, tolerance)
  expect_close(risk$projections, oracle$projections, tolerance)
  expect_close(risk_std_error(risk$projections), oracle$std.error, tolerance)
  expect_close(risk$zero_risk, zero$risk, tolerance)
  expect_close(risk$zero_projections, zero$projections, tolerance)
  expect_close(risk$squared, diag(H), tolerance)
  expect_close(mean(risk$projections), risk$risk, tolerance)
}
