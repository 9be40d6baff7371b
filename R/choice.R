# Choices are values that own their options: test_block(block = 5), curve_smooth(bandwidth = 0.3), map_platt().
# `kind` is the prefix of their constructors, which are exported: what is exported is what can be chosen, and a new
# choice is a constructor and its methods. Functions take a choice by its name too, with options among their own
# arguments.

new_choice <- function(kind, name, ...) {
  structure(list(kind = kind, name = name, ...), class = c(paste0(kind, "_", name), "ce_choice"))
}

is_choice <- function(x, kind) inherits(x, "ce_choice") && identical(x$kind, kind)

choice_options <- function(choice) unclass(choice)[setdiff(names(choice), c("kind", "name"))]

choice_names <- function(kind) {
  prefix <- paste0("^", kind, "_")
  sort(sub(prefix, "", grep(prefix, getNamespaceExports(topenv()), value = TRUE)))
}

choice_constructor <- function(kind, name) get(paste0(kind, "_", name), topenv(), mode = "function")

has_options <- function(kind, name, options) all(options %in% option_names(kind, name))

option_names <- function(kind, name) setdiff(names(formals(choice_constructor(kind, name))), "...")

# A choice of `kind` from a name or a choice, with the options `given` to the calling function (NULL: not given). `arg`
# is the argument of that function, `also` the names that it reads itself; errors are raised in its name.
as_choice <- function(value, kind, given = list(), arg = rlang::caller_arg(value), also = character(),
                      call = caller_env()) {
  if (is_choice(value, kind)) check_object(value, arg, call) else check_choice_name(value, kind, arg, also, call)
  name <- if (is_choice(value, kind)) value$name else value
  given <- drop_null(given)
  own <- if (is_choice(value, kind)) names(choice_options(value)) else option_names(kind, name)
  check_options(kind, name, own, names(given), call)
  if (is_choice(value, kind)) {
    if (length(given) == 0) return(value)
    own <- choice_options(value)
    given <- c(own[setdiff(names(own), names(given))], given)
  }
  rlang::try_fetch(
    do.call(choice_constructor(kind, name), given, quote = TRUE),
    calibrisk_error = function(cnd) {
      cnd$call <- rlang::error_call(call)
      line <- if (!"i" %in% names(cnd$body) && rlang::is_string(cnd$arg)) mended_line(call, drop = cnd$arg)
      if (!is.null(line)) cnd$body <- c(cnd$body, "i" = paste0("Leave it out for the default: `", line, "`."))
      rlang::cnd_signal(cnd)
    }
  )
}

check_choice_name <- function(value, kind, arg, also, call) {
  known <- function(name) name %in% also || paste0(kind, "_", name) %in% getNamespaceExports(topenv())
  if (rlang::is_string(value) && known(value)) return(invisible())
  names <- c(also, choice_names(kind))
  # a constructor that was not called
  own <- Filter(function(name) identical(value, choice_constructor(kind, name)), choice_names(kind))
  made <- if (length(own) == 1) call(paste0(kind, "_", own))
  stop_input(c(
    "{.arg {arg}} must be one of {.or {.val {names}}}, or a {kind} such as {.fn {kind}_{names[length(names)]}}.",
    "x" = "It is {describe(value)}.",
    if (is.null(made)) {
      choice_remedy(value, names, arg, call) %||% choice_example(kind, names, arg, call)
    } else {
      remedy("To use its defaults, call it", mended_line(call, setNames(list(made), arg)) %||% line_text(made))
    }
  ), "argument", arg = arg, value = value, call = call)
}

choice_example <- function(kind, names, arg, call) {
  name <- if (kind == "map") "platt" else names[1]
  remedy("For example", mended_line(call, setNames(list(name), arg)) %||% paste0(arg, " = \"", name, "\""))
}

# An option that the choice does not have would be ignored.
check_options <- function(kind, name, own, options, call) {
  foreign <- setdiff(options, own)
  if (length(foreign) == 0) return(invisible())
  others <- Filter(function(other) has_options(kind, other, foreign[1]), choice_names(kind))
  stop_input(c(
    "{.arg {foreign[1]}} is not an option of the {kind} {.val {name}}.",
    "x" = if (length(own) == 0) "It has none." else "Its options are {.arg {own}}.",
    "i" = if (length(others) > 0) "It is an option of {.fn {paste0(kind, '_', others)}}."
  ), "argument", arg = foreign[1], value = name, call = call)
}

#' @export
format.ce_choice <- function(x, ...) {
  options <- choice_options(x)
  text <- vapply(options, option_text, "")
  paste0(x$kind, "_", x$name, "(", toString(paste(names(options), "=", text, recycle0 = TRUE)), ")")
}

option_text <- function(x) {
  if (is.function(x)) return("<function>")
  if (inherits(x, c("ce_score_rule", "ce_kernel", "ce_choice"))) return(format(x))
  if (is.object(x) || is.list(x)) return(paste0("<", class(x)[1], ">"))
  paste(deparse(x, width.cutoff = 500L), collapse = " ")
}

#' @export
print.ce_choice <- function(x, ...) {
  cat("<ce_choice> ", format(x), "\n", sep = "")
  invisible(x)
}

stop_no_generic <- function(generic, x, prefix, arg = "method") {
  own <- class(x)[startsWith(class(x), prefix)]
  own <- if (length(own) > 0) own[1] else class(x)[1]
  stop_input(c(
    "{.arg {arg}} has no {.fn {generic}}: it cannot be used.",
    "x" = "Its class is {.cls {own}}.",
    "i" = "Write {.code {generic}.{own}()} and register it: {.code registerS3method(\"{generic}\", \"{own}\", ...)}; \
           see {.code ?extending}."
  ), "method", arg = arg, call = NULL)
}
