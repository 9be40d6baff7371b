# Data frames: which columns are probabilities, which one is the outcome.

# Data frame -> matrix of the probability columns, also of a single one, whose name may give its level. `outcomes` are
# those of the columns `except`, which do not hold predictions.
read_probs <- function(x, dots, outcomes, except, call) {
  x <- ungroup_frame(x)
  columns <- if (length(dots) == 0) {
    default_columns(x, outcomes, except)
  } else {
    select_columns(rlang::quo(c(!!!dots)), x, "...", call)
  }
  columns <- columns[!columns %in% except]
  if (length(columns) == 0) {
    laws <- names(x)[vapply(x, is_law, NA)]
    stop_if(length(dots) == 0 && length(laws) > 0, "{.arg x} must have columns of probabilities.",
            "x" = "{.field {laws[1]}} holds predictive distributions.", law_remedy(call), class = "columns", arg = "x",
            call = call)
    stop_input(
      "{.arg ...} must select the probability columns.", "x" = "It selects none.",
      if (length(dots) == 0) {
        c("i" = "The default takes the numeric columns that start with {.val .pred_}, else those named as the levels \\
                 of {.arg truth}; there are none.")
      }, candidate_remedy(x, except, call), class = "columns", arg = "...", call = call
    )
  }
  check_probability_columns(x, columns, outcomes, call)
  values <- x[unname(columns)]
  text <- names(columns)[!vapply(values, is.numeric, NA)]
  stop_if(length(text) > 0, "Probability columns must be numeric.",
          "x" = "{.field {text[1]}} is {.cls {class(x[[text[1]]])[1]}}.",
          text_column_remedy(x, text, outcomes, except, call), class = "columns", arg = "...", call = call)
  matrix(as.numeric(unlist(values, use.names = FALSE)), nrow(x), length(columns),
         dimnames = list(NULL, names(columns)))
}

# Columns of one number per row, of which tidymodels does not give the name to something else.
check_probability_columns <- function(x, columns, outcomes, call) {
  check_narrow(x, columns, call)
  other <- names(columns)[is_other_prediction(names(columns), outcomes)]
  stop_if(length(other) > 0, "{.arg ...} must select probabilities of classes, or of an event.",
          "x" = "In tidymodels, {.field {other[1]}} is the name of another kind of prediction.",
          "i" = if (other[1] == ".pred_survival") "With {.arg horizon}, {.code 1 - .pred_survival} at this \\
                 {.field .eval_time} is read if no column is selected.", class = "columns", arg = "...", call = call)
}

check_narrow <- function(x, columns, call, arg = "...") {
  wide <- Find(function(column) length(dim(x[[column]])) > 1 && prod(dim(x[[column]])[-1]) > 1, columns)
  stop_if(!is.null(wide), "Probability columns must hold one number in each row.",
          "x" = "{.field {names(x)[wide]}} has {prod(dim(x[[wide]])[-1])} columns.", class = "columns", arg = arg,
          call = call)
}

is_other_prediction <- function(names, outcomes) {
  other <- grepl("^[.]pred_(survival|time|hazard|linear_pred|quantile|(lower|upper)(_.*)?)$", names)
  if (!any(other)) return(other)
  other & !names %in% paste0(".pred_", if (is.factor(outcomes)) levels(outcomes) else unique(outcomes))
}

# The columns if none are selected: `.pred_*`, else a column for every outcome that has its exact name.
default_columns <- function(x, outcomes, except) {
  numeric <- vapply(x, is.numeric, NA)
  columns <- which(startsWith(names(x), ".pred_") & numeric & !is_other_prediction(names(x), outcomes))
  if (length(columns) == 0 && (is.factor(outcomes) || is.character(outcomes))) {
    named <- match(if (is.factor(outcomes)) levels(outcomes) else sort(unique(outcomes)), names(x))
    if (length(named) > 1 && !anyNA(named) && !any(except %in% named) && all(numeric[named])) columns <- named
  }
  setNames(columns, names(x)[columns])
}

# The name of the one column that `truth` selects.
truth_column <- function(truth, x, call) {
  columns <- select_columns(truth, x, "truth", call)
  stop_if(length(columns) != 1, "{.arg truth} must select one column.", "x" = "It selects {length(columns)}.",
          remedy("Give one", mended_line(call, list(truth = as.name(names(x)[columns[1]])))), class = "columns",
          arg = "truth", call = call)
  names(x)[columns]
}

select_columns <- function(quo, x, arg, call) {
  found <- named_columns(quo, names(x))
  if (!is.null(found)) return(found)
  if (arg == "truth" && rlang::quo_is_call(quo, "Surv")) stop_survival(call)
  hint <- if (arg != ".by" && !column_is_named(quo, x)) vector_hint(quo, x, arg, call)
  if (!is.null(hint)) {
    # tidyselect would list every outcome as a column that does not exist
    stop_input("{.arg {arg}} must select columns of {.arg x}.", hint, class = "columns", arg = arg, call = call)
  }
  rlang::try_fetch(
    tidyselect::eval_select(quo, x, error_call = call),
    error = function(cnd) {
      unknown <- unknown_column(quo, names(x))
      remedy <- if (is.null(unknown)) selection_remedy(quo, x, call) else unknown_remedy(unknown, x, arg, call)
      stop_input("{.arg {arg}} must select columns of {.arg x}.", remedy, class = "columns", arg = arg,
                 parent = if (is.null(remedy)) cnd, call = call)
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
vector_hint <- function(quo, x, arg, call) {
  # several columns may be meant
  if (arg != "..." && rlang::quo_is_call(quo, c("c", ":"))) return(NULL)
  parts <- if (arg == "...") Filter(function(one) rlang::quo_is_call(one, c("$", "[[")), selected_quos(quo))
  if (arg == "truth") {
    value <- tryCatch(rlang::eval_tidy(quo), error = function(cnd) NULL)
    if (inherits(value, "Surv")) stop_survival(call)
    if (is_model(value)) return(model_hint(value, call))
  }
  values <- Find(function(one) is_row_values(one, x), parts %||% list(quo))
  if (is.null(values) || arg == "..." && length(parts) == 0) return(NULL)
  c("x" = paste0("It is a vector of ", nrow(x), " values."), column_remedy(rlang::quo_get_expr(values), x, arg, call))
}

# The column of this name; a variable that has none becomes one.
column_remedy <- function(expr, x, arg, call) {
  name <- variable_name(expr)
  known <- length(name) == 1 && name %in% names(x)
  if (rlang::is_symbol(expr) && !known) {
    data <- typed_argument(typed_call(call), "x")
    return(remedy("Add it to the data frame", mended_line(call, list(x = call("cbind", data, expr)))))
  }
  data <- typed_argument(typed_call(call), "x")
  # a part of the data without the column
  part <- !known && arg == "truth" && rlang::is_call(data, "[")
  if (part && all(vapply(x, is.numeric, NA)) && isTRUE(all(abs(rowSums(x) - 1) < 0.01))) {
    return(remedy("Give the probabilities as a matrix", mended_line(call, list(x = call("as.matrix", data)))))
  }
  remedy(paste0("If {.arg x} is a data frame, name its column",
                if (arg != "...") paste0(": {.code ", arg, "}, not {.code x$", arg, "}")),
         if (known) replaced_line(call, expr, as.name(name)))
}

# `f(newdata, model, truth)`
model_hint <- function(model, call) {
  typed <- typed_call(call)
  columns <- typed$args[typed$places[names(typed$places) == ""]]
  line <- if (length(columns) > 0) {
    predicted <- call("ce_predictions", typed_argument(typed, "truth"), typed_argument(typed, "x"))
    mended_line(call, list(x = predicted, truth = columns[[1]]), drop = "")
  }
  c("x" = paste0("It is of class ", class(model)[1], "."),
    remedy("Add the predictions of the model to the data", line))
}

is_row_values <- function(quo, x) {
  value <- tryCatch(rlang::eval_tidy(quo), error = function(cnd) NULL)
  is.atomic(value) && length(value) == nrow(x) && nrow(x) > 1
}

# The parts of a selection, `a` or `c(a, b)`.
selected_quos <- function(quo) {
  expr <- rlang::quo_get_expr(quo)
  parts <- if (rlang::is_call(expr, "c", ns = "")) as.list(expr[-1]) else list(expr)
  lapply(parts, function(one) if (rlang::is_quosure(one)) one else rlang::quo_set_expr(quo, one))
}

selected_exprs <- function(quo) lapply(selected_quos(quo), rlang::quo_get_expr)

# The first name or text of a selection that is not a column; NULL if there is none.
unknown_column <- function(quo, names) {
  named <- Filter(function(expr) rlang::is_symbol(expr) || rlang::is_string(expr), selected_exprs(quo))
  unknown <- setdiff(vapply(named, as.character, ""), names)
  if (length(unknown) > 0) unknown[1]
}

# Something computed from columns, or a number beyond the last one.
selection_remedy <- function(quo, x, call) {
  made <- vapply(selected_exprs(quo), function(expr) !is.null(maker_argument(expr, call)), NA)
  if (any(made)) return(positional_remedy(call))
  exprs <- Filter(function(expr) rlang::is_call(expr) && any(all.vars(expr) %in% names(x)), selected_exprs(quo))
  if (length(exprs) > 0) {
    used <- intersect(all.vars(exprs[[1]]), names(x))
    line <- if (length(used) == 1) replaced_line(call, exprs[[1]], as.name(used))
    text <- escape_braces(paste(deparse(exprs[[1]]), collapse = " "))
    return(c("x" = paste0("{.code ", text, "} is computed from columns."),
             remedy("Name columns as they are; {.fn transform} computes others before", line)))
  }
  numbers <- Filter(is.numeric, selected_exprs(quo))
  if (length(numbers) > 0) {
    c("x" = paste0("It is the number ", numbers[[1]][1], "; there are fewer columns."), positional_remedy(call, TRUE))
  }
}

unknown_remedy <- function(name, x, arg, call) {
  fact <- paste0("It has no column {.val ", escape_braces(name), "}.")
  nested <- names(x)[vapply(x, function(column) is.list(column) && any(vapply(column, is.data.frame, NA)), NA)]
  if (length(nested) > 0) {
    data <- typed_argument(typed_call(call), "x") %||% quote(x)
    frame <- as.call(list(call("::", quote(tidyr), quote(unnest)), data, as.name(nested[1])))
    return(c("x" = fact, remedy(paste0("Its column {.field ", nested[1], "} holds data frames: unnest it"),
                                mended_line(call, list(x = frame)))))
  }
  near <- if (sum(grepl(name, names(x), fixed = TRUE)) < 2) meant_word(name, names(x), list())
  if (!is.null(near)) {
    asked <- paste0("Did you mean {.val ", escape_braces(near), "}?")
    # ce_compare() has its outcomes as `x`
    compared <- arg == "truth" && "objects" %in% names(typed_call(call)$places)
    line <- if (compared) replaced_line(call, as.name(name), as.name(near)) else renamed_line(call, name, near)
    return(c("x" = fact, remedy(asked, line)))
  }
  constant <- arg == "..." && name %in% Filter(is.character, typed_call(call)$args)
  c("x" = fact, if (constant) positional_remedy(call, TRUE) else
    c("i" = paste0("Its columns are ", escape_braces(list_text(names(x), "and")), ".")))
}

# ---- what to select instead --------------------------------------------------------------------------------------

# Columns that may hold probabilities.
candidate_columns <- function(x, except = NULL) {
  fits <- vapply(x, function(v) is.numeric(v) && length(v) > 0 && isTRUE(all(v >= 0 & v <= 1, na.rm = TRUE)), NA)
  setdiff(names(x)[fits], names(x)[except])
}

candidate_remedy <- function(x, except, call) {
  found <- candidate_columns(x, except)
  if (length(found) == 0) return(c("i" = "{.arg x} has no other numeric column with values from 0 to 1."))
  line <- if (length(found) == 1) selection_line(call, found)
  remedy(paste0("Numeric columns with values from 0 to 1: {.field ", toString(utils::head(found, 8)), "}"), line)
}

selection_line <- function(call, columns) {
  typed <- typed_call(call)
  if (is.null(typed)) return(NULL)
  places <- typed$places
  data <- places[names(places) %in% c("x", "truth")]
  others <- setdiff(places[names(places) != ""], data)
  line_text(as.call(c(typed$expr[[1]], typed$args[data], lapply(columns, as.name), typed$args[others])))
}

# Outcomes and predictions the wrong way round, numbers as text, predicted classes.
text_column_remedy <- function(x, text, outcomes, except, call) {
  if (all(vapply(x[text], is_distribution, NA))) return(law_remedy(call))
  if (is.numeric(outcomes) && !all(outcomes %in% c(0, 1, NA)) && length(text) == 1) {
    return(remedy("The outcome comes first, then the columns of predictions", swapped_outcome_line(call)))
  }
  as_text <- vapply(x[text], function(v) {
    is.character(v) && !anyNA(suppressWarnings(as.numeric(v[!is.na(v)]))) && !all(is.na(v))
  }, NA)
  if (all(as_text)) {
    numeric <- setNames(lapply(text, function(name) call("as.numeric", as.name(name))), text)
    data <- typed_argument(typed_call(call), "x")
    return(remedy("Make it numeric",
                  if (!is.null(data)) mended_line(call, list(x = as.call(c(quote(transform), data, numeric))))))
  }
  usual <- default_columns(x, outcomes, except)
  if (length(usual) > 0) {
    line <- mended_line(call, drop = "")
    return(remedy("Select predicted probabilities, not predicted classes; the default finds them", line))
  }
  c("i" = "Select predicted probabilities, not predicted classes.", candidate_remedy(x, except, call))
}

# The typed call with `truth` and the first column in each other's place.
swapped_outcome_line <- function(call) {
  typed <- typed_call(call)
  both <- typed$places[match(c("truth", ""), names(typed$places))]
  if (is.null(typed) || anyNA(both)) return(NULL)
  args <- typed$args
  args[both] <- args[rev(both)]
  line_text(as.call(c(typed$expr[[1]], args)))
}
