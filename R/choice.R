# Choices are values that own their options: test_block(block = 5), curve_smooth(bandwidth = 0.3), map_platt().
# `kind` is the prefix of their constructors: a new choice is a constructor and its methods. A choice may be given by
# its name: it then has its defaults. Those that are not exported, and those without options, are given by name only.

new_choice <- function(kind, name, ...) {
  out <- list(kind = kind, name = name, ...)
  class(out) <- c(paste0(kind, "_", name), "ce_choice")
  out
}

is_choice <- function(x, kind) inherits(x, "ce_choice") && identical(x$kind, kind)

choice_options <- function(choice) unclass(choice)[setdiff(names(choice), c("kind", "name"))]

by_name <- list(
  computation = c("auto", "dual", "eigen", "low_rank", "rff"), curve = c("isotonic", "pit", "quantile"), ridge = "loo",
  test = c("bound", "consistency"),
  map = c("constant_confidence", "dirichlet", "isotonic", "label_frequency", "variance", "vector")
)

choice_names <- function(kind) sort(c(made_choices(kind), by_name[[kind]]))

# Those with a constructor that is exported.
made_choices <- function(kind) {
  prefix <- paste0("^", kind, "_")
  sort(sub(prefix, "", grep(prefix, getNamespaceExports(topenv()), value = TRUE)))
}

choice_constructor <- function(kind, name) get0(paste0(kind, "_", name), topenv(), mode = "function", inherits = FALSE)

# A choice of `kind` from a name or a choice. `arg` is the argument of the calling function, `also` the names that it
# reads itself; errors are raised in its name.
as_choice <- function(value, kind, arg = rlang::caller_arg(value), also = character()) {
  if (is_choice(value, kind)) return(value)
  # the constructor of all of a kind, which checks the name
  if (is_exported(kind)) return(get(kind, topenv(), mode = "function")(value))
  check_choice_name(value, kind, arg, also)
  if (is.null(make <- choice_constructor(kind, value))) new_choice(kind, value) else make()
}

is_exported <- function(name) exists(name, getNamespaceInfo(topenv(), "exports"), inherits = FALSE)

check_choice_name <- function(value, kind, arg, also) {
  named <- c(also, by_name[[kind]])
  known <- function(name) name %in% named || is_exported(paste0(kind, "_", name))
  if (rlang::is_string(value) && known(value)) return(invisible())
  example <- c(if (is_exported(kind)) kind, paste0(kind, "_", rev(made_choices(kind)), recycle0 = TRUE))
  names <- c(also, choice_names(kind))
  meant <- meant_word(value, names)
  stop_input("{.arg {arg}} must be one of {.or {.val {names}}}.", "x" = "It is {describe(value)}.",
             "i" = if (length(example) > 0) "Or a {kind} with its options, such as {.fn {example[1]}}.",
             "i" = if (!is.null(meant)) "Did you mean {.val {meant}}?", arg = arg, value = value)
}

#' @export
format.ce_choice <- function(x, ...) {
  maker <- paste0(x$kind, "_", x$name)
  name <- paste0("\"", x$name, "\"")
  if (!is_exported(maker) && !is_exported(x$kind)) return(name)
  options <- choice_options(x)
  options <- paste(names(options), "=", vapply(options, option_text, ""), recycle0 = TRUE)
  if (!is_exported(maker)) return(paste0(x$kind, "(", toString(c(name, options)), ")"))
  paste0(maker, "(", toString(options), ")")
}

option_text <- function(x) {
  if (is.function(x)) return("<function>")
  if (inherits(x, c("ce_score_rule", "ce_kernel", "ce_choice"))) return(format(x))
  if (is.object(x) || is.list(x)) return(paste0("<", class(x)[1], ">"))
  paste(deparse(x, width.cutoff = 500L), collapse = " ")
}

# print() of a class whose format() is the call that makes it.
print_value <- function(class) {
  force(class)
  function(x, ...) {
    cat("<", class, "> ", format(x), "\n", sep = "")
    invisible(x)
  }
}

#' @export
print.ce_choice <- print_value("ce_choice")

stop_no_generic <- function(generic, x, prefix, arg = "method") {
  own <- class(x)[startsWith(class(x), prefix)]
  own <- if (length(own) > 0) own[1] else class(x)[1]
  stop_input(
    "{.arg {arg}} has no {.fn {generic}}: it cannot be used.", "x" = "Its class is {.cls {own}}.",
    "i" = "Write {.code {generic}.{own}()} and register it: {.code registerS3method(\"{generic}\", \"{own}\", ...)}; \\
           see {.code ?extending}.", class = "method", arg = arg
  )
}
