# A choice typed without its quotes: `type = mass`, `test = bootstrap`. R's own error, "object 'mass' not found", names
# no argument. R/zzz-makers.R writes this check into the functions that take such arguments.

# Only a name without an object in the calling frame is evaluated here; other arguments stay promises.
check_words <- function(names, frame = parent.frame(), caller = parent.frame(2)) {
  for (name in names) {
    # in a list: a missing argument has no value
    typed <- list(eval(call("substitute", as.name(name)), frame))
    word <- if (is.symbol(typed[[1]])) as.character(typed) else ""
    if (!nzchar(word) || exists(word, caller)) next
    # dots of another function come from elsewhere
    if (rlang::is_error(tryCatch(get(name, frame), error = identity))) stop_bare_word(name, word, frame)
  }
}

stop_bare_word <- function(arg, word, call) {
  known <- known_words(arg, call)
  made <- names(known)
  meant <- if (is.null(known)) word else meant_word(word, made %||% known)
  # metrics are many
  listed <- length(known) %in% 1:14 && is.null(made)
  stop_input(c(
    if (listed) "{.arg {arg}} must be one of {.or {.val {known}}}." else
      "{.arg {arg}} must be a value{if (is.null(made)) ', or text in quotes'}.",
    "x" = "It is {.code {word}} without quotes, and there is no such object.",
    if (is.null(meant)) {
      default_remedy(arg, function(value) FALSE, call)
    } else if (is.null(made)) {
      remedy("Put it in quotes", mended_line(call, setNames(list(meant), arg)) %||% paste0(arg, " = \"", meant, "\""))
    } else {
      remedy("Functions make such values",
             mended_line(call, setNames(list(str2lang(known[[meant]])), arg)) %||% known[[meant]])
    }
  ), if (arg == "notion") "notion" else "argument", arg = arg, value = word, call = call)
}

# The texts that an argument takes, or for values of functions the calls by their words; NULL if nothing is known.
known_words <- function(arg, call) {
  default <- as.list(formals(frame_function(call)))[arg]
  if (rlang::is_call(default[[1]], "c")) return(eval(default[[1]]))
  verb <- rlang::error_call(call)[[1]]
  if (is.call(verb)) verb <- verb[[3]]
  word_texts[[paste0(as.character(verb), "$", arg)]] %||% word_texts[[arg]]
}

# By argument, or by function and argument. The tables are those of many files: R/zzz-makers.R reads them.
word_texts <- list()
