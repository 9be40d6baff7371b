source_data <- function(n = 950) {
  data <- withr::with_seed(4, data.frame(p = round(runif(n), 12), k = sample(1:3, n, TRUE), site = sample(letters, n, TRUE)))
  data$y <- as.integer(withr::with_seed(5, runif(n)) < data$p)
  data$p[c(3, 500)] <- NA
  data
}

same_state <- function(there, here) {
  expect_identical(c(there$n, there$dropped), c(here$n, here$dropped))
  expect_equal(there$sums, here$sums, tolerance = 1e-12)
}

write_parts <- function(data, folder, parts = 3, ending = ".csv") {
  at <- sort(rep_len(seq_len(parts), nrow(data)))
  for (i in seq_len(parts)) {
    file <- file.path(folder, paste0("part-", i, ending))
    con <- if (endsWith(ending, "gz")) gzfile(file, "w") else base::file(file, "w")
    utils::write.csv(data[at == i, ], con, row.names = FALSE)
    close(con)
  }
  folder
}

test_that("a state of a source is that of its rows, whatever they come from", {
  data <- source_data()
  here <- update(ce_state(), data, y, p)
  same_state(update(ce_state(), ce_source(data, rows = 100), y, p), here)
  pieces <- split(data, rep(1:5, each = 190))
  next_piece <- function() {
    out <- pieces[1][[1]]
    pieces <<- pieces[-1]
    out
  }
  same_state(update(ce_state(), next_piece, y, p), here)
  pieces <- split(data, rep(1:5, each = 190))
  reader <- new.env()
  reader$read_next_batch <- next_piece
  same_state(update(ce_state(), ce_source(reader), y, p), here)
  same_state(update(ce_state(), ce_source(data, rows = 70), y, p, weights = k),
             update(ce_state(), data, y, p, weights = k))
  expect_output(print(ce_source(data)), "950 rows")
})

test_that("files of a folder are read in order, in pieces and compressed", {
  data <- source_data()
  here <- update(ce_state(), data, y, p, cluster = site)
  for (ending in c(".csv", ".csv.gz")) {
    folder <- withr::local_tempdir()
    write_parts(data, folder, ending = ending)
    same_state(update(ce_state(), ce_source(folder, rows = 37), y, p, cluster = site), here)
  }
})

test_that("text is read by its separator, its decimal mark, and as JSON lines", {
  data <- source_data()
  here <- update(ce_state(), data, y, p, cluster = site)
  for (ending in c("csv", "csv.gz", "tsv", "tsv.gz", "jsonl", "ndjson.gz")) {
    file <- withr::local_tempfile(fileext = paste0(".", ending))
    con <- if (endsWith(ending, "gz")) gzfile(file, "w") else base::file(file, "w")
    if (grepl("csv", ending)) utils::write.csv2(data, con, row.names = FALSE)
    if (grepl("tsv", ending)) utils::write.table(data, con, sep = "\t", row.names = FALSE)
    if (grepl("json", ending)) {
      skip_if_not_installed("jsonlite")
      jsonlite::stream_out(data, con, verbose = FALSE, digits = NA)
    }
    close(con)
    same_state(update(ce_state(), ce_source(file, rows = 100), y, p, cluster = site), here)
  }
  # semicolons, in another encoding
  latin <- withr::local_tempfile(fileext = ".csv")
  writeBin(charToRaw("w\xe4hr;y\n0,5;1\n"), latin)
  expect_identical(text_format(latin), list(sep = ";", dec = ","))
  # semicolons and decimal points
  file <- withr::local_tempfile(fileext = ".csv")
  utils::write.table(data, file, sep = ";", row.names = FALSE)
  same_state(update(ce_state(), ce_source(file), y, p, cluster = site), here)
  cut <- withr::local_tempfile(fileext = ".jsonl", lines = c("{\"p\": 0.5, \"y\": 1}", "{\"p\": 0.2"))
  expect_error(update(ce_state(), ce_source(cut), y, p), "cut off", class = "calibrisk_error_source")
})

test_that("a path in place of rows is an error that says what reads files", {
  csv <- withr::local_tempfile(fileext = ".csv", lines = c("p;y", "0,5;1"))
  expect_error(ece(csv, y, p), "path of a file.*ce_source\\(\\)", class = "calibrisk_error_source")
  expect_error(ece(tempdir(), y, p), "the path of a folder", class = "calibrisk_error_source")
  expect_error(ce_source(withr::local_tempfile(fileext = ".rds", lines = "")), "is none of these",
               class = "calibrisk_error_source")
})

test_that("Parquet files are read in pieces, with the classes of their columns", {
  skip_if_not_installed("nanoparquet")
  write <- getExportedValue("nanoparquet", "write_parquet")
  data <- source_data()
  data$answer <- factor(ifelse(data$y == 1, "yes", "no"), c("yes", "no"))
  folder <- withr::local_tempdir()
  at <- sort(rep_len(1:3, nrow(data)))
  for (i in 1:3) {
    write(data[at == i, ], file.path(folder, paste0(i, ".parquet")), compression = c("snappy", "gzip", "zstd")[i])
  }
  here <- update(ce_state(), data, answer, p, cluster = site)
  same_state(update(ce_state(), ce_source(folder, rows = 100), answer, p, cluster = site), here)
  same_state(update(ce_state(), ce_source(folder), y, p, weights = k), update(ce_state(), data, y, p, weights = k))
})

test_that("a table and a result of a database are sources", {
  skip_if_not_installed("RSQLite")
  data <- source_data()
  con <- local_database()
  x <- write_table(con, "ce_test_source", data)
  here <- update(ce_state(), data, y, p)
  same_state(update(ce_state(), ce_source(x, rows = 100), y, p), here)
  result <- DBI::dbSendQuery(con, "SELECT * FROM ce_test_source")
  same_state(update(ce_state(), ce_source(result, rows = 100), y, p), here)
  expect_false(DBI::dbIsValid(result))
})

test_that("what was opened is closed at the end, on an error and after an interrupt", {
  data <- source_data()
  closed <- 0
  source_of <- function(then) {
    given <- 0
    ce_source(function() {
      given <<- given + 1
      if (given > 2) then() else data
    }, close = function() closed <<- closed + 1)
  }
  expect_identical(update(ce_state(), source_of(function() NULL), y, p)$n, 2 * 948)
  expect_identical(closed, 1)
  cnd <- expect_error(update(ce_state(), source_of(function() stop("the line is dead")), y, p),
                      class = "calibrisk_error_source")
  expect_match(conditionMessage(cnd), "piece 3")
  expect_match(conditionMessage(cnd$parent), "the line is dead")
  expect_identical(closed, 2)
  expect_error(update(ce_state(), source_of(function() data.frame(p = 2, y = 1)), y, p),
               class = "calibrisk_error_source")
  expect_error(update(ce_state(), source_of(function() 1), y, p), class = "calibrisk_error_source")
  expect_identical(closed, 4)
  stopped <- tryCatch(update(ce_state(), source_of(function() {
    rlang::interrupt()
  }), y, p), interrupt = function(cnd) "interrupted")
  expect_identical(stopped, "interrupted")
  expect_identical(closed, 5)
})

test_that("an error of a source is said, not one of closing it; closing alone fails too", {
  data <- source_data()
  broken <- function(pull) ce_source(pull, close = function() stop("cannot close"))
  cnd <- expect_error(update(ce_state(), broken(function() stop("the line is dead")), y, p),
                      class = "calibrisk_error_source")
  expect_match(conditionMessage(cnd$parent), "the line is dead")
  cnd <- expect_error(update(ce_state(), broken(function() NULL), y, p), class = "calibrisk_error_source")
  expect_match(conditionMessage(cnd$parent), "cannot close")
})

test_that("files that are cut off are errors, whole ones with an odd end are not", {
  data <- source_data()
  state <- update(ce_state(), data, y, p)
  was <- unserialize(serialize(state, NULL))
  connections <- list(csv = base::file, csv.gz = gzfile, csv.bz2 = bzfile, csv.xz = xzfile)
  for (ending in names(connections)) {
    file <- withr::local_tempfile(fileext = paste0(".", ending))
    con <- connections[[ending]](file, "wb")
    utils::write.csv(data[c('p', 'k', 'y')], con, row.names = FALSE)
    close(con)
    bytes <- readBin(file, "raw", file.size(file))
    same_state(update(ce_state(), ce_source(file, rows = 100), y, p), update(ce_state(), data, y, p))
    # in the middle of a row, which the piecewise reader of plain files sees too
    half <- length(bytes) %/% 2
    if (ending == "csv") half <- which(bytes == charToRaw("\n"))[300] + 5
    writeBin(bytes[seq_len(half)], file)
    suppressWarnings(expect_error(update(state, ce_source(file, rows = 100), y, p), class = "calibrisk_error_source",
                                  info = ending), "calibrisk_warning_source")
  }
  expect_identical(state, was)
  # without an end of the line; compressed twice into one file
  text <- paste(utils::capture.output(utils::write.csv(data[c('p', 'k', 'y')], row.names = FALSE)), collapse = "\n")
  file <- withr::local_tempfile(fileext = ".csv.gz")
  con <- gzfile(file, "wb")
  writeChar(text, con, eos = NULL)
  close(con)
  same_state(update(ce_state(), ce_source(file, rows = 100), y, p), update(ce_state(), data, y, p))
  con <- gzfile(file, "ab")
  writeChar("\n0.5,1,1\n", con, eos = NULL)
  close(con)
  expect_identical(update(ce_state(), ce_source(file, rows = 100), y, p)$n, 949)
})

test_that("a result of a database that ends before its end is an error", {
  skip_if_not_installed("RSQLite")
  con <- local_database()
  x <- write_table(con, "ce_test_ends", source_data())
  gone <- 0
  local_stand_ins(list(dbFetch = function(res, n, ...) {
    gone <<- gone + 1
    if (gone > 1) data.frame() else data.frame(p = 0.5, y = 1)
  }, dbHasCompleted = function(res, ...) FALSE), "DBI")
  cnd <- expect_error(update(ce_state(), ce_source(x), y, p), class = "calibrisk_error_source")
  expect_s3_class(cnd$parent, "calibrisk_error_database")
})

test_that("what is no source says so", {
  expect_error(ce_source(1), class = "calibrisk_error_source")
  expect_error(ce_source("no/such/file.csv"), class = "calibrisk_error_source")
  file <- withr::local_tempfile(fileext = ".txt", lines = "a")
  expect_error(ce_source(file), class = "calibrisk_error_source")
  expect_error(ce_source(withr::local_tempdir()), class = "calibrisk_error_source")
  broken <- withr::local_tempfile(fileext = ".parquet", lines = "no parquet")
  skip_if_not(rlang::is_installed("nanoparquet") || rlang::is_installed("arrow"))
  expect_error(update(ce_state(), ce_source(broken), y, p), class = "calibrisk_error_source")
})

test_that("sources of a list are merged: the same digits one after the other and in workers", {
  data <- source_data()
  folder <- write_parts(data, withr::local_tempdir(), 4)
  sources <- lapply(list.files(folder, full.names = TRUE), ce_source)
  alone <- update(ce_state(), sources, y, p)
  same_state(alone, update(ce_state(), data, y, p))
  jobs <- local_copies()
  expect_identical(update(ce_state(), sources, y, p), alone)
  expect_identical(jobs(), 4)
  wrong <- c(sources, list(ce_source(data.frame(p = 2, y = 1))))
  expect_error(update(ce_state(), wrong, y, p), class = "calibrisk_error_source")
})

test_that("numbers that were saved as text of 15 digits are the same rows", {
  data <- withr::with_seed(6, data.frame(p = c(stats::runif(4000), stats::plogis(stats::rnorm(4000)))))
  data$y <- as.integer(withr::with_seed(7, stats::runif(8000)) < data$p)
  file <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(data, file, row.names = FALSE)
  text <- utils::read.csv(file)
  expect_gt(mean(text$p != data$p), .1)
  expect_identical(cpp_row_keys(matrix(text$p), text$y), cpp_row_keys(matrix(data$p), data$y))
  expect_identical(value_folds(matrix(text$p), text$y), value_folds(matrix(data$p), data$y))
  # in folds by the values
  expect_equal(ece(text, y, p)[c("conf.low", "conf.high")], ece(data, y, p)[c("conf.low", "conf.high")])
  states <- lapply(list(data, file), function(x) ce_panel(update(ce_state(), ce_source(x), y, p)))
  expect_equal(states[[2]], states[[1]])
  # values that differ in single precision are different rows
  near <- c(.3, .3 + 1e-7)
  expect_false(anyDuplicated(cpp_row_keys(matrix(near), c(1L, 1L))) > 0)
})

test_that("a CSV file whose last line has no end is warned about, and its name is no text", {
  write <- function(text, file = withr::local_tempfile(fileext = ".csv", .local_envir = parent.frame())) {
    writeBin(charToRaw(text), file)
    file
  }
  text <- paste0("y,p\n", paste0(rep("0,0.25\n1,0.83\n1,0.25\n1,0.83\n", 10), collapse = ""))
  sums <- function(file) glance(ce_estimate(update(ce_state(), ce_source(file), y, p)))$n
  for (end in c(1, 3)) {
    cut <- write(substr(text, 1, nchar(text) - end))
    expect_warning(expect_identical(sums(cut), 40), "cut off", class = "calibrisk_warning_source")
  }
  expect_no_warning(sums(write(text)))
  expect_no_warning(sums(write(gsub("\n", "\r\n", text))))
})
