# What holds for every function of the rows of a data frame: results in groups are those of the groups' rows alone, by
# either way of grouping, and incomplete rows are none.

row_frame <- function(seed = 1) {
  withr::with_seed(seed, {
    p <- stats::runif(80, .05, .95)
    tibble::tibble(y = stats::rbinom(80, 1, p), p, q = p^1.5, r = round(p, 1), law = pred_normal(p, .5),
                   g = rep(c("b", "a"), 40))
  })
}
row_fits <- lapply(list(a = method_bins(4), b = method_kde(.1)), function(method) {
  ce_fit(row_frame(2), y, p, method = method)
})
row_map <- ce_recalibrate(row_frame(2), y, p, method = "platt")

# What grouped and single fits say of three predictions.
fitted_squares <- function(fit) {
  one <- function(fit) tibble::tibble(place = 1:3, squared = predict(fit, c(.2, .4, .8)))
  if (!inherits(fit, "ce_grouped")) return(one(fit))
  vctrs::vec_rbind(!!!lapply(seq_along(fit$results), function(i) cbind(fit$keys[i, ], one(fit$results[[i]]))))
}

row_verbs <- c(lapply(list(
  ece = ece, ks = ks_error, rbs = rbs, mmce = mmce, kde = kde_error, smooth = smooth_ece, ici = ici,
  cox = cox_calibration, spiegelhalter = spiegelhalter, hosmer = hosmer_lemeshow, panel = ce_panel,
  hierarchy = ce_hierarchy, skce = skce, ckce = ckce, score = ce_score, estimate = ce_estimate
), function(verb) function(d, ...) suppressWarnings(verb(d, y, p, ...))), list(
  test = function(d, ...) glance(ce_test(d, y, p, test = "joint", ...)),
  curve = function(d, ...) tidy(ce_curve(d, y, p, type = curve_binned(3), ...)),
  smooth_curve = function(d, ...) tidy(ce_curve(d, y, p, type = curve_smooth(times = 20), ...)),
  decision = function(d, ...) tidy(ce_decision(d, y, p, thresholds = .3, ...))[c("net_benefit", "loss")],
  differences = function(d, ...) tidy(ce_decision(d, y, p, q, thresholds = .3, ...), "differences")["difference"],
  gain = function(d, ...) ce_gain(d, transform(d, p = q), y, p, injective = TRUE, ...),
  map_gain = function(d, ...) ce_gain(d, "platt", y, p, folds = 3, ...),
  fitted_gain = function(d, ...) ce_gain(d, row_map, y, p, ...),
  fit = function(d, ...) fitted_squares(ce_fit(d, y, p, method = method_bins(4), ...)),
  risk = function(d, ...) ce_risk(row_fits$a, d, y, p, ...),
  fits = function(d, ...) ce_compare(row_fits, d, y, p, ...),
  map = function(d, ...) tidy(ce_recalibrate(d, y, p, method = "platt", ...)),
  validate = function(d, ...) tidy(ce_validate(d, y, p, times = 0, ...)),
  compare = function(d, ...) ce_compare(d, y, p, q, metric = rbs, ...),
  grades = function(d, ...) ce_grades(d, y, r, ...), decompose = function(d, ...) ce_decompose(d, y, r, ...),
  moments = function(d, ...) ce_moments(d, y, law, ...),
  coverage = function(d, ...) tidy(ce_coverage(d, y, law, ...))[c("level", "coverage", "conf.low", "p.value")],
  pit = function(d, ...) tidy(ce_curve(d, y, law, type = "pit", ...))
))

expect_same_rows <- function(a, b, info) expect_equal(lapply(a, c), lapply(b, c), info = info, tolerance = 1e-10)

test_that("the numbers of a group are those of its rows alone, by either way of grouping", {
  d <- row_frame()
  for (name in names(row_verbs)) {
    verb <- row_verbs[[name]]
    by <- verb(d, .by = g)
    alone <- lapply(c("a", "b"), function(group) tibble::as_tibble(verb(d[d$g == group, ])))
    expect_same_rows(by[names(alone[[1]])], vctrs::vec_rbind(!!!alone), name)
    if (rlang::is_installed("dplyr")) expect_equal(verb(dplyr::group_by(d, g)), by, info = name)
  }
})

test_that("an incomplete row is none", {
  d <- row_frame()
  d[3, c("p", "q", "r", "law")] <- NA
  d$y[5] <- NA
  for (name in names(row_verbs)) expect_same_rows(row_verbs[[name]](d), row_verbs[[name]](d[-c(3, 5), ]), name)
})
