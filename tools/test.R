# Runs the tests of the installed package and closes with the line "N passed, N failed":
#
#   Rscript tools/test.R [filter]
#
# N counts tests (blocks of test_that()): a test fails by a failed expectation or an error,
# an error outside any test counts as a failed test, a skipped test as neither. Exits with 1
# where a test failed and where none ran. The tests run in processes of their own, as many as
# there are cores, so that a crash is counted as well. TESTTHAT_PARALLEL=FALSE runs them in one,
# file after file.
#
# A process reports a whole file at its end, and of what holds only how often: testthat's own processes report each
# expectation, which costs both sides as much as many expectations do.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

test_folder <- "tests/testthat"

one_process <- identical(Sys.getenv("TESTTHAT_PARALLEL"), "FALSE")

wanted_processes <- function() {
  if (one_process) return(1L)
  cpus <- Sys.getenv("TESTTHAT_CPUS")
  if (nzchar(cpus)) as.integer(cpus) else max(1L, parallel::detectCores(), na.rm = TRUE)
}

process_variables <- function(processes) {
  c(
    # The collector goes over the heap of all suggested packages again and again, for a ninth of the time, where R
    # starts small: room for 6 million nodes and 150 MB of vectors before it has to, where not too many take it. To
    # touch more for the first time takes as long as is saved.
    if (processes <= 4 && !nzchar(Sys.getenv("R_NSIZE"))) c(R_NSIZE = "6000000", R_VSIZE = "150M"),
    # one thread for each process where the processes are as many as the cores: more would wait for each other (tests
    # of threads say how many)
    if (!one_process) c(OPENBLAS_NUM_THREADS = "1", OMP_NUM_THREADS = "1"),
    if (!one_process && !nzchar(Sys.getenv("RCPP_PARALLEL_NUM_THREADS"))) c(RCPP_PARALLEL_NUM_THREADS = "1")
  )
}

# The longest files come first, so that the processes end together.
files_to_run <- function(filter) {
  first <- read.dcf("DESCRIPTION", "Config/testthat/start-first")[[1]]
  files <- testthat::find_test_scripts(test_folder, filter = filter, full.names = FALSE,
                                       start_first = strsplit(first, ",[[:space:]]*")[[1]])
  sprintf("%s/%s", test_folder, files)
}

new_process <- function(variables) {
  environment <- callr::r_session_options()$env
  process <- callr::r_session$new(callr::r_session_options(
    stdout = NULL, stderr = NULL, env = c(environment[setdiff(names(environment), names(variables))], variables)
  ))
  process$call(function(folder) {
    library(testthat)
    library(calibrisk)
    .GlobalEnv$.test_env <- testthat::test_env("calibrisk")
    testthat::source_test_helpers(folder, .GlobalEnv$.test_env)
    invisible()
  }, list(test_folder))
  process
}

# The results of one file, as testthat lists them, in the process; `held`: the number of those that hold, which are left
# out.
file_results <- function(path) {
  results <- testthat::test_file(path, testthat::Reporter$new(), package = "calibrisk", load_package = "installed",
                                 load_helpers = FALSE, env = .GlobalEnv$.test_env)
  lapply(results, function(test) {
    holds <- vapply(test$results, inherits, NA, "expectation_success")
    test$held <- sum(holds)
    test$results <- test$results[!holds]
    test
  })
}

# A file whose process ended, or could not report, is a test that failed.
lost_file <- function(path, message) {
  error <- testthat::new_expectation("error", paste0(path, ": ", message))
  list(list(file = basename(path), test = "the process of this file", real = NA_real_, held = 0, results = list(error)))
}

# A dot is a test in which something holds.
replay <- function(reporter, path, results) {
  holds <- testthat::new_expectation("success", "")
  name <- sub("^test-?(.*)[.][rR]$", "\\1", basename(path))
  reporter$start_file(basename(path))
  reporter$start_context(name)
  for (test in results) {
    reporter$start_test(name, test$test)
    for (result in c(if (test$held > 0) list(holds), test$results)) reporter$add_result(name, test$test, result)
    reporter$end_test(name, test$test)
  }
  reporter$end_context(name)
  reporter$end_file()
}

# What a process says of the file at `path` or, where it has none yet, of its start; nothing where it is still at work.
results_said <- function(process, path) {
  message <- process$read()
  if (is.null(message) || message$code == 301) return(NULL)
  if (message$code == 200 && is.null(message$error)) return(if (nzchar(path)) message$result else list())
  if (!nzchar(path)) stop("The tests could not start: ", conditionMessage(message$error))
  lost_file(path, conditionMessage(message$error))
}

run_files <- function(paths, reporter) {
  wanted <- min(wanted_processes(), length(paths))
  variables <- process_variables(wanted)
  processes <- lapply(seq_len(wanted), function(i) new_process(variables))
  on.exit(for (process in processes) process$close())
  at <- character(wanted) # the file that each process runs; none while it starts
  working <- rep(TRUE, wanted)
  done <- list()
  while (any(working)) {
    ready <- callr::poll(lapply(processes[working], function(process) process$get_poll_connection()), -1)
    for (i in which(working)[ready == "ready"]) {
      results <- results_said(processes[[i]], at[i])
      if (is.null(results)) next
      if (nzchar(at[i])) {
        replay(reporter, at[i], results)
        done <- c(done, results)
      }
      working[i] <- length(paths) > 0
      if (!working[i]) next
      at[i] <- ""
      if (processes[[i]]$is_alive()) {
        at[i] <- paths[1]
        paths <- paths[-1]
        processes[[i]]$call(file_results, list(at[i]))
      } else {
        processes[[i]] <- new_process(variables)
      }
    }
  }
  done
}

run_tests <- function(filter) {
  start <- proc.time()[["elapsed"]]
  paths <- files_to_run(filter)
  if (length(paths) == 0) return(c(passed = 0, failed = 0))
  reporter <- testthat::SummaryReporter$new()
  reporter$start_reporter()
  results <- run_files(paths, reporter)
  reporter$end_reporter()
  number <- function(kind) {
    vapply(results, function(test) sum(vapply(test$results, inherits, NA, paste0("expectation_", kind))), 0)
  }
  held <- vapply(results, function(test) test$held, 0)
  failures <- number("failure")
  failed <- failures + number("error") > 0
  skipped <- number("skip") > 0 & !failed
  report_slow(results)
  cat(sprintf("\n%d tests with %.0f expectations in %.0f s, %d skipped, %.0f warnings\n", length(results),
              sum(held, failures), proc.time()[["elapsed"]] - start, sum(skipped), sum(number("warning"))))
  c(passed = sum(!failed & !skipped), failed = sum(failed))
}

report_slow <- function(results, seconds = 3, top = 5) {
  real <- vapply(results, function(test) test$real, 0)
  slow <- utils::head(intersect(order(-real), which(real > seconds)), top)
  if (length(slow) == 0) return(invisible())
  cat("\nSlowest tests (seconds):\n")
  for (test in results[slow]) cat(sprintf("  %6.1f  %s: %s\n", test$real, test$file, test$test))
}

args <- commandArgs(trailingOnly = TRUE)
counts <- run_tests(c(args[nzchar(args)], list(NULL))[[1]])
cat(sprintf("%d passed, %d failed\n", counts["passed"], counts["failed"]))
quit(status = if (counts["failed"] > 0 || counts["passed"] == 0) 1 else 0)
