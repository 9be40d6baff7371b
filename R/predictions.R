# From what the user types to one internal value, a `ce_predictions`:
#   probs   matrix n x K, rows on the simplex, columns in the order of `levels`; NULL for a scalar
#   truth   integer n in 1..K; NULL for a scalar
#   prob    numeric n in [0, 1] and outcome 0/1 numeric n: the scalar form; NULL for a matrix
#   levels  character K; event: index of the event among them (a scalar's event is level 2)
#   rows    which rows of the input were kept; dropped: how many were incomplete
#   na      TRUE where a missing value is to give NA (na_rm = FALSE)
# All input errors of predictions and outcomes are raised here.

sum_tolerance <- list(exact = 1e-12, float = 1e-6)

# `truth` and `dots` are quosures, so that data frames are tidyselected and
# matrices evaluated with the same verb.
as_predictions <- function(x, truth, dots = list(), event_level = "first", na_rm = TRUE,
                           call = caller_env()) {
  check_flag(na_rm, call = call)
  event_level <- check_choice(event_level, c("first", "second"), call = call)
  check_truth_given(truth, call)
  if (is.data.frame(x)) {
    input <- read_frame(x, truth, dots, call)
  } else {
    if (length(dots) > 0) {
      stop_input(c(
        "{.arg ...} selects columns of a data frame and must be empty here.",
        "x" = "{.arg x} is {.cls {class(x)[1]}}; {length(dots)} extra argument{?s} given.",
        "i" = "Check the spelling of named arguments."
      ), "argument", arg = "...", call = call)
    }
    check_kind(x, call)
    input <- list(x = x, truth = outcome_vector(truth, call))
  }
  new_predictions(input$x, input$truth, event_level, na_rm, call)
}

check_truth_given <- function(truth, call) {
  if (rlang::quo_is_missing(truth)) {
    stop_input(c(
      "{.arg truth} must be given.",
      "i" = "A column of {.arg x} where that is a data frame, else a vector of outcomes."
    ), "truth", arg = "truth", call = call)
  }
}

# Data frame -> list(x = matrix or vector, truth).
read_frame <- function(x, truth, dots, call) {
  x <- ungroup_frame(x)
  truth_column <- match(truth_column(truth, x, call), names(x))
  if (length(dots) == 0) {
    columns <- which(startsWith(names(x), ".pred_") & vapply(x, is.numeric, NA))
    names(columns) <- names(x)[columns]
  } else {
    columns <- select_columns(rlang::quo(c(!!!dots)), x, "...", call)
  }
  columns <- columns[columns != truth_column]
  if (length(columns) == 0) {
    stop_input(c(
      "{.arg ...} must select the probability columns.",
      "x" = "It selects none.",
      "i" = if (length(dots) == 0) {
        "The default takes the numeric columns that start with {.val .pred_}; there are none."
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
  probs <- if (length(columns) == 1) {
    as.numeric(values[[1]])
  } else {
    matrix(as.numeric(unlist(values, use.names = FALSE)), nrow(x), length(columns),
           dimnames = list(NULL, names(columns)))
  }
  list(x = probs, truth = x[[truth_column]])
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
  hint <- if (arg == "truth" && !column_is_named(quo, x)) truth_hint(quo, x)
  if (!is.null(hint)) {
    # tidyselect would list every outcome as a column that does not exist
    stop_input(c("{.arg truth} must select a column of {.arg x}.", hint), "columns", arg = arg, call = call)
  }
  rlang::try_fetch(
    tidyselect::eval_select(quo, x, error_call = call),
    error = function(cnd) {
      stop_input("{.arg {arg}} must select columns of {.arg x}.", "columns",
                 arg = arg, parent = cnd, call = call)
    }
  )
}

column_is_named <- function(quo, x) {
  expr <- rlang::quo_get_expr(quo)
  rlang::is_symbol(expr) && as.character(expr) %in% names(x)
}

# Outcomes where the name of their column is expected, as in `ece(x, x$truth)`.
truth_hint <- function(truth, x) {
  # several columns may be meant
  if (rlang::quo_is_call(truth, c("c", ":"))) return(NULL)
  value <- tryCatch(rlang::eval_tidy(truth), error = function(cnd) NULL)
  if (is.atomic(value) && length(value) == nrow(x) && nrow(x) > 1) {
    c("x" = paste0("It is a vector of ", length(value), " values."),
      "i" = "Where {.arg x} is a data frame, {.arg truth} is one of its columns: {.code truth}, not {.code x$truth}.")
  }
}

new_predictions <- function(x, truth, event_level = "first", na_rm = TRUE, call = caller_env()) {
  check_kind(x, call)
  if (is.matrix(x)) {
    matrix_predictions(x, truth, event_level, na_rm, call)
  } else {
    scalar_predictions(as.numeric(x), truth, event_level, na_rm, call)
  }
}

check_kind <- function(x, call) {
  if (is.numeric(x) && (is.matrix(x) || is.null(dim(x)))) return(invisible(x))
  what <- if (is.matrix(x) || is.atomic(x)) typeof(x) else class(x)[1]
  stop_input(c(
    "{.arg x} must be a data frame, a numeric matrix (one row per observation, one column per \\
     class) or a numeric vector of probabilities.",
    "x" = "It is {if (is.null(x)) 'NULL' else paste0(if (is.matrix(x)) 'a matrix of type ' else 'of type ', what)}."
  ), "probs", arg = "x", value = x, call = call)
}

# `truth` beside a matrix or a vector: the outcomes themselves.
outcome_vector <- function(truth, call) {
  rlang::try_fetch(rlang::eval_tidy(truth), error = function(cnd) {
    stop_input(c(
      "{.arg truth} cannot be evaluated.",
      "i" = "Where {.arg x} is a matrix or a vector, {.arg truth} is the vector of outcomes; it is a \\
             column only of a data frame."
    ), "truth", arg = "truth", parent = cnd, call = call)
  })
}

matrix_predictions <- function(x, truth, event_level, na_rm, call) {
  if (ncol(x) < 2) {
    stop_input(c(
      "{.arg x} must have a column for every class, at least two.",
      "x" = "It has {ncol(x)} column{?s}.",
      "i" = "For a single probability pass a vector, {.code x[, 1]}, with a logical or 0/1 {.arg truth}."
    ), "probs", arg = "x", call = call)
  }
  check_length(nrow(x), length(truth), call)
  storage.mode(x) <- "double"
  coded <- code_truth(truth, x, call)
  x <- coded$x
  truth <- coded$truth
  keep <- complete_rows(x, truth, na_rm, call)
  na <- is.null(keep)
  if (na) keep <- seq_len(nrow(x))[stats::complete.cases(x, truth)]
  dropped <- nrow(x) - length(keep)
  if (dropped > 0) {
    x <- x[keep, , drop = FALSE]
    truth <- truth[keep]
  }
  if (nrow(x) == 0 && !na) stop_empty(dropped, call)
  x <- check_simplex(x, keep, call)
  dimnames(x) <- NULL
  new_ce_predictions(
    probs = x, truth = truth, levels = coded$levels,
    event = if (event_level == "first") 1L else 2L,
    rows = keep, dropped = dropped, na = na
  )
}

scalar_predictions <- function(x, truth, event_level, na_rm, call) {
  check_length(length(x), length(truth), call)
  coded <- code_outcome(truth, event_level, call)
  keep <- complete_rows(as.matrix(x), coded$outcome, na_rm, call)
  na <- is.null(keep)
  if (na) keep <- which(stats::complete.cases(x, coded$outcome))
  dropped <- length(x) - length(keep)
  x <- x[keep]
  outcome <- coded$outcome[keep]
  if (length(x) == 0 && !na) stop_empty(dropped, call)
  bad <- which(!is.finite(x) | x < 0 | x > 1)
  if (length(bad) > 0) {
    stop_input(c(
      "Probabilities must lie between 0 and 1.",
      "x" = "Row {keep[bad[1]]} is {.val {x[bad[1]]}}; {length(bad)} of {length(x)} rows are outside.",
      "i" = "If these are logits, apply {.fn plogis} first."
    ), "probs", arg = "x", row = keep[bad[1]], value = x[bad[1]], call = call)
  }
  new_ce_predictions(
    prob = x, outcome = outcome, levels = coded$levels, event = coded$event,
    rows = keep, dropped = dropped, na = na
  )
}

new_ce_predictions <- function(probs = NULL, truth = NULL, prob = NULL, outcome = NULL, levels,
                               event, rows, dropped, na) {
  structure(
    list(probs = probs, truth = truth, prob = prob, outcome = outcome, levels = levels,
         event = event, rows = rows, dropped = dropped, na = na),
    class = "ce_predictions"
  )
}

n_obs <- function(predictions) {
  if (is.null(predictions$probs)) length(predictions$prob) else nrow(predictions$probs)
}

n_classes <- function(predictions) {
  if (is.null(predictions$probs)) 2L else ncol(predictions$probs)
}

check_length <- function(n, n_truth, call) {
  if (n != n_truth) {
    stop_input(c(
      "{.arg x} and {.arg truth} must have the same number of observations.",
      "x" = "{.arg x} has {n}, {.arg truth} has {n_truth}."
    ), "length", arg = "truth", call = call)
  }
}

stop_empty <- function(dropped, call) {
  stop_input(c(
    "There must be at least one observation.",
    "x" = if (dropped > 0) {
      "All {dropped} row{?s} {?was/were} incomplete and dropped."
    } else {
      "{.arg x} has zero rows."
    }
  ), "empty", arg = "x", call = call)
}

# Rows to keep; NULL where something is missing and na_rm is FALSE. NaN is an error,
# not a missing value: it comes from a computation that failed.
complete_rows <- function(x, truth, na_rm, call, what = "Probabilities") {
  if (any(nan <- is.nan(x))) {
    row <- which(rowSums(nan) > 0)[1]
    stop_input(c(
      "{what} must not be NaN.",
      "x" = "Row {row} has one; {sum(rowSums(nan) > 0)} of {nrow(x)} rows do.",
      "i" = "Look at the computation that made them; mark values that are truly missing as {.val {NA}}."
    ), "probs", arg = "x", row = row, value = NaN, call = call)
  }
  complete <- !is.na(truth) & rowSums(is.na(x)) == 0
  if (!na_rm && !all(complete)) return(NULL)
  which(complete)
}

# Rows on the simplex: within 1e-12 as they are, within 1e-6 renormalised with a note.
check_simplex <- function(x, rows, call) {
  n <- nrow(x)
  bad <- which(rowSums(!is.finite(x) | x < 0) > 0)
  sums <- rowSums(x)
  off <- abs(sums - 1)
  logits <- "If these are logits, apply a softmax to each row first: {.code exp(z) / sum(exp(z))}."
  if (length(bad) > 0) {
    value <- x[bad[1], !is.finite(x[bad[1], ]) | x[bad[1], ] < 0][1]
    stop_input(c(
      "Probabilities must be finite and not negative.",
      "x" = "Row {rows[bad[1]]} has the value {.val {value}}; {length(bad)} of {n} rows are affected.",
      "i" = logits
    ), "probs", arg = "x", row = rows[bad[1]], value = value, call = call)
  }
  bad <- which(off > sum_tolerance$float)
  if (length(bad) > 0) {
    stop_input(c(
      "Rows of {.arg x} must sum to 1.",
      "x" = "Row {rows[bad[1]]} sums to {.val {sums[bad[1]]}}; {length(bad)} of {n} rows are off by \\
             more than {.val {sum_tolerance$float}}.",
      "i" = if (any(sums[bad] > 1.5)) logits else "Divide by the row sums if that is what you mean."
    ), "probs", arg = "x", row = rows[bad[1]], value = sums[bad[1]], call = call)
  }
  inexact <- off > sum_tolerance$exact
  if (any(inexact)) {
    note(c("i" = "Renormalised {sum(inexact)} of {n} rows that summed to 1 only within {.val {signif(max(off), 2)}} (single precision?)."),
         "renormalised")
    x[inexact, ] <- x[inexact, , drop = FALSE] / sums[inexact]
  }
  x
}

# Truth -> integer 1..K, with the columns of x put in the order of the levels.
code_truth <- function(truth, x, call) {
  k <- ncol(x)
  if (is.character(truth)) {
    if (is.null(colnames(x))) {
      stop_input(c(
        "A character {.arg truth} needs column names to match.",
        "i" = "Make it a factor whose levels are in the order of the columns."
      ), "truth", arg = "truth", call = call)
    }
    truth <- factor(truth, levels = truth_levels(truth, colnames(x)))
  }
  if (is.logical(truth) && k == 2) truth <- factor(truth, levels = c(FALSE, TRUE))
  if (is.factor(truth)) return(code_factor(truth, x, call))
  if (!is.numeric(truth)) {
    stop_input(c(
      "{.arg truth} must be a factor or integer classes 1, ..., {k}.",
      "x" = "It is {.cls {class(truth)[1]}}."
    ), "truth", arg = "truth", call = call)
  }
  bad <- which(!is.na(truth) & (truth < 1 | truth > k | truth != round(truth)))
  if (length(bad) > 0) {
    stop_input(c(
      "Integer classes in {.arg truth} must be 1, ..., {k}, the number of probability columns.",
      "x" = "Row {bad[1]} is {.val {truth[bad[1]]}}; {length(bad)} of {length(truth)} are out of range.",
      "i" = if (any(truth != round(truth), na.rm = TRUE)) {
        paste("Numbers are predicted by distributions: {.code pred_normal(mean, sd)} of the parameter columns; see",
              "{.help pred}.")
      } else if (any(truth == 0, na.rm = TRUE)) {
        "Classes seem to start at 0: add 1."
      }
    ), "truth", arg = "truth", row = bad[1], value = truth[bad[1]], call = call)
  }
  levels <- colnames(x) %||% as.character(seq_len(k))
  list(truth = as.integer(truth), x = x, levels = sub("^\\.pred_", "", levels))
}

# Character truth: levels in the order of the columns that name them.
truth_levels <- function(truth, columns) {
  plain <- sub("^\\.pred_", "", columns)
  union(plain, setdiff(unique(truth[!is.na(truth)]), plain))
}

# By name where every level has its own column (`.pred_{level}` or `{level}`), else by
# position; but a column that names a level of another position is an error.
code_factor <- function(truth, x, call) {
  k <- ncol(x)
  levels <- levels(truth)
  if (length(levels) != k) {
    unused <- setdiff(levels, unique(as.character(truth)))
    stop_input(c(
      "{.arg x} must have one probability column for each level of {.arg truth}.",
      "x" = "{k} column{?s}, {length(levels)} level{?s}: {.val {levels}}.",
      "i" = if (length(unused) > 0 && length(levels) - length(unused) == k) {
        "Drop the unused level{?s} {.val {unused}} with {.fn droplevels}."
      }
    ), "columns", arg = "truth", call = call)
  }
  names <- colnames(x)
  if (!is.null(names)) {
    by_prefix <- match(paste0(".pred_", levels), names)
    by_level <- match(levels, names)
    if (!anyNA(by_prefix)) {
      x <- x[, by_prefix, drop = FALSE]
    } else if (!anyNA(by_level)) {
      x <- x[, by_level, drop = FALSE]
    } else {
      named <- match(sub("^\\.pred_", "", names), levels)
      moved <- which(!is.na(named) & named != seq_along(names))
      if (length(moved) > 0) {
        stop_input(c(
          "Probability columns must be in the order of the levels of {.arg truth}, or all carry their names.",
          "x" = "Column {moved[1]} is {.field {names[moved[1]]}}, but level {moved[1]} is {.val {levels[moved[1]]}}.",
          "i" = "Name all columns {.code .pred_<level>}; they are then matched by name."
        ), "columns", arg = "x", call = call)
      }
    }
  }
  list(truth = as.integer(truth), x = x, levels = levels)
}

# Scalar truth -> 0/1, 1 = the event (or "the top label was right").
code_outcome <- function(truth, event_level, call) {
  if (is.logical(truth)) {
    return(list(outcome = as.numeric(truth), levels = c("FALSE", "TRUE"), event = 2L))
  }
  if (is.factor(truth)) {
    if (nlevels(truth) != 2) {
      stop_input(c(
        "With a single probability, a factor {.arg truth} must have two levels.",
        "x" = "It has {nlevels(truth)}: {.val {levels(truth)}}.",
        "i" = "Give one probability column per class, or a logical {.arg truth}."
      ), "truth", arg = "truth", call = call)
    }
    event <- if (event_level == "first") 1L else 2L
    return(list(outcome = as.numeric(as.integer(truth) == event),
                levels = levels(truth)[c(3L - event, event)], event = 2L))
  }
  if (!is.numeric(truth)) {
    stop_input(c(
      "With a single probability, {.arg truth} must be logical, 0/1 or a factor with two levels.",
      "x" = "It is {.cls {class(truth)[1]}}."
    ), "truth", arg = "truth", call = call)
  }
  bad <- which(!is.na(truth) & truth != 0 & truth != 1)
  if (length(bad) > 0) {
    stop_input(c(
      "With a single probability, a numeric {.arg truth} must be 0 or 1.",
      "x" = "Row {bad[1]} is {.val {truth[bad[1]]}}; {length(bad)} of {length(truth)} are neither."
    ), "truth", arg = "truth", row = bad[1], value = truth[bad[1]], call = call)
  }
  list(outcome = as.numeric(truth), levels = c("0", "1"), event = 2L)
}
