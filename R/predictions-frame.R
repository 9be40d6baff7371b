# Data frames: which columns are probabilities, which one is the outcome.

# Data frame -> matrix of the probability columns, also of a single one, whose name may give its level. `outcomes` are
# those of the columns `except`, which do not hold predictions.
read_probs <- function(x, dots, outcomes, except) {
  x <- ungroup_frame(x)
  columns <- if (length(dots) == 0) {
    default_columns(x, outcomes, except)
  } else {
    named_columns(dots, names(x)) %||% select_columns(rlang::quo(c(!!!dots)), x, "...")
  }
  columns <- columns[!columns %in% except]
  if (length(columns) == 0) {
    laws <- names(x)[vapply(x, is_law, NA)]
    stop_if(length(dots) == 0 && length(laws) > 0, "{.arg x} must have columns of probabilities.",
            "x" = "{.field {laws[1]}} holds predictive distributions.",
            "i" = "{law_readers}", class = "columns", arg = "x")
    stop_no_columns(x, length(dots) == 0, except)
  }
  check_narrow(x, columns)
  # columns of which tidymodels gives the name to something else
  other <- names(columns)[is_other_prediction(names(columns), outcomes)]
  stop_if(length(other) > 0, "{.arg ...} must select probabilities of classes, or of an event.",
          "x" = "In tidymodels, {.field {other[1]}} is the name of another kind of prediction.",
          "i" = if (other[1] == ".pred_survival") "With {.arg horizon}, {.code 1 - .pred_survival} at this \\
                 {.field .eval_time} is read if no column is selected.", class = "columns", arg = "...")
  matrix(unlist(number_columns(.subset(x, columns), "...")), nrow(x), length(columns),
         dimnames = list(NULL, names(columns)))
}

# As numbers.
number_columns <- function(columns, arg) {
  text <- names(columns)[!vapply(columns, is.numeric, NA)][1]
  stop_if(!is.na(text), "Probability columns must be numeric.",
          "x" = "{.field {text}} is {.cls {class(columns[[text]])[1]}}{seen_text(columns[[text]])}.", class = "columns",
          arg = arg)
  unname(lapply(columns, as_numbers))
}

check_narrow <- function(x, columns, arg = "...") {
  wide <- Find(function(column) prod(dim(.subset2(x, column))[-1]) > 1, columns)
  stop_if(!is.null(wide), "Probability columns must hold one number in each row.",
          "x" = "{.field {names(x)[wide]}} has {prod(dim(x[[wide]])[-1])} columns.", class = "columns", arg = arg)
}

is_other_prediction <- function(names, outcomes) {
  other <- startsWith(names, ".pred_")
  if (any(other)) other <- grepl("^[.]pred_(survival|time|hazard|linear_pred|quantile|(lower|upper)(_.*)?)$", names)
  if (!any(other)) return(other)
  other & !names %in% paste0(".pred_", if (is.factor(outcomes)) levels(outcomes) else unique(outcomes))
}

stop_no_columns <- function(x, by_default, except) {
  fits <- vapply(x, function(v) is.numeric(v) && length(v) > 0 && isTRUE(all(v >= 0 & v <= 1, na.rm = TRUE)), NA)
  found <- utils::head(setdiff(names(x)[fits], names(x)[except]), 8)
  stop_input(
    "{.arg ...} must select the probability columns.", "x" = "It selects none.",
    "i" = if (by_default) {
      "The default takes the numeric columns that start with {.val .pred_}, else those named as the levels of \\
       {.arg truth}; not all are there."
    }, "i" = if (length(found) > 0) "Numeric columns with values from 0 to 1: {.field {found}}." else
      "{.arg x} has no other numeric column with values from 0 to 1.", class = "columns", arg = "..."
  )
}

# The columns if none are selected: `.pred_*`, else a column for every outcome that has its name, or what make.names()
# makes of it.
default_columns <- function(x, outcomes, except) {
  numeric <- vapply(x, is.numeric, NA)
  columns <- which(startsWith(names(x), ".pred_") & numeric & !is_other_prediction(names(x), outcomes))
  levels <- if (is.factor(outcomes)) levels(outcomes) else if (is.character(outcomes)) sort(unique(outcomes))
  for (named in list(match(levels, names(x)), match(make.names(levels), names(x)))) {
    found <- length(columns) == 0 && length(named) > 1 && !anyNA(named) && anyDuplicated(named) == 0
    if (found && !any(except %in% named) && all(numeric[named])) columns <- named
  }
  setNames(columns, names(x)[columns])
}

# The name of the one column that `truth` selects.
truth_column <- function(truth, x) {
  columns <- select_columns(truth, x, "truth")
  stop_if(length(columns) != 1, "{.arg truth} must select one column.", "x" = "It selects {length(columns)}.",
          class = "columns", arg = "truth")
  names(x)[columns]
}

select_columns <- function(quo, x, arg) {
  found <- named_columns(quo, names(x))
  if (!is.null(found)) return(found)
  if (arg == "truth" && rlang::quo_is_call(quo, "Surv")) stop_survival()
  # the parts of a selection, `a` or `c(a, b)`
  expr <- rlang::quo_get_expr(quo)
  parts <- lapply(if (rlang::is_call(expr, "c", ns = "")) as.list(expr[-1]) else list(expr), function(one) {
    selected_part(if (rlang::is_quosure(one)) one else rlang::quo_set_expr(quo, one), x, arg)
  })
  all <- rlang::quo(c(!!!parts))
  rlang::try_fetch(tidyselect::eval_select(all, x, error_call = called_verb()), error = function(cnd) {
    exprs <- lapply(parts, rlang::quo_get_expr)
    named <- Filter(function(expr) rlang::is_symbol(expr) || rlang::is_string(expr), exprs)
    unknown <- setdiff(vapply(named, as.character, ""), names(x))
    stop_unknown_columns(if (length(unknown) > 0) unknown[1], x, arg, cnd)
  })
}

# Operators and helpers of tidyselect, and `-` of one column.
selections <- c("c", ":", "!", "&", "|", "all_of", "any_of", "starts_with", "ends_with", "contains", "matches",
                "num_range", "everything", "last_col", "where", "pick")

# An expression that stands for columns stays. A value that is computed from columns, or has a number for each row, as
# in `ece(x, x$truth)`, is none: a selection has no arithmetic, and outcomes 0 and 1 would be places of columns.
selected_part <- function(part, x, arg) {
  expr <- rlang::quo_get_expr(part)
  while (rlang::is_call(expr, "(")) expr <- expr[[2]]
  if (stands_for_columns(expr, names(x), arg)) return(part)
  if (!rlang::is_call(expr, c("$", "[[")) && any(all.vars(expr) %in% names(x))) stop_values(x, arg, part)
  value <- tryCatch(rlang::eval_tidy(part), error = function(cnd) NULL)
  if (arg == "truth" && inherits(value, "Surv")) stop_survival()
  if (!is.atomic(value) || is.null(value)) return(part)
  if (is_row_values(value, x)) stop_values(x, arg)
  rlang::new_quosure(value)
}

is_row_values <- function(value, x) length(value) == nrow(x) && nrow(x) > 1 && !all(value %in% names(x))

stands_for_columns <- function(expr, names, arg) {
  if (rlang::is_symbol(expr)) return(as.character(expr) %in% names || arg == "...")
  !rlang::is_call(expr) || rlang::is_call(expr, selections) || rlang::is_call(expr, "-", n = 1)
}

stop_values <- function(x, arg, computed = NULL) {
  called <- if (is.null(computed)) "" else rlang::call_name(computed) %||% ""
  stop_input("{.arg {arg}} must select columns of {.arg x}.",
             "x" = if (is.null(computed)) "It is a vector of {nrow(x)} values." else
               "{.code {rlang::as_label(computed)}} computes with columns.",
             "i" = if (startsWith(called, "pred_")) "{law_readers}" else if (called == "cbind")
               "Counts are rows that {.arg weights} count: one of the successes, one of the failures." else
               "Beside a data frame, give the name of a column.", class = "columns", arg = arg)
}

stop_unknown_columns <- function(unknown, x, arg, cnd) {
  if (is.null(unknown)) {
    stop_input("{.arg {arg}} must select columns of {.arg x}.", class = "columns", arg = arg, parent = cnd)
  }
  fields <- length(x) == 1 && grepl("[.;]", names(x)) && all(grepl(";", x[[1]], fixed = TRUE))
  meant <- if (!fields && sum(grepl(unknown, names(x), fixed = TRUE)) < 2) meant_word(unknown, names(x), list())
  stop_input("{.arg {arg}} must select columns of {.arg x}.", "x" = "It has no column {.val {unknown}}.",
             "x" = if (fields) "Its one column has semicolons in every row, as files for {.fn read.csv2} do.",
             "i" = if (!is.null(meant)) "Did you mean {.val {meant}}?" else "Its columns are {.val {names(x)}}.",
             class = "columns", arg = arg)
}

# Columns that are simply named, `a` or `c(a, b)`, or by the selections `quo`: tidyselect would take longer than most
# metrics.
named_columns <- function(quo, names) {
  given <- unique(cpp_selected_names(quo))
  at <- match(given, names)
  if (length(at) > 0 && !anyNA(at) && anyDuplicated(names) == 0) setNames(at, given)
}
