#' Deprecated names
#'
#' `upper_bound()` is now [ce_upper_bound()]; the old name goes with the release after the next.
#'
#' @param ... Arguments of the new function.
#' @return What the new function returns.
#' @name calibrisk-deprecated
#' @keywords internal
#' @export
upper_bound <- function(...) {
  warn_result("{.fn upper_bound} is called {.fn ce_upper_bound} now.", "deprecated", .frequency = "once",
              .frequency_id = "calibrisk_upper_bound")
  call <- sys.call()
  call[[1]] <- ce_upper_bound
  eval(call, parent.frame())
}
