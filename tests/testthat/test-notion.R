test_that("notions map to features and residuals", {
  p <- new_predictions(rbind(probs3, c(0.4, 0.4, 0.2)), c(truth3, 2L))
  top <- notion_problems(p, "top_label")[[1]]
  expect_equal(top$features[, 1], c(0.7, 0.8, 0.5, 0.6, 0.4))
  # first maximum on ties: class 1, so wrong
  expect_equal(top$residuals[, 1], c(-0.3, -0.2, -0.5, -0.4, 0.4))
  canonical <- notion_problems(p, "canonical")[[1]]
  expect_equal(canonical$residuals[1, ], c(-0.3, 0.2, 0.1))
  classes <- notion_problems(p, "class_wise")
  expect_length(classes, 3)
  expect_equal(classes[[2]]$residuals[, 1], canonical$residuals[, 2])
  expect_error(notion_problems(p, "binary"), class = "calibrisk_error_notion")
})
