# Threads: the argument, then the option, then RcppParallel's variable, then the
# limit that R CMD check sets, then all cores. Handed to each loop, never set globally.

resolve_threads <- function(threads = NULL) {
  # more threads than cores are no faster, and TBB complains about them on the console
  min(wanted_threads(threads), max(1L, RcppParallel::defaultNumThreads()))
}

wanted_threads <- function(threads) {
  check_count(threads, "threads", null = TRUE)
  threads <- threads %||% getOption("calibrisk.threads")
  if (!is.null(threads)) {
    check_count(threads, "calibrisk.threads")
    return(as.integer(threads))
  }
  given <- Sys.getenv("RCPP_PARALLEL_NUM_THREADS")
  from_env <- if (nzchar(given)) suppressWarnings(as.integer(given)) else NA
  if (!is.na(from_env) && from_env >= 1) return(from_env)
  limit <- Sys.getenv("_R_CHECK_LIMIT_CORES_")
  if (nzchar(limit) && !identical(tolower(limit), "false")) return(2L)
  max(1L, RcppParallel::defaultNumThreads())
}

#' Threads
#'
#' Every function with a `threads` argument uses, in this order: the argument, the option
#' `calibrisk.threads`, the environment variable `RCPP_PARALLEL_NUM_THREADS`, two threads
#' under `R CMD check` (`_R_CHECK_LIMIT_CORES_`), all cores; never more than the cores there are. The number is handed
#' to the loop that runs and never set globally; results have the same digits for any number of threads.
#' Dense linear algebra runs on R's BLAS, whose threads are set outside R.
#' @name ce_threads
NULL
