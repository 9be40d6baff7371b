# Objects come back from files and other processes, so their fields may be anything. Each class has a description of
# its fields. check_object() compares an object with it in the methods of its class (R/zzz-check-objects.R) and in the
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

check_object <- function(x, arg = rlang::caller_arg(x), call = caller_env()) {
  found <- object_fault(x)
  if (is.null(found)) return(invisible(x))
  at <- sub("^[$]", "", found$at)
  stop_input("{if (nzchar(at)) paste0('Field ', at, ' of ')}{.arg {arg}} must be {found$must}.",
             "x" = "It is {describe(found$value)}.",
             "i" = "Fields of this {.cls {class(x)[1]}} were changed or lost. Create it again.",
             class = c("object", "argument"), arg = arg, field = at, value = found$value, parent = found$cause,
             call = call)
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

a_function <- function(x, o) if (!is.function(x)) fault("a function", x)

a_flag <- function(x, o) if (!rlang::is_bool(x)) fault("TRUE or FALSE", x)

# Texts; `size` as in each().
texts <- function(size = NULL, na = FALSE, unique = FALSE, least = 0) {
  force(list(size, na, unique, least))
  function(x, o) {
    n <- wanted(size, o)
    first_fault(
      fault_if(!are_texts(x, n, least), paste0(size_text(n, least), if (identical(n, 1)) "text" else "texts"), x),
      fault_if(!na && anyNA(x), "a text, not missing", NA_character_),
      fault_if(unique && anyDuplicated(x) > 0, "a vector of different texts", x)
    )
  }
}

are_texts <- function(x, n, least) {
  is.character(x) && !is.object(x) && is.null(dim(x)) && (is.null(n) || length(x) == n) && length(x) >= least
}

a_text <- texts(1)

one_of <- function(choices) {
  must <- paste0("one of ", toString(dQuote(choices, FALSE)))
  function(x, o) if (!rlang::is_string(x) || !is.null(dim(x)) || !x %in% choices) fault(must, x)
}

# Numbers in [lower, upper]; `size` as in each(), any number of them by default.
numbers <- function(size = NULL, lower = -Inf, upper = Inf, na = FALSE, whole = FALSE, infinite = FALSE,
                    sorted = FALSE, least = 0) {
  force(list(size, lower, upper, na, whole, infinite, sorted, least))
  bounded <- lower > -Inf || upper < Inf
  function(x, o) {
    found <- numbers_fault(x, wanted(size, o), least, lower, upper, na, whole, infinite, sorted, bounded)
    if (is.null(found)) return(NULL)
    found$must <- paste0(found$must, numbers_text(identical(as.numeric(wanted(size, o)), 1), whole, sorted),
                         range_text(lower, upper, FALSE))
    found
  }
}

numbers_text <- function(one, whole, sorted) {
  paste0(if (whole) "whole ", if (sorted) "increasing ", if (one) "number" else "numbers")
}

numbers_fault <- function(x, n, least, lower, upper, na, whole, infinite, sorted, bounded) {
  if (!are_numbers(x, n, least)) return(fault(size_text(n, least), x))
  if (!whole && !sorted && are_within(x, lower, upper)) return(NULL)
  odd <- odd_values(x, na, infinite)
  if (any(odd)) return(fault(if (na || infinite) "" else "finite ", x[odd][1]))
  range_fault(if (na) x[!is.na(x)] else x, lower, upper, whole, sorted, bounded)
}

are_numbers <- function(x, n, least) {
  plain <- is.numeric(x) && !is.object(x) && is.null(dim(x))
  plain && (is.null(n) || length(x) == n) && length(x) >= least
}

# Many numbers, without a pass for each condition.
are_within <- function(x, lower, upper) length(x) >= 1000 && all_within(x, lower, upper)

# Which are not a number, nor missing or infinite where these are allowed.
odd_values <- function(x, na, infinite) {
  if (!na && !infinite) return(!is.finite(x))
  (if (na) is.nan(x) else is.na(x)) | (if (infinite) FALSE else is.infinite(x))
}

size_text <- function(n, least) {
  if (!is.null(n)) return(paste0(if (n == 1) "a single" else n, " "))
  if (least > 0) paste("at least", least, "") else ""
}

range_fault <- function(x, lower, upper, whole, sorted, bounded) {
  bad <- if (bounded) x < lower | x > upper else FALSE
  if (whole) bad <- bad | x != round(x)
  if (any(bad)) return(fault("", x[bad][1]))
  if (sorted && is.unsorted(x, strictly = TRUE)) fault("", x)
}

a_number <- function(lower = -Inf, upper = Inf, na = FALSE, infinite = FALSE) {
  numbers(1, lower, upper, na, infinite = infinite)
}

a_count <- function(lower = 0, upper = 2^53, na = FALSE) numbers(1, lower, upper, na, whole = TRUE)

# A matrix of finite numbers; rows and cols as the size of each().
a_matrix <- function(rows = NULL, cols = NULL, lower = -Inf, upper = Inf) {
  force(list(rows, cols))
  values <- numbers(lower = lower, upper = upper)
  function(x, o) {
    n <- c(wanted(rows, o) %||% NA, wanted(cols, o) %||% NA)
    if (!is.matrix(x) || !is.numeric(x) || any(dim(x) != n, na.rm = TRUE)) {
      size <- ifelse(is.na(n), "any", n)
      return(fault(paste0("a matrix of numbers", if (!all(is.na(n))) paste0(" (", size[1], " x ", size[2], ")")), x))
    }
    values(c(x), o)
  }
}

# A data frame with at least these columns, each of a type of typeof() or "numeric", "finite", "text", "label" (text or
# a factor) or "any". `optional` columns are checked if they exist. `rows` is as the size of each(); without it there
# are at least `least` rows.
a_table <- function(..., optional = character(), rows = NULL, least = 0) {
  columns <- c(...)
  force(list(optional, rows, least))
  function(x, o) {
    if (!is.data.frame(x)) return(fault("a data frame", x))
    n <- wanted(rows, o)
    size <- .row_names_info(x, 2L)
    first_fault(
      columns_fault(x, c(columns, optional[names(optional) %in% names(unclass(x))])),
      fault_if(!is.null(n) && size != n, paste("a table of", n, "rows"), size),
      fault_if(size < least, paste("a table of at least", least, "rows"), size)
    )
  }
}

# Columns of one type by their names, for a_table().
of_type <- function(type, ...) {
  names <- c(...)
  stats::setNames(rep(type, length(names)), names)
}

columns_fault <- function(x, columns) {
  n <- .row_names_info(x, 2L)
  x <- unclass(x)
  named <- length(x) == 0 || !is.null(names(x)) && !anyDuplicated(names(x))
  if (!named) return(fault("a table with names of columns", x))
  for (name in names(columns)) {
    ok <- is_column(.subset2(x, name), columns[[name]])
    if (!ok) return(fault(paste("a column of type", columns[[name]]), .subset2(x, name), paste0("$", name)))
  }
  for (name in names(x)) {
    column <- .subset2(x, name)
    size <- if (is.data.frame(column)) .row_names_info(column, 2L) else NROW(column)
    bad <- !vctrs::vec_is(column) || size != n
    if (bad) return(fault(paste("a column of", n, "values"), column, paste0("$", name)))
  }
}

# Tables may have lost columns; a figure or a summary needs these.
check_columns <- function(x, columns, call = caller_env()) {
  absent <- setdiff(columns, names(x))
  if (length(absent) == 0) return(invisible(x))
  stop_input("The result must have its columns {.field {columns}}.", "x" = "{.field {absent}} {?is/are} missing.",
             class = c("columns", "argument"), arg = "x", call = call)
}

# Plain columns: classes from elsewhere may have no method that a figure needs. One of missing values is of any type.
is_column <- function(column, type) {
  if (type == "any") return(!is.null(column))
  if (!is.null(dim(column)) || is.object(column) && !is.factor(column)) return(FALSE)
  missing <- is.logical(column) && all(is.na(column))
  missing || switch(type,
    numeric = is.numeric(column),
    finite = is.numeric(column) && all(is.finite(column) | is.na(column)),
    text = is.character(column),
    label = is.character(column) || is.factor(column),
    typeof(column) == type && !is.object(column)
  )
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
    if (is.list(x)) check(x, called_verb())
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
