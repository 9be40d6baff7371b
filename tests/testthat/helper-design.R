# Metrics that take weights and clusters, for the battery of test-design.R: of a binary data frame with `prob` and `y`.
design_metrics <- list(
  width = function(...) ece(...), mass = function(...) ece(..., type = "mass", n_bins = 7),
  discrete = function(...) ece(..., type = "discrete", p = 2), debiased = function(...) ece(..., p = 2, debias = TRUE),
  largest = function(...) ece(..., p = Inf, n_bins = 5), rbs = function(...) rbs(...),
  ks = function(...) ks_error(...), mmce = function(...) mmce(...),
  mmce_unbiased = function(...) mmce(..., type = "unbiased"), smooth = function(...) smooth_ece(...),
  sweep = function(...) ece(..., type = "sweep"),
  kde = function(...) kde_error(..., kernel = "triweight", bandwidth = .1)
)

# Those of several rows, or whose tests or choices differ between weights and repeated rows.
design_tables <- list(
  ici = function(...) ici(...), ici_isotonic = function(...) ici(..., smoother = "isotonic"),
  kde_chosen = function(...) kde_error(..., kernel = "triweight", p = 1),
  cox = function(...) cox_calibration(..., floor = .01), spiegelhalter = function(...) spiegelhalter(...),
  hosmer = function(...) suppressMessages(hosmer_lemeshow(..., n_groups = 6)),
  panel = function(...) suppressMessages(ce_panel(..., floor = .01)), hierarchy = function(...) ce_hierarchy(...)
)

# Rows with ties, weights of both kinds and clusters.
design_rows_frame <- function(n = 120, seed = 1) {
  withr::with_seed(seed, data.frame(
    prob = round(stats::runif(n), 2), y = stats::rbinom(n, 1, .4), copies = sample(0:3, n, TRUE),
    share = stats::rexp(n), centre = sample(letters[1:12], n, TRUE)
  ))
}

# Columns that may differ only by rounding.
expect_same_numbers <- function(a, b, tolerance = 1e-10) {
  expect_identical(names(a), names(b))
  expect_equal(as.list(a), as.list(b), tolerance = tolerance)
}
