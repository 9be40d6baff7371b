# Runs the tests of the installed package and closes with the line "N passed, N failed":
#
#   Rscript tools/test.R [filter]
#
# N counts tests (blocks of test_that()): a test fails by a failed expectation or an error,
# an error outside any test counts as a failed test, a skipped test as neither. Exits with 1
# where a test failed and where none ran. The tests run in processes of their own, as many as
# there are cores, so that a crash is counted as well. TESTTHAT_PARALLEL=FALSE runs them one after
# the other and then lists the slowest.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

run_tests <- function(filter) {
  start <- proc.time()[["elapsed"]]
  results <- as.data.frame(testthat::test_dir(
    "tests/testthat",
    package = "calibrisk", load_package = "installed", filter = filter,
    reporter = "summary", stop_on_failure = FALSE
  ))
  failed <- results$failed > 0 | results$error
  skipped <- results$skipped & !failed
  # processes report whole files: the times of single tests are known to one process only
  if (identical(Sys.getenv("TESTTHAT_PARALLEL"), "FALSE")) report_slow(results)
  cat(sprintf("\n%d tests with %d expectations in %.0f s, %d skipped, %d warnings\n",
              nrow(results), sum(results$nb), proc.time()[["elapsed"]] - start, sum(skipped),
              sum(results$warning)))
  c(passed = sum(!failed & !skipped), failed = sum(failed))
}

report_slow <- function(results, seconds = 2, top = 10) {
  slow <- utils::head(results[order(-results$real), ], top)
  slow <- slow[slow$real > seconds, ]
  if (nrow(slow) == 0) return(invisible())
  cat("\nSlowest tests (seconds):\n")
  cat(sprintf("  %6.1f  %s: %s\n", slow$real, slow$file, slow$test), sep = "")
}

in_own_process <- function(filter) {
  counts <- tempfile()
  if (!nzchar(Sys.getenv("TESTTHAT_CPUS"))) {
    Sys.setenv(TESTTHAT_CPUS = max(1L, parallel::detectCores(), na.rm = TRUE))
  }
  # The collector goes over the heap of all suggested packages again and again, for a ninth of the time, where R starts
  # small: room for 12 million nodes and 400 MB of vectors before it has to, where not too many processes take it.
  if (as.integer(Sys.getenv("TESTTHAT_CPUS")) <= 4 && !nzchar(Sys.getenv("R_NSIZE"))) {
    Sys.setenv(R_NSIZE = "12000000", R_VSIZE = "400M")
  }
  # one thread of the BLAS for each process: more would wait for each other
  if (!identical(Sys.getenv("TESTTHAT_PARALLEL"), "FALSE")) Sys.setenv(OPENBLAS_NUM_THREADS = 1, OMP_NUM_THREADS = 1)
  status <- system2(file.path(R.home("bin"), "Rscript"),
                    shQuote(c("tools/test.R", "--counts", counts, filter)))
  if (file.exists(counts)) return(readRDS(counts))
  cat("\nThe test process ended early, with status ", status, ".\n", sep = "")
  c(passed = 0, failed = 1)
}

args <- commandArgs(trailingOnly = TRUE)
args <- args[nzchar(args)]
if (identical(args[1], "--counts")) {
  counts <- run_tests(if (length(args) > 2) args[3])
  saveRDS(counts, args[2])
} else {
  counts <- in_own_process(args)
  cat(sprintf("%d passed, %d failed\n", counts["passed"], counts["failed"]))
  quit(status = if (counts["failed"] > 0 || counts["passed"] == 0) 1 else 0)
}
