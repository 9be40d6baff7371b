state_methods <- list("15 bins" = method_bins(15), bins = method_bins(seq(5, 100, 5)), kkr = method_kkr(),
                      ukkr = method_ukkr())

expect_same_table <- function(a, b, columns, tolerance) {
  for (name in columns) expect_close(a[[name]], b[[name]], tolerance)
}

test_that("Algorithm 1 on sums is that on the rows with the same folds", {
  for (d in list(inside_sample(900, 1), lapply(cell_sample(900, 2, 2), c))) {
    state <- state_of(d, id = seq_along(d$x))
    sums <- ce_tune(state)
    table <- glance(sums)
    fold <- fold_parts(id_units(seq_along(d$x)), state$spec)
    tuned <- ce_tune(d$x, d$y, folds = fold, test = which(fold == 0), methods = state_methods)
    expect_identical(names(table), names(glance(tuned)))
    expect_identical(tidy(sums)[c("method", "parameter", "fold")], tidy(tuned)[c("method", "parameter", "fold")])
    expect_same_table(tidy(sums), tidy(tuned), c("value", "risk"), tol$oracle)
    expect_same_table(tidy(sums), tidy(tuned), c("squared_error", "squared_error_test"), tol$fixture)
    expect_same_table(table, glance(tuned), c("value", "root_risk", "risk", "risk_std.error", "estimate_holdout",
                                              "std.error_holdout", "squared_holdout"), tol$fixture)
    for (name in c("difference", "difference_std.error", "skill")) {
      expect_equal(table[[name]], glance(tuned)[[name]], tolerance = 1e-6)
    }
    expect_identical(table[c("selected", "won")], glance(tuned)[c("selected", "won")])
  }
  expect_identical(unique(table$conf.high), ce_estimate(state)$conf.high)
  # and a result like any other
  expect_identical(sums$histogram, tuned$histogram)
  shown <- function(x) grep("above|chosen|bins|ridge", capture.output(print(x)), value = TRUE)
  expect_identical(shown(sums), shown(tuned))
  expect_s3_class(augment(sums, data.frame(p = 0.3), p), "tbl_df")
  risk <- ce_compare(list(a = sums, b = tuned), d$x, d$y)$risk
  expect_close(risk[1], risk[2], tol$oracle)
})

test_that("what sums cannot tune says so", {
  d <- inside_sample(100, 6)
  expect_error(ce_tune(state_of(d), methods = method_kde()), "methods", class = "calibrisk_error_state")
  expect_error(ce_tune(ce_state()), class = "calibrisk_error_empty")
  expect_error(ce_tune(state_of(lapply(d, `[`, 1:4))), class = "calibrisk_error_folds")
  expect_error(ce_tune(state_of(list(x = rep(.5, 50), y = rep(1, 50)))), "id", class = "calibrisk_error_folds")
})

test_that("differences have standard errors in every notion", {
  of <- function(notion, ...) ce_tune(update(ce_state(notion = notion, ...), vehicle_predictions, truth))
  for (sums in list(of("top_label"), of("class_wise"))) {
    expect_false(anyNA(glance(sums)$difference_std.error))
    expect_false(any(grepl("NA", utils::capture.output(print(sums)), fixed = TRUE)))
  }
})
