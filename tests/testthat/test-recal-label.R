test_that("the constant-confidence map fools the errors of the top label (fixture F)", {
  b <- fixture_b()
  fit <- ce_recalibrate(b$p, b$y, method = "constant_confidence")
  expect_equal(parameter(fit, "confidence"), .75)
  expect_equal(tidy(fit)$std.error, sqrt(.75 * .25 / 20))
  q <- suppressWarnings(predict(fit))
  expect_equal(q, t(apply(b$p, 1, function(r) ifelse(seq_along(r) == which.max(r), .75, .125))))
  zero <- c(ece(q, b$y)$.estimate, ece(q, b$y, p = 2, type = "discrete")$.estimate, ks_error(q, b$y)$.estimate,
            mmce(q, b$y, type = "biased")$.estimate)
  expect_equal(zero, numeric(4), tolerance = 1e-7)
  expect_equal(rbs(q, b$y)$.estimate, .6373774392, tolerance = 1e-9)
  expect_equal(ece(q, b$y, p = 2, type = "discrete", notion = "canonical")$.estimate, .08128433341, tolerance = 1e-9)
  expect_equal(ece(q, b$y, p = 2, type = "discrete", notion = "class_wise")$.estimate, .06056056817 / sqrt(3),
               tolerance = 1e-8)
  expect_equal(fit$objective[["after"]], .6373774392^2, tolerance = 1e-9)
})

test_that("the per-label frequency map is canonically calibrated where it was fitted (fixture F)", {
  b <- fixture_b()
  fit <- ce_recalibrate(b$p, b$y, method = "label_frequency")
  q <- suppressWarnings(predict(fit))
  top <- apply(b$p, 1, which.max)
  for (i in 1:20) {
    rows <- top == top[i]
    expect_equal(q[i, ], c(mean(b$y[rows] == 1), mean(b$y[rows] == 2), mean(b$y[rows] == 3)))
  }
  expect_equal(rbs(q, b$y)$.estimate, .6321731228, tolerance = 1e-9)
  expect_equal(ece(q, b$y, p = 2, type = "discrete", notion = "canonical")$.estimate, 0, tolerance = 1e-12)
  # tidy() names the image and the class
  terms <- tidy(fit)
  expect_equal(terms$estimate[terms$term == "frequency_2" & terms$class == "3"], mean(b$y[top == 2] == 3))
})

test_that("their parameters are best among all maps of their kind, for both losses", {
  f <- simulate_classes(300, 3, 2)
  top <- max.col(f$p, "first")
  at <- function(images, loss) {
    q <- images[top, ]
    if (loss == "log") mean(-log(q[cbind(seq_along(f$y), f$y)])) else mean(rowSums((q - diag(3)[f$y, ])^2))
  }
  for (loss in c("brier", "log")) {
    fit <- ce_recalibrate(f$p, f$y, method = map_constant_confidence(loss = loss))
    best <- stats::optimize(function(a) at(diag(a - (1 - a) / 2, 3) + (1 - a) / 2, loss), c(.34, .99), tol = 1e-10)
    expect_equal(parameter(fit, "confidence"), best$minimum, tolerance = 1e-6)
    expect_equal(fit$objective[["after"]], best$objective)
    fit <- ce_recalibrate(f$p, f$y, method = map_label_frequency(loss = loss))
    nudged <- withr::with_seed(1, vapply(1:20, function(i) {
      images <- abs(fit$map$images + matrix(rnorm(9, sd = .02), 3))
      at(images / rowSums(images), loss)
    }, 0))
    expect_true(all(nudged > fit$objective[["after"]]))
  }
})

test_that("they say that they are not injective, and the gain warns", {
  f <- simulate_classes(400, 3, 2)
  fitted <- 1:200
  new <- 201:400
  for (method in c("constant_confidence", "label_frequency")) {
    map <- ce_recalibrate(f$p[fitted, ], f$y[fitted], method = method)
    expect_false(glance(map)$injective)
    expect_true(glance(map)$converged)
    expect_warning(gain <- ce_gain(f$p[new, ], map, f$y[new]), "same top label", class = "calibrisk_warning_injective")
    # the gain is calibration minus the sharpness that is lost, exactly, on any data
    before <- suppressWarnings(ce_decompose(f$p[new, ], f$y[new]), "calibrisk_warning_distinct")
    after <- suppressWarnings(ce_decompose(predict(map, f$p[new, ]), f$y[new]), "calibrisk_warning_distinct")
    expect_equal(gain$gain[1], before$calibration - after$calibration - (before$sharpness - after$sharpness))
    expect_gt(before$sharpness, after$sharpness)
  }
})

test_that("a probability of the event has two images, cut at one half", {
  p <- c(.1, .3, .49, .55, .6, .9)
  y <- c(0, 1, 0, 1, 0, 1)
  fit <- ce_recalibrate(p, y, method = "label_frequency")
  # false omission rate below one half, precision from one half on
  expect_equal(predict(fit, c(0, .4, .5, 1)), c(1 / 3, 1 / 3, 2 / 3, 2 / 3))
  # right: .1, .49, .55, .9
  fit <- ce_recalibrate(p, y, method = "constant_confidence")
  expect_equal(predict(fit, c(.2, .7)), c(1 / 3, 2 / 3))
})

test_that("edge cases: labels never predicted, accuracy at chance, folds, logits", {
  p <- rbind(c(.7, .2, .1), c(.6, .3, .1), c(.2, .7, .1), c(.1, .8, .1))
  y <- c(1, 3, 2, 2)
  fit <- ce_recalibrate(p, y, method = "label_frequency")
  expect_equal(predict(fit, rbind(c(.1, .1, .8))), rbind(c(1, 2, 1) / 4)) # overall frequencies
  expect_equal(predict(fit, rbind(c(.4, .4, .2))), rbind(c(.5, 0, .5))) # ties: the first
  expect_warning(fit <- ce_recalibrate(p, c(2, 2, 1, 2), method = "constant_confidence"),
                 class = "calibrisk_warning_accuracy")
  expect_equal(predict(fit, rbind(c(.1, .1, .8))), rbind(c(.375, .375, .25)))
  b <- fixture_b()
  folds <- rep(1:4, 5)
  cross <- ce_recalibrate(b$z, b$y, logits = TRUE, method = "constant_confidence", folds = folds)
  right <- apply(b$z, 1, which.max) == b$y
  expect_equal(apply(predict(cross), 1, max), vapply(folds, function(f) mean(right[folds != f]), 0))
  expect_error(ce_recalibrate(p, y, method = "constant"), class = "calibrisk_error")
})
