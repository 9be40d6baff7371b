test_that("a table has the numbers of its rows in memory", {
  data <- database_data()
  x <- write_table(local_database(), "ce_test_rows", data)
  expect_equal(ece(x, y, weights = k, type = "mass"), ece(data, y, weights = k, type = "mass"))
  expect_equal(ce_estimate(dplyr::filter(x, v > 0.3), y, .pred_Yes, cluster = "fold"),
               ce_estimate(data[data$v > 0.3, ], y, .pred_Yes, cluster = "fold"))
  sites <- dplyr::group_by(data, site)
  expect_equal(ce_panel(dplyr::group_by(x, site), y, .pred_Yes), ce_panel(sites, y, .pred_Yes))
  expect_equal(rbs(x, y, .pred_Yes, .by = c(site, k)), rbs(data, y, .pred_Yes, .by = c(site, k)))
  expect_equal(tidy(ce_validate(x, y, .pred_Yes, group = site, times = 0)),
               tidy(ce_validate(data, y, .pred_Yes, group = site, times = 0)))
  expect_error(ece(dplyr::filter(x, v > 2), y, .pred_Yes), class = "calibrisk_error_empty")
  expect_error(ece(x, z, .pred_Yes), "no column .z.", class = "calibrisk_error_columns")
})

test_that("the columns that are read are those that a call names", {
  con <- local_database()
  x <- write_table(con, "ce_test_columns", database_data(20))
  asked <- NULL
  query <- DBI::dbSendQuery
  local_stand_ins(list(dbSendQuery = function(con, sql, ...) {
    asked <<- as.character(sql)
    query(con, sql, ...)
  }), "DBI")
  reads <- function(call, ...) {
    force(call)
    columns <- c(".pred_Yes", "site", "k", "v", "fold", "y", "answer")
    found <- columns[vapply(columns, grepl, NA, x = asked, fixed = TRUE)]
    expect_identical(sort(found), sort(as.character(c(...))))
  }
  reads(rbs(x, y, .pred_Yes), "y", ".pred_Yes")
  reads(rbs(x, "y"), "y", ".pred_Yes")
  reads(rbs(x, y, starts_with(".pred"), .by = site, weights = v), "y", ".pred_Yes", "site", "v")
  through <- function(data, col, ...) suppressWarnings(rbs(data, {{ col }}, ...))
  reads(through(dplyr::group_by(x, k), y, .pred_Yes), "y", ".pred_Yes", "k")
  reads(ce_validate(x, y, .pred_Yes, group = fold, times = 0), "y", ".pred_Yes", "fold")
  # all of them
  reads(suppressWarnings(rbs(x, y, v & where(is.numeric))))
  expect_match(asked, "SELECT *", fixed = TRUE)
  reads(update(ce_state(), x, y, .pred_Yes, id = fold), "y", ".pred_Yes", "fold")
})

test_that("a longer table is read into a state of what the call asks for", {
  data <- database_data()
  x <- write_table(local_database(), "ce_test_long", data)
  state <- function(...) update(ce_state(...), data, y, .pred_Yes)
  local_stand_ins(list(most_table_rows = 100))
  into <- function(call) {
    expect_message(value <- call, class = "calibrisk_message_state")
    value
  }
  expect_identical(into(ce_estimate(x, y, .pred_Yes)), ce_estimate(state()))
  expect_identical(into(ece(x, y, .pred_Yes, n_bins = 7)), ece(state(n_bins = 7), n_bins = 7))
  expect_identical(into(ce_panel(x, y, .pred_Yes, n_bins = 7)), ce_panel(state(n_bins = 7)))
  expect_identical(into(ks_error(x, y, .pred_Yes, level = 0.9)), ks_error(state(), level = 0.9))
  expect_identical(into(rbs(x, y, .pred_Yes, weights = k)), rbs(update(ce_state(), data, y, .pred_Yes, weights = k)))
  expect_identical(glance(into(ce_tune(x, y, .pred_Yes, folds = 3, test = 0.3))),
                   glance(ce_tune(state(folds = 3, test = 0.3))))
  expect_identical(tidy(into(ce_validate(x, y, .pred_Yes, thresholds = 0.123, times = 0))),
                   tidy(ce_validate(state(breaks = 0.123), thresholds = 0.123, times = 0)))
  refused <- function(call, text) expect_error(call, text, class = "calibrisk_error_unsupported")
  refused(mmce(x, y, .pred_Yes), "at most 100 rows.*collect")
  refused(ece(x, y, .pred_Yes, type = "mass"), "at most 100 rows.*collect")
  refused(ece(x, y, .pred_Yes, .by = site), "States have no groups")
  refused(ece(dplyr::group_by(x, site), y, .pred_Yes), "States have no groups")
  expect_error(ce_tune(x, y, .pred_Yes, methods = list(method_bins(3))), class = "calibrisk_error_state")
  expect_error(ece(x, y, .pred_Yes, na_rm = FALSE), "na_rm", class = "calibrisk_error_state")
})

test_that("sums of a database are those of the state that reads the rows", {
  data <- database_data(2000)
  data$.pred_Yes[20:23] <- c(0, 1, 1 / 15, 2 / 15)
  data$y[20:21] <- c(0L, 1L)
  data$w <- replace(data$v, c(3, 5), c(NA, 0))
  data$k[4] <- NA
  x <- write_table(local_database(), "ce_test_sums", data)
  check <- function(..., folds = TRUE) {
    here <- suppressWarnings(update(ce_state(), data, ..., .pred_Yes))
    there <- suppressWarnings(ce_state(x, ..., .pred_Yes, in_database = TRUE))
    expect_identical(there[c("n", "dropped", "spec")], here[c("n", "dropped", "spec")])
    expect_identical(there$about[names(here$about)], here$about)
    expect_identical(setdiff(names(here$sums[[1]]), names(there$sums[[1]])), "fine")
    for (name in names(there$sums[[1]])) {
      total <- function(state) {
        sums <- rowSums(state$sums[[1]][[name]])
        # parts are made of other values without a column
        if (folds) sums else rowSums(matrix(sums, ncol = state$spec$folds + 1))
      }
      expect_equal(total(there), total(here), tolerance = 1e-9, info = name)
    }
    there
  }
  check(y, folds = FALSE)
  check(y, weights = k, folds = FALSE)
  check(y, id = fold)
  check(y, cluster = site)
  check(y, cluster = fold, weights = w)
  state <- check(y, id = fold, weights = w)
  check(y, cluster = fold, weights = k)
  expect_equal(c(state, state)$n, 2 * state$n)
})

test_that("a state of a database's sums has the numbers of one of rows, or says what it lacks", {
  data <- database_data(2000)
  data$.pred_Yes <- 0.01 + 0.98 * data$v
  x <- write_table(local_database(), "ce_test_numbers", data)
  there <- ce_state(x, y, .pred_Yes, in_database = TRUE)
  here <- update(ce_state(), data, y, .pred_Yes)
  numbers <- c("estimate", "std.error", "conf.high", "p.value")
  expect_equal(ce_estimate(there)[numbers], ce_estimate(here)[numbers], tolerance = 1e-7)
  numbers <- c(".estimate", "std.error", "conf.high")
  expect_equal(as.data.frame(ce_panel(there)[numbers]), as.data.frame(ce_panel(here)[numbers]), tolerance = 1e-7)
  expect_equal(tidy(ce_validate(there, times = 0))$estimate, tidy(ce_validate(here, times = 0))$estimate,
               tolerance = 1e-7)
  expect_equal(ce_score(there, score = "log")$.estimate, ce_score(here, score = "log")$.estimate)
  expect_error(ce_tune(there), "no folds", class = "calibrisk_error_unsupported")
  expect_error(c(there, here), "sums of a database", class = "calibrisk_error_state")
  expect_snapshot(there)
})

test_that("what a database's sums cannot be of is an error", {
  data <- database_data(100)
  data$odd <- replace(data$v, 3, 1.5)
  data$w <- replace(data$v, 3, -1)
  x <- write_table(local_database(), "ce_test_odd", data)
  refused <- function(class, ...) expect_error(ce_state(x, ..., in_database = TRUE), class = class)
  refused("calibrisk_error_probs", y, odd)
  refused("calibrisk_error_columns", y, v, odd)
  refused("calibrisk_error_truth", k, v)
  refused("calibrisk_error_weights", y, v, weights = w, cluster = site)
  refused("calibrisk_error_unsupported", y, v, weights = odd)
  refused("calibrisk_error_unsupported", y, v, cluster = site, id = fold)
  refused("calibrisk_error_unsupported", y, v, notion = "top_label")
  expect_error(ce_state(data, y, v, in_database = TRUE), class = "calibrisk_error_argument")
  expect_warning(ce_state(dplyr::mutate(x, v = 1 - .pred_Yes), y, v, in_database = TRUE),
                 class = "calibrisk_warning_direction")
})

test_that("the query is written by dbplyr for any database", {
  skip_if_not_installed("dbplyr")
  columns <- list(p = "risk", y = "died", w = "times", part = "centre")
  for (name in c("postgres", "hive", "snowflake", "mssql")) {
    con <- getExportedValue("dbplyr", paste0("simulate_", name))()
    x <- dbplyr::lazy_frame(risk = 1, died = 1, times = 1, centre = "a", con = con)
    expect_snapshot(cat(dbplyr::remote_query(calibrisk:::table_sums(x, columns, c(0, 0.5, 0.75, 0.9, 1)))))
  }
})

test_that("a connection that is gone, and one that there is not, are errors of a class", {
  con <- local_database()
  x <- write_table(con, "ce_test_gone", database_data())
  DBI::dbDisconnect(con)
  expect_error(ece(x, y, .pred_Yes), class = "calibrisk_error_database")
  expect_error(ce_state(x, y, .pred_Yes, in_database = TRUE), class = "calibrisk_error_database")
  expect_error(update(ce_state(), x, y, .pred_Yes), class = "calibrisk_error_source")
  expect_error(ece(dbplyr::lazy_frame(y = 1, p = 0.5), y, p), class = "calibrisk_error_database")
})

test_that("SQLite's text among numbers is an error", {
  con <- local_database()
  skip_if_not(is_sqlite(con))
  DBI::dbExecute(con, "CREATE TABLE mixed (p REAL, y INTEGER)")
  DBI::dbExecute(con, "INSERT INTO mixed VALUES (0.2, 1), (0.3, 'no'), (0.4, 0)")
  expect_error(suppressWarnings(ece(dplyr::tbl(con, "mixed"), y, p)), class = "calibrisk_error_database")
})
