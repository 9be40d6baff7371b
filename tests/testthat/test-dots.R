test_that("names in `...` are errors that name the nearest argument, in every verb and kind of input", {
  d <- vehicle_predictions[1:60, ]
  grouped <- d
  grouped$g <- rep(c("a", "b"), 30)
  p <- as.matrix(d[-1])
  near <- function(expr, name) {
    error <- expect_error(expr, paste0("Did you mean `", name, "`"), class = "calibrisk_error_argument")
    expect_s3_class(error, "calibrisk_error_argument", exact = FALSE)
    expect_false(inherits(error, "calibrisk_error_group"))
  }
  near(ece(d, truth, bins = 2), "n_bins")
  near(ece(p, d$truth, bins = 2), "n_bins")
  near(ece(grouped, truth, bins = 2, .by = g), "n_bins")
  near(ce_tune(d, truth, fold = 10), "folds")
  near(ce_tune(d, truth, metods = list(method_kde())), "methods")
  near(ce_estimate(d, truth, methods = method_kde()), "method")
  near(ce_fit(d, truth, nation = "canonical", method = method_kde()), "notion")
  near(ce_recalibrate(p, d$truth, methods = "platt"), "method")
  near(skce(d, truth, kernels = kernel_tv()), "kernel")
  near(skce(pred_normal(1:9, 1), 1:9, kernels = kernel_tv()), "kernel")
  near(ckce(d, truth, ridges = 1), "ridge")
  near(skce(d, truth, location = 3), "locations")
  near(ce_test(d, truth, by = truth), ".by")
  near(ce_hierarchy(d, truth, bins = 2), "n_bins")
  near(ce_decompose(d, truth, scores = "log"), "score")
  near(ce_moments(pred_normal(1:9, 1), 1:9, levels = 0.5), "level")
  near(ce_rank(list(p, p), d$truth, n_draws = 2), "times")
  # words of other packages
  x <- d$.pred_bus
  y <- as.numeric(d$truth == "bus")
  near(ce_estimate(d, truth, estimate = "bins"), "method")
  near(ce_hierarchy(d, truth, subgroups = sites), ".by")
  near(ce_tune(d, truth, k = 10), "folds")
  near(ece(x, y, interval = TRUE), "times")
  near(hosmer_lemeshow(x, y, g = 10), "n_groups")
  near(plot(ce_decision(x, y), xlim = c(0, .5)), "thresholds")
  near(predict(ce_recalibrate(x, y, method = "platt"), newdata = x), "new")
  near(skce(x, y, bandwidth = 1), "kernel")
  near(smooth_ece(x, y, sigma = 0.1), "bandwidth")
  near(update(ce_state(), data = x, y = y), "truth")
  expect_error(ce_tune(d, truth, verbosity = truth), "not an argument", class = "calibrisk_error_argument")
  expect_error(ece(d, truth, repeats = 2), "repeats", class = "calibrisk_error_argument")
})

test_that("an argument that is far from all others, or means something else, is not guessed", {
  d <- vehicle_predictions[1:60, ]
  unknown <- list(
    quote(ce_power(assume_model(c(0, 1)), n = 100, event_level = "second")), quote(ece(d, truth, alpha = 0.05)),
    quote(skce(d, truth, gamma = 1)), quote(rbs(d, truth, type = "mass")), quote(ece(d, truth, groups = 3))
  )
  for (call in unknown) {
    cnd <- expect_error(eval(call), "is not an argument of this function", class = "calibrisk_error_argument")
    expect_no_match(conditionMessage(cnd), "mean `(level|kernel|notion|n_bins)`", info = deparse(call))
  }
})

test_that("every listed word is of an argument that exists", {
  exports <- mget(getNamespaceExports("calibrisk"), envir = asNamespace("calibrisk"), inherits = TRUE)
  arguments <- unique(unlist(lapply(exports, function(f) names(formals(f)))))
  expect_identical(setdiff(names(argument_words), arguments), character())
})
