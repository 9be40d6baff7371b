# Sources yield rows piece by piece. A `ce_source` is
#   open   function() that opens it and returns list(pull, close, done), functions without arguments: a data frame or
#          NULL at the end; nothing; the share that was read, or NA
#   label  what it reads, in words

#' Sources: rows that come in pieces
#'
#' A source yields data frames until it is empty. `update(state, source, truth)` reads it into a [ce_state()], in the
#' memory of one piece. A list of sources, such as `lapply(files, ce_source)`, is read source by source, each into a
#' state of its own, and the states are merged in the order of the list. Under a [future::plan()] of several workers
#' they are read in parallel, with the same digits.
#'
#' @param x The source: the names of CSV, TSV, JSON lines or Parquet files, or of a folder of them (see *Files*); a data
#'   frame; a table of a database (a `tbl` of dbplyr); or a result of `DBI::dbSendQuery()`. Also an object with a method
#'   `read_next_batch()` (arrow's `RecordBatchReader`), or a function without arguments that returns the next data
#'   frame, and `NULL` at the end.
#' @param rows Number of rows of a piece. A Parquet file is read at once, and so is a CSV or TSV file below 256 MB if
#'   data.table is installed.
#' @param close For a function: a function to call at its end, or after an error.
#' @section Files:
#' The ending says what a file is: `.csv`, `.tsv` or `.tab`, `.jsonl` or `.ndjson` (a record in each line; needs
#' jsonlite) and `.parquet` (needs nanoparquet or arrow). Text may be compressed: `.csv.gz`, `.bz2`, `.xz`. A CSV file
#' whose header has semicolons and no commas is separated by semicolons, and its decimal mark is the comma if one of the
#' first 1,000 lines has a number with a comma.
#' @section Workers:
#' A source is sent to the worker that reads it: files are opened there, but a connection, a result or a reader does not
#' leave its process (an external pointer is not valid in another). There a source is a function
#' that opens what it reads at its first call. Objects that a function takes from the global environment are not sent
#' with it. It must hold its values (made by a function or in `local()`) and name packages by `::`.
#' @section Tables of a database:
#' Functions take a table as `x`: a `tbl` of dbplyr, also after `filter()`, `mutate()` or `group_by()`. They read the
#' columns that the call names (if it selects no probabilities: the columns `.pred_*`, else all). A table with up to
#' 5,000,000 rows is read into memory, so every function gives the result of `dplyr::collect(x)`. Random folds depend on
#' the order of the rows, which `dplyr::arrange()` fixes. Predictions of the same rows must be columns of one table.
#'
#' A longer table is read in pieces into a [ce_state()] by the functions that take states, and a message says so. What
#' the call says of bins, thresholds and folds becomes options of the state. Functions that need rows, and long tables
#' with groups, are an error of class `calibrisk_error_unsupported`.
#'
#' For rows that may not leave their server, `ce_state(x, truth, p, in_database = TRUE)` sends one query. It groups the
#' rows by cell, outcome and the column of `cluster` or `id`, and returns the sums of every group. They are those of the
#' state that reads the rows, up to rounding. The query is written by dbplyr, for any of its databases, and takes it one
#' or two seconds to write. The state has one probability for each row, and no folds for [ce_tune()]. The values of
#' `cluster` or `id` are returned, so give a column of few, such as `mutate(block = id %% 64L)`. Importance weights need
#' such a column; weights that are all whole numbers are frequencies. Without a column, whole cells are the folds of
#' lower limits.
#' @return A `ce_source`. Files, data frames and tables can be read again; results, readers and functions only once.
#' @section Errors:
#' `calibrisk_error_source` where a piece cannot be read or taken in: it says which one, and its parent why. That
#' includes files and results of databases that end early. `calibrisk_error_worker` where a worker
#' of the plan was lost. Opened files are closed then, also after an interrupt, and the state to be updated is
#' unchanged. `calibrisk_error_database`: an error of the database.
#' @seealso [ce_state()].
#' @export
#' @examples
#' folder <- tempfile()
#' dir.create(folder)
#' parts <- split(vehicle_predictions, rep(1:3, length.out = nrow(vehicle_predictions)))
#' for (i in 1:3) write.csv(parts[[i]], file.path(folder, paste0(i, ".csv")), row.names = FALSE)
#' ce_estimate(update(ce_state(), ce_source(folder), truth))
#'
#' # one source per file: under a plan of several workers in parallel
#' files <- list.files(folder, full.names = TRUE)
#' ce_estimate(update(ce_state(), lapply(files, ce_source), truth))
#' @examplesIf rlang::is_installed(c("dbplyr", "RSQLite"))
#'
#' # a table of a database
#' con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
#' rows <- data.frame(p = (1:400 - 0.5) / 400, y = rep(c(0, 0, 1, 1), 100))
#' DBI::dbWriteTable(con, "predictions", rows)
#' table <- dplyr::tbl(con, "predictions")
#' ece(table, y, p, n_bins = 5)
#' DBI::dbDisconnect(con)
ce_source <- function(x, rows = 1e5, close = NULL) {
  check_count(rows)
  if (inherits(x, "ce_source")) return(x)
  if (is_table(x)) return(table_source(x, rows))
  if (methods_is(x, "DBIResult")) return(new_source(function() result_iterator(x, rows), "a result of a database"))
  if (is.data.frame(x)) {
    return(new_source(function() cut_iterator(x, rows), paste(count_of(nrow(x), "row"), "in memory")))
  }
  if (is.character(x)) {
    files <- source_files(x)
    label <- if (length(files) == 1) files else paste0(length(files), " files, from ", files[1])
    return(new_source(function() files_iterator(files, rows), label))
  }
  if (is.function(x)) return(new_source(function() iterator(x, close), "a function"))
  if (is.environment(x) && is.function(x[["read_next_batch"]])) {
    next_batch <- function() {
      batch <- x$read_next_batch()
      if (!is.null(batch)) as.data.frame(batch)
    }
    return(new_source(function() iterator(next_batch), paste0("<", class(x)[1], ">")))
  }
  stop_input(
    "{.arg x} must be files, a data frame, a table or result of a database, a reader of batches, or a function.",
    "x" = "It is {.cls {class(x)[1]}}.",
    "i" = "For example {.code ce_source(list.files(\"folder\", full.names = TRUE))}; see {.code ?ce_source}.",
    class = c("source", "argument"), arg = "x", value = x
  )
}

new_source <- function(open, label) structure(list(open = open, label = label), class = "ce_source")

#' @export
print.ce_source <- function(x, ...) {
  cat("<ce_source> ", x$label, "\n", sep = "")
  invisible(x)
}

# --- What is read ----------------------------------------------------------------------------------------------------

cut_iterator <- function(data, rows) {
  at <- 0
  n <- nrow(data)
  iterator(function() {
    if (at >= n) return(NULL)
    piece <- seq(at + 1, min(at + rows, n))
    at <<- at + rows
    vctrs::vec_slice(data, piece)
  }, done = function() min(1, at / n))
}

table_source <- function(x, rows, columns = colnames(x)) {
  force(list(x, columns))
  new_source(function() table_iterator(x, columns, rows), "a table of a database")
}
