test_that("predictions have the shape of the input", {
  f <- simulate_classes(60, 3)
  fit_rows <- 1:40
  new_rows <- 41:60
  frame <- data.frame(.pred_a = f$p[, 1], .pred_b = f$p[, 2], .pred_c = f$p[, 3],
                      y = factor(letters[f$y], letters[1:3]))
  by_frame <- ce_recalibrate(frame[fit_rows, ], y)
  by_matrix <- ce_recalibrate(f$p[fit_rows, ], f$y[fit_rows])
  by_logits <- ce_recalibrate(f$z[fit_rows, ], f$y[fit_rows], logits = TRUE)
  out <- predict(by_frame, frame[new_rows, ])
  expect_s3_class(out, "tbl_df")
  expect_named(out, c(".pred_a", ".pred_b", ".pred_c"))
  expect_equal(unname(as.matrix(out)), predict(by_matrix, f$p[new_rows, ]), tolerance = 1e-12)
  expect_equal(predict(by_matrix, f$p[new_rows, ]), predict(by_logits, f$z[new_rows, ]), tolerance = 1e-9)
  # logits count up to a shift of each row
  expect_equal(predict(by_logits, f$z[new_rows, ]), predict(by_logits, f$z[new_rows, ] + 1:20), tolerance = 1e-12)
  # columns are matched by name, in any order
  shuffled <- frame[c(3, 1, 4, 2)]
  expect_equal(predict(ce_recalibrate(shuffled[fit_rows, ], y), shuffled[new_rows, ])$.pred_b, out$.pred_b,
               tolerance = 1e-12)
  added <- augment(by_frame, frame[new_rows, ])
  expect_named(added, c(names(frame), paste0(".recal_", letters[1:3])))
  expect_equal(added$.recal_b, out$.pred_b)
  # a scalar is the two columns (1 - p, p)
  p <- f$p[, 2] / (f$p[, 1] + f$p[, 2])
  y <- as.numeric(f$y == 2)
  scalar <- ce_recalibrate(p[fit_rows], y[fit_rows])
  two <- ce_recalibrate(cbind(1 - p, p)[fit_rows, ], y[fit_rows] + 1)
  expect_equal(predict(scalar, p[new_rows]), predict(two, cbind(1 - p, p)[new_rows, ])[, 2], tolerance = 1e-12)
  expect_equal(predict(scalar, c(NA, .3))[1], NA_real_)
})

test_that("rows of the fit are recognised", {
  f <- simulate_classes(60, 3)
  fit <- ce_recalibrate(f$p[1:40, ], f$y[1:40])
  expect_no_warning(predict(fit, f$p[41:60, ]))
  expect_warning(predict(fit, f$p[31:60, ]), "10 of 30", class = "calibrisk_warning_same_rows")
  expect_warning(predict(fit), class = "calibrisk_warning_same_rows")
  expect_error(augment(fit, as.data.frame(f$p[41:60, ])), class = "calibrisk_error_columns")
  # repeated predictions say nothing, unless they come in the same order
  p <- rep(c(.2, .4, .6, .8), 10)
  y <- withr::with_seed(1, rbinom(40, 1, p))
  fit <- ce_recalibrate(p, y)
  expect_no_warning(predict(fit, rev(p)))
  expect_warning(predict(fit, p), class = "calibrisk_warning_same_rows")
})

test_that("cross-fitting predicts every row by a map that has not seen it", {
  f <- simulate_classes(90, 3, 2)
  fold <- rep(1:3, 30)
  fit <- ce_recalibrate(f$p, f$y, folds = fold)
  out <- expect_no_warning(predict(fit))
  for (k in 1:3) {
    by_hand <- ce_recalibrate(f$p[fold != k, ], f$y[fold != k])
    expect_equal(out[fold == k, ], predict(by_hand, f$p[fold == k, ]), tolerance = 1e-12)
  }
  expect_equal(glance(fit)$objective_crossfit, naive_log_loss(out, f$y), tolerance = 1e-12)
  expect_gte(glance(fit)$objective_crossfit, glance(fit)$objective_after)
  expect_equal(glance(fit)$folds, 3)
  drawn <- withr::with_seed(1, ce_recalibrate(f$p, f$y, folds = 5, method = "isotonic"))
  expect_false(anyNA(predict(drawn)))
  expect_error(ce_recalibrate(f$p, f$y, folds = 1), class = "calibrisk_error")
  expect_error(ce_recalibrate(f$p, f$y, folds = rep(1, 90)), class = "calibrisk_error_folds")
})

test_that("missing rows are dropped from the fit and predicted as missing", {
  f <- simulate_classes(60, 3)
  p <- f$p
  p[7, 2] <- NA
  fit <- ce_recalibrate(p, f$y, folds = rep(1:2, 30))
  expect_equal(glance(fit)$n, 59)
  expect_true(all(is.na(predict(fit)[7, ])))
})

test_that("infinite and missing logits are defined", {
  f <- simulate_classes(30, 3)
  z <- f$z
  z[3, which(seq_len(3) != f$y[3])[1]] <- -Inf
  fit <- ce_recalibrate(z, f$y, logits = TRUE)
  expect_true(is.finite(glance(fit)$objective_after))
  z[4, 1] <- Inf
  expect_error(ce_recalibrate(z, f$y, logits = TRUE), "Row 4", class = "calibrisk_error_logits")
  z[4, 1] <- NaN
  expect_error(ce_recalibrate(z, f$y, logits = TRUE), class = "calibrisk_error_probs")
  z[4, ] <- -Inf
  expect_error(ce_recalibrate(z, f$y, logits = TRUE), class = "calibrisk_error_logits")
  expect_warning(ce_recalibrate(f$p, f$y, logits = TRUE), class = "calibrisk_warning_logits")
  expect_error(ce_recalibrate(f$z, f$y), class = "calibrisk_error_probs")
})

test_that("other input errors name what is wrong", {
  f <- simulate_classes(30, 3)
  expect_error(ce_recalibrate(f$p, f$y + 1), class = "calibrisk_error_truth")
  expect_error(ce_recalibrate(f$p[0, ], integer()), class = "calibrisk_error_empty")
  fit <- ce_recalibrate(f$p, f$y)
  expect_error(predict(fit, f$p[, 1:2]), class = "calibrisk_error_columns")
  expect_error(predict(fit, f$z), class = "calibrisk_error_probs")
  expect_error(predict(fit, data.frame(a = 1)), class = "calibrisk_error_columns")
})

test_that("printing tells the method, the objective and injectivity", {
  f <- fixture_logits()
  expect_snapshot(print(ce_recalibrate(f$z, f$y, logits = TRUE, method = "ets", folds = rep(1:2, 10))))
})

test_that("predictions that repeat are no leak, leaked ones are found among them", {
  f <- simulate_classes(800, 3)
  p <- round(f$p, 2) # repeats within and between
  p <- p / rowSums(p)
  map <- ce_recalibrate(p[1:400, ], f$y[1:400])
  expect_gt(sum(fingerprint(p[401:800, ]) %in% fingerprint(p[1:400, ])), 0)
  expect_no_warning(predict(map, p[401:800, ]))
  expect_warning(predict(map, p[c(1:200, 401:600), ]), class = "calibrisk_warning_same_rows")
})

test_that("scalar logits of -Inf are floored, NaN is called by its name", {
  z <- c(1, -1, -Inf, 2, .3)
  y <- c(1, 1, 0, 0, 1)
  for (method in c("temperature", "platt", "beta", "isotonic")) {
    fit <- suppressWarnings(ce_recalibrate(z, y, logits = TRUE, method = method))
    expect_true(all(is.finite(suppressWarnings(predict(fit)))))
    finite <- suppressWarnings(ce_recalibrate(plogis(pmax(z, log(.Machine$double.eps))), y, method = method))
    expect_equal(suppressWarnings(predict(fit)), suppressWarnings(predict(finite)), tolerance = 1e-6)
  }
  expect_error(ce_recalibrate(c(1, Inf), c(0, 1), logits = TRUE), class = "calibrisk_error_logits")
  not_a_number <- rbind(c(NaN, 1), c(1, 0))
  expect_error(ce_recalibrate(not_a_number, 1:2, logits = TRUE), "Logits must not be NaN", class = "calibrisk_error")
  expect_error(ce_recalibrate(not_a_number, 1:2), "Probabilities must not be NaN", class = "calibrisk_error")
})
