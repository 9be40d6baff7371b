# Tables of a database: only sums leave it. A `ce_database` is
#   con       a DBI connection
#   from      the SQL of a SELECT with all columns
#   columns   its first rows: names and types for tidyselect
#   groups    names of the columns that it is grouped by
# SQL is written in what SQLite, PostgreSQL and DuckDB share: subqueries, CASE, window functions, `%` of integers.

#' Predictions in a database
#'
#' [ece()], [rbs()], [ks_error()], [cox_calibration()], [spiegelhalter()], [ce_score()], [ce_panel()], [ce_estimate()],
#' [ce_tune()] and [ce_validate()] take a table of a database as `x`: a `tbl` of dbplyr, also after `filter()`,
#' `mutate()` or `group_by()`, or `ce_database(con, table)` without dbplyr. These functions need only sums, which the
#' database computes; nothing is written to it. [mmce()], [smooth_ece()], [kde_error()], [ici()], [hosmer_lemeshow()]
#' and [ce_decompose()] take a table whose rows have few different values. All other functions need rows, and their
#' error says why.
#'
#' @section Definition:
#' Two rows differ if their predictions, outcomes, weights or clusters do. Up to 20,000 different rows (of a group) are
#' sent with their counts, and functions have the digits of memory; rows are repeated where a function takes no counts.
#' There is no bootstrap. For more different rows sums are sent.
#'
#' [ece()] has the sums of powers of \eqn{d}, prediction minus outcome, by fold and bin. They give the binned error with
#' its standard error and interval. With clusters, the database squares their sums for the standard errors (for up to
#' 5,000 bins).
#'
#' The other functions have sums over narrow cells: of \eqn{u^k}, k < 6, by cell, outcome, fold and cluster. A cell is
#' the part between two edges of bins (or two knots) of a stretch of length 1/256, and \eqn{u} is the place of a
#' prediction in this stretch. Edges of equal mass are order statistics, found by a window function. A few rows with the
#' same sums then stand for those of a cell. With clusters up to a million sums are sent.
#'
#' The main estimate has the knots and the digits of memory. Its lower limit and p-value come from simulated labels, so
#' they differ a little from those in memory if there are more than 20,000 different rows. With importance weights it
#' takes up to that many. Beyond it [ce_tune()] has no main estimate, and a message of class
#' `calibrisk_message_headline` says so.
#'
#' [rbs()], [ks_error()], [cox_calibration()], [spiegelhalter()], [ce_score()] and [ce_panel()] have the digits of
#' memory for up to 20,000 different rows. For more, lower limits have other folds, Cox's regression agrees to 1e-8, and
#' with importance weights standard errors have about 4 digits of memory (see below). The table of [ce_panel()] has the
#' rows of that of a [ce_state()]; only `n_bins` and `level` can be chosen. Scores are those of two classes, and so is
#' [rbs()] without `notion = "top_label"`.
#'
#' [ce_tune()] takes bins and kernel ridges whose bandwidth is a number. Risks, choices and standard errors have the
#' digits of memory. More than 20,000 different rows with importance weights are an exception. Let \eqn{W_1} be the sum
#' of the weights of the rows of a cell with the same outcome, and \eqn{W_2} the sum of their squares: they count as
#' \eqn{W_1^2 / W_2} equal weights. Risks then have about 7 digits of memory, standard errors of differences about 3.
#'
#' @section Folds:
#' No random numbers are drawn, by R or by the database. `folds = fold` in [ce_tune()] takes a column of whole numbers,
#' 0 for test rows; the digits are those of the same folds in memory. With an `id`, such a column is
#' `mutate(x, fold = id %% 5L + 1L)`. `folds = 5`, and lower limits of more than 20,000 different rows, scatter the rows
#' by a hash of their values that is computed in SQL. It is the same in every database and for any order of the rows,
#' but it differs from the hash in memory. Results that depend on it have other digits than in memory; all others have
#' the same. The copies of a row with a frequency weight stay in one fold, which makes the lower end the lower. Clusters
#' are whole in a fold, by a hash of the values of all their rows; a column that cuts one is an error, as in memory.
#'
#' @section Outcomes:
#' Text is taken for classes, with levels sorted as in the C locale; a column `.pred_<level>` names the event. Numbers
#' are 0 and 1 (of a single probability) or the classes 1..K. NULL is a missing value, of a cluster too; SQLite stores
#' NaN as NULL.
#'
#' @section Cost:
#' A pass of the database per query, and a sort of the predictions for quantiles and hashes. A million rows in SQLite,
#' one processor: `ece()` 3 s, `ce_estimate()` 6 s, `ce_tune()` 8 s.
#'
#' @section Errors:
#' `calibrisk_error_database`: an error of the database in a query, and a lost connection. `calibrisk_error_unsupported`
#' (and `_database`): a result that cannot be computed from sums over cells. Then `dplyr::collect()` the rows.
#'
#' @param con A DBI connection.
#' @param table The name of a table, a `DBI::Id()`, or a query as `DBI::SQL()`.
#' @return A `ce_database`, for `x` of these functions.
#' @export
#' @examplesIf rlang::is_installed(c("DBI", "RSQLite"))
#' con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
#' DBI::dbWriteTable(con, "predictions", data.frame(p = c(.1, .4, .8, .9), y = c(0L, 1L, 0L, 1L)))
#' ece(ce_database(con, "predictions"), y, p, n_bins = 5)
#' DBI::dbDisconnect(con)
ce_database <- function(con, table) {
  rlang::check_installed("DBI", reason = "to read a database.")
  stop_if(!methods_is(con, "DBIConnection"), "{.arg con} must be a DBI connection.",
          "x" = "It is {.cls {class(con)[1]}}.",
          "i" = if (inherits(con, "tbl_sql")) "Such a table is read as it is, as in {.code ece(table, truth, p)}.",
          arg = "con", value = con)
  is_name <- rlang::is_string(table) || inherits(table, "Id")
  stop_if(!is_name && !inherits(table, "SQL"),
          "{.arg table} must be the name of a table, a {.code DBI::Id()}, or a query as {.code DBI::SQL()}.",
          "x" = "It is {.cls {class(table)[1]}}.", arg = "table", value = table)
  named <- is_name && !inherits(table, "SQL")
  if (rlang::is_string(table)) check_table(con, table)
  new_database(con, if (named) paste("SELECT * FROM", sql_name(list(con = con), table)) else as.character(table),
               character())
}

# Databases list their tables in different ways: a table that can be read is one.
check_table <- function(con, table) {
  if (table %in% database_tables(con) || isTRUE(tryCatch(DBI::dbExistsTable(con, table), error = function(e) TRUE))) {
    return(invisible())
  }
  tables <- database_tables(con)
  meant <- meant_word(table, tables)
  stop_input("{.arg table} must be a table of the database.", "x" = "There is no {.val {table}}.",
             "i" = if (!is.null(meant)) "Did you mean {.val {meant}}?",
             "i" = if (length(tables) > 0) "Its tables are {.val {utils::head(tables, 10)}}.",
             class = c("database", "argument"), arg = "table", value = table)
}

database_tables <- function(con) tryCatch(DBI::dbListTables(con), error = function(e) character())

new_database <- function(con, from, groups) {
  out <- structure(list(con = con, from = from, groups = groups), class = "ce_database")
  # types are seen in rows only: some databases know none of an expression
  first <- paste0("SELECT * FROM (", out$from, ") ce_rows LIMIT 100")
  out$columns <- tibble::as_tibble(database_query(out, first))
  out
}

#' @export
print.ce_database <- function(x, ...) {
  check_object(x)
  cat("<ce_database> ", gsub("\\s+", " ", x$from), "\n", sep = "")
  cat("Columns: ", toString(names(x$columns)), "\n", sep = "")
  invisible(x)
}

# The remedy of errors where rows are needed.
#' @exportS3Method dplyr::collect
collect.ce_database <- function(x, ...) {
  tibble::as_tibble(database_query(x, paste0("SELECT * FROM (", x$from, ") ce_rows")))
}

# An instance of an S4 class; `inherits()` with which = FALSE knows the classes that it extends.
methods_is <- function(x, class) isS4(x) && inherits(x, class)

as_database <- function(x) {
  if (inherits(x, "ce_database")) return(check_object(x, "x"))
  rlang::check_installed("dbplyr", reason = "to read a table of a database.")
  con <- dbplyr::remote_con(x)
  stop_if(!methods_is(con, "DBIConnection"), "{.arg x} must be a table of a database.", "x" = "It has no connection.",
          class = "database", arg = "x")
  # the groups are a note of dbplyr, not part of its SQL
  new_database(con, as.character(dbplyr::remote_query(x)), dplyr::group_vars(x))
}

# The rows of a query; what goes wrong in the database is an error of ours that says what it said.
database_query <- function(db, sql) {
  said <- NULL
  out <- tryCatch(
    withCallingHandlers(DBI::dbGetQuery(db$con, sql), warning = function(cnd) {
      # some drivers warn where they fail
      said <<- conditionMessage(cnd)
      rlang::cnd_muffle(cnd)
    }),
    error = function(cnd) stop_database(cnd, sql)
  )
  if (!is.data.frame(out)) stop_database(NULL, sql, said)
  out
}

stop_database <- function(cnd, sql = NULL, said = NULL) {
  # braces are not ours to interpret
  fact <- if (is.null(cnd)) said %||% "It returned nothing." else conditionMessage(cnd)
  stop_input("The database must answer the query.", "x" = "{fact}",
             "i" = "Is the connection still open? {.code DBI::dbIsValid(con)} says so.", class = "database", arg = "x",
             sql = sql, parent = cnd)
}

# --- Pieces of SQL ----------------------------------------------------------------------------------------------------

# Some drivers ask the server.
sql_quoted <- function(quoted) as.character(tryCatch(quoted, error = function(cnd) stop_database(cnd)))

sql_name <- function(db, name) sql_quoted(DBI::dbQuoteIdentifier(db$con, name))

sql_double <- function(expression) paste0("CAST(", expression, " AS DOUBLE PRECISION)")

# 17 digits: the same number when it is read.
sql_number <- function(x) {
  # a locale may write commas
  text <- sub(",", ".", sprintf("%.17g", x), fixed = TRUE)
  sql_double(ifelse(x == round(x) & abs(x) < 2^31, sprintf("%.0f", x), text))
}

sql_literal <- function(db, value) {
  if (is.na(value)) return("NULL")
  if (is.logical(value)) return(if (value) "TRUE" else "FALSE")
  if (is.numeric(value)) return(sql_number(as.numeric(value)))
  sql_quoted(DBI::dbQuoteString(db$con, as.character(value)))
}

sql_equal <- function(db, name, value) {
  if (is.na(value)) paste(name, "IS NULL") else paste(name, "=", sql_literal(db, value))
}

# Number of `edges` (ascending) below the expression, as a balanced tree of comparisons: right-closed cells, from 0.
# With `lower = "<"` the number of edges that it reaches.
sql_cell <- function(expression, edges, lower = "<=", from = 0) {
  if (length(edges) == 0) return(format(from, scientific = FALSE))
  middle <- (length(edges) + 1) %/% 2
  paste0("CASE WHEN ", expression, " ", lower, " ", sql_number(edges[middle]), " THEN ",
         sql_cell(expression, edges[seq_len(middle - 1)], lower, from), " ELSE ",
         sql_cell(expression, edges[-seq_len(middle)], lower, from + middle), " END")
}

# The cell of equal width, from 0, for any number of them: a cast may truncate or round, so that both neighbours are
# compared with the edges, one division each as in memory.
sql_width_cell <- function(expression, n_bins) {
  k <- paste0("CAST(", expression, " * ", n_bins, " AS INTEGER)")
  edge <- function(k) paste0(sql_double(k), " / ", sql_number(n_bins))
  paste0("CASE WHEN ", expression, " <= ", edge("1"), " THEN 0 WHEN ", expression, " <= ", edge(paste(k, "- 1")),
         " THEN ", k, " - 2 WHEN ", expression, " <= ", edge(k), " THEN ", k, " - 1 ELSE ", k, " END")
}

# LIMIT keeps the database from computing an expression of a subquery anew wherever it is used.
sql_fence <- " LIMIT 9223372036854775807"

sql_sums <- function(expressions) {
  paste0(sql_double(paste0("SUM(", expressions, ")")), " AS ", names(expressions), collapse = ", ")
}

# `from`: the SQL of a SELECT; `name`: what it is called; `...`: what follows.
sql_select <- function(columns, from, name, ...) paste0("SELECT ", sql_list(columns), " FROM (", from, ") ", name, ...)

sql_list <- function(...) {
  items <- c(...)
  paste(items[nzchar(items)], collapse = ", ")
}
