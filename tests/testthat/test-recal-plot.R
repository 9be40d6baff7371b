test_that("the curve of a map is what predict() makes of the predictions on it", {
  p <- (1:60) / 61
  y <- rep(c(0, 1, 1), 20)
  for (method in c("temperature", "beta", "isotonic", "histogram")) {
    map <- ce_recalibrate(p, y, method = method)
    curve <- map_curve(map)
    expect_equal(curve$after, predict(map, curve$before))
  }
  v <- vehicle_predictions
  for (method in c("temperature", "vector", "constant_confidence")) {
    map <- suppressWarnings(ce_recalibrate(v, truth, method = method))
    curve <- map_curve(map)
    expect_identical(nlevels(curve$class), if (method == "vector") 4L else 1L)
    for (j in seq_len(nlevels(curve$class))) {
      one <- curve[curve$class == levels(curve$class)[j], ][c(50, 250), ]
      rows <- matrix((1 - one$before) / 3, 2, 4, dimnames = list(NULL, map$layout$columns))
      rows[, paste0(".pred_", map$layout$levels[j])] <- one$before
      expect_equal(one$after, predict(map, rows)[[paste0(".pred_", map$layout$levels[j])]])
    }
  }
  expect_identical(levels(map_curve(ce_recalibrate(v, truth, method = "vector"), c("van", "bus"))$class),
                   c("van", "bus"))
  expect_error(map_curve(map, "tram"), class = "calibrisk_error_argument")
  two <- ce_recalibrate(cbind(1 - p, p), y + 1, event_level = "second")
  expect_equal(map_curve(two)$after, predict(two, cbind(1 - map_curve(two)$before, map_curve(two)$before))[, 2])
})

test_that("the curve of a variance map is its line over the variances of the fit", {
  x <- moment_columns(0, c(1, 2, 3, 4))
  map <- ce_recalibrate(x, c(2, -3, 3, -4), method = "variance")
  curve <- map_curve(map)
  expect_equal(max(curve$before), 4)
  expect_equal(curve$after, tidy(map)$estimate[1] * curve$before + tidy(map)$estimate[2])
  frame <- data.frame(.pred_mean = 0, .pred_var = 1:4, y = c(2, -3, 3, -4))
  expect_equal(map_curve(ce_recalibrate(frame, y, method = "variance")), curve)
  law <- ce_recalibrate(pred_normal(x[, 1], sqrt(x[, 2])), frame$y, method = "variance")
  expect_equal(map_curve(law), curve)
})

test_that("with data a map draws reliability before and after", {
  v <- vehicle_predictions
  map <- ce_recalibrate(v[1:250, ], truth)
  test <- v[251:500, ]
  curves <- before_after(map, test, rlang::quo(truth))
  expect_setequal(unique(tidy(curves)$model), c("before", "after"))
  before <- ce_curve(test, truth, type = "smooth")
  expect_equal(tidy(curves)$observed[tidy(curves)$model == "before"], tidy(before)$observed)
  p <- (1:60) / 61
  logits <- ce_recalibrate(qlogis(p), rep(0:1, 30), logits = TRUE)
  both <- suppressWarnings(before_after(logits, qlogis(p), rlang::quo(rep(0:1, 30))))
  # places that differ by rounding are one
  places <- function(curve) unique(round(curve$confidence, 9))
  expect_equal(places(tidy(both)[tidy(both)$model == "before", ]),
               places(tidy(ce_curve(p, rep(0:1, 30), type = "smooth"))))
  skip_if_not_installed("ggplot2")
  expect_error(plot(map, test), "truth", class = "calibrisk_error_argument")
  variance <- ce_recalibrate(moment_columns(0, 1:4), c(2, -3, 3, -4), method = "variance")
  expect_error(plot(variance, moment_columns(0, 1:4), 1:4), "ce_moments", class = "calibrisk_error_argument")
})
