test_that("several horizons are the validations at each of them", {
  d <- followed_rows(200, 1)
  at <- c(5, 10, 20)
  several <- validate_quietly(d, s, p5, p10, p20, horizon = at, group = site)
  for (i in 1:3) {
    alone <- validate_quietly(d, s, tidyselect::all_of(paste0("p", at[i])), horizon = at[i], group = site)
    expect_equal(tidy(several)[tidy(several)$horizon == at[i], -1], tidy(alone), ignore_attr = TRUE)
    expect_equal(glance(several)[i, -1], glance(alone), ignore_attr = TRUE)
  }
  # in other forms: a helper, a matrix, a ce_horizon(), models
  plain <- tidy(validate_quietly(d, s, p5, p10, p20, horizon = at))
  expect_equal(tidy(validate_quietly(d, s, tidyselect::starts_with("p"), horizon = ce_horizon(at))), plain)
  expect_equal(tidy(validate_quietly(as.matrix(d[1:3]), d$s, horizon = at)), plain)
  models <- tidy(validate_quietly(list(one = d, two = d[c(3, 1, 2, 5)]), s, p5, p10, p20, horizon = at))
  expect_equal(models[models$model == "two", names(plain)], plain)
  both <- tidy(validate_quietly(list(as.matrix(d[1:3]), as.matrix(d[3:1])), d$s, horizon = at))
  expect_equal(both[both$model == "model_1", names(plain)], plain)
  # of tidymodels: all times in one column
  tidied <- d["s"]
  tidied$.pred <- lapply(seq_len(nrow(d)), function(i) {
    data.frame(.eval_time = at, .pred_survival = 1 - unlist(d[i, 1:3]))
  })
  expect_equal(tidy(validate_quietly(tidied, s, horizon = at)), plain)
})

test_that("horizons that do not fit the predictions are classed errors", {
  d <- followed_rows(60, 2)
  expect_error(ce_validate(d, s, p5, p10, horizon = c(5, 10, 20)), "3 horizons, and `...` selects 2 columns",
               class = "calibrisk_error_horizon")
  expect_error(ce_validate(d, s, horizon = c(5, 10)), "selects 0 columns", class = "calibrisk_error_columns")
  expect_error(ce_validate(d$p5, d$s, horizon = c(5, 10)), "`x` is a numeric vector", class = "calibrisk_error_columns")
  for (wrong in list(c(10, 5), c(5, 5), c(0, 5), c(5, NA))) {
    expect_error(ce_validate(d, s, p5, p10, horizon = wrong), "`horizon`", class = "calibrisk_error_argument")
    expect_error(ce_horizon(wrong), "`time`", class = "calibrisk_error_argument")
  }
  # other functions take one
  expect_output(print(ce_horizon(c(5, 10))), "<ce_horizon> 5, 10")
  for (horizon in list(c(5, 10), ce_horizon(c(5, 10)))) {
    expect_error(rbs(d, s, p5, horizon = horizon), "single number", class = "calibrisk_error_argument")
  }
  expect_error(ce_validate(d, , p5, p10, horizon = c(5, 10)), class = "calibrisk_error_truth")
})
