# A form whose feature map is given: h(p, p') = map(p)' M map(p').
fixed_form <- function(core = NULL, map = identity, gap = FALSE) {
  new_form("fixed", map = map, core = core, gap = gap)
}

registerS3method("pair_features", "ce_form_fixed",
                 function(form, features, threads) form$map(features),
                 envir = asNamespace("calibrisk"))

# Random residuals, features and a symmetric core.
random_pairs <- function(m, d, r, seed = 1) {
  withr::with_seed(seed, {
    core <- matrix(rnorm(r * r), r)
    list(E = matrix(rnorm(m * d), m), X = matrix(rnorm(m * r), m), M = core + t(core))
  })
}
