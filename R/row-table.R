# Tables of a database are `tbl`s of dbplyr, whose verbs make all SQL. Functions read the columns that they need into
# memory, and so have the digits of rows in memory. Tables with more rows become states (R/database.R).

# As many rows of a table are read into memory.
most_table_rows <- 5e6

# A table as its rows, with its groups; `x` itself if it is not a table. A table with too many rows is an error if it
# must be `whole`, else it stays one.
read_table <- function(x, whole = TRUE) {
  if (is_survey(x)) return(survey_frame(x))
  if (!is_table(x)) return(x)
  columns <- meant_columns(x)
  groups <- dplyr::group_vars(x)
  read <- table_iterator(x, union(columns, groups), most_table_rows + 1)
  on.exit(read$close())
  rows <- in_database(read$pull())
  if (is.null(rows)) rows <- lapply(setNames(nm = union(columns, groups)), function(column) numeric())
  rows <- tibble::as_tibble(rows)
  if (nrow(rows) > most_table_rows) {
    if (!whole && length(groups) == 0) return(x)
    stop_long_table(length(groups) > 0)
  }
  if (length(groups) > 0) dplyr::grouped_df(rows, groups) else rows
}

# Rows of a table have no order, by which those of other predictions could be found.
check_ordered <- function(x, arg) {
  stop_if(is_table(x), "Predictions of the same rows must be columns of one table, or be in memory.",
          "x" = "A table of a database has no order of its rows.",
          "i" = "{.code dplyr::collect()} takes its rows into memory.", class = c("unsupported", "table"), arg = arg)
}

stop_long_table <- function(grouped) {
  stop_input(
    "A table that is read into memory has at most {count_text(most_table_rows)} rows.", "x" = "It has more.",
    "i" = "{.code dplyr::collect(x)} takes any number of rows into memory.",
    "i" = if (grouped) "States have no groups: {.code dplyr::filter()} the table to one of them." else
      "{.fn ce_state} reads them in pieces and keeps sums.", class = c("unsupported", "size", "table"), arg = "x"
  )
}

# The rows of these columns, so many at a time.
table_iterator <- function(x, columns, rows) {
  rlang::check_installed(c("dbplyr", "dplyr"), reason = "to read a table of a database.")
  con <- dbplyr::remote_con(x)
  stop_if(!methods_is(con, "DBIConnection"), "{.arg x} must be a table of a database.", "x" = "It has no connection.",
          class = "database", arg = "x")
  in_database({
    query <- dbplyr::remote_query(dplyr::select(dplyr::ungroup(x), dplyr::all_of(columns)))
    result_iterator(DBI::dbSendQuery(con, query), rows)
  })
}

# An instance of an S4 class; `inherits()` with which = FALSE knows the classes that it extends.
methods_is <- function(x, class) isS4(x) && inherits(x, class)

# What goes wrong in the database is an error of a class.
in_database <- function(value) {
  rlang::try_fetch(value, error = function(cnd) {
    if (inherits(cnd, "calibrisk_error")) return(rlang::zap())
    stop_input("The database must answer the query.", "x" = "It gave the error below.",
               "i" = "A lost connection is opened again by {.fn DBI::dbConnect}.", class = "database", parent = cnd)
  })
}

# The columns that the arguments of the function in `frame` may mean: those that are named, and what selections select.
# If no probabilities are selected these are columns `.pred_*`, else any.
meant_columns <- function(x, frame = called_verb()) {
  names <- colnames(x)
  of_argument <- function(arg) rlang::eval_bare(call("enquo", as.symbol(arg)), frame)
  args <- intersect(c("truth", ".by", "weights", "cluster", "id", "group", "model"), ls(frame, all.names = TRUE))
  dots <- if (exists("...", frame, inherits = FALSE)) rlang::eval_bare(quote(enquos(...)), frame)
  horizon <- get0("horizon", frame, inherits = FALSE)
  quos <- c(lapply(args, of_argument), dots, if (is.list(horizon)) horizon[c("strata", "entry")])
  found <- lapply(Filter(is_given, Filter(rlang::is_quosure, quos)), quo_columns, names)
  unknown <- length(dots) == 0 && !any(startsWith(names, ".pred_"))
  if (unknown || any(vapply(found, is.null, NA))) return(names)
  names[names %in% unlist(found) | length(dots) == 0 & startsWith(names, ".")]
}

# NULL where a selection depends on more than names.
quo_columns <- function(quo, names) {
  named <- named_columns(quo, names)
  if (!is.null(named)) return(names(named))
  words <- all.names(rlang::quo_squash(quo))
  if ("where" %in% words) return(NULL)
  selected <- tryCatch(tidyselect::eval_select(quo, setNames(as.list(names), names)), error = function(cnd) NULL)
  union(names[selected], intersect(words, names))
}

# What is read piece by piece: see R/source.R.
iterator <- function(pull, close = NULL, done = function() NA_real_) {
  list(pull = pull, close = close %||% function() NULL, done = done)
}

result_iterator <- function(result, rows) {
  force(result)
  iterator(function() {
    if (DBI::dbHasCompleted(result)) return(NULL)
    out <- withCallingHandlers(DBI::dbFetch(result, n = rows), warning = function(cnd) {
      # SQLite reads text among numbers as 0
      said <- conditionMessage(cnd)
      stop_if(grepl("mixed type", said, fixed = TRUE), "A column of the database must hold values of one type.",
              "x" = "{said}", "i" = "SQLite keeps what it is given: correct these rows, or make them NULL.",
              class = "database")
    })
    if (NROW(out) > 0) return(out)
    # some drivers warn only
    stop_if(!DBI::dbHasCompleted(result), "The database must return all rows.",
            "x" = "Its result ended before its end.", class = "database")
  }, function() DBI::dbClearResult(result))
}
