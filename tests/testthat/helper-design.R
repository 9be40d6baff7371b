# Metrics that take weights and clusters, for the battery of test-design.R: of a binary data frame with `prob` and `y`.
design_metrics <- list(
  width = function(...) ece(...), mass = function(...) ece(..., type = "mass", n_bins = 7),
  discrete = function(...) ece(..., type = "discrete", p = 2), debiased = function(...) ece(..., p = 2, debias = TRUE),
  largest = function(...) ece(..., p = Inf, n_bins = 5), rbs = function(...) rbs(...),
  ks = function(...) ks_error(...), mmce = function(...) mmce(...),
  mmce_unbiased = function(...) mmce(..., type = "unbiased"), smooth = function(...) smooth_ece(...),
  sweep = function(...) ece(..., type = "sweep"),
  kde = function(...) kde_error(..., kernel = "triweight", bandwidth = .1),
  dirichlet = function(...) kde_error(..., bandwidth = .1)
)

# Those of several rows, or whose tests or choices differ between weights and repeated rows.
design_tables <- list(
  ici = function(...) ici(...), ici_isotonic = function(...) ici(..., smoother = "isotonic"),
  kde_chosen = function(...) kde_error(..., kernel = "triweight", p = 1),
  cox = function(...) cox_calibration(..., floor = .01), spiegelhalter = function(...) spiegelhalter(...),
  hosmer = function(...) suppressMessages(hosmer_lemeshow(..., n_groups = 6)),
  score = function(...) ce_score(..., score = c("brier", "spherical")),
  bound = function(...) ce_score(..., bound = TRUE),
  pairs = function(...) ce_score(..., score = design_pair_score),
  discrete_parts = function(...) suppressWarnings(ce_decompose(...)),
  isotonic_parts = function(...) ce_decompose(..., method = "isotonic"),
  panel = function(...) suppressMessages(ce_panel(..., floor = .01)), hierarchy = function(...) ce_hierarchy(...),
  skce = function(...) skce(...), ckce = function(...) ckce(...), joint = function(...) joint_error(...)
)

# Not degenerate: the pair's own residuals beside their product.
design_pair_score <- function(p1, y1, p2, y2) {
  d1 <- p1[, 2] - (y1 == 2)
  d2 <- p2[, 2] - (y2 == 2)
  d1 * d2 * exp(-abs(p1[, 2] - p2[, 2])) + d1^2 + d2^2
}

# Verbs of predictive distributions: functions of a frame with `mean`, `sd` and `z`, and the arguments of the design.
design_laws <- list(
  score = function(d, ...) ce_score(pred_normal(d$mean, d$sd), d$z, score = c("crps", "dss"), ...),
  parts = function(d, ...) {
    suppressWarnings(ce_decompose(pred_normal(d$mean, d$sd), d$z, score = c("crps", "mse", "dss"), n_bins = 4, ...))
  },
  moments = function(d, ...) ce_moments(pred_laplace(d$mean, d$sd), d$z, ...),
  coverage = function(d, ...) tidy(ce_coverage(pred_normal(d$mean, d$sd), d$z, ...)),
  pit = function(d, ...) tidy(ce_curve(pred_normal(d$mean, d$sd), d$z, type = curve_pit(n_bins = 5), ...)),
  quantile = function(d, ...) tidy(ce_curve(pred_normal(d$mean, d$sd), d$z, type = "quantile", ...)),
  pit_counts = function(d, ...) {
    withr::with_seed(1,
                     tidy(ce_curve(pred_poisson(exp(d$mean)), d$copies, type = curve_pit(times = 20, n_bins = 4), ...)))
  }
)

# Curves of the binary frame: both tables, with the same draws.
few_draws <- list(binned = "binned", isotonic = curve_isotonic(20), smooth = curve_smooth(times = 20))
design_curves <- lapply(few_draws, function(type) {
  function(...) {
    withr::with_seed(1, {
      curve <- ce_curve(..., type = type, notion = "binary")
      list(tidy(curve), glance(curve), curve$histogram)
    })
  }
})

# Decision curves: all numbers but those of the draws.
design_decisions <- lapply(list(stack = method_stack(), platt = "platt"), function(recalibration) {
  function(...) {
    thresholds <- c(.05, .2, .33, .5, .8)
    found <- withr::with_seed(1, ce_decision(..., recalibration = recalibration, thresholds = thresholds))
    list(tidy(found)[-1], glance(found))
  }
})

# Rows with ties, weights of both kinds and clusters.
design_rows_frame <- function(n = 120, seed = 1) {
  withr::with_seed(seed, data.frame(
    prob = round(stats::runif(n), 2), y = stats::rbinom(n, 1, .4), copies = sample(0:3, n, TRUE),
    share = stats::rexp(n), centre = sample(letters[1:12], n, TRUE),
    mean = round(stats::rnorm(n), 1), sd = stats::runif(n, .5, 2), z = stats::rnorm(n)
  ))
}

# Columns that may differ only by rounding.
expect_same_numbers <- function(a, b, tolerance = 1e-10) {
  expect_identical(names(a), names(b))
  expect_equal(as.list(a), as.list(b), tolerance = tolerance)
}

# What weights mean, for a verb of rows and the arguments of the design: integers are repeated rows (`repeats`), one value
# is none, the scale does not matter, and rows of weight 0 are not there. Returns list(data, plain, weighted).
expect_weights <- function(verb, tolerance = 1e-8, repeats = TRUE) {
  data <- design_rows_frame()
  plain <- verb(data)
  weighted <- verb(data, weights = data$share)
  if (repeats) expect_equal(verb(data, weights = data$copies), verb(data[rep(1:120, data$copies), ]), tolerance = 1e-10)
  expect_equal(verb(data, weights = rep(.37, 120)), plain)
  expect_equal(verb(data, weights = 5 * data$share), weighted, tolerance = tolerance, ignore_attr = TRUE)
  without <- replace(data$share, 1:10, 0)
  expect_equal(verb(data, weights = without), verb(data[-(1:10), ], weights = without[-(1:10)]), tolerance = tolerance)
  expect_false(isTRUE(all.equal(weighted, plain)))
  invisible(list(data = data, plain = plain, weighted = weighted))
}

of_vectors <- function(verb) function(d, ...) verb(d$prob, d$y, ...)

of_columns <- function(verb) function(d, weights = NULL) {
  if (is.null(weights)) return(verb(d, y, prob))
  d$own_weights <- weights
  verb(d, y, prob, weights = own_weights)
}

# The degrees of freedom of clusters of unequal weights.
cluster_df <- function(cluster, w = rep(1, length(cluster))) {
  size <- rowsum(w, cluster)
  1 / (1 / (length(size) - 1) + sum(size^2) / sum(size)^2 - 1 / length(size))
}
