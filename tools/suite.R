# Runs the tests of a folder with the installed package, prints the line "N passed, N failed" and returns the status
# to quit with: 1 where a test failed or all were skipped.
run_suite <- function(path, filter = NULL) {
  results <- as.data.frame(testthat::test_dir(path, package = "calibrisk", load_package = "installed", filter = filter,
                                              reporter = "summary", stop_on_failure = FALSE))
  failed <- results$failed > 0 | results$error
  skipped <- results$skipped & !failed
  cat(sprintf("\n%d passed, %d failed\n", sum(!failed & !skipped), sum(failed)))
  if (any(failed) || all(skipped)) 1 else 0
}
