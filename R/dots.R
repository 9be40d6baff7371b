# `...` selects columns. Arguments come after it, so that a misspelt one would select columns, too:
# what has a name is no selection.

# The selections of a verb, whose environment is `.call`.
column_dots <- function(..., .call = caller_env()) {
  if (...length() == 0) no_dots else check_dot_names(enquos(...), .call)
}

# What enquos() returns of no dots, without looking for them.
no_dots <- rlang::quos()

check_dot_names <- function(dots, call) {
  named <- names(dots)[nzchar(rlang::names2(dots))]
  if (length(named) == 0) return(dots)
  arguments <- verb_arguments(call)
  near <- nearest_argument(named[1], arguments)
  stop_input(c(
    "{.arg ...} selects columns and takes no named arguments.",
    "x" = "{.arg {named}} {?is/are} given.",
    "i" = if (is.null(near)) "The arguments are {.arg {arguments}}." else "Is {.arg {near}} meant?"
  ), "argument", arg = named[1], call = call)
}

# Of a verb that selects no columns.
check_empty <- function(..., call = caller_env()) {
  if (...length() == 0) return(invisible())
  dots <- check_dot_names(enquos(...), call)
  if (length(dots) > 0) {
    stop_input(c(
      "{.arg ...} must be empty.",
      "x" = "{length(dots)} extra argument{?s} given."
    ), "argument", arg = "...", call = call)
  }
}

# The arguments of the function that runs in this environment, but for its data.
verb_arguments <- function(call) {
  at <- which(vapply(sys.frames(), identical, NA, call))
  names <- if (length(at) > 0) names(formals(sys.function(at[1])))
  setdiff(names, c("...", "x", "truth"))
}

# One that contains the name or is part of it, else the one with the fewest changes; NULL where half
# of the letters would have to change.
nearest_argument <- function(name, arguments) {
  part <- vapply(arguments, function(a) grepl(name, a, fixed = TRUE) || grepl(a, name, fixed = TRUE), NA)
  changes <- utils::adist(name, arguments, ignore.case = TRUE)[1, ]
  near <- which(part | changes <= nchar(name) / 2)
  if (length(near) > 0) arguments[near[order(!part[near], changes[near])[1]]]
}
