# Sources of files (R/source.R): text, compressed or not, and Parquet.

file_kinds <- c(csv = "[.]csv([.](gz|bz2|xz))?$", tsv = "[.](tsv|tab)([.](gz|bz2|xz))?$",
                json = "[.](jsonl|ndjson)([.](gz|bz2|xz))?$", parquet = "[.]parquet$")

# In the order of their names, for any locale.
source_files <- function(x) {
  folders <- dir.exists(x)
  inside <- unlist(lapply(x[folders], list.files, pattern = paste(file_kinds, collapse = "|"), full.names = TRUE,
                          recursive = TRUE, ignore.case = TRUE))
  files <- c(x[!folders], sort(as.character(inside), method = "radix"))
  gone <- files[!file.exists(files)]
  stop_if(length(gone) > 0, "{.arg x} must name files that exist.", "x" = "{.file {gone[1]}} does not.",
          "i" = "Names are relative to the working directory, {.file {getwd()}}.", class = "source", arg = "x")
  other <- files[is.na(file_kind(files))]
  stop_if(length(other) > 0 || length(files) == 0,
          "{.arg x} must name CSV, TSV, JSON lines or Parquet files, by their endings, or folders of them.",
          "x" = if (length(other) > 0) "{.file {other[1]}} is none of these." else "There are none.",
          "i" = "Others are read by a function that returns the next data frame.", class = "source", arg = "x")
  files
}

file_kind <- function(files) {
  hits <- vapply(file_kinds, grepl, logical(length(files)), x = files, ignore.case = TRUE)
  names(file_kinds)[apply(matrix(hits, length(files)), 1, function(hit) which(hit)[1])]
}

# One after the other; only one is open.
files_iterator <- function(files, rows) {
  at <- 0
  current <- NULL
  close <- function() {
    if (!is.null(current)) current$close()
    current <<- NULL
  }
  iterator(function() {
    repeat {
      if (is.null(current)) {
        if (at == length(files)) return(NULL)
        at <<- at + 1
        current <<- open_file(files[at], rows)
      }
      out <- current$pull()
      if (!is.null(out)) return(out)
      close()
    }
  }, close, function() (at - if (is.null(current)) 0 else 1 - current$done()) / length(files))
}

at_once <- 2^28

open_file <- function(file, rows) {
  kind <- file_kind(file)
  stop_if(file.size(file) %in% 0, "A file must not be empty.", "x" = "{.file {file}} has no bytes.", class = "source",
          arg = "x", path = file)
  if (kind == "parquet") return(cut_iterator(read_parquet(file), rows))
  # a file that is half copied mostly does not end with a line
  cut <- !is_compressed(file) && file.size(file) > 0 && !last_bytes(file, 1) %in% charToRaw("\r\n")
  warn_if(cut, "The last line of {.file {file}} may be cut off: it has no end of line.", class = "source",
          path = file)
  if (kind == "json") return(json_iterator(file, rows))
  format <- if (kind == "tsv") list(sep = "\t", dec = ".") else text_format(file)
  # fread() takes a name with a line break for data
  plain <- !is_compressed(file) && !grepl("[\r\n]", file)
  if (plain && file.size(file) <= at_once && rlang::is_installed("data.table")) {
    read <- getExportedValue("data.table", "fread")
    left_out <- FALSE
    data <- withCallingHandlers(
      read(file = file, sep = format$sep, dec = format$dec, na.strings = c("NA", ""), integer64 = "numeric",
           data.table = FALSE, showProgress = FALSE),
      # of what does not look like a row
      warning = function(cnd) {
        if (!grepl("Discarded|Stopped early", conditionMessage(cnd))) return()
        left_out <<- TRUE
        rlang::cnd_muffle(cnd)
      }
    )
    if (left_out) stop_cut_off(file)
    return(cut_iterator(data, rows))
  }
  csv_iterator(file, rows, format)
}

is_compressed <- function(file) grepl("[.](gz|bz2|xz)$", file, ignore.case = TRUE)

# One record in each line. A field that no record of a piece has is not a column there.
json_iterator <- function(file, rows) {
  rlang::check_installed("jsonlite", reason = "to read JSON lines.")
  con <- base::file(file, "r") # decompresses
  iterator(function() {
    lines <- readLines(con, rows, warn = FALSE)
    if (length(lines) == 0) {
      if (!is_complete(file)) stop_cut_off(file)
      return(NULL)
    }
    lines <- lines[grepl("[^[:space:]]", lines)]
    rlang::try_fetch(as.data.frame(jsonlite::fromJSON(paste0("[", paste(lines, collapse = ","), "]"))),
                     error = function(cnd) stop_cut_off(file))
  }, function() close(con))
}

read_parquet <- function(file) {
  package <- if (rlang::is_installed("arrow") && !rlang::is_installed("nanoparquet")) "arrow" else "nanoparquet"
  rlang::check_installed(package, reason = "to read Parquet files.")
  as.data.frame(getExportedValue(package, "read_parquet")(file))
}

# Piece by piece of an open file. A column that had decimals is numeric in every piece.
csv_iterator <- function(file, rows, format = list(sep = ",", dec = ".")) {
  con <- base::file(file, "r") # decompresses
  columns <- NULL
  classes <- NA
  iterator(function() {
    arguments <- list(con, header = is.null(columns), nrows = rows, check.names = FALSE, na.strings = c("NA", ""),
                      colClasses = classes, fill = FALSE, sep = format$sep, dec = format$dec)
    if (!is.null(columns)) arguments$col.names <- columns
    # R's own words
    out <- tryCatch(withCallingHandlers(do.call(utils::read.csv, arguments), warning = function(cnd) {
      short <- gettext("number of items read is not a multiple of the number of columns", domain = "R")
      if (any(vapply(c(short, "lzma"), grepl, NA, conditionMessage(cnd), fixed = TRUE))) stop_cut_off(file)
    }), error = function(cnd) {
      end <- gettext("no lines available in input", domain = "R-utils")
      if (grepl(end, conditionMessage(cnd), fixed = TRUE)) NULL else stop(cnd)
    })
    if (is.null(out) || nrow(out) == 0) {
      if (!is_complete(file)) stop_cut_off(file)
      return(NULL)
    }
    columns <<- names(out)
    classes <<- ifelse(vapply(out, is.double, NA), "numeric", NA)
    out
  }, function() close(con))
}

stop_cut_off <- function(file) {
  stop_input("A file must be whole.", "x" = "{.file {file}} is cut off, or not a table.",
             "i" = "Copy it again: it may have been read while it was written.", class = "source")
}

# R's connections end silently where a compressed file does. One of gzip says its size; else the text must end with
# a line.
is_complete <- function(file) {
  if (!is_compressed(file)) return(TRUE)
  con <- gzfile(file, "rb") # of all three kinds
  on.exit(close(con))
  size <- 0
  last <- raw(0)
  repeat {
    bytes <- suppressWarnings(readBin(con, "raw", 2^20))
    if (length(bytes) == 0) break
    size <- size + length(bytes)
    last <- bytes[length(bytes)]
  }
  said <- if (grepl("gz$", file, ignore.case = TRUE)) sum(as.integer(last_bytes(file, 4)) * 256^(0:3))
  identical(size %% 2^32, said) || any(last == charToRaw("\n"))
}

last_bytes <- function(file, n) {
  con <- base::file(file, "rb", raw = TRUE)
  on.exit(close(con))
  seek(con, max(file.size(file) - n, 0))
  readBin(con, "raw", n)
}
