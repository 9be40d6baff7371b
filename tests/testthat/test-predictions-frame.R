test_that("columns are matched by name, also when they are permuted", {
  df <- data.frame(obs = factor(letters[truth3], levels = letters[1:3]), c = probs3[, 3],
                   a = probs3[, 1], b = probs3[, 2])
  by_name <- as_predictions(df, rlang::quo(obs), list(rlang::quo(a), rlang::quo(b), rlang::quo(c)))
  permuted <- as_predictions(df, rlang::quo(obs), list(rlang::quo(c(c, b, a))))
  expect_equal(permuted$probs, by_name$probs)
  expect_equal(permuted$probs, probs3)
})

test_that("outcomes given beside a data frame are told from its columns", {
  v <- vehicle_predictions
  outcomes <- v$truth
  for (bad in list(quote(ece(v, v$truth)), quote(ece(v, outcomes)), quote(ece(v, as.integer(v$truth))),
                   quote(skce(v, v$truth)), quote(ce_gain(v, v, v$truth)))) {
    error <- expect_error(eval(bad), "name its column|Add it to the data frame", class = "calibrisk_error_columns")
    expect_lt(nchar(conditionMessage(error)), 400)
  }
  expect_error(ece(v, nothing), class = "calibrisk_error_columns")
})

test_that("columns named as the levels of the truth are found, where none start with .pred_", {
  df <- data.frame(obs = factor(letters[truth3], levels = letters[1:3]), id = seq_along(truth3), c = probs3[, 3],
                   a = probs3[, 1], b = probs3[, 2])
  expect_equal(as_predictions(df, rlang::quo(obs))$probs, probs3)
  expect_equal(ece(df, obs), ece(df, obs, a, b, c))
  df$obs <- as.character(df$obs)
  expect_equal(ece(df, obs), ece(df, obs, a, b, c))
  expect_error(ece(df[names(df) != "b"], obs), "levels of `truth`", class = "calibrisk_error_columns")
  # `.pred_` goes before
  df$.pred_a <- df$a
  df$.pred_b <- df$c
  df$.pred_c <- df$b
  expect_equal(ece(df, obs), ece(df, obs, .pred_a, .pred_b, .pred_c))
})
