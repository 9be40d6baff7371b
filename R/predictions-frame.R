# Data frames: which columns are probabilities, which one is the outcome.

# Data frame -> matrix of the probability columns, also of a single one, whose name may say its level. `outcomes` are
# those of the columns `except`, which are no predictions.
read_probs <- function(x, dots, outcomes, except, call) {
  x <- ungroup_frame(x)
  columns <- if (length(dots) == 0) {
    default_columns(x, outcomes, except)
  } else {
    select_columns(rlang::quo(c(!!!dots)), x, "...", call)
  }
  columns <- columns[!columns %in% except]
  if (length(columns) == 0) {
    stop_input(c(
      "{.arg ...} must select the probability columns.",
      "x" = "It selects none.",
      "i" = if (length(dots) == 0) {
        "The default takes the numeric columns that start with {.val .pred_}, else those named as the levels of \\
         the truth; there are none."
      }
    ), "columns", arg = "...", call = call)
  }
  values <- x[unname(columns)]
  text <- names(columns)[!vapply(values, is.numeric, NA)]
  if (length(text) > 0) {
    stop_input(c(
      "Probability columns must be numeric.",
      "x" = "{.field {text}} {?is/are} not."
    ), "columns", arg = "...", call = call)
  }
  matrix(as.numeric(unlist(values, use.names = FALSE)), nrow(x), length(columns),
         dimnames = list(NULL, names(columns)))
}

# Where none are selected: `.pred_*`, else a column for every outcome, named exactly as it.
default_columns <- function(x, outcomes, except) {
  numeric <- vapply(x, is.numeric, NA)
  columns <- which(startsWith(names(x), ".pred_") & numeric)
  if (length(columns) == 0 && (is.factor(outcomes) || is.character(outcomes))) {
    named <- match(if (is.factor(outcomes)) levels(outcomes) else sort(unique(outcomes)), names(x))
    if (length(named) > 1 && !anyNA(named) && !any(except %in% named) && all(numeric[named])) columns <- named
  }
  setNames(columns, names(x)[columns])
}

# The name of the one column that `truth` selects.
truth_column <- function(truth, x, call) {
  columns <- select_columns(truth, x, "truth", call)
  if (length(columns) != 1) {
    stop_input(c(
      "{.arg truth} must select one column.",
      "x" = "It selects {length(columns)}."
    ), "columns", arg = "truth", call = call)
  }
  names(x)[columns]
}

select_columns <- function(quo, x, arg, call) {
  found <- named_columns(quo, names(x))
  if (!is.null(found)) return(found)
  if (arg == "truth" && rlang::quo_is_call(quo, "Surv")) stop_survival(call)
  hint <- if (!arg %in% c("...", ".by") && !column_is_named(quo, x)) vector_hint(quo, x, arg)
  if (!is.null(hint)) {
    # tidyselect would list every outcome as a column that does not exist
    stop_input(c("{.arg {arg}} must select a column of {.arg x}.", hint), "columns", arg = arg, call = call)
  }
  rlang::try_fetch(
    tidyselect::eval_select(quo, x, error_call = call),
    error = function(cnd) {
      stop_input("{.arg {arg}} must select columns of {.arg x}.", "columns",
                 arg = arg, parent = cnd, call = call)
    }
  )
}

# Columns that are simply named, `a` or `c(a, b)`: tidyselect would take longer than most metrics.
named_columns <- function(quo, names) {
  expr <- rlang::quo_get_expr(quo)
  if (rlang::is_call(expr, "c", ns = "")) {
    if (!is.null(names(expr))) return(NULL)
    exprs <- lapply(as.list(expr[-1]), function(e) if (rlang::is_quosure(e)) rlang::quo_get_expr(e) else e)
  } else {
    exprs <- list(expr)
  }
  if (length(exprs) == 0 || !all(vapply(exprs, rlang::is_symbol, NA)) || anyDuplicated(names) > 0) return(NULL)
  given <- unique(vapply(exprs, as.character, ""))
  at <- match(given, names)
  if (!anyNA(at)) setNames(at, given)
}

column_is_named <- function(quo, x) {
  expr <- rlang::quo_get_expr(quo)
  rlang::is_symbol(expr) && as.character(expr) %in% names(x)
}

# Values where the name of their column is expected, as in `ece(x, x$truth)`.
vector_hint <- function(quo, x, arg) {
  # several columns may be meant
  if (rlang::quo_is_call(quo, c("c", ":"))) return(NULL)
  value <- tryCatch(rlang::eval_tidy(quo), error = function(cnd) NULL)
  if (is.atomic(value) && length(value) == nrow(x) && nrow(x) > 1) {
    c("x" = paste0("It is a vector of ", length(value), " values."),
      "i" = paste0("Where {.arg x} is a data frame, {.arg ", arg, "} is one of its columns: {.code ", arg,
                   "}, not {.code x$", arg, "}."))
  }
}
