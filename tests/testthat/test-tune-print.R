notes <- function(x) paste(utils::capture.output(print(x)), collapse = " ")

test_that("print says why risks are missing", {
  v <- vehicle_predictions
  set.seed(1)
  none <- ce_tune(v[1:12, ], truth, folds = 1:10, test = 11:12, methods = list(method_bins(5)))
  expect_match(notes(none), "no fold holds\\s+out two")
  some <- ce_tune(v[1:20, ], truth, folds = c(rep(1:2, each = 8), 3, 0, 0, 0), methods = list(method_bins(5)))
  expect_match(notes(some), "No risk in 1 of 3 folds")
  all <- ce_tune(v, truth, methods = list(method_bins(5)))
  expect_no_match(notes(all), "No risk|no fold")
})

test_that("a bound of 0 is not called a bound", {
  best <- tibble::tibble(lower_bound = 0, skill = .0123)
  expect_match(bound_note(best, .95), "no positive lower bound.*1.23 %")
  expect_match(bound_note(transform(best, lower_bound = .1), .9), "at least 0.100 \\(one-sided 90 % bound")
  expect_match(bound_note(transform(best, lower_bound = NA, skill = NA), .9), "not available")
  expect_null(bound_note(best[0, ], .95))
})
