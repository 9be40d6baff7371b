notes <- function(x) paste(utils::capture.output(print(x)), collapse = " ")

test_that("print says why risks are missing", {
  v <- vehicle_predictions
  set.seed(1)
  none <- ce_tune(v[1:12, ], truth, folds = 1:10, test = 11:12, methods = list(method_bins(5)))
  expect_match(notes(none), "no\\s+fold holds out two")
  some <- ce_tune(v[1:20, ], truth, folds = c(rep(1:2, each = 8), 3, 0, 0, 0), methods = list(method_bins(5)))
  expect_match(notes(some), "No risk in 1 of 3 folds")
  all <- ce_tune(v, truth, methods = list(method_bins(5)))
  expect_no_match(notes(all), "No risk|no fold")
})

test_that("a tune prints the function first, then how large the error is", {
  v <- vehicle_predictions
  one <- notes(withr::with_seed(1, ce_tune(v, truth, methods = list(method_bins(5)))))
  expect_match(one, "Which function.*risk x100.*How large it is.*95 % interval 0.071 to 0.160, from all 500 rows")
  expect_no_match(one, "won")
  several <- withr::with_seed(1, ce_tune(v, truth, methods = list(method_bins(5), method_power(1.5)), repeats = 3))
  expect_match(notes(several), "3 random splits.*won")
})
