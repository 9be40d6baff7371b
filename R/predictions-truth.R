# Outcomes, coded to match the probabilities: classes 1..K of a matrix, 0/1 of a vector.

check_truth_given <- function(truth) {
  stop_if(rlang::quo_is_missing(truth), "{.arg truth} must be given.", "x" = "It is missing.", class = "truth",
          arg = "truth")
}

# list(values, column): the outcomes, and which column of a data frame x they are; with a `horizon` those of
# R/horizon.R, with their weights.
read_outcomes <- function(truth, x, horizon, weights = NULL) {
  check_truth_given(truth)
  if (!is.null(horizon)) return(outcomes_at(truth, x, horizon, weights))
  if (!is.data.frame(x)) return(list(values = outcome_vector(truth)))
  x <- ungroup_frame(x)
  # they select no columns
  if (rlang::quo_is_call(truth, c("==", "!=", "<", ">", "<=", ">=", "%in%"))) {
    used <- all.vars(rlang::quo_get_expr(truth))
    known <- match(used, names(x), 0)
    if (all(known == 0)) stop_unknown_columns(used[1], x, "truth", NULL)
    return(list(values = outcome_vector(truth, data_mask(x)), column = known[known > 0]))
  }
  column <- match(truth_column(truth, x), names(x))
  check_no_prediction(x, column)
  list(values = plain_vector(x[[column]]), column = column)
}

# Predicted classes beside the outcomes, such as `.pred_class` of tidymodels, are not outcomes.
check_no_prediction <- function(x, column) {
  name <- names(x)[column]
  if (!grepl("^[.]?pred(ict(ed|ion)s?)?([._]?(class|label))?$", name, ignore.case = TRUE)) return(invisible())
  twin <- vapply(x, function(v) is.factor(v) && identical(levels(v), levels(x[[column]])), NA)
  twin[column] <- FALSE
  stop_if(is.factor(x[[column]]) && any(twin), "{.arg truth} must be the outcomes, not the predicted classes.",
          "x" = "It is {.field {name}}, beside {.field {names(x)[twin][1]}} with the same levels.",
          class = "truth", arg = "truth", value = name)
}

# Survival times are outcomes that are only partly known.
check_no_survival <- function(truth) {
  if (inherits(truth, "Surv")) stop_survival()
}

stop_survival <- function() {
  stop_input("Survival outcomes need a {.arg horizon}.", "x" = "{.arg truth} is a {.cls Surv}.",
             "i" = "With {.code horizon = 5}, predictions are the probabilities of an event by time 5; see \\
                    {.code ?ce_horizon}. Functions without this argument take 0/1 outcomes.",
             class = c("survival", "truth"), arg = "truth")
}

# `truth` beside a matrix or a vector: the outcomes themselves. `data`: a data frame of which `truth` is an expression.
outcome_vector <- function(truth, data = NULL) {
  value <- withCallingHandlers(rlang::eval_tidy(truth, data), error = function(cnd) {
    name <- as.character(rlang::quo_get_expr(truth))
    unknown <- rlang::quo_is_symbol(truth) && !exists(name, envir = rlang::quo_get_env(truth))
    stop_input("{.arg truth} cannot be evaluated.", "x" = if (unknown) "There is no object {.val {name}}.",
               "i" = if (is.null(data)) "Beside a matrix or a vector, {.arg truth} is a vector of outcomes, not the \
                      name of a column.", class = "truth", arg = "truth", parent = if (!unknown) cnd)
  })
  if (!is.atomic(value)) stop_truth_kind(value)
  plain_vector(value)
}

stop_truth_matrix <- function(value) {
  columns <- colnames(value)
  stop_input("{.arg truth} must be a vector of outcomes.", "x" = "It is a matrix of {ncol(value)} columns.",
             "x" = if (!is.null(columns)) "They are {.val {columns}}.", class = "truth", arg = "truth")
}

# Several outcomes are a matrix.
stop_truth_kind <- function(value) {
  stop_input("{.arg truth} must be a vector of outcomes.", "x" = "It is {describe(value)}.",
             "x" = if (is.data.frame(value)) "Its columns are {.field {names(value)}}.", class = "truth", arg = "truth")
}

# Truth -> integer 1..K, with the columns of x put in the order of the levels; `order` has the column of every level.
code_truth <- function(truth, x) {
  k <- ncol(x)
  names <- colnames(x)
  lost <- is.factor(truth) && nlevels(truth) < k && all(levels(truth) %in% sub("^\\.pred_", "", names))
  if (is.character(truth) || lost) truth <- factor(truth, levels = truth_levels(as.character(truth), names))
  if (is.logical(truth) && k == 2) truth <- factor(truth, levels = c(FALSE, TRUE))
  if (is.numeric(truth) && counts_from_zero(truth, names, k)) truth <- factor(truth, levels = seq_len(k) - 1)
  if (is.factor(truth)) {
    levels <- levels(truth)
    unused <- setdiff(levels, unique(as.character(truth)))
    order <- match_columns(names, k, levels, unused)
    return(list(truth = as.integer(truth), x = in_order(x, order), levels = levels, order = order))
  }
  stop_if(!is.numeric(truth), "{.arg truth} must be a factor or integer classes 1, ..., {k}.",
          "x" = "It is {.cls {class(truth)[1]}}, and {.arg x} has {k} columns.", class = "truth", arg = "truth")
  bad <- which(!is.na(truth) & (truth < 1 | truth > k | truth != round(truth)))
  range <- if (length(bad) > 0) range(truth, na.rm = TRUE)
  stop_if(length(bad) > 0, "Integer classes in {.arg truth} must be 1, ..., {k}, the number of probability columns.",
          "x" = "Row {bad[1]} is {.val {signif(truth[bad[1]], 4)}}; {length(bad)} of {length(truth)} are out of range.",
          "x" = "Values range from {range[1]} to {range[2]}.",
          "i" = if (any(truth != round(truth), na.rm = TRUE))
            "Outcomes that are numbers are predicted by distributions; see {.code ?pred}.", class = "truth",
          arg = "truth", row = bad[1], value = truth[bad[1]])
  order <- numbered_columns(names, seq_len(k)) %||% seq_len(k)
  levels <- (names %||% as.character(seq_len(k)))[order]
  list(truth = as.integer(truth), x = in_order(x, order), levels = sub("^\\.pred_", "", levels), order = order)
}

in_order <- function(x, order) if (is.unsorted(order)) x[, order, drop = FALSE] else x

# Columns that are named after these numbers; NULL if they are not.
numbered_columns <- function(names, numbers) {
  if (!is.null(names) && all(grepl("[0-9]", names))) matched_columns(names, as.character(numbers))
}

# Classes 0, ..., K - 1, where the columns say so or have no names.
counts_from_zero <- function(truth, names, k) {
  any(truth == 0, na.rm = TRUE) && all(truth %in% c(NA, seq_len(k) - 1)) &&
    (is.null(names) || !is.null(numbered_columns(names, seq_len(k) - 1)))
}

# Levels of character truth, in the order of the columns that name them; there may be classes without rows.
truth_levels <- function(truth, names) {
  values <- sort(unique(truth), method = "radix")
  if (!is.null(names)) {
    plain <- sub("^\\.pred_", "", names)
    if (all(values %in% plain)) return(plain)
    at <- matched_columns(names, values)
    if (!is.null(at)) return(values[order(at)])
    for (cores in if (all(validUTF8(c(names, values)))) shared_cores(names)) {
      for (texts in name_forms(cores, values)) {
        found <- match(texts$levels, texts$names)
        if (anyNA(found)) next
        cores[found] <- values
        return(cores)
      }
    }
    named <- partly_named(names, values)
    if (any(!is.na(named))) stop_partly_named(names, values, named)
  }
  numbers <- suppressWarnings(as.numeric(values))
  numbered <- !anyNA(numbers) && is.unsorted(numbers)
  stop_input("A character {.arg truth} needs column names to match.",
             "x" = if (is.null(names)) "The columns have no names." else "Columns: {.val {names}}.",
             "x" = "Values: {.val {values}}.",
             "i" = "A factor says the order: its levels are those of the columns, first to last.",
             "i" = if (numbered) "The values are numbers; as text they sort in another order.",
             class = c("truth", "columns"), arg = "truth")
}

# The column of every level.
match_columns <- function(names, k, levels, unused) {
  stop_if(length(levels) != k, "{.arg x} must have one probability column for each level of {.arg truth}.",
          "x" = "{k} column{?s}{if (!is.null(names)) ':'} {.val {names}}.",
          "x" = "{length(levels)} level{?s}: {.val {levels}}.",
          "x" = if (length(unused) > 0) "No row has {.val {unused}}.", class = "columns", arg = "truth")
  column_order(names, levels)
}

# Scalar truth -> 0/1, 1 = the event (or "the top label was right"). The event is the level that the column is named
# after, regardless of event_level; else the one of event_level, or 1 and TRUE.
code_outcome <- function(truth, event_level, column = NULL) {
  two <- two_outcomes(truth)
  named <- named_level(column, two$levels)
  event <- named %||% if (is.factor(truth) && event_level == "first") 1L else 2L
  outcome <- cpp_event_outcomes(two$values, two$codes[event], two$codes[3L - event])
  if (is.null(outcome)) {
    if (is.numeric(truth)) check_single_truth(truth)
    outcome <- as.numeric(as.integer(two$values) == two$codes[event])
  }
  list(outcome = outcome, levels = two$levels[c(3L - event, event)], event = 2L, named = !is.null(named))
}

# Scalar truth: values, of which the codes are those of the two levels.
two_outcomes <- function(truth) {
  if (is.logical(truth)) return(list(values = truth, codes = 0:1, levels = c("FALSE", "TRUE")))
  if (is.factor(truth)) {
    stop_if(
      nlevels(truth) != 2, "With a single probability, a factor {.arg truth} must have two levels.",
      "x" = "It has {nlevels(truth)}: {.val {levels(truth)}}.",
      "i" = if (nlevels(truth) < 2) {
        "Name both levels; all rows may have one of them."
      } else {
        "Give one probability column per class, or say of each row whether the event happened."
      }, class = "truth", arg = "truth"
    )
    return(list(values = truth, codes = 1:2, levels = levels(truth)))
  }
  stop_if(!is.numeric(truth),
          "With a single probability, {.arg truth} must be logical, 0/1 or a factor with two levels.",
          "x" = "It is {.cls {class(truth)[1]}}.",
          "x" = if (is.character(truth)) "Its values are {.val {sort(unique(truth))}}.",
          "i" = if (is.character(truth)) "Of a factor, {.arg event_level} says which level is the event: the first, if \
                 it is not given.", class = "truth", arg = "truth")
  list(values = truth, codes = 0:1, levels = c("0", "1"))
}

check_single_truth <- function(truth) {
  bad <- which(!is.na(truth) & truth != 0 & truth != 1)
  stop_if(length(bad) > 0, "With a single probability, a numeric {.arg truth} must be 0 or 1.",
          "x" = "Row {bad[1]} is {.val {signif(truth[bad[1]], 4)}}; {length(bad)} of {length(truth)} are neither.",
          "i" = "Outcomes that are numbers are predicted by distributions, such as of {.fn pred_normal}, \
                 {.fn pred_quantiles} or {.fn pred_draws}.", class = "truth", arg = "truth", row = bad[1],
          value = truth[bad[1]])
}
