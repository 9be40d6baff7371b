test_that("rows that are incomplete in one model are dropped for all", {
  p <- (1:20) / 21
  q <- replace(p, 3, NA)
  expect_identical(ce_rank(list(a = p, b = q), rep(0:1, 10), trials = 2)$n, 19L)
})

test_that("wrong arguments are classed errors", {
  p <- (1:10) / 11
  y <- rep(0:1, 5)
  models <- list(a = p, b = p)
  expect_error(ce_rank(list(a = p), y), class = "calibrisk_error_argument")
  expect_error(ce_rank(p, y), class = "calibrisk_error_argument")
  expect_error(ce_rank(models, y, metric = "rmse"), class = "calibrisk_error_argument")
  expect_error(ce_rank(models, y, n_sub = 11), class = "calibrisk_error_argument")
  expect_error(ce_rank(models, y, metric = "jkce", n_sub = 1), class = "calibrisk_error_argument")
  expect_error(ce_rank(lapply(models, head, 1), y[1], metric = "jkce"), class = "calibrisk_error_rows")
  expect_error(ce_rank(models, y, trails = 3), class = "calibrisk_error_argument")
  expect_error(ce_rank(list(a = p, b = p[-1]), y), class = "calibrisk_error_model")
  expect_error(ce_rank(list(a = toy_probs(), b = toy_probs()[, 1:2] / rowSums(toy_probs()[, 1:2])),
                       c(1, 2, 1, 2, 1, 2)),
               class = "calibrisk_error_length")
  expect_error(ce_rank(models, y, metric = list(f = function(p, y) 1:2)), class = "calibrisk_error_argument")
})

test_that("data frames bring their truth column", {
  frames <- split(letters_predictions, ~model)
  by_column <- withr::with_seed(1, ce_rank(frames, truth, metric = "brier", trials = 3))
  matrices <- lapply(frames, function(x) as.matrix(x[startsWith(names(x), ".pred_")]))
  by_vector <- withr::with_seed(1, ce_rank(matrices, frames[[1]]$truth, metric = "brier", trials = 3))
  expect_equal(by_column, by_vector)
  expect_equal(withr::with_seed(1, ce_rank(frames, frames[[1]]$truth, metric = "brier", trials = 3)), by_vector)
  expect_equal(withr::with_seed(1, ce_rank(frames, "truth", metric = "brier", trials = 3)), by_vector)
  frames[[2]]$truth <- rev(frames[[2]]$truth)
  expect_error(ce_rank(frames, truth), "same order", class = "calibrisk_error_truth")
  expect_error(ce_rank(matrices, outcome_that_is_not_there), class = "calibrisk_error_truth")
})

test_that("`event_level` is checked", {
  p <- c(.2, .7, .4)
  expect_error(ce_rank(list(a = p, b = p), c(0, 1, 1), event_level = NA), class = "calibrisk_error_argument")
})

test_that("an argument that no metric reads is an error that says whose it is", {
  p <- (1:20) / 21
  models <- list(a = p, b = p^2)
  y <- rep(0:1, 10)
  refused <- function(..., says) {
    expect_error(ce_rank(models, y, ..., trials = 2), says, class = "calibrisk_error_argument")
  }
  refused(metric = ece, n_bins = 5, says = "`n_bins` is not an option of this metric")
  refused(metric = ece, n_bins = 5, says = '"ece_canonical" or "ece_pointwise"')
  refused(metric = list(rbs, "brier"), ridge = .1, says = "`ridge` is not an option of these metrics")
  refused(metric = "jkce", ridge = .1, says = "ckce_debiased")
  refused(metric = "ece", kernel = kernel_laplace(1), says = "`kernel`")
  refused(metric = skce, bandwidth = "pooled", says = "`bandwidth`")
  both <- withr::with_seed(1, ce_rank(models, y, metric = list("ckce", "ece_canonical", rbs), n_bins = 5, ridge = .1, trials = 2))
  expect_s3_class(both, "ce_rank")
})
