# Outcomes, coded to match the probabilities: classes 1..K of a matrix, 0/1 of a vector.

check_truth_given <- function(truth, call) {
  if (rlang::quo_is_missing(truth)) {
    stop_input(c(
      "{.arg truth} must be given.",
      "i" = "A column of {.arg x} where that is a data frame, else a vector of outcomes."
    ), "truth", arg = "truth", call = call)
  }
}

# list(values, column): the outcomes, and which column of a data frame x they are; with a `horizon` those of
# R/horizon.R, with their weights.
read_outcomes <- function(truth, x, horizon, call, weights = NULL) {
  check_truth_given(truth, call)
  if (!is.null(horizon)) return(outcomes_at(truth, x, horizon, call, weights))
  if (!is.data.frame(x)) return(list(values = outcome_vector(truth, call)))
  x <- ungroup_frame(x)
  column <- match(truth_column(truth, x, call), names(x))
  list(values = x[[column]], column = column)
}

# Survival times are outcomes that are only partly known.
check_no_survival <- function(truth, call) {
  if (inherits(truth, "Surv")) stop_survival(call)
}

stop_survival <- function(call) {
  stop_input(c(
    "Survival outcomes need a {.arg horizon}.",
    "x" = "{.arg truth} is a {.cls Surv}.",
    "i" = "With {.code horizon = 5} predictions are the probabilities of an event by time 5, and rows censored before \\
           are made up for by weights; see {.help ce_horizon}. Verbs without this argument take 0/1 outcomes."
  ), c("survival", "truth"), arg = "truth", call = call)
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
  if (is.factor(truth)) {
    levels <- levels(truth)
    unused <- setdiff(levels, unique(as.character(truth)))
    return(list(truth = as.integer(truth), x = match_columns(x, levels, unused, call), levels = levels))
  }
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

# The columns in the order of the levels: by name where every level has its own column (`.pred_{level}` or `{level}`),
# by position otherwise; but a column that names a level of another position is an error.
match_columns <- function(x, levels, unused, call) {
  k <- ncol(x)
  if (length(levels) != k) {
    stop_input(c(
      "{.arg x} must have one probability column for each level of {.arg truth}.",
      "x" = "{k} column{?s}, {length(levels)} level{?s}: {.val {levels}}.",
      "i" = if (length(unused) > 0 && length(levels) - length(unused) == k) {
        "Drop the unused level{?s} {.val {unused}} with {.fn droplevels}."
      }
    ), "columns", arg = "truth", call = call)
  }
  names <- colnames(x)
  if (is.null(names)) return(x)
  by_prefix <- match(paste0(".pred_", levels), names)
  by_level <- match(levels, names)
  if (!anyNA(by_prefix)) return(x[, by_prefix, drop = FALSE])
  if (!anyNA(by_level)) return(x[, by_level, drop = FALSE])
  named <- match(sub("^\\.pred_", "", names), levels)
  moved <- which(!is.na(named) & named != seq_along(names))
  if (length(moved) > 0) {
    stop_input(c(
      "Probability columns must be in the order of the levels of {.arg truth}, or all carry their names.",
      "x" = "Column {moved[1]} is {.field {names[moved[1]]}}, but level {moved[1]} is {.val {levels[moved[1]]}}.",
      "i" = "Name all columns {.code .pred_<level>}; they are then matched by name."
    ), "columns", arg = "x", call = call)
  }
  x
}

# Scalar truth -> 0/1, 1 = the event (or "the top label was right"): the level that the column is named
# after, whatever event_level; else the one of event_level, or 1 and TRUE.
code_outcome <- function(truth, event_level, call, column = NULL) {
  two <- two_outcomes(truth, call)
  named <- named_level(column, two$levels)
  event <- named %||% if (is.factor(truth) && event_level == "first") 1L else 2L
  list(outcome = as.numeric(two$code == event), levels = two$levels[c(3L - event, event)], event = 2L,
       named = !is.null(named))
}

# Scalar truth as 1 and 2 with the names of these.
two_outcomes <- function(truth, call) {
  if (is.logical(truth)) return(list(code = truth + 1L, levels = c("FALSE", "TRUE")))
  if (is.factor(truth)) {
    if (nlevels(truth) != 2) {
      stop_input(c(
        "With a single probability, a factor {.arg truth} must have two levels.",
        "x" = "It has {nlevels(truth)}: {.val {levels(truth)}}.",
        "i" = "Give one probability column per class, or a logical {.arg truth}."
      ), "truth", arg = "truth", call = call)
    }
    return(list(code = as.integer(truth), levels = levels(truth)))
  }
  if (!is.numeric(truth)) {
    stop_input(c(
      "With a single probability, {.arg truth} must be logical, 0/1 or a factor with two levels.",
      "x" = "It is {.cls {class(truth)[1]}}."
    ), "truth", arg = "truth", call = call)
  }
  bad <- if (!cpp_all_whole(truth, 0, 1)) which(!is.na(truth) & truth != 0 & truth != 1)
  if (length(bad) > 0) {
    stop_input(c(
      "With a single probability, a numeric {.arg truth} must be 0 or 1.",
      "x" = "Row {bad[1]} is {.val {truth[bad[1]]}}; {length(bad)} of {length(truth)} are neither."
    ), "truth", arg = "truth", row = bad[1], value = truth[bad[1]], call = call)
  }
  list(code = as.integer(truth) + 1L, levels = c("0", "1"))
}
