# Metrics of this package in yardstick's metric sets: groups, case weights, event levels.

skip_if_not_installed("yardstick")
data <- withr::with_seed(1, {
  p <- stats::runif(200)
  y <- factor(ifelse(stats::runif(200) < p^1.5, "yes", "no"), c("yes", "no"))
  data.frame(.pred_yes = p, .pred_no = 1 - p, y = y, site = rep(c("a", "b"), 100), w = stats::rexp(200),
             copies = sample(0:3, 200, TRUE))
})
metrics <- list(ece = ece, rbs = rbs, ks_error = ks_error, mmce = mmce, ici = ici, smooth_ece = smooth_ece,
                kde_error = kde_error)
set <- do.call(yardstick::metric_set, c(unname(metrics), list(yardstick::brier_class, yardstick::roc_auc)))
values <- function(x) stats::setNames(x$.estimate, x$.metric)

test_that("a metric set gives the numbers of the metrics, beside those of yardstick", {
  out <- values(set(data, y, .pred_yes))
  for (name in names(metrics)) {
    direct <- metrics[[name]](data, y, .pred_yes)
    expect_equal(out[[direct$.metric[1]]], direct$.estimate[1])
  }
  expect_equal(out[["rbs"]]^2, out[["brier_class"]])
})

test_that("groups are those of the data", {
  out <- set(dplyr::group_by(data, site), y, .pred_yes)
  for (s in c("a", "b")) {
    expect_equal(out$.estimate[out$site == s & out$.metric == "ece"],
                 ece(data[data$site == s, ], y, .pred_yes)$.estimate)
  }
  expect_equal(ece(data, y, .pred_yes, .by = site)$.estimate, out$.estimate[out$.metric == "ece"])
})

test_that("case weights are weights: importance weights, and frequencies as repeated rows", {
  data$w <- hardhat::importance_weights(data$w)
  out <- values(set(data, y, .pred_yes, case_weights = w))
  for (name in names(metrics)) {
    direct <- metrics[[name]](data, y, .pred_yes, weights = w)
    expect_equal(out[[direct$.metric[1]]], direct$.estimate[1])
  }
  # not brier_class(): yardstick 1.4.0 weighs its rows by exp(w), not by w
  expect_equal(ce_score(data, y, .pred_yes, score = "log", weights = w)$.estimate,
               yardstick::mn_log_loss(data, y, .pred_yes, case_weights = w)$.estimate)
  data$copies <- hardhat::frequency_weights(data$copies)
  out <- values(set(data, y, .pred_yes, case_weights = copies))
  again <- values(set(data[rep(1:200, as.integer(data$copies)), ], y, .pred_yes))
  expect_equal(out[names(out) != "brier_class"], again[names(again) != "brier_class"])
  groups <- set(dplyr::group_by(data, site), y, .pred_yes, case_weights = w)
  one <- data[data$site == "b", ]
  expect_equal(groups$.estimate[groups$site == "b" & groups$.metric == "ece"],
               ece(one, y, .pred_yes, weights = w)$.estimate)
})

test_that("several classes and the other event", {
  p <- as.matrix(vehicle_predictions[startsWith(names(vehicle_predictions), ".pred_")])
  small <- yardstick::metric_set(ece, rbs, yardstick::brier_class)
  out <- values(small(vehicle_predictions, truth, tidyselect::starts_with(".pred_")))
  expect_equal(out[["ece"]], ece(vehicle_predictions, truth)$.estimate)
  # yardstick halves the Brier score of classes
  expect_equal(out[["rbs"]]^2, 2 * out[["brier_class"]])
  swapped <- values(set(data, y, .pred_no, event_level = "second"))
  expect_equal(swapped[["rbs"]], values(set(data, y, .pred_yes))[["rbs"]])
})
