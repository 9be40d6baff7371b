grouped_rows <- function() {
  withr::with_seed(1, tibble::tibble(
    g = rep(c("u", "v"), 20), p = runif(40), truth = factor(sample(c("yes", "no"), 40, TRUE))
  ))
}

test_that("groups that do not exist are classed errors", {
  data <- grouped_rows()
  fit <- ce_fit(data, truth, p, method = method_bins(3))
  expect_error(ce_risk(fit, data, truth, p, .by = nowhere), class = "calibrisk_error_columns")
  expect_error(ce_tune(data, truth, p, methods = method_bins(3), .by = nowhere), class = "calibrisk_error_columns")
  expect_error(ce_risk(fit, data[0, ], truth, p, .by = g), class = "calibrisk_error_empty")
  expect_error(ce_tune(data[0, ], truth, p, .by = g), class = "calibrisk_error_empty")
  skip_if_not_installed("dplyr")
  expect_error(ce_risk(fit, dplyr::group_by(data[0, ], g), truth, p), class = "calibrisk_error_empty")
})

test_that("a selection of no column groups nothing", {
  data <- grouped_rows()
  none <- character()
  expect_equal(ece(data, truth, p, .by = tidyselect::all_of(none)), ece(data, truth, p))
  expect_equal(tidy(ce_curve(data, truth, p, .by = tidyselect::starts_with("site"))), tidy(ce_curve(data, truth, p)))
  expect_equal(ce_gain(data, "platt", truth, p, .by = NULL), ce_gain(data, "platt", truth, p, .by = c()))
})

test_that("an error says in which group it arose", {
  data <- grouped_rows()
  data$p[40] <- 2
  expect_error(ce_tune(data, truth, p, methods = method_bins(3), .by = g), "g = v", class = "calibrisk_error_group")
  expect_error(ce_recalibrate(data, truth, p, method = "platt", .by = g), "g = v", class = "calibrisk_error_group")
})

test_that("an error says which row of the whole data it means", {
  data <- grouped_rows()
  data$p[40] <- 2
  error <- expect_error(ece(data, truth, p, .by = g, notion = "binary"), "row 20 is row 40 of the data",
                        class = "calibrisk_error_group")
  expect_identical(error$row, 40L)
})

test_that("empty groups that a grouping keeps are left out", {
  skip_if_not_installed("dplyr")
  data <- grouped_rows()
  data$g <- factor(data$g, levels = c(unique(data$g), "nobody"))
  kept <- ece(dplyr::group_by(data, g, .drop = FALSE), truth, p, notion = "binary")
  expect_equal(kept, ece(dplyr::group_by(data, g), truth, p, notion = "binary"))
})

test_that("verbs of one result ask for one group", {
  tuned <- ce_tune(grouped_rows(), truth, p, methods = method_bins(3), .by = g)
  expect_error(predict(tuned, 0.5), "results", class = "calibrisk_error_group")
  expect_error(augment(tuned, grouped_rows()), class = "calibrisk_error_group")
  fits <- ce_fit(grouped_rows(), truth, p, method = method_bins(3), .by = g)
  tests <- ce_test(grouped_rows(), truth, p, test = "block", .by = g)
  expect_error(ce_risk(fits, grouped_rows(), truth, p), "one for each group", class = "calibrisk_error_argument")
  skip_if_not_installed("ggplot2")
  expect_error(plot(tests), class = "calibrisk_error_group")
  expect_error(ggplot2::autoplot(tests), class = "calibrisk_error_group")
})

test_that("groups come in level order, by either way of grouping", {
  data <- grouped_rows()
  data$g <- factor(data$g, levels = c("v", "u"))
  data$h <- rep(c("b", "a", "B"), length.out = 40)
  by <- ece(data, truth, p, .by = c(g, h), notion = "binary")
  expect_identical(as.character(by$g), rep(c("v", "u"), each = 3))
  expect_identical(by$h, rep(c("B", "a", "b"), 2))
  expect_identical(ce_fit(data, truth, p, method = method_bins(3), .by = h)$keys$h, c("B", "a", "b"))
  skip_if_not_installed("dplyr")
  expect_equal(by, ece(dplyr::group_by(data, g, h), truth, p, notion = "binary"))
})

# Three groups, of which "s" has one row and "t" none that is complete.
with_small <- function() {
  data <- grouped_rows()
  rows <- data[c(1:3, 3), ]
  rows$g <- c("s", "t", "t", "t")
  rows$p[2:4] <- NA
  rbind(data, rows)
}

test_that("a group with too little data is a row of NA and one warning", {
  data <- with_small()
  verbs <- list(
    function(x) skce(x, truth, p, .by = g),
    function(x) mmce(x, truth, p, .by = g, type = "unbiased", notion = "binary"),
    function(x) kde_error(x, truth, p, .by = g, notion = "binary"),
    function(x) skce(x, truth, p, .by = g, kernel = "ckce"),
    function(x) ce_estimate(x, truth, p, .by = g, notion = "binary", method = method_bins(2))
  )
  for (verb in verbs) {
    warnings <- testthat::capture_warnings(out <- withr::with_seed(1, verb(data)))
    expect_length(warnings, 1)
    expect_match(warnings, "2 of 4 groups.*g = s: .*g = t: ")
    alone <- withr::with_seed(1, suppressWarnings(verb(data[data$g %in% c("s", "u", "v"), ])))
    expect_identical(out$g, c("s", "t", "u", "v"))
    plain <- tibble::as_tibble(out)
    expect_identical(names(plain), names(tibble::as_tibble(alone)))
    value <- if ("estimate" %in% names(out)) "estimate" else ".estimate"
    expect_identical(is.na(plain[[value]]), c(TRUE, TRUE, FALSE, FALSE))
    expect_identical(as.numeric(plain$n), c(1, 0, 20, 20))
  }
})

test_that("a missing group keeps what was chosen and loses what was computed", {
  data <- with_small()
  expect_warning(
    out <- ece(data, truth, p, .by = g, notion = "binary", n_bins = c(5, 10), level = 0.9),
    "1 of 4 groups.*zero|incomplete", class = "calibrisk_warning_group"
  )
  row <- out[out$g == "t", ]
  expect_identical(row$n_bins, c(5, 10))
  expect_identical(row$level, c(0.9, 0.9))
  expect_identical(row$notion, c("binary", "binary"))
  computed <- c(".estimate", "std.error", "conf.low", "conf.high", "power")
  expect_true(all(is.na(tibble::as_tibble(row)[computed])))
  expect_identical(row$n, c(0L, 0L))
})

test_that("wrong arguments and values of one group, and groups that all fail, remain errors", {
  data <- with_small()
  expect_error(ece(data, truth, p, .by = g, type = "mess"), class = "calibrisk_error_argument")
  expect_error(suppressWarnings(ece(transform(data, p = replace(p, 2, 3)), truth, p, .by = g)),
               class = "calibrisk_error_group")
  expect_error(skce(data[data$g %in% c("s", "t"), ], truth, p, .by = g), "g = s", class = "calibrisk_error_group")
  expect_error(skce(data[data$g == "s", ], truth, p, .by = g), class = "calibrisk_error_rows")
})

test_that("objects of groups leave out those with too little data and say so", {
  data <- with_small()
  expect_warning(tuned <- ce_tune(data, truth, p, methods = method_bins(2), .by = g), class = "calibrisk_warning_group")
  expect_identical(tuned$keys$g, c("u", "v"))
  expect_length(tuned$results, 2)
  expect_identical(tuned$missing$keys$g, c("s", "t"))
  glance <- glance(tuned)
  expect_identical(glance$g, c("s", "t", "u", "v"))
  expect_identical(is.na(glance$estimate), c(TRUE, TRUE, FALSE, FALSE))
  expect_output(print(tuned), "g = s: too little data")
  expect_setequal(tidy(tuned)$g, c("u", "v"))
  expect_warning(curve <- ce_curve(data, truth, p, .by = g), class = "calibrisk_warning_group")
  expect_identical(glance(curve)$g, c("s", "u", "v"))
})

test_that("a group column may have any name but one of the result's columns", {
  d <- data.frame(p = (1:40 - 0.5) / 40, y = rep(c(0, 0, 1, 1), 10), g = rep(c("a", "b"), 20))
  d[c("n", "term", "estimate")] <- d$g
  calls <- list(quote(ece(d, y, p, .by = n)), quote(ce_estimate(dplyr::group_by(d, estimate), y, p)),
                quote(ce_validate(d, y, p, .by = term, times = 0)),
                quote(tidy(ce_recalibrate(d, y, p, .by = estimate))))
  for (call in calls) expect_error(eval(call), "It is (n|term|estimate)", class = "calibrisk_error_group")
  expect_equal(ece(d, y, p, .by = term)$.estimate, ece(d, y, p, .by = g)$.estimate)
})
