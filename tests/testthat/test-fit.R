three_classes <- function(n = 60) {
  probs <- withr::with_seed(1, to_simplex(matrix(stats::rexp(n * 3), n)))
  truth <- withr::with_seed(2, factor(sample(c("a", "b", "c"), n, TRUE), levels = c("a", "b", "c")))
  tibble::tibble(truth = truth, .pred_a = probs[, 1], .pred_b = probs[, 2], .pred_c = probs[, 3])
}

test_that("a fit reads the classes of other rows by name, whatever their order", {
  data <- three_classes()
  other <- data
  other$truth <- factor(other$truth, levels = c("c", "a", "b"))
  for (notion in c("canonical", "class_wise", "top_label")) {
    fit <- ce_fit(data, truth, notion = notion, method = method_kde(0.1))
    expect_equal(ce_risk(fit, other, truth), ce_risk(fit, data, truth))
    expect_equal(ce_compare(list(fit), other, truth)$risk, ce_risk(fit, data, truth)$risk)
  }
})

test_that("a fit keeps its event, by name, unless event_level says otherwise", {
  withr::local_seed(2)
  p <- runif(50)
  truth <- factor(ifelse(runif(50) < p, "yes", "no"), levels = c("yes", "no"))
  frame <- tibble::tibble(truth = truth, .pred_yes = p, .pred_no = 1 - p)
  flipped <- frame
  flipped$truth <- factor(truth, levels = c("no", "yes"))
  method <- method_bins(4)
  no <- ce_fit(1 - p, truth, notion = "binary", method = method, event_level = "second")
  risk <- ce_risk(no, 1 - p, truth, event_level = "second")
  expect_equal(ce_risk(no, 1 - p, truth), risk)
  expect_equal(ce_risk(no, frame, truth), risk)
  expect_equal(ce_risk(no, 1 - p, flipped$truth), risk)
  yes <- ce_fit(frame, truth, notion = "binary", method = method)
  expect_equal(ce_risk(yes, flipped, truth), ce_risk(yes, frame, truth))
  expect_equal(ce_risk(yes, p, flipped$truth), ce_risk(yes, frame, truth))
  happened <- ce_fit(p, truth == "yes", notion = "binary", method = method)
  expect_equal(ce_risk(happened, cbind(1 - p, p), truth == "yes"), ce_risk(happened, p, truth == "yes"))
})

test_that("incomplete new rows give NA, all of them too; no rows and no argument are errors", {
  data <- three_classes(20)
  fit <- ce_fit(data, truth, notion = "canonical", method = method_kde(0.1))
  holes <- data[1:3, ]
  holes$.pred_b[2] <- NA
  expect_equal(is.na(predict(fit, holes)), c(FALSE, TRUE, FALSE))
  expect_equal(predict(fit, holes[2, ]), NA_real_)
  expect_equal(predict(fit, holes[2, ], type = "pairs"), matrix(NA_real_))
  expect_true(all(is.na(predict(fit, holes[2, ], type = "gap"))))
  expect_error(predict(fit, data[0, ]), class = "calibrisk_error_empty")
  expect_error(predict(fit), "\"new\" is missing")
  expect_error(ce_fit(data[0, ], truth, method = method_kde(0.1)), class = "calibrisk_error_empty")
  expect_error(ce_fit(as.matrix(data[-1]), method = method_kde(0.1)), class = "calibrisk_error_truth")
})

test_that("a matrix of pairs beyond R's integers is refused before it is made", {
  withr::local_seed(1)
  fit <- ce_fit(runif(30), runif(30) < 0.5, method = method_bins(3))
  expect_error(predict(fit, rep(0.5, 46341), type = "pairs"), "46,340", class = "calibrisk_error_size")
})

test_that("methods and forms without their functions say what to write", {
  p <- c(.2, .7, .4, .9, .1, .6)
  y <- c(0, 1, 0, 1, 0, 1)
  odd <- new_method("odd", NULL, NULL)
  expect_error(ce_fit(p, y, method = odd), "fit_form.ce_method_odd", class = "calibrisk_error_method")
  registerS3method("fit_form", "ce_method_half", function(method, problem, point, context) new_form("half"),
                   envir = asNamespace("calibrisk"))
  expect_error(ce_risk(ce_fit(p, y, method = new_method("half", NULL, NULL)), p, y), "pair_features.ce_form_half",
               class = "calibrisk_error_method")
})

test_that("skill against nothing is NA", {
  expect_identical(skill_of(c(a = .1, b = 0), 0), c(a = NA_real_, b = NA_real_))
  expect_identical(skill_of(.1, .2), .5)
})
