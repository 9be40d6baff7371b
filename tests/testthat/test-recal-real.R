test_that("a network's maps, fitted on validation data, improve it on test data", {
  skip_on_cran()
  skip_if_no_shared("data", "cifar10", "nncal-densenet40-val.rds")
  val <- readRDS(shared_path("data", "cifar10", "nncal-densenet40-val.rds"))
  test <- readRDS(shared_path("data", "cifar10", "nncal-densenet40.rds"))
  rows <- 1:5000 # half of the test rows do
  raw <- softmax(test$logits[rows, ])
  y <- test$label[rows]
  loss <- naive_log_loss(raw, y)
  brier <- naive_brier(raw, y)
  for (method in c("temperature", "ets", "vector", "platt", "beta", "dirichlet", "diag")) {
    map <- if (method == "diag") map_diag(hidden = c(2, 2)) else method
    fit <- suppressWarnings(ce_recalibrate(val$logits, val$label, logits = TRUE, method = map),
                            classes = "calibrisk_warning_convergence")
    q <- predict(fit, test$logits[rows, ])
    expect_lt(naive_log_loss(q, y), 0.6 * loss)
    expect_lt(naive_brier(q, y), brier)
    if (method %in% c("temperature", "ets", "diag")) expect_equal(max.col(q, "first"), max.col(raw, "first"))
    # published: RBS improves by .022 to .026 under temperature scaling
    if (method == "temperature") {
      gain <- sqrt(brier) - sqrt(naive_brier(q, y))
      expect_gt(gain, .02)
      expect_lt(gain, .03)
    }
  }
})
