# The whole way from probabilities to tables against the reference numbers of Gruber & Bach
# (2025) on real data, at every value of every grid.

reference <- function(name) {
  skip_if_no_shared()
  folder <- function(...) shared_path("fixtures", "gruber-bach", ...)
  raw <- readRDS(shared_path("data", if (name == "nncal-densenet40") "cifar10" else "other", paste0(name, ".rds")))
  split <- utils::read.csv(folder(paste0(name, "-split.csv")))
  logits <- raw$logits[split$row, ]
  probs <- exp(logits - apply(logits, 1, max))
  list(
    probs = probs / rowSums(probs), truth = as.integer(raw$label)[split$row],
    folds = split$fold[split$part == "tune"], test = which(split$part == "test"),
    exact = utils::read.csv(folder(paste0(name, "-exact.csv"))),
    released = utils::read.csv(folder(paste0(name, ".csv")))
  )
}

# Our table next to the reference's; `value` maps the reference's hyperparameter to ours.
compare_with_reference <- function(ref, notion, method, make, value = identity, tolerance) {
  rows <- ref$exact[ref$exact$notion == notion & ref$exact$method == method, ]
  values <- unique(rows$hyperparameter)
  tuned <- ce_tune(ref$probs, ref$truth, notion = if (notion == "tce") "top_label" else "canonical",
                   methods = list(make(value(values))), folds = ref$folds, test = ref$test)
  ours <- tidy(tuned)
  ours <- ours[order(match(ours$value, value(values)), ours$fold), ]
  rows <- rows[order(match(rows$hyperparameter, values), rows$fold), ]
  expect_equal(nrow(ours), nrow(rows))
  worst <- function(a, b) max(abs(a - b) / abs(b))
  expect_lt(worst(ours$risk, rows$val_risk), tolerance)
  expect_lt(worst(ours$squared_error, rows$avg_pred_val), tolerance)
  expect_lt(worst(ours$squared_error_test, rows$avg_pred_test), tolerance)
}

for (name in c("nncal-densenet40", "ferrer-pathmnist_resnet50")) {
  test_that(paste("top-label numbers of", name, "hold to 1e-8 at every value"), {
    ref <- reference(name)
    compare_with_reference(ref, "tce", "bins", method_bins, tolerance = 1e-8)
    compare_with_reference(ref, "tce", "kde", method_kde, tolerance = 1e-8)
    compare_with_reference(ref, "tce", "kkr", method_kkr, function(reg) reg / sqrt(960), 1e-8)
    compare_with_reference(ref, "tce", "ukkr", method_ukkr, function(reg) reg / 960^0.25, 1e-8)
  })

  test_that(paste("canonical numbers of", name, "hold at every value"), {
    ref <- reference(name)
    compare_with_reference(ref, "cce", "kde", method_kde, tolerance = 1e-8)
    exact <- list(kkr = function(ridge) method_kkr(ridge, exact = TRUE),
                  ukkr = function(ridge) method_ukkr(ridge, exact = TRUE))
    values <- list(kkr = function(reg) reg / sqrt(960), ukkr = function(reg) reg / 960^0.25)
    for (method in names(exact)) {
      compare_with_reference(ref, "cce", method, exact[[method]], values[[method]], tol$canonical)
    }
  })

  # the accuracy of the default follows the ridge that is selected
  test_that(paste("the default selects the canonical ridge of", name, "with its risk"), {
    ref <- reference(name)
    for (method in c("kkr", "ukkr")) {
      rows <- ref$exact[ref$exact$notion == "cce" & ref$exact$method == method, ]
      ridge <- rows$hyperparameter / if (method == "kkr") sqrt(960) else 960^0.25
      means <- tapply(rows$val_risk, ridge, mean)
      make <- list(kkr = method_kkr, ukkr = method_ukkr)[[method]]
      row <- glance(ce_tune(ref$probs, ref$truth, notion = "canonical", methods = list(make(unique(ridge))),
                            folds = ref$folds, test = ref$test))
      expect_equal(row$value, as.numeric(names(means)[which.min(means)]), tolerance = 1e-10)
      expect_close(row$risk, min(means), 1e-6)
    }
  })
}
