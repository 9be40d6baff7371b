test_that("a connection that is gone, and a table that is not there, are errors of a class", {
  con <- local_database()
  x <- write_table(con, "ce_test_gone", database_data())
  write_table(con, "ce_test {two}", database_data(10))
  error <- expect_error(ce_database(con, "no_such_table"), class = "calibrisk_error_database")
  if (is_sqlite(con)) expect_match(conditionMessage(error), "Its tables are.*ce_test \\{two\\}.*ce_test_gone")
  DBI::dbDisconnect(con)
  expect_error(ece(x, y, .pred_Yes), class = "calibrisk_error_database")
  expect_error(ce_database(con, "ce_test_gone"), class = "calibrisk_error_database")
  expect_error(ce_database(1, "x"), class = "calibrisk_error_argument")
  expect_error(ce_database(con, 1), class = "calibrisk_error_argument")
})

test_that("a connection that is lost between two queries is an error of a class, in every verb", {
  data <- database_data(200)
  verbs <- list(ece = function(x) ece(x, y, .pred_Yes, type = "mass", .by = "k"),
                estimate = function(x) ce_estimate(x, y, .pred_Yes),
                tune = function(x) ce_tune(x, y, .pred_Yes, folds = fold))
  query <- database_query
  asked <- 0
  lost_at <- Inf
  local_stand_ins(list(database_query = function(db, sql) {
    asked <<- asked + 1
    if (asked == lost_at) DBI::dbDisconnect(con)
    query(db, sql)
  }))
  for (name in names(verbs)) {
    con <- local_database()
    x <- write_table(con, "ce_test_between", data)
    asked <- 0
    suppressWarnings(verbs[[name]](x))
    expect_gt(asked, 2)
    for (at in unique(c(2, asked %/% 2, asked))) {
      lost_at <- Inf
      con <- local_database()
      x <- write_table(con, "ce_test_between", data)
      asked <- 0
      lost_at <- at
      suppressWarnings(expect_error(verbs[[name]](x), class = "calibrisk_error_database", info = paste(name, at)))
    }
    lost_at <- Inf
  }
})

test_that("a driver that cannot quote without its server is an error of a class", {
  con <- local_database()
  x <- write_table(con, "ce_test_quote", database_data())
  local_stand_ins(list(dbQuoteIdentifier = function(...) stop("the server is gone")), "DBI")
  expect_error(ece(x, y, .pred_Yes), "the server is gone", class = "calibrisk_error_database")
})

test_that("numbers keep their digits on the way into SQL and back", {
  con <- local_database()
  x <- withr::with_seed(1, c(runif(50), 10^runif(50, -300, 300), 0, 1, 1 / 3, 2^31, 2^53, 5e-324))
  sql <- paste0("SELECT ", paste0(calibrisk:::sql_number(x), " AS x", seq_along(x), collapse = ", "))
  expect_identical(unlist(DBI::dbGetQuery(con, sql), use.names = FALSE), x)
})

test_that("cells are those of findInterval, of any number of edges, also on the edges", {
  con <- local_database()
  cells <- function(x, sql) {
    write_table(con, "ce_test_cells", data.frame(i = seq_along(x), p = x))
    as.numeric(DBI::dbGetQuery(con, paste0("SELECT i, ", sql, " AS c FROM ce_test_cells ORDER BY i"))$c)
  }
  for (n_bins in c(1, 2, 3, 7, 10, 49, 1000)) {
    edges <- seq_len(n_bins) / n_bins
    x <- withr::with_seed(n_bins, c(runif(40), 0, edges[seq_len(min(n_bins, 60))], 0.5, 0.3, 1 - 1e-16, 1e-300))
    expected <- findInterval(x, edges[-n_bins], left.open = TRUE)
    expect_equal(cells(x, calibrisk:::sql_width_cell("p", n_bins)), expected)
    expect_equal(cells(x, calibrisk:::sql_cell("p", edges[-n_bins])), expected)
    expect_equal(cells(x, calibrisk:::sql_cell("p", edges[-n_bins], "<")), findInterval(x, edges[-n_bins]))
  }
})

test_that("names and values are quoted", {
  con <- local_database()
  data <- database_data(100)
  odd <- "a\"; drop table ce_test_odd; --"
  names(data)[names(data) == ".pred_Yes"] <- odd
  names(data)[names(data) == "site"] <- "it's a `site`"
  names(data)[names(data) == "answer"] <- "select"
  x <- write_table(con, "ce test \"odd", data)
  out <- ece(x, y, tidyselect::all_of(odd), .by = "it's a `site`")
  expect_equal(out$.estimate, ece(data, y, tidyselect::all_of(odd), .by = "it's a `site`")$.estimate, tolerance = 1e-12)
  expect_equal(ece(x, `select`, tidyselect::all_of(odd), event_level = "second")$.estimate,
               ece(data, y, tidyselect::all_of(odd))$.estimate, tolerance = 1e-12)
  expect_identical(nrow(DBI::dbGetQuery(con, x$from)), 100L)
})

test_that("nothing is written to the database", {
  con <- local_database()
  skip_if_not(is_sqlite(con))
  file <- withr::local_tempfile(fileext = ".sqlite")
  writer <- DBI::dbConnect(RSQLite::SQLite(), file)
  write_table(writer, "d", database_data())
  DBI::dbDisconnect(writer)
  before <- tools::md5sum(file)
  reader <- DBI::dbConnect(RSQLite::SQLite(), file, flags = RSQLite::SQLITE_RO)
  withr::defer(DBI::dbDisconnect(reader))
  expect_s3_class(ece(ce_database(reader, "d"), y, .pred_Yes, type = "mass"), "tbl_df")
  expect_identical(unname(tools::md5sum(file)), unname(before))
})

test_that("a table of dbplyr is read with what was done to it", {
  con <- local_database()
  skip_if_not(is_sqlite(con))
  data <- database_data()
  write_table(con, "ce_test_tbl", data)
  x <- dplyr::tbl(con, "ce_test_tbl")
  there <- ece(dplyr::group_by(dplyr::filter(x, v > 0.3), site), y, .pred_Yes)
  here <- ece(dplyr::group_by(data[data$v > 0.3, ], site), y, .pred_Yes)
  expect_identical(there$site, here$site)
  expect_close(there$.estimate, here$.estimate, tol$law)
  expect_error(ece(dplyr::group_by(x, site), y, .pred_Yes, .by = site), class = "calibrisk_error_group")
  for (verb in list(skce, ce_hierarchy)) {
    expect_error(verb(x, y, .pred_Yes), class = "calibrisk_error_unsupported")
  }
})

test_that("the rows of a table can be collected, as errors advise", {
  skip_if_not_installed("dbplyr")
  con <- local_database()
  data <- database_data(30)
  write_table(con, "ce_test_collect", data)
  x <- ce_database(con, "ce_test_collect")
  error <- expect_error(ce_curve(x, y, .pred_Yes), class = "calibrisk_error_unsupported")
  expect_match(conditionMessage(error), "dplyr::collect(x)", fixed = TRUE)
  rows <- dplyr::collect(x)
  expect_equal(rows[["y"]], data$y)
  expect_equal(rows, dplyr::collect(dplyr::tbl(con, "ce_test_collect")))
  error <- expect_error(ce_database(dplyr::tbl(con, "ce_test_collect")), class = "calibrisk_error_argument")
  expect_match(conditionMessage(error), "read as it is")
})

test_that("a database prints what it reads", {
  con <- local_database()
  x <- write_table(con, "ce_test_print", database_data(20))
  expect_output(print(x), "ce_test_print.*\\.pred_Yes")
})

test_that("text and blobs in a column without a type are refused with their row", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  refused <- function(value, type = "probs", column = "p") {
    DBI::dbExecute(con, "DROP TABLE IF EXISTS d")
    DBI::dbExecute(con, "CREATE TABLE d (y INTEGER, p, w)")
    DBI::dbExecute(con, "INSERT INTO d VALUES (0, 0.2, 1), (1, 0.7, 1), (1, NULL, 1), (0, 1, 2)")
    DBI::dbExecute(con, paste0("UPDATE d SET ", column, " = ", value, " WHERE rowid > 2"))
    weights <- if (column == "w") "w"
    expect_error(ece(ce_database(con, "d"), "y", "p", weights = tidyselect::any_of(weights)),
                 class = paste0("calibrisk_error_", type))
  }
  text <- refused("'high'")
  expect_match(conditionMessage(text), "stored as numbers.*Row 3 of column .*p.* is \"high\"; 2 rows hold text or blobs")
  expect_match(conditionMessage(text), "mutate(tbl, p = as.numeric(p))", fixed = TRUE)
  expect_identical(text$row, 3L)
  # text that looks like a number is text in memory, too
  expect_match(conditionMessage(refused("'0.7'")), "Row 3")
  expect_match(conditionMessage(refused("x'00ff'")), "a blob")
  expect_match(conditionMessage(refused("'two'", "weights", "w")), "Weights in a database")
  # an outcome that is text was a missing one, and a source read 0
  expect_match(conditionMessage(refused("'yes'", "truth", "y")), "Outcomes that are numbers.*Row 3 of column .*y")
  DBI::dbExecute(con, "UPDATE d SET y = 1")
  DBI::dbExecute(con, "UPDATE d SET p = 'high' WHERE rowid > 2")
  expect_error(update(ce_state(), ce_source(ce_database(con, "d")), y, p), "one type", class = "calibrisk_error")
  DBI::dbExecute(con, "UPDATE d SET p = 0.7, w = 1")
  expect_s3_class(ece(ce_database(con, "d"), "y", "p"), "tbl_df")
})
