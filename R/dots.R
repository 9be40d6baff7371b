# `...` selects columns. Arguments come after it, so a misspelt one would select columns, too. Therefore what has a name
# is not taken as a selection.

# The selections of a function, whose environment is `.frame`.
column_dots <- function(..., .frame = caller_env()) check_dot_names(quote_dots(...), .frame)

# As enquos(), in a sixth of its time.
quote_dots <- function(...) if (...length() == 0) no_dots else rlang::quos(...)

no_dots <- rlang::quos()

check_dot_names <- function(dots, frame = called_verb()) {
  named <- names(dots)[nzchar(rlang::names2(dots))]
  if (length(named) == 0) return(dots)
  stop_argument(named[1], frame, TRUE)
}

# For a function that selects no columns.
check_empty <- function(..., .frame = caller_env()) {
  if (...length() == 0) return(invisible())
  named <- names(enquos(...))
  stop_argument(c(named[nzchar(named)], "...")[1], .frame)
}

stop_argument <- function(name, frame, selects = FALSE) {
  hint <- if (name != "...") {
    # another of an argument's names, or the nearest; what is an argument elsewhere is no part of another
    arguments <- frame_arguments(frame)
    meant <- arguments[match(plain_word(name), plain_word(arguments))] %|%
      listed_word(name, argument_words[intersect(arguments, names(argument_words))]) %||%
      nearest_word(name, arguments, part = !name %in% names(argument_words))
    word_hint(name, meant, "`")
  }
  stop_input(if (selects) "{.arg ...} selects columns and takes no named arguments." else "{.arg ...} must be empty.",
             "x" = if (name == "...") "An extra argument is given." else
               "{.arg {name}} is not an argument of this function.",
             "i" = if (!is.null(hint)) "{hint}", arg = name, call = frame)
}

# `x` is missing, or was given by another name.
stop_no_predictions <- function() {
  stop_input("{.arg x} must be given: the predictions.", "x" = "It is missing.",
             "i" = "They are the columns of a data frame, a matrix, or a vector of probabilities.",
             class = c("probs", "argument"), arg = "x")
}

# Arguments of the function that runs in this environment.
frame_arguments <- function(frame) {
  at <- which(vapply(sys.frames(), identical, NA, frame))
  if (length(at) > 0) setdiff(names(formals(sys.function(at[1]))), "...")
}
