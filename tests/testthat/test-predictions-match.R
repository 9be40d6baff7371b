# Every way in which the columns of three classes can be named, in another order than the levels.
low_mid_high <- function(n = 400, seed = 1) {
  withr::with_seed(seed, {
    e <- matrix(stats::rexp(n * 3), n) * rep(c(1, 2, 0.7), each = n)
    p <- e / rowSums(e)
    k <- 1 + (stats::runif(n) > p[, 1]) + (stats::runif(n) > 0.5 & stats::runif(n) > p[, 1])
    list(p = p, k = k)
  })
}

naming_schemes <- list(
  exact = identity, pred = function(l) paste0(".pred_", l), prefix = function(l) paste0("proba_", l),
  unknown_prefix = function(l) paste0("rf7_", l), suffix = function(l) paste0(l, "_prob"),
  both = function(l) paste0("p(", l, ")"), upper = toupper, prefix_upper = function(l) paste0("prob.", toupper(l)),
  made = make.names, prefix_made = function(l) make.names(paste0("prob_", l)),
  underscores = function(l) gsub("[^[:alnum:]]", "_", paste0("prob_", l))
)

class_names_tried <- list(
  plain = c("low", "mid", "high"), numbers = c("0", "1", "2"), large_numbers = c("1", "2", "10"),
  prefixes = c("a", "ab", "abc"), common = c("high", "high_risk", "hot"),
  spaces = c("not at all", "a little", "very much"), signs = c("<=50K", ">50K", "unknown"),
  values = c("TRUE", "NA", "\u00e9"), ranges = c("1-5", "6-10", "c.d")
)

test_that("columns are read by name in every layout and scheme of naming", {
  d <- low_mid_high()
  for (classes in names(class_names_tried)) {
    levels <- class_names_tried[[classes]]
    truth <- factor(levels[d$k], levels = levels)
    x <- `colnames<-`(d$p, levels)
    expected <- ece(x, truth)$.estimate
    headline <- ce_estimate(x, truth)[c("estimate", "conf.high")]
    for (scheme in names(naming_schemes)) {
      label <- paste(classes, scheme)
      turned <- x[, c(3, 1, 2)]
      colnames(turned) <- naming_schemes[[scheme]](levels)[c(3, 1, 2)]
      frame <- data.frame(turned, truth = truth, check.names = FALSE)
      columns <- colnames(turned)
      expect_no_message(by_matrix <- ece(turned, truth)$.estimate)
      expect_identical(by_matrix, expected, label = label)
      expect_identical(ece(turned, as.character(truth))$.estimate, expected, label = label)
      if (!scheme %in% c("exact", "prefix_made")) next
      expect_identical(ece(frame, truth, tidyselect::all_of(columns))$.estimate, expected, label = label)
      expect_identical(ece(frame, truth, tidyselect::all_of(rev(columns)))$.estimate, expected, label = label)
    }
    found <- ce_estimate(frame, truth, tidyselect::all_of(columns))
    expect_equal(as.data.frame(found[names(headline)]), as.data.frame(headline), label = classes)
  }
})

test_that("the events of two classes are read by name, whatever the case, prefix or suffix", {
  withr::local_seed(1)
  p <- stats::runif(500)
  truth <- factor(ifelse(stats::runif(500) < p, "yes", "no"))
  right <- ece(cbind(no = 1 - p, yes = p), truth)$.estimate
  expect_lt(ce_estimate(cbind(Yes = p, No = 1 - p), truth)$conf.low, 1e-8)
  for (names in list(c("Yes", "No"), c(".pred_Yes", ".pred_No"), c("prob_yes", "prob_no"), c("YES", "NO"),
                     c("P.yes.", "P.no."), c("yes_prob", "no_prob"))) {
    expect_identical(ece(`colnames<-`(cbind(p, 1 - p), names), truth)$.estimate, right)
  }
  numbers <- factor(as.integer(truth) - 1)
  x <- cbind(X1 = p, X0 = 1 - p)
  expect_identical(ece(x, numbers)$.estimate, right)
  # outcomes 0 and 1 beside columns that are named so
  expect_identical(ece(x, as.integer(truth) - 1)$.estimate, right)
  expect_identical(ece(cbind("TRUE." = p, "FALSE." = 1 - p), truth == "yes")$.estimate, right)
})

test_that("a lone column names its event in any of these ways, before event_level", {
  withr::local_seed(2)
  p <- stats::runif(200)
  truth <- factor(ifelse(stats::runif(200) < p^2, "Yes", "No"), levels = c("No", "Yes"))
  yes <- ece(p, truth, event_level = "second")$.estimate
  no <- ece(1 - p, truth)$.estimate
  for (column in c("Yes", ".pred_Yes", "yes", "prob_yes", "yes_prob", "Probability.Yes", "P_pred_yes")) {
    for (level in c("first", "second")) {
      expect_identical(ece(as.matrix(setNames(data.frame(p), column)), truth, event_level = level)$.estimate, yes)
    }
  }
  for (column in c("No", "prob_no", ".pred_NO")) {
    expect_identical(ece(as.matrix(setNames(data.frame(1 - p), column)), truth)$.estimate, no)
  }
  # a name that says no level leaves the event to event_level
  for (column in c("p", "prob", "model_1", "noyes", "yesterday")) {
    lone <- as.matrix(setNames(data.frame(p), column))
    expect_identical(ece(lone, truth, event_level = "second")$.estimate, yes)
  }
})

test_that("names that match some levels or one twice are an error that lists both sides", {
  x <- low_mid_high()
  truth <- factor(c("low", "mid", "high")[x$k], levels = c("low", "mid", "high"))
  wrong <- list(c("low", "middle", "high"), c("p_low", "p_middle", "p_high"), c("x9_low", "x9_b", "x9_c"),
                c("low", "LOW", "high"), c("low", "low", "high"), c("low", "", ""), c("p_low", "mid", "prob_high"))
  for (names in wrong) {
    error <- expect_error(ece(`colnames<-`(x$p, names), truth), class = "calibrisk_error_columns")
    text <- conditionMessage(error)
    for (word in c(names[nzchar(names)], "Levels:", "\"mid\"", ".pred_<level>")) expect_match(text, word, fixed = TRUE)
  }
  frame <- data.frame(low = x$p[, 1], b = x$p[, 2], high = x$p[, 3], truth)
  expect_error(ece(frame, truth, low, b, high), class = "calibrisk_error_columns")
  expect_error(ece(as.matrix(frame[1:3]), as.character(truth)), class = "calibrisk_error_columns")
  expect_error(ece(`colnames<-`(x$p, letters[1:3]), as.character(truth)), "character",
               class = "calibrisk_error_columns")
  # X1 is what make.names() makes of 1, and X2 is no class
  binary <- factor(rep(0:1, 200))
  expect_error(ece(cbind(X1 = x$p[, 1], X2 = 1 - x$p[, 1]), binary), class = "calibrisk_error_columns")
})

messages_of <- function(code) {
  text <- character()
  withCallingHandlers(suppressWarnings(code), calibrisk_message_columns = function(cnd) {
    text <<- c(text, gsub("\\s+", " ", conditionMessage(cnd)))
    rlang::cnd_muffle(cnd)
  })
  text
}

test_that("names that match no level are taken in the order of the levels, which one message per call says", {
  d <- low_mid_high(300)
  truth <- factor(c("low", "mid", "high")[d$k], levels = c("low", "mid", "high"))
  x <- `colnames<-`(d$p, c("a", "b", "c"))
  frame <- data.frame(x, truth, site = rep(c("n", "s"), 150))
  expect_identical(suppressMessages(ece(x, truth)$.estimate), ece(d$p, truth)$.estimate)
  calls <- list(
    quote(ece(x, truth)), quote(ece(frame, truth, a, b, c)), quote(ece(frame, truth, a, b, c, .by = site)),
    quote(ce_estimate(frame, truth, a, b, c, notion = c("top_label", "class_wise"))),
    quote(ce_tune(x, truth)), quote(ce_recalibrate(x, truth)), quote(ce_recalibrate(log(x), truth, logits = TRUE)),
    quote(skce(x, truth)), quote(ce_validate(x, truth, times = 0)), quote(ce_score(x, truth, score = "log")),
    quote(update(ce_state(), frame, truth, a, b, c)),
    quote(update(ce_state(), ce_source(frame, rows = 100), truth, a, b, c)),
    quote(ce_rank(list(one = x, two = x), truth, metric = ece, times = 3)),
    quote(ce_compare(list(one = x, two = x^2 / rowSums(x^2)), truth, metric = ece))
  )
  for (call in calls) {
    said <- messages_of(eval(call))
    expect_length(said, 1)
    expect_match(said, "a = low, b = mid, c = high", fixed = TRUE, label = deparse1(call))
  }
  expect_length(messages_of(ece(d$p, truth)), 0)
  # a message for each pair of names
  two <- list(one = x, two = `colnames<-`(x, c("u", "v", "w")))
  expect_length(messages_of(ce_compare(two, truth, metric = ece)), 2)
})

test_that("maps and fits read the columns of new data by name, or refuse them", {
  d <- low_mid_high()
  levels <- c("low", "mid", "high")
  truth <- factor(levels[d$k], levels = levels)
  x <- `colnames<-`(d$p, levels)
  turned <- `colnames<-`(x[, 3:1], c("prob_High", "prob_Mid", "prob_Low"))
  partly <- `colnames<-`(x, c("low", "b", "high"))
  map <- ce_recalibrate(x[1:200, ], truth[1:200], method = "vector")
  expect_equal(unname(predict(map, turned[201:400, ])), unname(predict(map, x[201:400, ])))
  expect_error(predict(map, partly[201:400, ]), class = "calibrisk_error_columns")
  expect_message(predict(map, `colnames<-`(x, letters[1:3])[201:400, ]), "a = low", class = "calibrisk_message_columns")
  # as the map was fitted: the order of its columns
  map <- ce_recalibrate(x[1:200, 3:1], truth[1:200], method = "vector")
  expect_equal(unname(predict(map, unname(x[201:400, 3:1]))), unname(predict(map, turned[201:400, ])))
  fit <- ce_fit(x[1:200, ], truth[1:200], notion = "canonical", method = method_kde(0.1))
  expect_equal(predict(fit, turned[201:400, ]), predict(fit, x[201:400, ]))
  expect_equal(ce_risk(fit, turned[201:400, ], truth[201:400])$risk, ce_risk(fit, x[201:400, ], truth[201:400])$risk)
  expect_error(predict(fit, partly), class = "calibrisk_error_columns")
})

test_that("two columns that are named as the outcomes are one decision curve, and m0 and m1 are two", {
  withr::local_seed(3)
  p <- stats::runif(300)
  d <- data.frame(y = factor(as.integer(stats::runif(300) < p)), m0 = p, m1 = p^2, prob_0 = 1 - p, prob_1 = p)
  expect_identical(nrow(glance(ce_decision(d, y, prob_0, prob_1, times = 100))), 1L)
  expect_identical(nrow(suppressWarnings(glance(ce_decision(d, y, m0, m1, times = 100)))), 2L)
})

test_that("text that is not valid is compared as it is", {
  names <- c("a\xff", "b")
  expect_identical(matched_columns(names, rev(names)), 2:1)
  expect_null(matched_columns(names, c("u", "v")))
})

test_that("integer outcomes follow columns that are named after them, else the order of the columns", {
  d <- low_mid_high()
  x <- `colnames<-`(d$p, c("1", "2", "3"))
  expect_identical(ece(x[, 3:1], d$k)$.estimate, ece(x, d$k)$.estimate)
  # as after adding 1 to outcomes that begin at 0
  colnames(x) <- c("0", "1", "2")
  expect_no_message(expect_identical(ece(x, d$k)$.estimate, ece(unname(x), d$k)$.estimate))
  expect_identical(ece(x[, 3:1], d$k - 1)$.estimate, ece(unname(x), d$k)$.estimate)
})

test_that("unnamed columns of numbered levels that are sorted as text are listed", {
  withr::local_seed(1)
  probs <- to_simplex(matrix(rexp(12 * 50), 50))
  y <- c(1:12, sample(12, 38, TRUE))
  listed <- function(levels) {
    expect_message(ce_score(probs, levels, score = "log"), "column 2 = .*10", class = "calibrisk_message_columns")
  }
  listed(factor(as.character(y)))
  listed(factor(paste("class", y)))
  listed(factor(paste0("c", y)))
  expect_no_message(ce_score(probs, factor(y), score = "log"))
  expect_no_message(ce_score(probs, factor(paste("class", y), paste("class", 1:12)), score = "log"))
  expect_no_message(ce_score(probs, factor(letters[y]), score = "log"))
  error <- expect_error(ce_score(probs, as.character(y), score = "log"), class = "calibrisk_error_columns")
  expect_match(conditionMessage(error), "order")
})
