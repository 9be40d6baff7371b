# Threads of a loop of the core: the option, then RcppParallel's variable, then the limit that R CMD check sets, then
# all cores. Handed to each loop, never set globally.
thread_count <- function() {
  # more threads than cores are no faster, and TBB complains about them on the console
  most <- max(1L, RcppParallel::defaultNumThreads())
  asked <- getOption("calibrisk.threads")
  if (!is.null(asked)) {
    check_count(asked, "calibrisk.threads")
    return(min(as.integer(asked), most))
  }
  given <- Sys.getenv("RCPP_PARALLEL_NUM_THREADS")
  from_env <- if (nzchar(given)) suppressWarnings(as.integer(given)) else NA
  if (!is.na(from_env) && from_env >= 1) return(min(from_env, most))
  limit <- Sys.getenv("_R_CHECK_LIMIT_CORES_")
  if (nzchar(limit) && !identical(tolower(limit), "false")) min(2L, most) else most
}

#' Threads
#'
#' Every function uses as many threads as, in this order, `options(calibrisk.threads =)`, the environment variable
#' `RCPP_PARALLEL_NUM_THREADS`, two under `R CMD check` (`_R_CHECK_LIMIT_CORES_`), or all cores say; never more than the
#' cores there are. The number is handed to the loop that runs and never set globally; results have the same digits for
#' any number of threads. Eigendecompositions run on R's LAPACK, whose threads are set outside R.
#' @name ce_threads
NULL
