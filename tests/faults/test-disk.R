skip_if_not_installed("rmarkdown")
skip_if_not(rmarkdown::pandoc_available("2.0"), "pandoc")

report <- function(file) ce_report(fault_rows(), y, p, event_level = "second", file = file, times = 0)

test_that("a report on a full disk is an error that leaves the old one, also where only its last bytes do not fit", {
  page <- withr::local_tempfile(fileext = ".html")
  report(page)
  size <- file.size(page)
  for (missing in c(size - 4096, size %% 4096 + 1)) {
    kilobytes <- ceiling(size / 1024) + 64
    folder <- local_disk(kilobytes)
    file <- file.path(folder, "page.html")
    writeLines("old", file)
    leave_room(folder, kilobytes, size - missing + 4096)
    expect_error(report(file), "full", class = "calibrisk_error_file")
    expect_setequal(list.files(folder), c("page.html", "rest"))
    expect_identical(readLines(file), "old")
    unlink(file.path(folder, "rest"))
    report(file)
    expect_match(readLines(file), "</html>", all = FALSE)
  }
})

test_that("a folder that is read only is an error before any work", {
  folder <- local_disk(64)
  expect_identical(system2("mount", c("-o", "remount,ro", folder)), 0L)
  expect_error(ce_report(stop("read"), y, p, file = file.path(folder, "page.html")), "writable",
               class = "calibrisk_error_file")
})

test_that("a full folder of temporary files is an error of a class", {
  folder <- local_disk(128)
  file <- withr::local_tempfile(fileext = ".html", lines = "old")
  code <- c(
    "library(calibrisk)", "p <- (1:300) / 301", "y <- rep(0:1, 150)",
    "writeBin(raw(1024 * 90), file.path(tempdir(), 'rest'))",
    paste0("out <- tryCatch(ce_report(p, y, event_level = 'second', file = '", file, "', times = 0), error = class)"),
    "cat(out[out %in% c('calibrisk_error_render', 'calibrisk_error_file')], ece(p, y)$.metric)"
  )
  script <- withr::local_tempfile(lines = code)
  withr::local_envvar(TMPDIR = folder, R_LIBS = paste(.libPaths(), collapse = ":"))
  said <- system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE, stderr = FALSE)
  expect_match(said, "^calibrisk_error_(render|file) ece", all = FALSE)
  expect_identical(readLines(file), "old")
})
