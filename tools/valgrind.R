# Examples of some help pages under valgrind's memcheck: reads of what is not the package's or was never written.
#
#   Rscript tools/valgrind.R [topic ...]
#
# A report counts where a frame of it is in calibrisk.so: R, its BLAS and TBB have their own. Minutes per topic.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))
if (!nzchar(Sys.which("valgrind"))) stop("There is no valgrind: install it.", call. = FALSE)
topics <- commandArgs(trailingOnly = TRUE)
if (length(topics) == 0) topics <- c("ece", "skce", "ckce", "ce_estimate", "ce_state")

# Reports begin with a line without indentation, and end with an empty one.
reports_of <- function(lines) {
  lines <- sub("^==[0-9]+== ?", "", grep("^==[0-9]+==", lines, value = TRUE))
  unname(split(lines[nzchar(lines)], cumsum(!nzchar(lines))[nzchar(lines)]))
}

run_topic <- function(topic) {
  log <- tempfile()
  script <- tempfile(fileext = ".R")
  writeLines(c("options(calibrisk.threads = 2L)", "library(calibrisk)", sprintf("example('%s', ask = FALSE)", topic)),
             script)
  valgrind <- paste0("valgrind --tool=memcheck --leak-check=no --num-callers=30 --log-file=", log)
  status <- withr::with_envvar(
    c(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), OPENBLAS_NUM_THREADS = "1"),
    system2(file.path(R.home("bin"), "R"), c("-d", shQuote(valgrind), "--vanilla", "--no-echo", "-f", script),
            stdout = FALSE, stderr = FALSE)
  )
  reports <- reports_of(readLines(log))
  ours <- Filter(function(report) any(grepl("(in|[(]).*calibrisk[.]so", report)), reports)
  cat(topic, ": ", length(ours), " reports", if (status != 0) ", the example failed", "\n", sep = "")
  for (report in utils::head(ours, 5)) cat(utils::head(report, 15), "", sep = "\n")
  length(ours) == 0 && status == 0
}

quit(status = as.integer(!all(vapply(topics, run_topic, NA))))
