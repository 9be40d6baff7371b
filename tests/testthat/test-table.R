# One result of every exported function that returns one, by the function's name.
every_result <- function() {
  d <- withr::with_seed(1, page_rows(150))
  p <- d$p
  y <- d$y
  frame <- data.frame(y, p, q = p^1.5, g = rep(c("a", "b"), 75))
  probs <- cbind(1 - p, p)
  truth <- y + 1L
  models <- list(a = probs, b = cbind(1 - p^1.5, p^1.5))
  fits <- list(a = ce_fit(p, y, method = method_bins(5)), b = ce_fit(p, y, method = method_bins(9)))
  laws <- pred_normal(p, 1)
  withr::local_seed(2)
  list(
    ce_estimate = list(ce_estimate(p, y), ce_estimate(frame, y, p, .by = g)),
    ce_tune = list(ce_tune(p, y, methods = method_bins(5))), ce_fit = list(fits$a), ce_risk = list(ce_risk(fits$a, p, y)),
    ce_compare = list(ce_compare(fits, p, y), ce_compare(frame, y, p, q, metric = rbs, margin = 0.05)),
    skce = list(skce(probs, truth), skce(laws, p), skce(probs, truth, locations = 3),
                skce(probs, truth, kernel = "ckce", computation = "low_rank")),
    ckce = list(ckce(probs, truth)),
    ce_test = list(ce_test(p, y, test = "joint"), ce_test(frame, y, p, test = "joint", .by = g)),
    ce_rank = list(ce_rank(models, truth, metric = ece, times = 20)),
    ece = list(ece(p, y), ece(frame, y, p, .by = g), ece(p, y, notion = "class_wise")), rbs = list(rbs(p, y)),
    ks_error = list(ks_error(p, y)), mmce = list(mmce(p, y)), kde_error = list(kde_error(p, y)),
    smooth_ece = list(smooth_ece(p, y)), ici = list(ici(p, y)), spiegelhalter = list(spiegelhalter(p, y)),
    hosmer_lemeshow = list(hosmer_lemeshow(p, y)), cox_calibration = list(cox_calibration(p, y)),
    ce_panel = list(ce_panel(p, y)), ce_hierarchy = list(ce_hierarchy(vehicle_predictions, truth)),
    ce_score = list(ce_score(p, y)), ce_decompose = list(ce_decompose(round(p, 1), y)),
    ce_gain = list(ce_gain(p, p^1.5, y), ce_gain(p, after = list(map_platt()), y)),
    ce_recalibrate = list(ce_recalibrate(p, y)), ce_curve = list(ce_curve(p, y)),
    ce_decision = list(ce_decision(p, y, thresholds = 0.3)), ce_validate = list(ce_validate(p, y, times = 0)),
    ce_power = list(ce_power(assume_model(beta = c(1, 3)), width = c(slope = 0.5))),
    ce_state = list(update(ce_state(), p, y)), ce_moments = list(ce_moments(laws, p)),
    ce_coverage = list(ce_coverage(laws, p), ce_coverage(list(a = laws, b = laws), p),
                       ce_coverage(frame, y, a = pred_poisson(p), .by = g)),
    ce_optimism = list(ce_optimism(function(d) glm(y ~ q, binomial, d), frame, y, times = 20, event_level = "second")),
    ce_pool = list(ce_pool(list(ce_validate(p, y, times = 0), ce_validate(p^1.1, y, times = 0))),
                   ce_pool(list(ce_estimate(p, y), ce_estimate(p^1.1, y)))),
    ce_meta = list(ce_meta(ce_validate(frame, y, p, .by = g, times = 0))),
    ce_grades = list(ce_grades(round(p, 1), y)), ce_models = list(summary(ce_models(frame, y, p, q)))
  )
}

# Exported functions whose values are no results: choices, data, parts of methods, numbers and files.
other_exports <- paste0(
  "^(assume|basis|computation|curve|kernel|map|method|new|pred|ridge|score|test)_|^(tidy|glance|augment)$|",
  "^(ce_horizon|ce_kable|ce_methods|ce_metric|ce_predictions|ce_report|ce_source|",
  "computation|fit_form|pair_features|pair_risk|tune_path|upper_bound)$"
)

results <- suppressMessages(every_result())

test_that("every result fits 80 columns, and is a table in a document", {
  skip_if_not_installed("knitr")
  withr::local_options(width = 80, cli.num_colors = 1)
  for (name in names(results)) for (x in results[[name]]) {
    expect_lte(max(nchar(utils::capture.output(print(x)))), 80, label = name)
    if (name != "ce_state") expect_match(paste(ce_kable(x, format = "pipe"), collapse = "\n"), "[|]:?--*:?[|]")
  }
  expect_output(print_pages(25, cat), "1920The first 20 of 25 are printed", fixed = TRUE)
})

test_that("every result is a plain tibble by tidy(), with the names of broom", {
  exported <- grep(other_exports, getNamespaceExports("calibrisk"), invert = TRUE, value = TRUE)
  expect_setequal(names(results), intersect(exported, getNamespaceExports("calibrisk")))
  for (name in names(results)) for (x in results[[name]]) {
    table <- tidy(x)
    expect_identical(class(table), c("tbl_df", "tbl", "data.frame"), info = name)
    expect_gt(nrow(table), 0)
    expect_false(any(vapply(table, is.list, NA)), info = name)
    expect_null(attr(table, "estimand"))
    if (name == "ce_state") next
    expect_s3_class(x, "ce_result")
    expect_s3_class(as.data.frame(x), "data.frame", exact = TRUE)
  }
  # numbers are those of the results
  numbers <- c(ce_risk = "estimate", ece = ".estimate", ce_gain = "gain", ce_hierarchy = "value", ici = ".estimate")
  for (name in names(numbers)) {
    expect_identical(tidy(results[[name]][[1]])$estimate, results[[name]][[1]][[numbers[[name]]]], info = name)
  }
  difference <- results$ce_compare[[2]]
  expect_identical(tidy(difference)$estimate, difference$difference)
  expect_identical(tidy(results$ce_compare[[1]])$estimate, results$ce_compare[[1]]$risk)
  expect_identical(tidy(results$cox_calibration[[1]])$term, results$cox_calibration[[1]]$.metric)
  expect_identical(names(tidy(results$ece[[2]]))[1:2], c("g", "term"))
})

test_that("glance() has a row per result, and says where there is none", {
  p <- seq(0.02, 0.98, length.out = 60)
  y <- as.numeric(p > 0.4)
  one <- ece(p, y)
  expect_identical(glance(one), tidy(one))
  frame <- data.frame(p, y, g = rep(1:2, 30))
  expect_identical(glance(ece(frame, y, p, .by = g))$g, 1:2)
  fit <- ce_fit(p, y, method = method_bins(5))
  expect_identical(summary(fit), glance(fit))
  expect_s3_class(summary(one), "table")
  expect_identical(glance(ce_risk(fit, p, y))$risk, ce_risk(fit, p, y)$risk)
  expect_error(glance(ce_panel(p, y)), "several numbers", class = "calibrisk_error_argument")
  expect_error(glance(ce_hierarchy(vehicle_predictions, truth)), class = "calibrisk_error_argument")
})

test_that("digits follow the size of a number and its standard error, the same in a row", {
  expect_identical(interval_text(c(0.174, 0.00042, 0.002, NA), c(0.162, 0, 0, NA), c(0.186, 0.0011, 0.05, NA)),
                   c("0.174 (0.162 to 0.186)", "0.00042 (0.00000 to 0.00110)", "0.002 (0.000 to 0.050)", ""))
  expect_identical(interval_text(1, 0.9991, 1.0012, 2), "1.000 (0.999 to 1.001)")
  expect_identical(interval_text(0, 0, 0), "0.000 (0.000 to 0.000)")
  expect_identical(interval_text(-0.0001, -0.004, 2), "0.000 (-0.004 to 2.000)")
  rare <- data.frame(n = 60901, events = 42, prevalence = 42 / 60901, mean_prediction = 0.00046)
  expect_match(sample_sentence(rare), "0.069% observed, 0.046% predicted", fixed = TRUE)
})

test_that("options of numbers raise nothing in prints, tables and figures", {
  d <- withr::with_seed(1, data.frame(p = runif(200)))
  d$y <- withr::with_seed(2, rbinom(200, 1, d$p))
  tables <- list(ece(d, y, p), ce_panel(d, y, p), ce_test(d, y, p, test = "cumulative"),
                 ce_recalibrate(d, y, p, method = "platt"), ce_score(d, y, p))
  figures <- list(ce_estimate(d, y, p), ce_validate(d, y, p, times = 0), ce_curve(d, y, p, type = curve_binned(5)),
                  ce_fit(d, y, p, method = method_bins(5)), ce_gain(d, "platt", y, p),
                  ce_decision(d, y, p, thresholds = c(.2, .4), times = 100))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (set in list(list(OutDec = ","), list(scipen = -5), list(OutDec = ",", scipen = -5))) {
    withr::local_options(c(set, warn = 2))
    for (one in c(tables, figures)) {
      expect_output(print(one))
      expect_no_error(ce_kable(one, format = "pipe"))
    }
    for (one in figures) expect_no_error(plot(one))
  }
})

test_that("tables whose columns are dropped or formatted are printed as tibbles", {
  tables <- with(results, list(ce_estimate[[2]], ece[[2]], ce_hierarchy[[1]], ce_compare[[2]], ce_gain[[2]], ce_power[[1]],
                               ckce[[1]]))
  for (x in tables) {
    expect_output(print(x[0, ]))
    for (column in names(x)) {
      expect_output(print(x[setdiff(names(x), column)], width = Inf))
      if (!is.numeric(x[[column]])) next
      x[[column]] <- "0.1 (0 to 0.2)"
      expect_output(print(x, width = Inf))
    }
  }
  errors <- tables[[1]]
  errors$estimate <- "0.1 (0 to 0.2)"
  expect_output(print(errors), "0.1 (0 to 0.2)", fixed = TRUE)
})
