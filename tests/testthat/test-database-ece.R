columns <- c(".estimate", "std.error", "conf.high", "power", "n_bins", "n")

# The database's table beside that of the same rows in memory: once from few different rows, once from sums as of many,
# without their lower end, whose folds are others. `there`: a call.
expect_same_ece <- function(there, here) {
  expression <- substitute(there)
  frame <- parent.frame()
  compare <- function(there, columns) {
    for (name in columns) expect_close(there[[name]], here[[name]], tol$law)
    same <- setdiff(names(here), c(columns, "conf.low"))
    expect_identical(lapply(there[same], identity), lapply(here[same], identity))
  }
  compare(eval(expression, frame), c(columns, "conf.low"))
  local_stand_ins(list(few_rows = 0))
  compare(eval(expression, frame), columns)
}

test_that("errors of width, mass and discrete bins are those in memory", {
  con <- local_database()
  data <- database_data()
  # no bin of a single row: its scatter is rounding
  data$.pred_Yes <- round(data$.pred_Yes, 1)
  x <- write_table(con, "ce_test_ece", data)
  for (type in c("width", "mass", "discrete")) {
    bins <- if (type != "discrete") list(n_bins = c(4, 15))
    for (p in list(1, 2, 3.5, Inf)) {
      error <- function(data) rlang::inject(ece(data, y, .pred_Yes, type = type, p = p, !!!bins))
      expect_same_ece(error(x), error(data))
    }
    expect_same_ece(ece(x, y, .pred_Yes, type = type, p = 2, debias = TRUE),
                    ece(data, y, .pred_Yes, type = type, p = 2, debias = TRUE))
  }
})

test_that("groups, frequencies and importance weights count as in memory", {
  con <- local_database()
  data <- database_data()
  x <- write_table(con, "ce_test_design", data)
  for (type in c("width", "mass")) {
    expect_same_ece(ece(x, y, .pred_Yes, .by = site, type = type), ece(data, y, .pred_Yes, .by = site, type = type))
    expect_same_ece(ece(x, y, .pred_Yes, .by = c(site, k), type = type, n_bins = 5),
                    ece(data, y, .pred_Yes, .by = c(site, k), type = type, n_bins = 5))
    for (p in 1:2) {
      expect_same_ece(ece(x, y, .pred_Yes, weights = k, type = type, p = p, .by = site),
                      ece(data, y, .pred_Yes, weights = k, type = type, p = p, .by = site))
      expect_same_ece(ece(x, y, .pred_Yes, weights = v, type = type, p = p),
                      ece(data, y, .pred_Yes, weights = v, type = type, p = p))
    }
  }
  data$v <- 2.5
  x <- write_table(con, "ce_test_design", data)
  expect_same_ece(ece(x, y, .pred_Yes, weights = v), ece(data, y, .pred_Yes))
})

test_that("the lower end is the cross-fitted one of the database's folds", {
  con <- local_database()
  local_stand_ins(list(few_rows = 0))
  data <- database_data()
  x <- write_table(con, "ce_test_folds", data)
  pairs <- "SELECT \".pred_Yes\" AS p, y, 1 AS ce_w FROM ce_test_folds WHERE y IS NOT NULL"
  sql <- paste0("SELECT p, y, scatter FROM (", calibrisk:::sql_scatter(pairs, character()), ") s WHERE p IS NOT NULL")
  rows <- DBI::dbGetQuery(con, paste(sql, "ORDER BY p, y, scatter"))
  # x^5 modulo 2^31 - 1, by halves that doubles hold
  times <- function(a, b) ((((a * (b %/% 65536)) %% 2147483647) * 65536) + a * (b %% 65536)) %% 2147483647
  copy <- stats::ave(rows$p, rows$p, rows$y, FUN = seq_along)
  start <- (round(rows$p * 2^30) * 48271 + rows$y * 1299709 + copy * 15485863) %% 2147483647
  square <- times(start, start)
  expected <- times(times(square, square), start)
  key <- paste(rows$p, rows$y)
  expect_identical(lapply(split(as.numeric(rows$scatter), key), sort), lapply(split(expected, key), sort))

  here <- calibrisk:::scalar_problem(rows$p, rows$y)
  here$fold <- as.integer(as.numeric(rows$scatter) %% 5) + 1L
  for (p in c(1, 2)) {
    scheme <- calibrisk:::plain_scheme(15, "width", p, FALSE, "binary")
    limits <- calibrisk:::summarise_estimates(calibrisk:::scalar_ece(list(here), scheme)$estimates, 0.95)
    there <- ece(x, y, .pred_Yes, p = p)
    expect_equal(c(there$conf.low, there$conf.high), c(limits$conf.low, limits$conf.high), tolerance = 1e-12)
  }
})

test_that("folds are scattered evenly, also over repeated rows", {
  con <- local_database()
  write_table(con, "ce_test_ties", data.frame(p = rep(c(0.1, 0.5, 0.9), each = 500), y = rep(0:1, 750)))
  sql <- calibrisk:::sql_scatter("SELECT p, y, 1 AS ce_w FROM ce_test_ties", character())
  folds <- DBI::dbGetQuery(con, paste0("SELECT p, y, scatter % 5 AS fold FROM (", sql, ") s"))
  table <- table(paste(folds$p, folds$y), as.numeric(folds$fold))
  expect_identical(dim(table), c(6L, 5L))
  expect_gt(stats::chisq.test(table)$p.value, 1e-3)
  # scattered, not dealt: equal shares would show the folds each other's noise
  expect_gt(stats::chisq.test(table)$statistic, 5)
})

test_that("the top label of several columns is that in memory, with ties and outcomes of every kind", {
  con <- local_database()
  withr::with_seed(3, {
    found <- random_classes(300, 4, digits = 1)
  })
  data <- setNames(as.data.frame(found$p), paste0(".pred_", c("d", "b", "a", "c")))
  data$truth <- c("d", "b", "a", "c")[found$y]
  data$code <- found$y
  x <- write_table(con, "ce_test_top", data)
  expect_same_ece(ece(x, truth), ece(data, truth))
  expect_same_ece(ece(x, code), ece(data, code))
  two <- data.frame(.pred_a = found$p[, 1], .pred_b = 1 - found$p[, 1], truth = ifelse(found$y == 1, "a", "b"))
  x <- write_table(con, "ce_test_top", two)
  expect_same_ece(ece(x, truth), ece(two, truth))
  expect_same_ece(ece(x, truth, event_level = "second"), ece(two, truth, event_level = "second"))
  expect_same_ece(ece(x, truth, notion = "top_label"), ece(two, truth, notion = "top_label"))
  # single precision: rows are divided by their sums
  data[1:4] <- data[1:4] * (1 + rep(c(0, 1e-8), 150)[seq_len(nrow(data))])
  x <- write_table(con, "ce_test_top", data)
  expect_message(there <- ece(x, truth), class = "calibrisk_message_renormalised")
  expect_same_ece(there, suppressMessages(ece(data, truth)))
})

test_that("logical outcomes and text name the event as in memory", {
  con <- local_database()
  data <- database_data()
  data$right <- data$y == 1
  x <- write_table(con, "ce_test_outcome", data)
  expect_same_ece(ece(x, right, .pred_Yes), ece(data, right, .pred_Yes))
  expect_same_ece(ece(x, answer, .pred_Yes), ece(transform(data, answer = factor(answer)), answer, .pred_Yes))
})

test_that("missing rows are dropped, or make the result missing", {
  con <- local_database()
  data <- database_data()
  x <- write_table(con, "ce_test_missing", data)
  there <- ece(x, y, .pred_Yes, .by = site, na_rm = FALSE)
  here <- ece(data, y, .pred_Yes, .by = site, na_rm = FALSE)
  expect_same_ece(there, here)
  expect_identical(is.na(there$conf.low), is.na(here$conf.low))
  data$y[data$site %in% "a"] <- NA
  x <- write_table(con, "ce_test_missing", data)
  expect_warning(there <- ece(x, y, .pred_Yes, .by = site), class = "calibrisk_warning_group")
  expect_warning(here <- ece(data, y, .pred_Yes, .by = site), class = "calibrisk_warning_group")
  expect_same_ece(there, here)
  data$y <- NA_integer_
  x <- write_table(con, "ce_test_missing", data)
  expect_error(ece(x, y, .pred_Yes), class = "calibrisk_error_empty")
})

test_that("values that are no probabilities have the errors of memory", {
  con <- local_database()
  bad <- function(class, ..., change) {
    data <- change(database_data())
    x <- write_table(con, "ce_test_bad", data)
    expect_error(ece(x, ...), class = class)
    expect_error(ece(x, ..., .by = site), class = class)
  }
  bad("calibrisk_error_probs", y, .pred_Yes, change = function(d) transform(d, .pred_Yes = .pred_Yes + 0.5))
  bad("calibrisk_error_probs", y, .pred_Yes, change = function(d) transform(d, .pred_Yes = -.pred_Yes))
  bad("calibrisk_error_probs", y, .pred_Yes, change = function(d) transform(d, .pred_Yes = log(v + 1) * 1e308 * 1e10))
  bad("calibrisk_error_truth", y, .pred_Yes, change = function(d) transform(d, y = y + 1L))
  bad("calibrisk_error_probs", y, .pred_Yes, v, change = function(d) transform(d, y = y + 1L))
  bad("calibrisk_error_weights", y, .pred_Yes, weights = v, change = function(d) transform(d, v = v - 0.5))
  bad("calibrisk_error_columns", nothing, .pred_Yes, change = identity)
  if (!is_sqlite(con)) {
    data <- database_data()
    data$.pred_Yes[3] <- NaN
    x <- write_table(con, "ce_test_bad", data)
    expect_error(ece(x, y, .pred_Yes), "NaN", class = "calibrisk_error_probs")
  }
})

test_that("what cannot be summed says so", {
  con <- local_database()
  x <- write_table(con, "ce_test_cannot", database_data())
  unsupported <- function(...) {
    cnd <- expect_error(ece(x, y, .pred_Yes, ...), class = "calibrisk_error_unsupported")
    # marks are read, not shown
    expect_no_match(conditionMessage(cnd), "{", fixed = TRUE)
  }
  unsupported(times = 50)
  unsupported(horizon = 3)
  unsupported(notion = "class_wise")
  unsupported(notion = "canonical", type = "discrete")
  unsupported(preset = "torchmetrics")
  local_stand_ins(list(few_rows = 100))
  unsupported(type = "sweep")
})

test_that("an event that becomes rarer is noticed", {
  con <- local_database()
  data <- database_data()
  data$y <- 1L - data$y
  x <- write_table(con, "ce_test_direction", data)
  expect_warning(ece(x, y, .pred_Yes), class = "calibrisk_warning_direction")
  expect_warning(ece(data, y, .pred_Yes), class = "calibrisk_warning_direction")
})

test_that("standard errors of clusters are those in memory", {
  con <- local_database()
  data <- clustered_data()
  x <- write_table(con, "ce_test_cluster", data)
  same <- function(...) expect_same_ece(ece(x, y, .pred_Yes, ...), ece(data, y, .pred_Yes, ...))
  for (type in c("width", "mass", "discrete")) {
    for (p in list(1, 2, 3.5, Inf)) same(cluster = `a"b`, type = type, p = p)
    same(cluster = select, type = type, p = 2, debias = TRUE, .by = site)
  }
  same(cluster = select, n_bins = c(3, 20), weights = k, .by = site)
  same(cluster = `a"b`, n_bins = c(3, 20), weights = v, type = "mass", .by = site)
  same(cluster = select, weights = v, p = 2)
  same(cluster = `a"b`, na_rm = FALSE)
  # weights of one value are none
  data$u <- 2.5
  x <- write_table(con, "ce_test_cluster", data)
  same(cluster = select, weights = u)
  few <- data[c(1:6, 10:15), ]
  few$select <- rep(c(1, 2, 3), 4)
  x <- write_table(con, "ce_test_cluster", few)
  expect_same_ece(ece(x, y, .pred_Yes, cluster = select), ece(few, y, .pred_Yes, cluster = select))
})

test_that("one cluster has no standard error, and both say so", {
  con <- local_database()
  data <- transform(clustered_data(), one = 7L)
  data$one[data$site %in% "a"] <- 8L
  x <- write_table(con, "ce_test_one", data)
  expect_warning(there <- ece(x, y, .pred_Yes, cluster = one, .by = site), "all", class = "calibrisk_warning_cluster")
  expect_warning(here <- ece(data, y, .pred_Yes, cluster = one, .by = site), class = "calibrisk_warning_cluster")
  expect_same_ece(there, here)
  expect_identical(is.na(there$conf.low), is.na(here$conf.low))
  said <- function(data) {
    cnd <- expect_warning(ce_estimate(data, y, .pred_Yes, cluster = one), class = "calibrisk_warning_cluster")
    conditionMessage(cnd)
  }
  data$one <- 1L
  expect_identical(said(write_table(con, "ce_test_one", data)), said(data))
})

test_that("the lower end of clusters is the cross-fitted one of folds of whole clusters", {
  con <- local_database()
  data <- clustered_data()
  data <- data[!is.na(data$y) & !is.na(data$.pred_Yes) & !is.na(data$`a"b`), ]
  x <- write_table(con, "ce_test_folds", data)
  fold_of <- function() {
    pairs <- "SELECT \".pred_Yes\" AS p, y, 1 AS ce_w, \"a\"\"b\" AS ce_cluster FROM ce_test_folds"
    sql <- calibrisk:::sql_scatter(pairs, character(), "ce_cluster")
    found <- DBI::dbGetQuery(con, paste0("SELECT DISTINCT ce_cluster, scatter FROM (", sql, ") s"))
    expect_identical(anyDuplicated(found$ce_cluster), 0L)
    setNames(as.numeric(found$scatter), found$ce_cluster)
  }
  scatter <- fold_of()
  expect_gt(length(unique(scatter %% 5)), 3)
  local_stand_ins(list(few_rows = 0, value_folds = function(features, labels, cluster, folds, even) {
    as.integer(scatter[data$`a"b`] %% 5) + 1L
  }))
  for (p in c(1, 2)) {
    there <- ece(x, y, .pred_Yes, p = p, cluster = `a"b`)
    expect_equal(there$conf.low, ece(data, y, .pred_Yes, p = p, cluster = `a"b`)$conf.low, tolerance = 1e-12)
    expect_gt(there$conf.high, there$conf.low)
  }
  # neither the order of the rows nor the names of the clusters matter
  data <- data[rev(seq_len(nrow(data))), ]
  data$`a"b` <- paste0("z", 100 - match(data$`a"b`, names(scatter)))
  write_table(con, "ce_test_folds", data)
  other <- fold_of()
  expect_identical(unname(other[paste0("z", 100 - seq_along(scatter))]), unname(scatter))
  # clusters of equal rows are told apart
  write_table(con, "ce_test_folds", data.frame(.pred_Yes = 0.5, y = 1L, `a"b` = 1:200, check.names = FALSE))
  counts <- table(fold_of() %% 5)
  expect_gt(stats::chisq.test(counts)$p.value, 1e-3)
})

test_that("clusters in more bins than a query takes are refused", {
  con <- local_database()
  data <- data.frame(p = (1:5100) / 5101, y = rep(0:1, 2550), c = rep(1:10, 510))
  x <- write_table(con, "ce_test_many", data)
  local_stand_ins(list(few_rows = 5000))
  expect_error(ece(x, y, p, type = "discrete", cluster = c), "5,000", class = "calibrisk_error_unsupported")
})
