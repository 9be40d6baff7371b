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
  # they select no columns
  if (rlang::quo_is_call(truth, c("==", "!=", "<", ">", "<=", ">=", "%in%"))) {
    used <- all.vars(rlang::quo_get_expr(truth))
    known <- match(used, names(x), 0)
    if (all(known == 0)) stop_unknown_columns(used[1], x, "truth", NULL)
    return(list(values = outcome_vector(truth, data_mask(x)), column = known[known > 0]))
  }
  column <- match(truth_column(truth, x), names(x))
  list(values = plain_vector(.subset2(x, column)), column = column)
}

# Survival times are outcomes that are only partly known.
plain_truth <- function(truth) {
  if (inherits(truth, "Surv")) stop_survival()
  if (is.object(truth) && is.numeric(truth) && is.null(dim(truth))) as_numbers(truth) else truth
}

stop_survival <- function() {
  stop_input("Survival outcomes need a {.arg horizon}.", "x" = "{.arg truth} is a {.cls Surv}.",
             "i" = "With {.code horizon = 5}, predictions are the probabilities of an event by time 5; see \\
                    {.code ?ce_horizon}. Functions without this argument take 0/1 outcomes.",
             class = c("survival", "truth"), arg = "truth")
}

# `truth` beside a matrix or a vector: the outcomes themselves. `data`: a data frame of which `truth` is an expression.
outcome_vector <- function(truth, data = NULL) {
  value <- row_vector(truth, "truth", data)
  if (!is.atomic(value)) stop_truth_kind(value)
  plain_vector(value)
}

# Several outcomes are a matrix.
stop_truth_kind <- function(value) {
  stop_input("{.arg truth} must be a vector of outcomes.", "x" = "It is {describe(value)}.",
             "x" = if (!is.null(colnames(value))) "Its columns are {.field {colnames(value)}}.", class = "truth",
             arg = "truth")
}

# Truth -> list(outcome, levels, order): integer 1..K, and which of the k columns is that of every level.
code_truth <- function(truth, names, k) {
  if (is.logical(truth) && k == 2) truth <- factor(truth, levels = c(FALSE, TRUE))
  if (is.numeric(truth)) {
    if (!counts_from_zero(truth, names, k)) return(code_numbers(truth, names, k))
    truth <- factor(truth, levels = seq_len(k) - 1)
  }
  levels <- if (is.factor(truth)) levels(truth) else if (is.character(truth)) sort(unique(truth), method = "radix")
  stop_if(is.null(levels), "{.arg truth} must be a factor or integer classes 1, ..., {k}.",
          "x" = "It is {.cls {class(truth)[1]}}, and {.arg x} has {k} columns.", class = "truth", arg = "truth")
  # classes without rows are those of the other columns
  at <- if (is.character(truth) || length(levels) < k) matched_columns(names, levels, more = TRUE)
  if (!is.null(at)) {
    levels <- replace(sub("^\\.pred_", "", names), at, levels)
    return(list(outcome = match(truth, levels), levels = levels, order = seq_len(k)))
  }
  if (is.character(truth)) stop_text_truth(names, levels)
  order <- match_columns(names, k, levels, setdiff(levels, unique(as.character(truth))))
  list(outcome = as.integer(truth), levels = levels, order = order)
}

in_order <- function(x, order) if (is.unsorted(order)) x[, order, drop = FALSE] else x

# Classes 0, ..., K - 1, where the columns say so or have no names.
counts_from_zero <- function(truth, names, k) {
  any(truth == 0, na.rm = TRUE) && all(truth %in% c(NA, seq_len(k) - 1)) &&
    (is.null(names) || !is.null(matched_columns(names, as.character(seq_len(k) - 1))))
}

code_numbers <- function(truth, names, k) {
  bad <- which(!is.na(truth) & (truth < 1 | truth > k | truth != round(truth)))
  range <- if (length(bad) > 0) range(truth, na.rm = TRUE)
  stop_if(length(bad) > 0, "Integer classes in {.arg truth} must be 1, ..., {k}, the number of probability columns.",
          "x" = "Row {bad[1]} is {.val {signif(truth[bad[1]], 4)}}; out of range: {length(bad)} of {length(truth)}.",
          "x" = "Values range from {range[1]} to {range[2]}.",
          "i" = "Predictions of other outcomes are distributions; see {.code ?pred}.", class = "truth",
          arg = "truth", row = bad[1], value = truth[bad[1]])
  order <- matched_columns(names, as.character(seq_len(k))) %||% seq_len(k)
  levels <- sub("^\\.pred_", "", (names %||% seq_len(k))[order])
  list(outcome = as.integer(truth), levels = levels, order = order)
}

stop_text_truth <- function(names, values) {
  if (any(names_level(names, values))) stop_columns(names, values)
  stop_input("A character {.arg truth} needs column names to match.",
             "x" = if (is.null(names)) "The columns have no names." else "Columns: {.val {names}}.",
             "x" = "Values: {.val {values}}.",
             "i" = "A factor says the order: its levels are those of the columns, first to last.",
             class = c("truth", "columns"), arg = "truth")
}

# The column of every level.
match_columns <- function(names, k, levels, unused) {
  stop_if(length(levels) != k, "{.arg x} must have one probability column for each level of {.arg truth}.",
          "x" = "{k} column{?s}{if (!is.null(names)) ': '}{.val {names}}.",
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
  coded <- cpp_event_outcomes(two$values, two$codes[event], two$codes[3L - event])
  if (is.null(coded)) {
    bad <- if (is.numeric(truth)) which(!is.na(truth) & truth != 0 & truth != 1)
    stop_if(length(bad) > 0, "With a single probability, a numeric {.arg truth} must be 0 or 1.",
            "x" = "Row {bad[1]} is {.val {signif(truth[bad[1]], 4)}}; neither: {length(bad)} of {length(truth)}.",
            "i" = "Outcomes that are numbers are predicted by distributions, such as of {.fn pred_normal}, \\
                   {.fn pred_quantiles} or {.fn pred_draws}.", class = "truth", arg = "truth", row = bad[1],
            value = truth[bad[1]])
    coded$outcome <- as.numeric(as.integer(two$values) == two$codes[event])
  }
  c(coded, list(levels = two$levels[c(3L - event, event)], event = 2L, named = !is.null(named)))
}

# Scalar truth: values, of which the codes are those of the two levels.
two_outcomes <- function(truth) {
  if (is.numeric(truth)) return(list(values = truth, codes = 0:1, levels = c("0", "1")))
  if (is.logical(truth)) return(list(values = truth, codes = 0:1, levels = c("FALSE", "TRUE")))
  if (is.factor(truth)) {
    stop_if(
      nlevels(truth) != 2, "With a single probability, a factor {.arg truth} must have two levels.",
      "x" = "It has {nlevels(truth)}: {.val {levels(truth)}}.",
      "i" = if (nlevels(truth) < 2) {
        "Name both levels; all rows may have one of them."
      } else {
        "Give one probability column per class, or whether the event happened in each row."
      }, class = "truth", arg = "truth"
    )
    return(list(values = truth, codes = 1:2, levels = levels(truth)))
  }
  stop_input("With a single probability, {.arg truth} must be logical, 0/1 or a factor with two levels.",
             "x" = "It is {.cls {class(truth)[1]}}.",
             "x" = if (is.character(truth)) "Its values are {.val {sort(unique(truth))}}.",
             "i" = if (is.character(truth)) "If it is a factor, {.arg event_level} says which level is the event, by \
                    default the first.", class = "truth", arg = "truth")
}
