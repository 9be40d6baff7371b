# Sources yield rows piece by piece. A `ce_source` is
#   open   function() that opens it and returns list(pull, close, done), functions without arguments: a data frame or
#          NULL at the end; nothing; the share that was read, or NA
#   label  what it reads, in words

#' Sources: rows that come in pieces
#'
#' A source yields data frames until it is empty. `update(state, source, truth)` reads it into a [ce_state()] (or a
#' [ce_monitor()]), in the memory of one piece. A list of sources, such as `lapply(files, ce_source)`, is read source by
#' source, each into a state of its own, and the states are merged in the order of the list. Under a [future::plan()] of
#' several workers they are read in parallel, with the same digits.
#'
#' @param x The source: the names of CSV or Parquet files, or of a folder of them; a data frame; a table of a database
#'   (dbplyr, or [ce_database()]); or a result of `DBI::dbSendQuery()`. Also an object with a method `read_next_batch()`
#'   (arrow's `RecordBatchReader`), or a function without arguments that returns the next data frame, and `NULL` at the
#'   end.
#' @param rows Number of rows of a piece. A Parquet file is read at once, and so is a CSV file below 256 MB if
#'   data.table is installed.
#' @param close For a function: a function to call at its end, or after an error.
#' @section Workers:
#' A source is sent to the worker that reads it: files are opened there, but a connection, a result or a reader does not
#' leave its process (an external pointer is not valid in another). There a source is a function
#' that opens what it reads at its first call. Objects that a function takes from the global environment are not sent
#' with it. It must hold its values (made by a function or in `local()`) and name packages by `::`.
#' @return A `ce_source`. Files, data frames and tables can be read again; results, readers and functions only once.
#' @section Errors:
#' `calibrisk_error_source` where a piece cannot be read or taken in: it says which one, and its parent why. That
#' includes files and results of databases that end early. `calibrisk_error_worker` where a worker
#' of the plan was lost. Opened files are closed then, also after an interrupt, and the state to be updated is
#' unchanged.
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
ce_source <- function(x, rows = 1e5, close = NULL) {
  check_count(rows)
  if (inherits(x, "ce_source")) return(x)
  if (is_database(x)) return(table_source(as_database(x), rows))
  if (methods_is(x, "DBIResult")) return(result_source(x, rows))
  if (is.data.frame(x)) return(frame_source(x, rows))
  if (is.character(x)) return(file_source(source_files(x), rows))
  if (is.function(x)) return(new_source(function() iterator(x, close), "a function"))
  if (has_batches(x)) return(new_source(function() iterator(next_batch(x)), paste0("<", class(x)[1], ">")))
  stop_input(
    "{.arg x} must be files, a data frame, a table or result of a database, a reader of batches, or a function.",
    "x" = "It is {.cls {class(x)[1]}}.",
    "i" = "For example {.code ce_source(list.files(\"folder\", full.names = TRUE))}; see {.code ?ce_source}.",
    class = c("source", "argument"), arg = "x", value = x
  )
}

new_source <- function(open, label) structure(list(open = open, label = label), class = "ce_source")

iterator <- function(pull, close = NULL, done = function() NA_real_) {
  list(pull = pull, close = close %||% function() NULL, done = done)
}

#' @export
print.ce_source <- function(x, ...) {
  check_object(x)
  cat("<ce_source> ", x$label, "\n", sep = "")
  invisible(x)
}

is_source_list <- function(x) {
  rlang::is_bare_list(x) && length(x) > 0 && all(vapply(x, inherits, NA, "ce_source"))
}

# --- What is read ----------------------------------------------------------------------------------------------------

frame_source <- function(data, rows) {
  new_source(function() cut_iterator(data, rows), paste(count_of(nrow(data), "row"), "in memory"))
}

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

table_source <- function(db, rows) {
  new_source(function() {
    result_iterator(DBI::dbSendQuery(db$con, db$from), rows)
  }, paste("a query:", gsub("\\s+", " ", db$from)))
}

result_source <- function(result, rows) new_source(function() result_iterator(result, rows), "a result of a database")

result_iterator <- function(result, rows) {
  force(result)
  iterator(function() {
    if (DBI::dbHasCompleted(result)) return(NULL)
    out <- withCallingHandlers(DBI::dbFetch(result, n = rows), warning = function(cnd) {
      # SQLite reads text among numbers as 0
      if (grepl("mixed type", conditionMessage(cnd), fixed = TRUE)) stop_mixed_types(conditionMessage(cnd))
    })
    if (NROW(out) > 0) return(out)
    # some drivers warn only
    stop_if(!DBI::dbHasCompleted(result), "The database must return all rows.",
            "x" = "Its result ended before its end.", class = "database")
  }, function() DBI::dbClearResult(result))
}

stop_mixed_types <- function(said) {
  stop_input("A column of the database must hold values of one type.", "x" = "{said}",
             "i" = "SQLite keeps what it is given: correct these rows, or make them NULL.", class = "database")
}

has_batches <- function(x) is.environment(x) && is.function(x[["read_next_batch"]])

next_batch <- function(x) {
  function() {
    batch <- x$read_next_batch()
    if (!is.null(batch)) as.data.frame(batch)
  }
}
