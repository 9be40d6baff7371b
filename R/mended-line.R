# The line that the user typed, with the mistake mended: errors name it as their remedy.

# list(expr, args, places) of the call whose frame is `frame`: the call, its arguments, and the place of each, named by
# the function's arguments ("" for columns in `...`). `data` is the argument with the predictions. NULL if no user typed
# it in short.
typed_call <- function(frame) {
  at <- if (is.environment(frame)) which(vapply(sys.frames(), identical, NA, frame))
  if (length(at) == 0) return(NULL)
  expr <- sys.call(at[1])
  args <- as.list(expr)[-1]
  typed <- (rlang::is_symbol(expr[[1]]) || rlang::is_call(expr[[1]], "::")) && all(vapply(args, is_typed, NA))
  caller <- sys.parents()[at[1]]
  inside <- caller > 0 && identical(topenv(sys.frame(caller)), topenv())
  if (!typed || inside) return(NULL)
  # a method is called by the name of its generic
  generic <- get0(".Generic", frame, inherits = FALSE)
  if (rlang::is_string(generic)) expr[[1]] <- as.name(generic)
  numbered <- expr
  numbered[-1] <- seq_along(args)
  matched <- tryCatch(as.list(match.call(sys.function(at[1]), numbered))[-1], error = function(cnd) NULL)
  formals <- names(formals(sys.function(at[1])))
  places <- vapply(matched, as.integer, 1L)
  list(expr = expr, args = args, places = setNames(places, rlang::names2(matched)),
       data = if ("x" %in% formals[1]) "x" else intersect("data", formals))
}

# Names, constants and short calls; no values that a program put into the call, no dots of another function.
is_typed <- function(arg) {
  if (rlang::is_symbol(arg)) return(!identical(arg, quote(...)))
  if (rlang::is_call(arg)) return(utils::object.size(arg) < 2e4)
  is.null(arg) || is.atomic(arg) && length(arg) == 1
}

# The expression typed for the argument `name`; NULL if it was not given.
typed_argument <- function(typed, name) {
  at <- if (length(name) == 1 && !is.null(typed)) unname(typed$places[name]) else NA
  if (!is.na(at)) typed$args[[at]]
}

# Its value; NULL if it cannot be evaluated.
typed_value <- function(name, call) {
  expr <- typed_argument(typed_call(call), name)
  if (!is.null(expr)) typed_eval(expr, call)
}

# The value of an argument where it was typed.
typed_eval <- function(expr, call) {
  caller <- sys.parents()[which(vapply(sys.frames(), identical, NA, call))[1]]
  tryCatch(eval(expr, if (caller > 0) sys.frame(caller) else globalenv()), error = function(cnd) NULL)
}

# The text of the typed call with some changes. `set`, a named list of expressions, replaces arguments; `drop` removes
# some ("": columns), and `only` removes all others. `verb` is the function to call. An argument of `rename`, c(old =
# "new"), keeps its place. NULL if the call was not typed, or is long.
mended_line <- function(call, set = list(), drop = character(), only = NULL, verb = NULL, rename = character(),
                        most = 120) {
  typed <- typed_call(call)
  if (is.null(typed)) return(NULL)
  args <- typed$args
  gone <- names(typed$places) %in% drop
  if (!is.null(only)) gone <- gone | !names(typed$places) %in% only
  for (name in names(set)) {
    at <- unname(typed$places[name])
    if (length(at) == 0 || is.na(at)) {
      args <- c(args, set[name])
    } else {
      args[at] <- set[name]
    }
  }
  old <- match(names(rename), rlang::names2(args))
  names(args)[old[!is.na(old)]] <- rename[!is.na(old)]
  keep <- setdiff(seq_along(args), typed$places[gone])
  line_text(as.call(c(verb_symbol(typed$expr[[1]], verb), args[keep])), most)
}

# The typed call with two arguments in each other's place, by default data and outcomes; NULL if one was not given.
swapped_line <- function(call, names = c(typed_call(call)$data, "truth")) {
  both <- lapply(names, typed_argument, typed = typed_call(call))
  if (length(both) == 2 && !any(vapply(both, is.null, NA))) mended_line(call, setNames(rev(both), names))
}

# The typed call with the argument `old`, an expression, replaced by `new`.
replaced_line <- function(call, old, new) {
  typed <- typed_call(call)
  at <- which(vapply(typed$args, identical, NA, old))
  if (length(at) == 0) return(NULL)
  args <- typed$args
  args[at[1]] <- list(new)
  line_text(as.call(c(typed$expr[[1]], args)))
}

# The typed call with the column `old` called `new`.
renamed_line <- function(call, old, new) {
  typed <- typed_call(call)
  if (is.null(typed)) return(NULL)
  rename <- function(arg) {
    if (identical(arg, old)) return(new)
    if (is.call(arg)) eval(call("substitute", arg, setNames(list(as.name(new)), old))) else
      if (identical(arg, as.name(old))) as.name(new) else arg
  }
  data <- names(typed$places) %in% c("x", "objects", "before", "data", "object")
  args <- typed$args
  args[typed$places[!data]] <- lapply(args[typed$places[!data]], rename)
  line_text(as.call(c(typed$expr[[1]], args)))
}

# `ece` of `ece`, `calibrisk::ece` of `calibrisk::ece`.
verb_symbol <- function(typed, verb) {
  if (is.null(verb)) return(typed)
  if (rlang::is_call(typed, "::")) call("::", typed[[2]], as.name(verb)) else as.name(verb)
}

line_text <- function(expr, most = 120) {
  text <- paste(trimws(deparse(expr, width.cutoff = 500L)), collapse = " ")
  if (nchar(text) <= most) text
}

# The typed call with other predictions: `change` makes the new expression of the old one, of a matrix or a vector, or
# of each of the `columns` of a data frame.
mended_predictions <- function(call, change, columns = NULL) {
  typed <- typed_call(call)
  x <- typed_argument(typed, typed$data)
  # of several models one is wrong, which has no name in the call
  if (is.null(x) || is_running(in_model)) return(NULL)
  if (!is_frame_call(call)) return(mended_line(call, setNames(list(change(x)), typed$data)))
  if (is.null(columns)) return(NULL)
  changed <- setNames(lapply(columns, function(column) change(as.name(column))), columns)
  mended_line(call, setNames(list(as.call(c(quote(transform), x, changed))), typed$data))
}

# Are its predictions a data frame?
is_frame_call <- function(call) {
  data <- typed_call(call)$data
  if (length(data) == 0) return(FALSE)
  is.data.frame(tryCatch(get0(data, call, inherits = FALSE), error = function(cnd) NULL))
}

# A remedy in words, with its line if there is one. `text` ends without a stop, or with a question mark.
remedy <- function(text, line = NULL) {
  if (is.null(line) && text == "For example") return(NULL)
  asks <- endsWith(text, "?")
  if (is.null(line)) return(c("i" = paste0(text, if (!asks) ".")))
  c("i" = paste0(text, if (asks) " " else ": ", "{.code ", escape_braces(line), "}."))
}

escape_braces <- function(text) gsub("}", "}}", gsub("{", "{{", text, fixed = TRUE), fixed = TRUE)

# An argument without a name that selects no column is probably the first one after `...`. `constant`: whether it is a
# number or a text.
positional_remedy <- function(call, constant = FALSE) {
  typed <- typed_call(call)
  at <- typed$places[names(typed$places) == ""]
  takers <- unlist(lapply(typed$args[at], function(arg) maker_argument(arg, call) %||% NA))
  made <- which(!is.na(takers))[1]
  if (!is.na(made)) {
    at <- at[made]
  } else if (constant) {
    at <- at[vapply(typed$args[at], function(arg) is.numeric(arg) || is.character(arg), NA)]
  }
  verb <- if (length(at) == 1) meant_verb(typed$args[[at]])
  if (!is.null(verb)) return(verb_remedy(verb, call, c("x", "truth")))
  names <- if (length(at) == 1) names(formals(frame_function(call)))
  named <- if (!is.na(made)) takers[[made]] else names[match("...", names) + 1]
  if (length(named) == 0 || is.na(named)) return(c("i" = "Arguments after {.arg ...} need their name."))
  value <- typed$args[[at]]
  word <- rlang::is_symbol(value) && named %in% word_arguments && is.null(typed_eval(value, call))
  if (word) value <- as.character(value)
  quoted <- if (word) ", and words quotes"
  remedy(paste0("Arguments after {.arg ...} need their name, such as {.arg ", named, "}", quoted),
         line_text(as.call(c(typed$expr[[1]], typed$args[-at], setNames(list(value), named)))))
}

# The name of the package's function that an expression calls; NULL of any other.
package_call <- function(expr) if (rlang::is_call(expr, getNamespaceExports("calibrisk"))) rlang::call_name(expr)

# The argument of the function that takes what a typed call makes, as `methods` takes `method_bins()`.
maker_argument <- function(expr, call) {
  maker <- package_call(expr)
  if (is.null(maker)) return(NULL)
  takers <- list(basis = "bases", curve = "type", kernel = "kernel", map = "method", method = c("methods", "method"),
                 score = "score", test = "test")
  found <- intersect(takers[[sub("_.*", "", maker)]], names(formals(frame_function(call))))
  if (length(found) > 0) found[1]
}

is_running <- function(fn) any(vapply(sys.frames(), function(frame) identical(frame_function(frame), fn), NA))

frame_function <- function(frame) {
  at <- which(vapply(sys.frames(), identical, NA, frame))
  if (length(at) > 0) sys.function(at[1])
}
