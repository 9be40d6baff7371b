test_that("a lone column is the probability of the level in its name, in every verb", {
  d <- pima_like()
  e <- tibble::tibble(type = d$type, Yes = d$.pred_Yes, p = d$.pred_Yes)
  fit <- ce_fit(d$.pred_Yes, d$type == "Yes", method = method_bins(10))
  verbs <- list(
    ece = function(x, ...) ece(x, type, ...)$.estimate, ks = function(x, ...) ks_error(x, type, ...)$.estimate,
    rbs = function(x, ...) rbs(x, type, ...)$.estimate,
    cox = function(x, ...) cox_calibration(x, type, ...)$.estimate,
    score = function(x, ...) ce_score(x, type, ..., score = "log")$.estimate,
    decompose = function(x, ...) ce_decompose(x, type, ..., method = "isotonic")$calibration,
    skce = function(x, ...) skce(x, type, ...)$.estimate, ckce = function(x, ...) ckce(x, type, ...)$.estimate,
    ucme = function(x, ...) withr::with_seed(1, ucme(x, type, ...)$.estimate),
    test = function(x, ...) withr::with_seed(1, ce_test(x, type, ..., test = test_conditional(times = 50))$statistic),
    hierarchy = function(x, ...) ce_hierarchy(x, type, ...)$value,
    estimate = function(x, ...) withr::with_seed(1, ce_estimate(x, type, ..., method = method_bins(10))$estimate),
    fit = function(x, ...) ce_risk(ce_fit(x, type, ..., method = method_bins(10)), x, type, ...)$risk,
    risk = function(x, ...) ce_risk(fit, x, type, ...)$risk,
    curve = function(x, ...) tidy(ce_curve(x, type, ...))$observed,
    map = function(x, ...) tidy(ce_recalibrate(x, type, ..., method = "platt"))$estimate
  )
  for (name in names(verbs)) {
    verb <- verbs[[name]]
    # the event by event_level, which the fit at hand does not need
    expected <- verb(e, p, event_level = "second")
    expect_no_warning(lone <- verb(d, .pred_Yes))
    expect_equal(lone, expected, label = name)
    expect_equal(verb(e, Yes), expected, label = name)
    expect_equal(verb(d, .pred_Yes, event_level = "first"), expected, label = name)
  }
})

test_that("the name counts in matrices, for logical and 0/1 outcomes, and for the probability of the other level", {
  d <- pima_like()
  yes <- as.matrix(d[".pred_Yes"])
  expected <- ece(d$.pred_Yes, d$type, event_level = "second")$.estimate
  expect_equal(ece(yes, d$type)$.estimate, expected)
  no <- ece(d$.pred_No, d$type)$.estimate
  expect_equal(ece(d, type, .pred_No)$.estimate, no)
  expect_equal(ece(d, type, .pred_No, event_level = "second")$.estimate, no)
  for (truth in list(d$type == "Yes", as.numeric(d$type == "Yes"))) {
    names <- if (is.logical(truth)) c("FALSE", "TRUE") else c("0", "1")
    for (column in c(names, paste0(".pred_", names))) {
      is_event <- grepl("1|TRUE", column)
      x <- matrix(if (is_event) d$.pred_Yes else d$.pred_No, dimnames = list(NULL, column))
      expect_equal(rbs(x, truth)$.estimate, rbs(d$.pred_Yes, d$type, event_level = "second")$.estimate)
      expect_equal(ece(x, truth)$.estimate, if (is_event) expected else no)
    }
  }
})

test_that("outcomes that fall as an unnamed prediction rises are a warning that says whose probability was read", {
  d <- pima_like()
  p <- d$.pred_Yes
  expect_warning(ece(p, d$type), "\"No\", the first level", class = "calibrisk_warning_direction")
  expect_warning(ece(tibble::tibble(p, y = d$type), y, p), "No", class = "calibrisk_warning_direction")
  expect_warning(ece(1 - p, d$type, event_level = "second"), "\"Yes\", the second level",
                 class = "calibrisk_warning_direction")
  expect_warning(skce(p, d$type), class = "calibrisk_warning_direction")
  expect_warning(ce_recalibrate(p, d$type, method = "platt"), class = "calibrisk_warning_direction")
  expect_warning(ece(1 - p, d$type == "Yes"), "probability of \"TRUE\"", class = "calibrisk_warning_direction")
  expect_no_warning(ece(p, d$type, event_level = "second"))
  # a fit knows its event
  fit <- ce_fit(p, d$type, event_level = "second", method = method_bins(5))
  expect_no_warning(ce_risk(fit, p, d$type))
  expect_no_warning(ce_risk(fit, p, stats::relevel(d$type, "Yes")))
  expect_warning(ce_risk(fit, 1 - p, d$type), "probability of \"Yes\"", class = "calibrisk_warning_direction")
  # no evidence, no warning
  expect_no_warning(ece(rep(0.3, 150), d$type))
  expect_no_warning(ece(p[1:10], d$type[1:10]))
  expect_no_warning(ece(p, rep(TRUE, 150)))
})

test_that("a class that becomes rarer as its probability rises is one warning, in every layout", {
  withr::local_seed(3)
  n <- 600
  e <- matrix(stats::rexp(n * 3)^3, n)
  p <- e / rowSums(e)
  k <- max.col(log(p) - log(matrix(stats::rexp(n * 3), n)))
  levels <- c("low", "mid", "high")
  y <- factor(levels[k], levels)
  turned <- p[, 3:1]
  named <- `colnames<-`(turned, paste0(".pred_", levels))
  frame <- data.frame(named, y, site = rep(c("n", "s"), n / 2))
  warnings_of <- function(code) {
    found <- list()
    withCallingHandlers(suppressMessages(code), calibrisk_warning_direction = function(cnd) {
      found <<- c(found, list(cnd))
      rlang::cnd_muffle(cnd)
    })
    found
  }
  calls <- list(
    quote(ece(turned, y)), quote(ece(turned, k)), quote(ece(named, y)), quote(ece(frame, y)),
    quote(ece(frame, y, .by = site)), quote(ce_estimate(frame, y, notion = c("top_label", "class_wise"))),
    quote(ce_recalibrate(turned, y)), quote(skce(turned, y)), quote(ce_validate(turned, y, times = 0)),
    quote(update(ce_state(), frame, y)), quote(update(ce_state(), ce_source(frame, rows = 200), y)),
    quote(ce_risk(ce_fit(p, y, method = method_bins(5)), turned, y))
  )
  for (call in calls) {
    found <- warnings_of(eval(call))
    expect_length(found, 1)
    expect_true(all(found[[1]]$event %in% c("low", "high", "1", "3")))
    # the exact rank test
    auc <- function(j) {
      x <- turned[, j]
      mean(outer(x[k == j], x[k != j], function(a, b) (a > b) + (a == b) / 2))
    }
    if (identical(call, calls[[1]])) {
      expect_identical(found[[1]]$event, c("low", "high"))
      expect_equal(found[[1]]$auc, c(auc(1), auc(3)))
    }
    expect_match(conditionMessage(found[[1]]), ".pred_<level>", fixed = TRUE)
  }
  expect_length(warnings_of(ece(p, y)), 0)
  # of two classes, and of a lone column that says its event
  two <- cbind(no = p[, 1], yes = 1 - p[, 1])
  outcome <- factor(ifelse(k == 1, "yes", "no"))
  expect_length(warnings_of(ece(two, outcome)), 1)
  expect_match(conditionMessage(warnings_of(ece(two[, "yes", drop = FALSE], outcome))[[1]]),
               "\"yes\", as its name says", fixed = TRUE)
  # no certainty, no warning; nor where a class has no rows
  expect_length(warnings_of(ece(turned[1:12, ], y[1:12])), 0)
  expect_length(warnings_of(ece(p[k != 2, ], y[k != 2])), 0)
})

test_that("the trend is the rank test's, with ties and copies", {
  withr::local_seed(2)
  x <- round(stats::runif(80), 1)
  y <- as.integer(stats::runif(80) < 1 - x)
  copies <- rep(1:2, 40)
  for (at in list(seq_along(x), rep(seq_along(x), copies))) {
    counts <- if (length(at) == 80) numeric() else as.numeric(copies)
    trend <- cpp_falling_trends(cbind(x, 1 - x), y, c(1L, 0L), counts)
    expect_equal(trend[1, ], trend[2, ])
    test <- stats::wilcox.test(x[at][y[at] == 1], x[at][y[at] == 0], exact = FALSE, correct = FALSE)
    expect_equal(trend[1, 1], unname(test$statistic) / prod(table(y[at])))
    expect_equal(2 * stats::pnorm(trend[1, 2]), test$p.value)
  }
  # where outcomes do not clearly become rarer there is none
  expect_true(all(is.na(cpp_falling_trends(cbind(1 - x, 0.5, x), y, c(1L, 1L, 2L), numeric()))))
  expect_error(cpp_falling_trends(cbind(x), y[-1], 1L, numeric()), "one label")
})

test_that("fits, maps, gains and ranks read columns of either level alike", {
  d <- pima_like()
  fit <- ce_fit(d, type, .pred_Yes, notion = "binary", method = method_ukkr(0.1))
  expect_equal(predict(fit, d, .pred_No, type = "gap"), predict(fit, d, .pred_Yes, type = "gap"))
  expect_equal(predict(fit, d$.pred_Yes), predict(fit, d, .pred_Yes))
  expect_equal(ce_risk(fit, d, type, .pred_No)$risk, ce_risk(fit, d, type, .pred_Yes)$risk)
  map <- ce_recalibrate(d, type, .pred_Yes, method = "platt")
  after <- suppressWarnings(predict(map, d))
  expect_named(after, ".pred_Yes")
  gain <- ce_gain(d, after, type, .pred_Yes)$gain
  expect_gt(gain[1], 0)
  expect_equal(suppressWarnings(ce_gain(d, map, type, .pred_Yes))$gain, gain)
  expect_equal(suppressWarnings(ce_gain(d, augment(map, d), type, .pred_Yes))$gain, gain)
  models <- list(yes = d[c("type", ".pred_Yes")], no = d[c("type", ".pred_No")])
  set.seed(1)
  ranked <- ce_rank(models, type, metric = c("brier", "ckce"), times = 5)
  values <- matrix(tidy(ranked)$estimate, 2)
  expect_equal(values[1, ], values[2, ])
})
