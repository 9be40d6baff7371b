# Every error of the package goes through stop_input(): one class chain, one form. In `...` are the lines of the message
# and the fields of the condition, as in
#   stop_input("Two rows are needed.", "x" = "There is {n}.", "i" = "Take more.", class = "rows", arg = "x")
# The lines: the rule first, "x" the fact with its value and position, "i" the remedy; in the mark-up of cli, which
# condition-text.R reads.
stop_input <- function(..., class = "argument", call = caller_env(), .envir = parent.frame()) {
  signal_lines(rlang::abort, inline_text, list(...), c(paste0("calibrisk_error_", class), "calibrisk_error"), .envir,
               use_cli_format = TRUE, call = call, .frame = .envir)
}

# The error where something is wrong. The text is evaluated only then.
stop_if <- function(bad, ..., call = caller_env(), .envir = parent.frame()) {
  if (bad) stop_input(..., call = call, .envir = .envir)
}

warn_result <- function(..., class, .envir = parent.frame()) {
  text <- function(lines, envir) bullet_text(lines, envir, cli::format_warning)
  signal_lines(rlang::warn, text, list(...), c(paste0("calibrisk_warning_", class), "calibrisk_warning"), .envir)
}

warn_if <- function(bad, ..., .envir = parent.frame()) if (bad) warn_result(..., .envir = .envir)

tell <- function(..., class, .envir = parent.frame()) {
  text <- function(lines, envir) bullet_text(lines, envir, cli::format_message)
  signal_lines(rlang::inform, text, list(...), c(paste0("calibrisk_message_", class), "calibrisk_message"), .envir)
}

# `parts`: lines and fields; `text(lines, envir)` writes the lines.
signal_lines <- function(signal, text, parts, class, envir, ...) {
  is_line <- rlang::names2(parts) %in% c("", "x", "i", "!")
  said <- text(do.call(c, parts[is_line]), envir)
  # fields may be expressions
  do.call(signal, c(list(said, class = class), parts[!is_line], list(...)), quote = TRUE)
}

# R asks for the text of every condition, also where it is caught. It is that of rlang, which writes the causes of other
# packages, and the backtrace of an error on its way to the console.
#' @export
conditionMessage.calibrisk_error <- function(c) (if (plain_output()) plain_message(c)) %||% NextMethod()

# Raises each of these warnings, which concern all parts, only once.
warned_once <- function(value, classes) {
  said <- character()
  withCallingHandlers(value, warning = function(cnd) {
    kind <- intersect(class(cnd), classes)
    if (length(kind) == 0) return()
    if (all(kind %in% said)) rlang::cnd_muffle(cnd)
    said <<- c(said, kind)
  })
}

# Many fits may have the same to say: each class of message is shown once, those with a `key` once for each.
told_once <- function(value) {
  seen <- character()
  withCallingHandlers(value, calibrisk_message = function(cnd) {
    key <- paste(class(cnd)[1], cnd$key)
    if (key %in% seen) rlang::cnd_muffle(cnd)
    seen <<- c(seen, key)
  })
}

# Mutes messages about columns that were shown when the predictions were first read.
told_before <- function(value) {
  suppressWarnings(suppressMessages(value, "calibrisk_message_columns"),
                   c("calibrisk_warning_direction", "calibrisk_warning_decisions"))
}

# Only the first of several pieces says it.
first_said <- function(value, first) if (first) value else told_before(value)

# Raises the error of what a database cannot do. `what`, `fact` and `instead` are text with marks; `class`: one more.
unsupported_if <- function(bad, what, fact, call, arg = "x", state = FALSE, class = NULL, instead = NULL) {
  stop_if(bad, paste0("In a database ", what, "."), "x" = fact,
          "i" = paste0(instead, if (state) "{.code update(ce_state(), ce_source(x), ...)} reads them piece by piece; ",
                       "{.code dplyr::collect(x)} takes the rows into memory."),
          class = c(class, "unsupported", "database"), arg = arg, rule = what, fact = fact, call = call)
}

# Errors say which model they are about.
in_model <- function(value, name, call) {
  rlang::try_fetch(value, error = function(cnd) {
    own <- sub("^calibrisk_error_", "", grep("^calibrisk_error_", class(cnd), value = TRUE))
    stop_input("In model {.val {name}}.", class = c("model", own), parent = cnd, call = call)
  })
}
