pick <- function(table, metric, detail = "") table[table$.metric == metric & grepl(detail, table$detail), ]

test_that("what a panel of sums has beside the errors of functions is that of the rows", {
  d <- inside_sample(3000, 1)
  table <- ce_panel(state_of(d))
  same <- function(metric, verb) {
    columns <- c(".estimate", "std.error", "conf.low", "conf.high")
    expect_close(unlist(pick(table, metric)[columns]), unlist(verb[columns]), tol$oracle)
  }
  same("brier", ce_score(d$x, d$y))
  same("log_loss", ce_score(d$x, d$y, score = "log"))
  expect_close(pick(table, "oe_ratio")$.estimate, sum(d$y) / sum(d$x), tol$law)
  ks <- ks_error(d$x, d$y)
  row <- pick(table, "ks_error")
  expect_lte(row$.estimate, ks$.estimate + 1e-12)
  more <- as.numeric(sub(".*at most (\\S+) more.*", "\\1", row$detail))
  expect_gte(row$.estimate + 1.1 * more, ks$.estimate)
  # honest ends are those of other folds
  expect_true(all(table$conf.low <= table$.estimate, na.rm = TRUE))
  expect_lt(abs(pick(table, "ece", "p = 1")$conf.low - ece(d$x, d$y)$conf.low), .01)
})

test_that("predictions of 0 and 1 are no accident", {
  d <- list(x = c(0, 1, .2, .7, 1), y = c(0, 1, 0, 1, 0))
  table <- ce_panel(state_of(d))
  expect_identical(pick(table, "log_loss")$.estimate, Inf)
  expect_true(is.na(pick(table, "cox_slope")$.estimate))
  expect_match(pick(table, "cox_slope")$detail, "infinite logits")
  expect_close(pick(table, "rbs")$.estimate, sqrt(mean((d$x - d$y)^2)), tol$law)
  for (d in list(list(x = 1:0, y = 1:0), list(x = .3, y = 1), list(x = rep(.5, 9), y = rep(0:1, c(5, 4))), d)) {
    for (table in list(ce_panel(state_of(d)), ce_panel(state_of(d, cluster = seq_along(d$x))),
                       ce_panel(state_of(d, cluster = 0 * d$x)))) {
      expect_false(any(is.nan(columns_of(table))))
    }
  }
  d$x <- c(.2, .3, .6, .8, .9)
  d$y <- c(0, 0, 1, 1, 1)
  expect_match(pick(ce_panel(state_of(d)), "cox_slope")$detail, "no finite estimate")
})

test_that("a prediction just above an edge is in the bin above it", {
  d <- list(x = rep(c(1:14 / 15, 1:14 / 15 * (1 + 2^-52), 0.1 * 3), each = 3), y = rep(c(0, 1, 1), 29))
  row <- pick(ce_panel(state_of(d)), "ece", "p = 1")
  expect_close(row$.estimate, ece(d$x, d$y)$.estimate, tol$law)
  empty <- ce_state(n_bins = 10)
  expect_close(pick(ce_panel(state_of(d, empty)), "ece", "p = 1")$.estimate, ece(d$x, d$y, n_bins = 10)$.estimate,
               tol$law)
})

test_that("bins between given breaks are those of equal mass where the breaks are their ends", {
  d <- inside_sample(400, 4)
  ends <- sort(d$x)[ceiling(400 * 1:9 / 10)]
  empty <- ce_state(breaks = ends)
  whole <- ce_panel(state_of(d, empty))
  exponents <- list("p = 1$" = list(), "p = 2$" = list(p = 2), debiased = list(p = 2, debias = TRUE))
  for (name in names(exponents)) {
    row <- pick(whole, "ece", name)
    expected <- do.call(ece, c(list(d$x, d$y, type = "mass", n_bins = 10), exponents[[name]]))
    expect_close(unlist(row[c(".estimate", "std.error", "conf.high")]),
                 unlist(expected[c(".estimate", "std.error", "conf.high")]), tol$law)
    expect_match(row$detail, "10 bins between given breaks")
  }
  site <- rep(1:40, 10)
  clustered <- pick(ce_panel(state_of(d, empty, cluster = site)), "ece", "p = 1;")
  expect_close(clustered$.estimate, pick(whole, "ece", "p = 1$")$.estimate, tol$law)
  expect_same_numbers(whole, ce_panel(chunked_state(d, 3, empty)))
})

test_that("tidy() is the panel, glance() the headline's row", {
  d <- inside_sample(300, 2)
  state <- update(ce_state(), c(d$x, NA), c(d$y, 1))
  table <- ce_panel(state, level = .9)
  expect_identical(class(table), class(ce_panel(d$x, d$y)))
  expect_identical(tidy(state, level = .9), tidy(table))
  row <- glance(state, level = .9)
  expect_identical(as.list(row), c(as.list(ce_estimate(state, level = .9)), list(dropped = 1)))
  expect_identical(c(dim(row), class(row)[1]), c("1", as.character(ncol(row)), "tbl_df"))
  expect_error(tidy(state, 3), class = "calibrisk_error_argument")
})

test_that("errors in blocks are those of the rows with blocks as clusters", {
  d <- inside_sample(1500, 2)
  cluster <- withr::with_seed(3, sample(200, 1500, TRUE))
  w <- withr::with_seed(4, rexp(1500))
  empty <- ce_state(blocks = 12)
  table <- ce_panel(state_of(d, empty, weights = w, cluster = cluster))
  block <- block_parts(id_units(cluster), empty$spec)
  of_rows <- function(fn, ...) fn(d$x, d$y, ..., weights = w, cluster = block)
  numbers <- function(row) unlist(row[c(".estimate", "std.error", "conf.high")])
  verbs <- list(rbs = of_rows(rbs), brier = of_rows(ce_score), log_loss = of_rows(ce_score, score = "log"))
  for (name in names(verbs)) expect_close(numbers(pick(table, name)), numbers(verbs[[name]]), tol$oracle)
  for (p in 1:2) {
    expect_close(numbers(pick(table, "ece", paste0("p = ", p, ";"))), numbers(of_rows(ece, p = p)), tol$oracle)
  }
  expect_close(numbers(pick(table, "ece", "debiased")), numbers(of_rows(ece, p = 2, debias = TRUE)), 1e-6)
  z <- of_rows(spiegelhalter)
  expect_close(unlist(pick(table, "spiegelhalter")[c(".estimate", "p.value")]), unlist(z[c(".estimate", "p.value")]),
               1e-8)
  slope <- of_rows(cox_calibration)
  for (name in slope$.metric) {
    expect_equal(pick(table, name)$.estimate, slope$.estimate[slope$.metric == name], tolerance = 1e-4)
  }
  expect_equal(pick(table, "cox_slope")$std.error, slope$std.error[2], tolerance = 1e-4)
  expect_match(table$detail, "errors from 12 blocks", all = TRUE)
})

test_that("what is not defined is missing, and knots beyond the predictions are no knots", {
  panel <- function(p, y, ...) ce_panel(update(ce_state(...), p, y))
  found <- list(panel(c(0, 0, 1), c(0, 0, 1)), panel(c(0, 0), c(0, 0)), panel(c(1, 1), 1:0), panel(0.5, 1))
  for (one in found) expect_false(any(vapply(one, function(v) any(is.nan(v)), NA)))
  expect_true(is.na(found[[1]]$.estimate[found[[1]]$.metric == "spiegelhalter"]))
  high <- withr::with_seed(1, stats::runif(40, 0.95, 1))
  state <- update(ce_state(knots = c(0.1, 0.9)), high, rep(1:0, 20))
  expect_gt(ce_estimate(state)$estimate, 0.3)
})

weighted_rows <- function(n = 300) {
  p <- plogis(rnorm(n))
  data.frame(p = p, y = as.numeric(runif(n) < p), w = rexp(n), group = rep_len(seq_len(40), n))
}

test_that("weights of a state count relative to each other, and debiased errors are those of the verb", {
  d <- withr::with_seed(2, weighted_rows())
  tables <- lapply(c(0.1, 1, 70), function(scale) {
    state <- update(ce_state(), transform(d, w = scale * w), y, p, weights = w)
    list(panel = as.data.frame(ce_panel(state)), headline = as.data.frame(ce_estimate(state)))
  })
  for (table in tables[-1]) expect_equal(table, tables[[1]], tolerance = 1e-9, ignore_attr = TRUE)
  d$y[1:60] <- 1
  state <- update(ce_state(), d, y, p, weights = w)
  table <- ce_panel(state)
  own <- ece(d, y, p, weights = w, p = 2, debias = TRUE)
  expect_equal(table$.estimate[grepl("debiased", table$detail)], own$.estimate, tolerance = 1e-9)
  expect_gt(own$.estimate, 0.05)
})

test_that("errors from blocks have an honest lower end", {
  above <- withr::with_seed(3, replicate(12, {
    d <- weighted_rows()
    weighted <- ce_panel(update(ce_state(), d, y, p, weights = w))
    clustered <- ce_panel(update(ce_state(), d, y, p, cluster = group))
    c(weighted$conf.low[2:5] > 0, clustered$conf.low[2:5] > 0)
  }))
  # of calibrated predictions; without it nearly all of the first and the fifth
  expect_lte(max(rowSums(above)), 3)
})

test_that("a path of residuals that is 0 throughout has its error", {
  d <- data.frame(p = 0.3, y = rep(c(1, 0), c(15, 35)))
  found <- ce_panel(update(ce_state(), d, y, p))
  expect_equal(found$conf.high[found$.metric == "ks_error"], ks_error(d, y, p)$conf.high, tolerance = 1e-9)
})

test_that("few events have exact limits of their number, and none an upper limit", {
  oe <- function(y, p, ...) oe_columns(list(labels = y, features = cbind(p), design = new_design(length(y), ...)), .95)
  p <- rep(c(.02, .04, .06), 50)
  for (k in c(0, 1, 7, 19)) {
    found <- oe(as.numeric(seq_along(p) <= k), p)
    exact <- stats::binom.test(k, 150)$conf.int
    expect_equal(c(found$conf.low, found$conf.high), exact[1:2] / mean(p))
    tails <- stats::pbinom(c(k, k - 1), 150, mean(p), lower.tail = TRUE)
    expect_equal(found$p.value, min(1, 2 * tails[1], 2 * (1 - tails[2])))
    expect_identical(found$p.value < .05, found$conf.low > 1 || found$conf.high < 1)
    expect_identical(is.null(found$std.error), k == 0)
  }
  expect_equal(oe(as.numeric(1:150 <= 7), p, copies = rep(2L, 150))$conf.low,
               stats::binom.test(14, 300)$conf.int[1] / mean(p))
  # clusters of ten without an event are 15 rows
  expect_equal(oe(0 * p, p, cluster = rep(1:15, each = 10))$conf.high, (1 - .025^(1 / 15)) / mean(p))
  many <- oe(as.numeric(1:150 <= 20), p)
  expect_equal(log(many$conf.high) - log(many$.estimate), log(many$.estimate) - log(many$conf.low))
  # calibrated samples of rare events
  misses <- withr::with_seed(1, replicate(400, {
    p <- stats::rbeta(150, .6, 59.4)
    found <- oe(stats::rbinom(150, 1, p), p)
    c(found$conf.low > 1, found$conf.high < 1)
  }))
  expect_true(all(rowMeans(misses) <= .025))
})
