# Every error of the package goes through stop_input(): one class chain, one form.
# Message: the rule first, "x" the fact with its value and position, "i" the remedy; in the mark-up of cli, which
# condition-text.R reads.

stop_input <- function(message, class, ..., call = caller_env(), .envir = parent.frame()) {
  rlang::abort(
    inline_text(message, .envir),
    class = c(paste0("calibrisk_error_", class), "calibrisk_error"),
    ...,
    use_cli_format = TRUE,
    call = call,
    .frame = .envir
  )
}

# The error where something is wrong: the lines of its message in `...`, as in
#   stop_if(n < 2, "Two rows are needed.", "x" = "There is {n}.", "i" = "Take more.", class = "rows", arg = "x"),
# beside its fields. They are looked at only then.
stop_if <- function(bad, ..., class = "argument", call = caller_env(), .envir = parent.frame()) {
  if (!bad) return(invisible())
  parts <- list(...)
  is_line <- rlang::names2(parts) %in% c("", "x", "i")
  stop_input(do.call(c, parts[is_line]), class, !!!parts[!is_line], call = call, .envir = .envir)
}

warn_result <- function(message, class, ..., .envir = parent.frame()) {
  rlang::warn(
    bullet_text(message, .envir, cli::format_warning),
    class = c(paste0("calibrisk_warning_", class), "calibrisk_warning"),
    ...
  )
}

tell <- function(message, class, ..., .envir = parent.frame()) {
  rlang::inform(
    bullet_text(message, .envir, cli::format_message),
    class = c(paste0("calibrisk_message_", class), "calibrisk_message"),
    ...
  )
}

# R asks for the text of every condition, also where it is caught. It is that of rlang, which writes the causes, and
# the backtrace of an error on its way to the console.
#' @export
conditionMessage.calibrisk_error <- function(c) {
  lines <- c(c$message, c$body)
  (if (is.null(c$parent) && is.null(c$rlang) && plain_output()) plain_bullets(lines, "Error: ")) %||% NextMethod()
}

# Raises a warning that concerns all parts only once.
warned_once <- function(value, class) {
  said <- FALSE
  withCallingHandlers(value, warning = function(cnd) {
    if (!inherits(cnd, class)) return()
    if (said) rlang::cnd_muffle(cnd)
    said <<- TRUE
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
  withCallingHandlers(value, calibrisk_message_columns = function(cnd) rlang::cnd_muffle(cnd),
                      calibrisk_warning_direction = function(cnd) rlang::cnd_muffle(cnd))
}

# Only the first of several pieces says it.
first_said <- function(value, first) if (first) value else told_before(value)

# `what` and `fact` are text with marks; `class`: one more.
stop_unsupported <- function(what, fact, call, arg = "x", state = FALSE, class = NULL) {
  stop_input(c(
    paste0("In a database ", what, "."),
    "x" = fact,
    "i" = paste0(if (state) "{.code update(ce_state(), ce_source(x), ...)} reads them piece by piece; ",
                 "{.code dplyr::collect(x)} takes the rows into memory.")
  ), c(class, "unsupported", "database"), arg = arg, rule = what, fact = fact, call = call)
}

# Errors say which model they are about.
in_model <- function(value, name, call) {
  rlang::try_fetch(value, error = function(cnd) {
    own <- sub("^calibrisk_error_", "", grep("^calibrisk_error_", class(cnd), value = TRUE))
    stop_input("In model {.val {name}}.", c("model", own), parent = cnd, call = call)
  })
}
