# Resampling and tuning results: metrics inside, and the results as input of the verbs.

for (package in c("tune", "parsnip", "workflows", "rsample")) skip_if_not_installed(package)
withr::local_timezone("UTC")
set.seed(1) # tune wants that there is a seed
pima <- MASS::Pima.tr
folds <- withr::with_seed(1, rsample::vfold_cv(pima, v = 4))
work <- workflows::workflow(type ~ glu + bmi, parsnip::logistic_reg())
set <- yardstick::metric_set(ece, rbs, yardstick::brier_class)
keep <- tune::control_resamples(save_pred = TRUE)
resampled <- tune::fit_resamples(work, folds, metrics = set, control = keep)
kept <- tune::collect_predictions(resampled)

test_that("fit_resamples() computes the metrics of every fold", {
  out <- tune::collect_metrics(resampled, summarize = FALSE)
  for (id in unique(kept$id)) {
    rows <- kept[kept$id == id, ]
    expect_equal(out$.estimate[out$id == id & out$.metric == "ece"], ece(rows, type, .pred_No)$.estimate)
    expect_equal(out$.estimate[out$id == id & out$.metric == "rbs"]^2,
                 out$.estimate[out$id == id & out$.metric == "brier_class"])
  }
})

# tune leaves importance weights to the fit alone
test_that("frequency weights of a workflow reach the metrics, importance weights do not", {
  data <- pima
  copies <- withr::with_seed(2, sample(1:3, 200, TRUE))
  for (kind in list(hardhat::frequency_weights(copies), hardhat::importance_weights(copies / 2))) {
    data$w <- kind
    folds <- withr::with_seed(1, rsample::vfold_cv(data, v = 2))
    weighted <- workflows::add_case_weights(workflows::workflow(type ~ glu, parsnip::logistic_reg()), w)
    result <- tune::fit_resamples(weighted, folds, metrics = set, control = keep)
    out <- tune::collect_metrics(result, summarize = FALSE)
    rows <- result$.predictions[[1]]
    rows$w <- if (inherits(kind, "hardhat_frequency_weights")) copies[rows$.row] else 1
    for (metric in list(ece, rbs)) {
      direct <- metric(rows, type, .pred_No, weights = w)
      expect_equal(out$.estimate[out$id == "Fold1" & out$.metric == direct$.metric], direct$.estimate)
    }
  }
})

test_that("verbs read the predictions of a result", {
  expect_equal(ce_estimate(resampled, type), ce_estimate(kept, type))
  expect_equal(ece(resampled, type), ece(kept, type))
  expect_equal(tidy(ce_curve(resampled, type)), tidy(ce_curve(kept, type)))
  expect_equal(ce_gain(resampled, "platt", type), ce_gain(kept, "platt", type))
  expect_equal(tidy(ce_recalibrate(resampled, type)), tidy(ce_recalibrate(kept, type)))
  validated <- function(x) withr::with_seed(1, tidy(ce_validate(x, type)))
  expect_equal(validated(resampled), validated(kept))
  expect_identical(ece(resampled, type, .by = id)$id, paste0("Fold", 1:4))
  other <- tune::fit_resamples(workflows::workflow(type ~ glu, parsnip::logistic_reg()), folds, control = keep)
  pair <- ce_compare(list(small = other, both = resampled), type, metric = rbs)
  expect_identical(nrow(pair), 1L)
  expect_equal(pair$estimate_b, rbs(kept, type)$.estimate)
  final <- tune::last_fit(work, withr::with_seed(1, rsample::initial_split(pima)))
  collected <- tune::collect_predictions(final)
  expect_equal(ce_estimate(final, type), ce_estimate(collected, type))
  map <- withr::with_seed(1, ce_recalibrate(resampled, type))
  expect_equal(predict(map, final), predict(map, collected))
  expect_equal(generics::augment(map, final), generics::augment(map, collected))
  expect_equal(ce_gain(final, map, type), ce_gain(collected, map, type))
})

test_that("a report of a result, and of several", {
  page <- withr::local_tempfile(fileext = ".html")
  ce_report(list(one = resampled, again = resampled), type, file = page, times = 20)
  expect_match(paste(readLines(page), collapse = " "), "one (200 rows, 132 events", fixed = TRUE)
})

test_that("rows of several resamples, candidates and results without predictions are named", {
  boot <- withr::with_seed(1, rsample::bootstraps(pima, times = 3))
  again <- tune::fit_resamples(work, boot, control = keep)
  expect_message(ece(again, type), "cluster = .row", class = "calibrisk_message_repeated")
  expect_equal(suppressMessages(ece(again, type, cluster = .row))$.estimate,
               ece(tune::collect_predictions(again), type)$.estimate)
  bare <- tune::fit_resamples(work, folds)
  expect_error(ece(bare, type), "save_pred", class = "calibrisk_error_results")
  tree <- parsnip::set_mode(parsnip::set_engine(parsnip::decision_tree(tree_depth = tune::tune()), "rpart"),
                            "classification")
  tuned <- tune::tune_grid(workflows::workflow(type ~ glu + bmi, tree), folds, grid = data.frame(tree_depth = c(1, 4)),
                           metrics = set, control = tune::control_grid(save_pred = TRUE))
  expect_error(ce_estimate(tuned, type), "select_best", class = "calibrisk_error_results")
  best <- tune::collect_predictions(tuned, parameters = tune::select_best(tuned, metric = "rbs"))
  expect_identical(nrow(ce_estimate(best, type)), 1L)
  all <- tune::collect_predictions(tuned)
  expect_identical(nrow(ece(all, type, .by = .config)), 2L)
})

test_that("workflow sets", {
  skip_if_not_installed("workflowsets")
  sets <- workflowsets::workflow_set(list(one = type ~ glu, two = type ~ glu + bmi),
                                     list(glm = parsnip::logistic_reg()))
  sets <- workflowsets::workflow_map(sets, "fit_resamples", resamples = folds, metrics = set, control = keep, seed = 1)
  out <- tune::collect_metrics(sets)
  expect_identical(sum(out$.metric == "ece"), 2L)
  two <- ece(sets$result[[2]], type)
  expect_equal(two$.estimate, ece(kept, type)$.estimate)
  models <- stats::setNames(sets$result, sets$wflow_id)
  expect_identical(ce_compare(models, type, metric = rbs)$b, "two_glm")
})

test_that("ce_predictions() of fits and workflows", {
  new <- MASS::Pima.te
  glm <- ce_predictions(stats::glm(type ~ glu + bmi, stats::binomial, pima), new)
  expect_equal(ce_predictions(generics::fit(work, pima), new)$.pred_Yes, glm$.pred_Yes)
  fit <- generics::fit(parsnip::logistic_reg(), type ~ glu + bmi, data = pima)
  expect_equal(ce_predictions(fit, new)$.pred_Yes, glm$.pred_Yes)
  expect_error(ce_predictions(generics::fit(parsnip::linear_reg(), glu ~ bmi, data = pima), new), "engine",
               class = "calibrisk_error_model")
})
