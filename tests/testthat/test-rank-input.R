test_that("rows that are incomplete in one model are dropped for all", {
  p <- (1:20) / 21
  q <- replace(p, 3, NA)
  expect_identical(ce_rank(list(a = p, b = q), rep(0:1, 10), times = 2)$n, 19L)
})

test_that("wrong arguments are classed errors", {
  p <- (1:10) / 11
  y <- rep(0:1, 5)
  models <- list(a = p, b = p)
  expect_error(ce_rank(list(a = p), y), class = "calibrisk_error_argument")
  expect_error(ce_rank(p, y), class = "calibrisk_error_argument")
  expect_error(ce_rank(models, y, n_sub = 11), class = "calibrisk_error_argument")
  expect_error(ce_rank(models, y, metric = "jkce", n_sub = 1), class = "calibrisk_error_argument")
  expect_error(ce_rank(lapply(models, head, 1), y[1], metric = "jkce"), class = "calibrisk_error_rows")
  expect_error(ce_rank(list(a = p, b = p[-1]), y), class = "calibrisk_error_model")
  expect_error(ce_rank(list(a = diag(3), b = diag(2)[c(1, 2, 1), ]), c(1, 2, 1)), class = "calibrisk_error_length")
  expect_output(print(ce_rank(lapply(models, head, 1), y[1], metric = "brier")), "1 observation\n.* of 1 row at 5%")
  expect_error(ce_rank(models, y, metric = list(f = function(p, y) 1:2)), class = "calibrisk_error_argument")
})

test_that("data frames bring their truth column", {
  frames <- split(letters_predictions, ~model)
  by_column <- withr::with_seed(1, ce_rank(frames, truth, metric = "brier", times = 3))
  matrices <- lapply(frames, function(x) as.matrix(x[startsWith(names(x), ".pred_")]))
  by_vector <- withr::with_seed(1, ce_rank(matrices, frames[[1]]$truth, metric = "brier", times = 3))
  expect_equal(by_column, by_vector)
  expect_equal(withr::with_seed(1, ce_rank(frames, frames[[1]]$truth, metric = "brier", times = 3)), by_vector)
  expect_equal(withr::with_seed(1, ce_rank(frames, "truth", metric = "brier", times = 3)), by_vector)
  frames[[2]]$truth <- rev(frames[[2]]$truth)
  expect_error(ce_rank(frames, truth), "same order", class = "calibrisk_error_truth")
  expect_error(ce_rank(matrices, outcome_that_is_not_there), class = "calibrisk_error_truth")
})

test_that("a metric owns its options, and several settings are one call each", {
  p <- (1:40) / 41
  models <- list(a = p, b = p^2)
  y <- rep(0:1, 20)
  rank <- function(metric, ...) withr::with_seed(1, ce_rank(models, y, metric = metric, times = 4, ...))
  ridges <- list(wide = ce_metric(ckce, ridge = .1), narrow = ce_metric("ckce", ridge = .01, debias = TRUE), rbs,
                 ce_metric("ece_canonical", n_bins = 5))
  both <- rank(ridges)
  expect_identical(unique(both$estimates$metric), c("wide", "narrow", "rbs", "ece_canonical"))
  for (name in c("wide", "narrow")) {
    expect_equal(both$draws$estimate[both$draws$metric == name], rank(ridges[name])$draws$estimate)
    expect_equal(tidy(both)$estimate[tidy(both)$metric == name & tidy(both)$model == "a"],
                 rlang::exec(ckce, p, y, !!!ridges[[name]]$options)$.estimate, tolerance = 1e-8)
  }
  five <- tidy(both)[tidy(both)$metric == "ece_canonical", ]
  expect_equal(five$estimate[five$model == "b"], ece(p^2, y, notion = "canonical", n_bins = 5)$.estimate)
  expect_match(paste(utils::capture.output(print(both)), collapse = " "), "wide: .* ridge 0.1.* narrow: .* ridge 0.01")
  # options that are wrong are refused by the metric itself
  expect_error(rank(ce_metric("ece_pointwise", n_bins = -1)), "n_bins", class = "calibrisk_error_argument")
  expect_error(rank(ce_metric(ckce, ridge = -1)), "ridge", class = "calibrisk_error_argument")
  expect_error(rank("ckce", ridge = .1), "ridge", class = "calibrisk_error_argument")
})

test_that("what the core computes at once is what the metrics' functions compute on the same rows", {
  p <- withr::with_seed(1, draw_dirichlet(60, 3, .5))
  y <- withr::with_seed(2, draw_labels(p))
  models <- list(a = p, b = temper(p, 2))
  metrics <- c("ckce", "ckce_debiased", "ckce_null_mean", "jkce", "ece_canonical", "ece_pointwise", "brier", "log_loss",
               "error")
  rank <- function(metric) withr::with_seed(3, ce_rank(models, y, metric = metric, times = 3))$draws$estimate
  functions <- lapply(metrics, function(name) {
    metric <- as_metric(name)
    function(x, truth) metric_value(metric, new_predictions(x, truth, "first", TRUE))$value
  })
  expect_equal(rank(metrics), rank(functions), tolerance = 1e-7)
  naive <- c(brier = mean(rowSums(oracle_residuals(p, y)^2)), log_loss = -mean(log(p[cbind(1:60, y)])),
             error = mean(max.col(p, "first") != y), ckce = ckce(p, y)$.estimate,
             ckce_debiased = ckce(p, y, debias = TRUE)$.estimate, jkce = joint_error(p, y)$.estimate)
  for (name in names(naive)) expect_equal(ce_compare(models, y, metric = name, times = 20)$estimate_a, naive[[name]])
})

test_that("weighted models are ranked by any metric that has weights", {
  p <- (1:40) / 41
  y <- rep(0:1, 20)
  w <- rep(1:2, each = 20)
  r <- withr::with_seed(1, ce_rank(list(a = p, b = p^2), y, metric = c("ckce", "error", "ece_pointwise"), weights = w,
                                   times = 2))
  value <- function(metric) tidy(r)$estimate[tidy(r)$metric == metric & tidy(r)$model == "b"]
  expect_equal(value("ckce"), ckce(p^2, y, weights = w)$.estimate)
  expect_equal(value("error"), stats::weighted.mean((p^2 > .5) != y, w))
  repeated <- withr::with_seed(1, ce_rank(list(a = rep(p, w), b = rep(p^2, w)), rep(y, w), metric = "ece_pointwise",
                                          times = 2))
  expect_equal(value("ece_pointwise"), tidy(repeated)$estimate[tidy(repeated)$model == "b"])
})
