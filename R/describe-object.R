# Objects come back from files and other processes, so their fields may be anything. Each class has a description of
# its fields. check_object() compares an object with it in the methods of its class and in the
# checks of arguments.
#
# A rule is function(x, o): NULL where x is as it must be, else fault(); o is the list that x is a field of. fields() is
# the rule of a list, described() that of an object of a class with a description, which object_rules has by class.

fault <- function(must, value, at = "", cause = NULL) list(must = must, value = value, at = at, cause = cause)

fault_if <- function(bad, must, value, at = "") if (isTRUE(bad)) fault(must, value, at)

# The first that is not NULL; those after it are not evaluated.
first_fault <- function(...) {
  for (i in seq_len(...length())) {
    found <- ...elt(i)
    if (!is.null(found)) return(found)
  }
}

within_field <- function(found, at) {
  if (!is.null(found)) found$at <- paste0(at, found$at)
  found
}

check_object <- function(x, arg = rlang::caller_arg(x)) {
  found <- object_fault(x)
  if (is.null(found)) return(invisible(x))
  at <- sub("^[$]", "", found$at)
  stop_input("{if (nzchar(at)) paste0('Field ', at, ' of ')}{.arg {arg}} must be {found$must}.",
             "x" = "It is {describe(found$value)}.",
             "i" = "Fields of this {.cls {class(x)[1]}} were changed or lost. Create it again.",
             class = c("object", "argument"), arg = arg, field = at, value = found$value, parent = found$cause)
}

# The first field that is not as its description says; NULL where all are, or where the class has none.
object_fault <- function(x) {
  for (class in class(x)) {
    rule <- object_rules[[class]]
    if (!is.null(rule)) return(rule(x, NULL))
  }
  NULL
}

# A whole table with columns of other types, such as numbers that were formatted: it is printed as a table.
is_reshaped <- function(x) is.data.frame(x) && is.null(a_table()(x, NULL)) && !is.null(object_fault(x))

print_reshaped <- function(x, ...) {
  print(tibble::new_tibble(as.list(unclass(x)), nrow = nrow(x)), ...)
  invisible(x)
}

object_rules <- new.env(parent = emptyenv())

# An object's rule by its class. Called when the package is built.
describe_object <- function(class, rule) assign(class, rule, envir = object_rules)

fields <- function(..., also = function(x) NULL) {
  rules <- list(...)
  names <- names(rules)
  force(also)
  function(x, o) {
    if (!is.list(x)) return(fault("a list", x))
    for (i in seq_along(rules)) {
      found <- rules[[i]](.subset2(x, names[i]), x)
      if (!is.null(found)) return(within_field(found, paste0("$", names[i])))
    }
    also(x)
  }
}

# A list of what the rule says, `size` of them: a number, or function(o).
each <- function(rule, size = NULL, least = 0) {
  force(list(rule, size, least))
  function(x, o) {
    if (!is.list(x)) return(fault("a list", x))
    n <- wanted(size, o)
    if (length(x) < least || !is.null(n) && length(x) != n) {
      return(fault(paste("a list of", if (is.null(n)) paste("at least", least) else n), x))
    }
    for (i in seq_along(x)) {
      found <- rule(.subset2(x, i), x)
      if (!is.null(found)) return(within_field(found, paste0("[[", i, "]]")))
    }
  }
}

wanted <- function(size, o) if (is.function(size)) size(o) else size

maybe <- function(rule) {
  force(rule)
  function(x, o) if (!is.null(x)) rule(x, o)
}

# `rule` for those for which `where` is true, else `other`.
whether <- function(where, rule, other = no_field) {
  force(list(where, rule, other))
  function(x, o) if (isTRUE(where(o))) rule(x, o) else other(x, o)
}

no_field <- function(x, o) if (!is.null(x)) fault("missing", x)

any_field <- function(x, o) NULL

described <- function(class) {
  force(class)
  function(x, o) if (inherits(x, class)) object_fault(x) else fault(paste0("a <", class, ">"), x)
}

# An object that its constructor makes again of its own choices; what the constructor says is the cause. `renamed`:
# fields by the argument they are of, where their names differ.
remade <- function(make, renamed = character()) {
  force(list(make, renamed))
  function(x, o) {
    if (!is.list(x) || is.data.frame(x)) return(fault("a list", x))
    # an object that is not an argument may fail in other words
    out <- tryCatch(list(value = make(x)), error = identity)
    if (inherits(out, "error")) {
      at <- if (rlang::is_string(out$arg)) out$arg else (names(x) %||% "")[1]
      if (at %in% names(renamed)) at <- renamed[[at]]
      return(fault("as its constructor takes it", .subset2(unclass(x), at), paste0("$", at), out))
    }
    remade_fault(x, out$value)
  }
}

# A rule that remembers the last few valid objects, and those given to made_valid(), and accepts them at once. Objects
# of `largest` bytes or more are not kept; working with them takes longer than checking them.
once <- function(rule, largest = 2e6, most = 8) {
  force(list(rule, largest, most))
  valid <- list() # the newest first, which is the one that comes back
  remember <- function(x) if (utils::object.size(x) < largest) valid <<- utils::head(c(list(x), valid), most)
  function(x, o) {
    for (known in valid) if (identical(x, known)) return(NULL)
    found <- rule(x, o)
    if (is.null(found)) remember(x)
    found
  }
}

# Returns x, which is not checked again when it comes back unchanged: loops of updates check only the first object.
made_valid <- function(x) {
  environment(object_rules[[class(x)[1]]])$remember(x)
  x
}

# Objects of other versions have other fields: check(x, call) refuses them.
of_version <- function(check, rule) {
  force(list(check, rule))
  function(x, o) {
    if (is.list(x)) check(x)
    rule(x, o)
  }
}

# The field in which x differs from what the constructor made.
remade_fault <- function(x, value) {
  if (!identical(class(x), class(value))) return(fault(paste0("a <", class(value)[1], ">"), x))
  x <- unclass(x)
  value <- unclass(value)
  for (name in union(names(value), names(x))) {
    if (!name %in% names(value)) return(fault("missing", x[[name]], paste0("$", name)))
    if (!same_choice(x[[name]], value[[name]])) return(fault(describe(value[[name]]), x[[name]], paste0("$", name)))
  }
  if (!identical(names(x), names(value))) fault("a list with the names of its class", x)
}

same_choice <- function(a, b) {
  identical(a, b, ignore.bytecode = TRUE, ignore.environment = TRUE, ignore.srcref = TRUE) || isTRUE(same_values(a, b))
}

# Up to what is lost where numbers are saved as text.
same_values <- function(a, b) {
  if (is.list(a) && is.list(b)) {
    return(identical(names(a), names(b)) && identical(class(a), class(b)) && all(mapply(same_values, a, b)))
  }
  if (!is.numeric(a) || !is.numeric(b)) return(identical(a, b))
  near <- function() all(a == b | is.finite(a) & abs(a - b) <= 1e-12 * pmax(1, abs(a)))
  identical(dim(a), dim(b)) && length(a) == length(b) && near()
}
