# A connection to SQLite in memory, or to the server of `make test-database`, closed at the end of the test.
local_database <- function(frame = parent.frame()) {
  skip_if_not_installed("DBI")
  skip_if_not_installed("dbplyr")
  server <- Sys.getenv("CALIBRISK_POSTGRES")
  if (nzchar(server)) {
    skip_if_not_installed("RPostgreSQL")
    parts <- strsplit(strsplit(server, " ")[[1]], "=")
    given <- stats::setNames(lapply(parts, `[`, 2), vapply(parts, `[`, "", 1))
    # needed by that server only, so not declared
    driver <- getExportedValue("RPostgreSQL", "PostgreSQL")
    con <- DBI::dbConnect(driver(), host = given$host, port = as.integer(given$port),
                          user = given$user, password = given$password, dbname = "postgres")
  } else {
    skip_if_not_installed("RSQLite")
    con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  }
  withr::defer(suppressWarnings(try(DBI::dbDisconnect(con), silent = TRUE)), frame)
  con
}

is_sqlite <- function(con) inherits(con, "SQLiteConnection")

# Digits that arrive as they left: the drivers' own writers may round.
write_table <- function(con, name, data) {
  if (is_sqlite(con)) {
    DBI::dbWriteTable(con, name, data, overwrite = TRUE)
  } else {
    quoted <- vapply(names(data), function(column) as.character(DBI::dbQuoteIdentifier(con, column)), "")
    types <- vapply(data, function(v) {
      switch(typeof(v), integer = "integer", double = "double precision", logical = "boolean", "text")
    }, "")
    table <- as.character(DBI::dbQuoteIdentifier(con, name))
    DBI::dbExecute(con, paste0("DROP TABLE IF EXISTS ", table))
    DBI::dbExecute(con, paste0("CREATE TABLE ", table, " (", paste(quoted, types, collapse = ", "), ")"))
    text <- vapply(data, function(v) {
      if (is.character(v)) return(ifelse(is.na(v), "NULL", paste0("'", gsub("'", "''", v), "'")))
      if (is.logical(v)) return(ifelse(is.na(v), "NULL", ifelse(v, "TRUE", "FALSE")))
      ifelse(is.na(v) & !is.nan(v), "NULL", ifelse(is.finite(v), sprintf("%.17g", v), paste0("'", v, "'")))
    }, character(nrow(data)))
    values <- apply(matrix(text, nrow(data)), 1, paste, collapse = ", ")
    DBI::dbExecute(con, paste0("INSERT INTO ", table, " VALUES ", paste0("(", values, ")", collapse = ", ")))
  }
  dplyr::tbl(con, name)
}

database_data <- function(n = 600) {
  withr::with_seed(11, {
    p <- round(runif(n), 3)
    data <- data.frame(.pred_Yes = p, site = sample(c("a", "it's b", NA), n, TRUE), k = sample(0:3, n, TRUE),
                       v = runif(n), fold = sample(0:5, n, TRUE))
    data$y <- as.integer(runif(n) < p^1.4)
  })
  data$answer <- ifelse(data$y == 1, "Yes", "No")
  data$.pred_Yes[7] <- NA
  data$y[9] <- NA
  data$answer[9] <- NA
  data
}
