two_models <- function(n = 200, k = 3) {
  f <- simulate_classes(n, k)
  list(a = f$p, b = f$p^2 / rowSums(f$p^2), y = f$y)
}

test_that("fits of two models of the same outcomes are not compared", {
  f <- two_models()
  train <- 1:120
  for (notion in c("top_label", "class_wise", "canonical")) {
    fit <- function(p, rows = train, method = method_kde(0.1)) {
      ce_fit(p[rows, ], f$y[rows], notion = notion, method = method)
    }
    test <- function(fits) ce_compare(fits, f$a[-train, ], f$y[-train])
    expect_error(test(list(fit(f$a), fit(f$b))), "different predictions of the same outcomes",
                 class = "calibrisk_error_model")
    # methods, and shares of the rows, of one model
    same <- list(fit(f$a), fit(f$a, 20:110), fit(f$a, rev(train)), fit(f$a, method = method_kde(0.3)))
    expect_equal(nrow(test(same)), 4)
  }
  tuned <- function(p) {
    withr::with_seed(1, ce_tune(p[train, ], f$y[train], methods = list(method_kde(0.1)), test = 0, folds = 3))
  }
  expect_error(ce_compare(list(a = tuned(f$a), b = ce_fit(f$b[train, ], f$y[train], method = method_kde(0.1))),
                          f$a[-train, ], f$y[-train]), class = "calibrisk_error_model")
  mixed <- list(a = tuned(f$a), b = ce_fit(f$a[train, ], f$y[train], method = method_kde(0.1)))
  expect_equal(nrow(ce_compare(mixed, f$a[-train, ], f$y[-train])), 2)
})

test_that("the other event of the same predictions is the same model", {
  p <- withr::with_seed(1, stats::runif(100))
  y <- withr::with_seed(2, factor(ifelse(stats::runif(100) < p, "yes", "no"), levels = c("yes", "no")))
  columns <- cbind(yes = p, no = 1 - p)
  fit <- function(event) ce_fit(columns, y, notion = "binary", event_level = event, method = method_bins(5))
  expect_equal(nrow(ce_compare(list(a = fit("first"), b = fit("second")), columns, y)), 2)
})
