# Rules of fields that hold texts, numbers, matrices and tables; those of objects are in R/describe-object.R.

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
check_columns <- function(x, columns) {
  absent <- setdiff(columns, names(x))
  if (length(absent) == 0) return(invisible(x))
  stop_input("The result must have its columns {.field {columns}}.", "x" = "{.field {absent}} {?is/are} missing.",
             class = c("columns", "argument"), arg = "x")
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
