# Every error of the package goes through stop_input(): one class chain, one form.
# Message: the rule first, "x" the fact with its value and position, "i" the remedy.

stop_input <- function(message, class, ..., call = caller_env(), .envir = parent.frame()) {
  cli::cli_abort(
    message,
    class = c(paste0("calibrisk_error_", class), "calibrisk_error"),
    ...,
    call = call,
    .envir = .envir
  )
}

warn_result <- function(message, class, ..., .envir = parent.frame()) {
  cli::cli_warn(
    message,
    class = c(paste0("calibrisk_warning_", class), "calibrisk_warning"),
    ...,
    .envir = .envir
  )
}

tell <- function(message, class, ..., .envir = parent.frame()) {
  cli::cli_inform(
    message,
    class = c(paste0("calibrisk_message_", class), "calibrisk_message"),
    ...,
    .envir = .envir
  )
}

# Many fits may have the same to say: each class of message is shown once.
told_once <- function(value) {
  seen <- character()
  withCallingHandlers(value, calibrisk_message = function(cnd) {
    if (class(cnd)[1] %in% seen) rlang::cnd_muffle(cnd)
    seen <<- c(seen, class(cnd)[1])
  })
}
