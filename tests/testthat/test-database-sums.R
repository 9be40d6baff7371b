numbers <- c(".estimate", "std.error", "conf.low", "conf.high")

sums_table <- function(con, n, digits = 2) {
  d <- withr::with_seed(5, data.frame(p = round(rbeta(n, .6, 2), digits), w = sample(3L, n, TRUE), v = runif(n),
                                      g = sample(60, n, TRUE), h = rep(c("a", "b"), length.out = n)))
  d$y <- withr::with_seed(6, rbinom(n, 1, d$p^1.1))
  list(rows = d, table = write_table(con, "d", d))
}

# With the columns that other errors have.
statistic_frame <- function(verb) {
  function(...) {
    out <- verb(...)
    out[setdiff(numbers, names(out))] <- out$p.value
    out
  }
}

test_that("errors of a table with few different rows have the digits of memory", {
  d <- sums_table(local_database(), 900)
  expect_same <- function(table, rows) expect_close(unlist(table[numbers]), unlist(rows[numbers]), tol$oracle)
  d$rows <- transform(d$rows, p = pmin(pmax(p, .001), .999))
  d$table <- write_table(local_database(), "d", d$rows)
  same_log <- function(...) ce_score(..., score = c("brier", "log"))
  independent <- function(...) if ("cluster" %in% ...names()) rbs(...) else statistic_frame(hosmer_lemeshow)(...)
  for (verb in list(ks_error, same_log, rbs, cox_calibration, statistic_frame(spiegelhalter), smooth_ece, mmce,
                    kde_error, ici, independent)) {
    expect_same(verb(d$table, y, p), verb(d$rows, y, p))
    expect_same(verb(d$table, y, p, weights = w), verb(d$rows, y, p, weights = w))
    expect_same(verb(d$table, y, p, weights = v, cluster = g), verb(d$rows, y, p, weights = v, cluster = g))
    groups <- verb(d$table, y, p, .by = h)
    expect_same(groups, verb(d$rows, y, p, .by = h))
    expect_equal(groups$n, verb(d$rows, y, p, .by = h)$n)
  }
  # a missing prediction
  d$rows$p[3] <- NA
  table <- write_table(local_database(), "e", d$rows)
  expect_equal(ks_error(table, y, p)$n, 899)
  expect_true(is.na(ks_error(table, y, p, na_rm = FALSE)$.estimate))
})

test_that("scores of a table with few different rows are decomposed as in memory", {
  d <- sums_table(local_database(), 900)
  for (method in c("discrete", "isotonic")) {
    for (given in list(list(), list(weights = quote(w)), list(weights = quote(v)), list(cluster = quote(g)))) {
      decompose <- function(x) do.call(ce_decompose, c(list(x, quote(y), quote(p), method = method), given))
      parts <- lapply(list(d$table, d$rows), function(x) Filter(is.numeric, decompose(x)))
      expect_close(unlist(parts[[1]]), unlist(parts[[2]]), 1e-10)
    }
  }
  classes <- write_table(local_database(), "e", data.frame(.pred_a = c(.2, .5), .pred_b = .3, .pred_c = c(.5, .2),
                                                           truth = c("a", "b")))
  expect_error(ce_decompose(classes, truth), class = "calibrisk_error_notion")
  expect_error(kde_error(classes, truth), class = "calibrisk_error_notion")
  expect_error(ce_decompose(d$table, y, p, times = 20), class = "calibrisk_error_unsupported")
})

test_that("the panel and ece() of a table say the same of the same rows", {
  local_stand_ins(list(few_rows = 1000))
  for (digits in c(2, 12)) {
    d <- sums_table(local_database(), 2100, digits)
    for (given in list(list(), list(weights = quote(w)), list(cluster = quote(g)))) {
      panel <- do.call(ce_panel, c(list(d$table, quote(y), quote(p)), given))
      one <- do.call(ece, c(list(d$table, quote(y), quote(p)), given))
      two <- do.call(ece, c(list(d$table, quote(y), quote(p), p = 2), given))
      # the panel has equal rows of a cluster as one row with a weight
      tolerance <- if ("cluster" %in% names(given)) 1e-3 else 1e-9
      expect_close(unlist(rbind(one[numbers], two[numbers])), unlist(panel[2:3, numbers]), tolerance)
    }
  }
})

test_that("errors of many different rows are those of memory up to the folds", {
  local_stand_ins(list(few_rows = 1000))
  d <- sums_table(local_database(), 2100, 12)
  d$rows$p[1:9] <- rep(c(0, 1e-9, 1e-12), 3)
  table <- write_table(local_database(), "e", d$rows)
  near <- function(table, rows, tolerance, columns = numbers[-3]) {
    expect_close(unlist(table[columns]), unlist(rows[columns]), tolerance)
  }
  more <- c(numbers, "location", "kuiper", "sigma")
  rows <- d$rows
  near(ks_error(table, y, p), ks_error(rows, y, p), 1e-10, more)
  near(ks_error(table, y, p, weights = w), ks_error(rows, y, p, weights = w), 1e-10, more)
  near(ks_error(table, y, p, cluster = g), ks_error(rows, y, p, cluster = g), 1e-10)
  near(ks_error(table, y, p, weights = v), ks_error(rows, y, p, weights = v), 1e-4)
  near(rbs(table, y, p), rbs(rows, y, p), 1e-10)
  near(rbs(table, y, p, weights = v), rbs(rows, y, p, weights = v), 1e-4)
  expect_error(cox_calibration(table, y, p), class = "calibrisk_error_logit")
  near(cox_calibration(table, y, p, floor = .0123), cox_calibration(rows, y, p, floor = .0123), 1e-8)
  near(spiegelhalter(table, y, p), spiegelhalter(rows, y, p), 1e-10, c(".estimate", "p.value"))
  scores <- c("brier", "log", "spherical")
  rows$y[1:9] <- 0L
  table <- write_table(local_database(), "e", rows)
  near(ce_score(table, y, p, score = scores), ce_score(rows, y, p, score = scores), 1e-9)
  near(ce_score(table, y, p, score = "log", cluster = g), ce_score(rows, y, p, score = "log", cluster = g), 1e-9)
  # what was impossible, beside what was nearly so
  rows$y[c(1, 2)] <- 1L
  rows$p[1] <- 0
  expect_identical(ce_score(write_table(local_database(), "f", rows), y, p, score = "log")$.estimate, Inf)
})

test_that("the panel of a table is that of the functions, for few and for many different rows", {
  local_stand_ins(list(few_rows = 1000))
  for (digits in c(3, 12)) {
    d <- sums_table(local_database(), 2100, digits)
    rows <- d$rows
    inside <- rows$p > 0 & rows$p < 1
    rows <- rows[inside, ]
    table <- write_table(local_database(), "e", rows)
    panel <- ce_panel(table, y, p, n_bins = 10, weights = w)
    functions <- rbind(
      rbs(rows, y, p, weights = w)[numbers], ece(rows, y, p, n_bins = 10, weights = w)[numbers],
      ece(rows, y, p, n_bins = 10, p = 2, weights = w)[numbers],
      ece(rows, y, p, n_bins = 10, p = 2, debias = TRUE, weights = w)[numbers],
      ks_error(rows, y, p, weights = w)[numbers], ce_score(rows, y, p, score = c("brier", "log"), weights = w)[numbers]
    )
    columns <- if (digits == 3) numbers else numbers[-3]
    expect_close(unlist(panel[1:7, columns]), unlist(functions[columns]), 1e-9)
    expect_close(panel$.estimate[8], weighted.mean(rows$y, rows$w) / weighted.mean(rows$p, rows$w), 1e-9)
    cox <- cox_calibration(rows, y, p, weights = w)
    expect_close(panel$.estimate[9:12], cox$.estimate, 1e-7)
    expect_close(panel$.estimate[13], spiegelhalter(rows, y, p, weights = w)$.estimate, 1e-8)
    expect_equal(panel$n, rep(sum(rows$w), 13))
  }
  groups <- ce_panel(table, y, p, .by = h)
  expect_identical(nrow(groups), 26L)
  expect_close(groups$.estimate[14], rbs(rows, y, p, .by = h)$.estimate[2], 1e-9)
})

test_that("what sums of a table cannot tell is an error that says why", {
  d <- sums_table(local_database(), 100)
  expect_error(ks_error(d$table, y, p, times = 50), class = "calibrisk_error_database")
  expect_error(ce_score(d$table, y, p, score = "crps"), class = "calibrisk_error_score")
  for (given in list(list(metrics = list(ece)), list(smoother = "isotonic"), list(floor = .01))) {
    cnd <- expect_error(do.call(ce_panel, c(list(d$table, quote(y), quote(p)), given)),
                        class = "calibrisk_error_unsupported")
    expect_identical(cnd$arg, names(given))
  }
  expect_error(ks_error(d$table, y, p, horizon = 3), class = "calibrisk_error_database")
})

test_that("the validation of a table is that of the rows", {
  of <- function(table) unlist(tidy(table)[c("estimate", "std.error", "conf.low", "conf.high")])
  few <- sums_table(local_database(), 900, 3)
  few$rows$p <- pmin(pmax(few$rows$p, .001), .999)
  table <- write_table(local_database(), "e", few$rows)
  compare <- function(...) {
    expect_close(of(ce_validate(table, y, p, ..., times = 0)), of(ce_validate(few$rows, y, p, ..., times = 0)), 1e-10)
  }
  compare(delta = .1)
  compare(weights = w, thresholds = .25)
  compare(weights = v, cluster = g)
  compare(.by = h)
  many <- sums_table(local_database(), 21000, 12)$rows
  many$p <- pmin(pmax(many$p, 1e-4), 1 - 1e-4)
  many$p[1:40] <- .1
  table <- write_table(local_database(), "e", many)
  one <- tidy(ce_validate(table, y, p, weights = w, times = 20))
  rows <- tidy(ce_validate(many, y, p, weights = w, times = 0))
  smooth <- rows$term %in% c("ici", "e50", "e90", "emax", "eci", "auroc")
  expect_close(one$estimate[!smooth], rows$estimate[!smooth], 1e-5)
  off <- abs(one$estimate - rows$estimate) / one$std.error
  expect_lt(max(off[smooth]), 1.5)
  expect_lt(max(off[one$term %in% c("ici", "eci", "auroc")]), 0.2)
  # their squares are not known
  one <- ce_validate(table, y, p, weights = v, times = 20)
  expect_output(print(one), "No calibration error: in a database")
  expect_true(is.na(tidy(one)$estimate[tidy(one)$term == "calibration_error"]))
  expect_error(ce_validate(table, y, p, group = h), class = "calibrisk_error_unsupported")
})
