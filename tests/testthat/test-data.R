test_that("built-in predictions are rows of a simplex, columns in the order of the levels", {
  for (data in list(letters_predictions, vehicle_predictions)) {
    probs <- as.matrix(data[startsWith(names(data), ".pred_")])
    expect_identical(colnames(probs), paste0(".pred_", levels(data$truth)))
    expect_true(all(probs >= 0 & probs <= 1))
    # used as they are: no second division
    expect_lt(max(abs(rowSums(probs) - 1)), 1e-12)
  }
})

test_that("the three classifiers of letters differ as their help page says", {
  expect_identical(as.integer(table(letters_predictions$model)), rep(10000L, 3))
  by_model <- split(letters_predictions, letters_predictions$model)
  shown <- vapply(by_model, function(data) {
    probs <- as.matrix(data[-(1:2)])
    top <- max.col(probs, ties.method = "first")
    c(accuracy = mean(top == as.integer(data$truth)), confidence = mean(apply(probs, 1, max)))
  }, c(accuracy = 0, confidence = 0))
  expect_equal(round(shown, 2), cbind(random_forest = c(accuracy = 0.95, confidence = 0.79),
                                      naive_bayes = c(0.64, 0.77), neural_network = c(0.90, 0.95)))
  expect_identical(by_model[[1]]$truth, by_model[[3]]$truth)
})
