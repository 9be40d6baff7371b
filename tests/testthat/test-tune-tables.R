test_that("an estimate above every residual is warned about", {
  large <- method_function(function(P, Q) matrix(4, nrow(P), nrow(Q)))
  d <- withr::with_seed(1, list(z = runif(50), y = rbinom(50, 1, .5)))
  tune <- function(method) withr::with_seed(1, with_threads(1L, ce_tune(d$z, d$y, methods = method)))
  expect_warning(tune(large), "It is 2; the largest residual of 50 rows is 0.9",
                 class = "calibrisk_warning_impossible_estimate")
  expect_no_warning(tune(method_bins()))
})

test_that("tidy() and glance() say the same of the selected value, to the last digit", {
  d <- drawn_rows(2, rbeta(300, 4, 1), function(z) z^1.5)
  methods <- list(bins = method_bins(c(3, 8)), debiased = method_bins(c(3, 8), debias = TRUE), kkr = method_kkr(),
                  ukkr = method_ukkr(), kde = method_kde(c(.01, .1)), power = method_power(c(1, 1.5)))
  krylov <- list(kkr = method_kkr(), ukkr = method_ukkr())
  tuned <- withr::with_seed(3, list(
    with_threads(1L, ce_tune(d$p, d$y, methods = methods, repeats = 2)),
    with_threads(1L, ce_tune(letters_predictions[1:600, ], truth, methods = krylov, notion = "canonical", repeats = 1))
  ))
  for (x in tuned) {
    rows <- tidy(x)
    for (m in glance(x)$method) {
      row <- glance(x)[glance(x)$method == m, ]
      own <- rows[rows$method == m & rows$value == row$value, ]
      expect_identical(row$risk, mean(own$risk))
      expect_identical(row$root_risk, mean(sqrt(own$risk)))
      expect_equal(row$squared_holdout, mean(own$squared_error_test), tolerance = 1e-12)
    }
  }
})
