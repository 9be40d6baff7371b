# A choice typed without its quotes: `type = mass`, `test = bootstrap`. R's own error, "object 'mass' not found", names
# no argument. R/zzz-check-calls.R writes this check into the functions that take such arguments.

# Only names without an object in the calling frame, alone or in a list, are evaluated here; other arguments stay
# promises.
check_words <- function(names, frame = parent.frame(), caller = parent.frame(2)) {
  # the package's own calls hold no typed words, unless dots pass them on
  if (identical(topenv(caller), topenv()) && !exists("...", caller, inherits = FALSE)) return(invisible())
  for (name in names) {
    words <- bare_words(name, frame, caller)
    if (length(words) > 0) stop_bare_word(name, words, frame)
  }
}

# The names without an object that were typed for an argument, or in its c() or list().
bare_words <- function(name, frame, caller) {
  # in a list: a missing argument has no value
  typed <- list(eval(call("substitute", as.name(name)), frame))
  if (!is.language(typed[[1]])) return(NULL)
  parts <- if (rlang::is_call(typed[[1]], c("c", "list"))) as.list(typed[[1]])[-1] else typed
  words <- unlist(lapply(parts, bare_word))
  words <- words[!vapply(words, exists, NA, caller)]
  # dots of another function come from elsewhere
  if (length(words) == 0 || !rlang::is_error(tryCatch(get(name, frame), error = identity))) return(NULL)
  words
}

# A name, or a call of it without arguments, as in `score = score_brier()`.
bare_word <- function(part) {
  if (is.call(part) && length(part) == 1) part <- part[[1]]
  if (is.symbol(part) && nzchar(as.character(part))) as.character(part)
}

stop_bare_word <- function(arg, words, call) {
  word <- words[1]
  known <- known_words(arg, call)
  made <- names(known)
  meant <- lapply(words, function(one) if (is.null(known)) one else meant_word(one, made %||% known))
  if (!is.null(made)) meant <- lapply(meant, function(one) if (!is.null(one)) str2lang(known[[one]]))
  # metrics are many
  listed <- length(known) %in% 1:14 && is.null(made)
  stop_input(if (listed) "{.arg {arg}} must be one of {.or {.val {known}}}." else
               "{.arg {arg}} must be a value{if (is.null(made)) ', or text in quotes'}.",
             "x" = "It is {.code {word}} without quotes, and there is no such object.",
             if (any(vapply(meant, is.null, NA))) {
               default_remedy(arg, function(value) FALSE, call)
             } else {
               remedy(if (is.null(made)) "Put it in quotes" else "Functions make such values",
                      named_line(arg, meant, words, call) %||%
                        if (is.null(made)) paste0(arg, " = \"", meant[[1]], "\"") else line_text(meant[[1]]))
             }, class = if (arg == "notion") "notion" else "argument", arg = arg, value = word, call = call)
}

# The typed call with values in place of the words.
named_line <- function(arg, values, words, call) {
  typed <- typed_argument(typed_call(call), arg)
  value <- if (rlang::is_call(typed, c("c", "list"))) as.call(lapply(as.list(typed), function(part) {
    at <- match(bare_word(part) %||% "", words)
    if (is.na(at)) part else values[[at]]
  })) else values[[1]]
  mended_line(call, setNames(list(value), arg))
}

# The texts that an argument takes, or for values of functions the calls by their words; NULL if nothing is known.
known_words <- function(arg, call) {
  default <- as.list(formals(frame_function(call)))[arg]
  if (rlang::is_call(default[[1]], "c")) return(eval(default[[1]]))
  word_texts[[paste0(verb_name(call), "$", arg)]] %||% word_texts[[arg]]
}

# By argument, or by function and argument. The tables are those of many files: R/zzz-check-calls.R reads them.
word_texts <- list()
