test_that("metrics as values say what they are", {
  expect_output(print(ce_metric(ece, n_bins = 5, name = "five")), "<ce_metric> five(n_bins = 5)", fixed = TRUE)
  expect_identical(format(ce_metric(ece, n_bins = 5)), "of one number (n_bins = 5)")
})

test_that("metrics of the package take data that were read, and give what they give for the rows", {
  d <- withr::with_seed(1, data.frame(p = stats::runif(60), q = stats::runif(60), y = rep(0:1, 30),
                                      w = stats::rexp(60)))
  d$p[4] <- NA
  read <- as_predictions(d, rlang::quo(y), rlang::quos(p), design = design_input(rlang::quo(w), rlang::quo(NULL)))
  for (name in c("ece", "rbs", "ks_error", "ce_score", "skce", "ce_estimate")) {
    expect_false(is.null(metric_value(as_metric(name), read)$estimate))
    found <- withr::with_seed(1, estimate_metric(as_metric(name), read))
    direct <- withr::with_seed(1, get(name)(d, y, p, weights = w))
    expect_identical(c(as.list(found)), c(as.list(direct)))
  }
  # functions around a metric leave its estimate too
  around <- function(x, truth, ...) ece(x, truth, n_bins = 5, ...)
  for (metric in list(around, ce_metric(ece, n_bins = 5))) {
    expect_equal(ce_compare(d, y, p, q, metric = metric)$std.error,
                 ce_compare(d, y, p, q, metric = ce_metric(ece, n_bins = 5))$std.error)
  }
  # nothing is read again, in no trial
  models <- list(p = d$p, q = d$q)
  times <- 0
  own <- new_predictions
  local_stand_ins(list(new_predictions = function(...) {
    times <<- times + 1
    own(...)
  }))
  ce_compare(models, d$y, metric = ece)
  ce_rank(models, d$y, metric = ece, times = 5)
  expect_identical(times, 4)
})

test_that("a metric has no options of reading, and groups are those of the rows that were given", {
  for (option in list(list(weights = 1:2), list(na_rm = FALSE), list(event_level = "second"))) {
    expect_error(do.call(ce_metric, c(list(ece), option)), "Give it to the function",
                 class = "calibrisk_error_argument")
  }
  expect_no_error(ce_metric(function(x, truth, weights) 1, weights = 1))
  d <- withr::with_seed(2, list(p = stats::runif(40), y = rep(0:1, 20), group = rep(1:2, each = 20)))
  incomplete <- replace(d$p, 7, NA)
  found <- ce_compare(list(a = incomplete, b = d$p^2), d$y, metric = ce_metric(skce, group = d$group))
  expect_equal(found$estimate_a, skce(d$p[-7], d$y[-7], group = d$group[-7])$.estimate)
  laws <- lapply(list(d$p, d$p^2), pred_normal, sd = 1)
  found <- ce_compare(laws, d$y, metric = ce_metric(skce, group = d$group))
  expect_equal(found$estimate_b, skce(laws[[2]], d$y, group = d$group)$.estimate)
})
