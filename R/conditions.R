# Every error of the package goes through stop_input(): one class chain, one form. In `...` are the lines of the message
# and the fields of the condition, as in
#   stop_input("Two rows are needed.", "x" = "There is {n}.", "i" = "Take more.", class = "rows", arg = "x")
# The lines: the rule first, "x" the fact with its value and position, "i" what else helps. Each is a template of cli,
# which runs what is in braces as code: a constant, so that no text of the data is run (tools/lint.R refuses others).
# What varies is a value in it: "{.val {x}}", or "{fact}".
stop_input <- function(..., class = "argument", call = called_verb(), .envir = parent.frame()) {
  inline <- function(lines, .envir) replace(lines, TRUE, vapply(lines, cli::format_inline, "", .envir = .envir))
  signal_lines(rlang::abort, inline, list(...), c(paste0("calibrisk_error_", class), "calibrisk_error"), .envir,
               use_cli_format = TRUE, call = call, .frame = .envir)
}

# The error where something is wrong. The text is evaluated only then.
stop_if <- function(bad, ..., .envir = parent.frame()) if (bad) stop_input(..., .envir = .envir)

warn_result <- function(..., class, .envir = parent.frame()) {
  signal_lines(rlang::warn, cli::format_warning, list(...), c(paste0("calibrisk_warning_", class), "calibrisk_warning"),
               .envir)
}

warn_if <- function(bad, ..., .envir = parent.frame()) if (bad) warn_result(..., .envir = .envir)

tell <- function(..., class, .envir = parent.frame()) {
  signal_lines(rlang::inform, cli::format_message, list(...), c(paste0("calibrisk_message_", class),
                                                                "calibrisk_message"), .envir)
}

# `parts`: lines and fields; `format(lines, .envir)` writes the lines: most of the time, unless a caller wants none.
signal_lines <- function(signal, format, parts, class, envir, ...) {
  if (is_unsaid(class, parts$key)) return(invisible())
  is_line <- rlang::names2(parts) %in% c("", "x", "i", "!")
  lines <- unlist(parts[is_line])
  # a line of the source that goes on in the next one
  lines[] <- gsub("\\\\\n *", "", lines)
  # fields may be expressions
  do.call(signal, c(list(format(lines, .envir = envir), class = class), parts[!is_line], list(...)), quote = TRUE)
}

# Whether one of the callers wants to hear nothing of these classes.
is_unsaid <- function(class, key) {
  cnd <- structure(class = c("calibrisk_unwritten", "condition"), list(kind = class, key = key))
  withRestarts(!is.null(signalCondition(cnd)), calibrisk_unsaid = function() TRUE)
}

# Many parts have the same to say: messages of a class, and a `key`, are shown once, and warnings of these kinds.
said_once <- function(value, kinds = NULL) {
  said <- character()
  withCallingHandlers(value, calibrisk_unwritten = function(cnd) {
    if (!any(cnd$kind %in% c("calibrisk_message", warning_class(kinds)))) return()
    key <- paste(cnd$kind[1], cnd$key)
    if (key %in% said) invokeRestart("calibrisk_unsaid")
    said <<- c(said, key)
  })
}

# Without messages and warnings of these classes.
unsaid <- function(value, classes) {
  withCallingHandlers(value, calibrisk_unwritten = function(cnd) {
    if (any(cnd$kind %in% classes)) invokeRestart("calibrisk_unsaid")
  })
}

warning_class <- function(kinds) sprintf("calibrisk_warning_%s", kinds)

# Errors say which model they are about.
in_model <- function(value, name) {
  rlang::try_fetch(value, error = function(cnd) {
    own <- sub("^calibrisk_error_", "", grep("^calibrisk_error_", class(cnd), value = TRUE))
    stop_input("In model {.val {name}}.", class = c("model", own), parent = cnd)
  })
}

# Errors name the argument that was typed, where those that read it call it `inner`.
in_argument <- function(value, arg, inner = "x") {
  rlang::try_fetch(value, calibrisk_error = function(cnd) {
    cnd[c("message", "body")] <- lapply(cnd[c("message", "body")], gsub, pattern = paste0("`", inner, "`"),
                                        replacement = paste0("`", arg, "`"), fixed = TRUE)
    if (identical(cnd$arg, inner)) cnd$arg <- arg
    rlang::cnd_signal(cnd)
  })
}
