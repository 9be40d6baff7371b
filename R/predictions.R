# From what the user types to one internal value, a `ce_predictions`:
#   probs   matrix n x K, rows on the simplex, columns in the order of `levels`; NULL for a scalar
#   truth   integer n in 1..K; NULL for a scalar
#   prob    numeric n in [0, 1] and outcome 0/1 numeric n: the scalar form; NULL for a matrix
#   levels  character K; event: index of the event among them (a scalar's event is level 2)
#   column  name of a scalar's column, NULL where it has none
#   named   whether the name of the column is that of the event
#   columns their names in the input, NULL where there are none
#   order   which of the columns is that of each level, NULL where there are none
#   ordered whether the outcomes are an ordered factor with all of the levels
#   truth_name, event_level  what the outcomes are called, NULL where nothing says it; as it was given
#   rows    which rows of the input were kept (repeated by frequency weights that are not copies), of n_input
#   dropped how many rows were incomplete
#   design  what each row counts and which belong together (R/design.R)
#   na      TRUE where a missing value is to give NA (na_rm = FALSE)
# All input errors of predictions and outcomes are raised here and in R/predictions-*.R.

# `truth` and `dots` are quosures, so that data frames are tidyselected and matrices evaluated with the same function.
# `direction`: whether to look at it (see warn_direction()). Data that were read stay as they are; their copies are rows
# where the function does not count them.
as_predictions <- function(x, truth, dots = list(), event_level = "first", na_rm = TRUE, direction = TRUE,
                           design = NULL, logits = FALSE) {
  if (is_read(x)) {
    if (is_real(x)) check_kind(x$law)
    return(if (takes_copies(design, x$design$cluster)) x else single_copies(x))
  }
  kept <- attr(x, "kept")
  check_flag(na_rm)
  event_level <- check_choice(event_level, c("first", "second"))
  x <- read_table(x)
  framed <- is.data.frame(x)
  if (!framed || is_result(x)) {
    check_has_rows(x)
    x <- check_kind(x)
    check_no_columns(x, dots)
  }
  x <- at_horizon(x, design$horizon)
  if (framed) x <- ungroup_frame(x)
  raw <- read_design(design, x, NROW(x))
  outcomes <- read_outcomes(truth, x, design$horizon, raw$weights)
  check_text(outcomes$values, "truth")
  raw$censoring <- outcomes$censoring
  name <- outcome_name(truth, x, outcomes$column)
  if (framed) x <- read_probs(x, dots, outcomes$values, outcomes$column)
  out <- new_predictions(x, outcomes$values, event_level, na_rm, direction, raw, logits)
  out[c("truth_name", "event_level", "kept")] <- list(name, event_level, kept)
  out
}

check_no_columns <- function(x, dots) {
  stop_if(length(dots) > 0, "{.arg ...} selects columns of a data frame and must be empty here.",
          "x" = "{.arg x} is {.cls {class(x)[1]}}, and {.code {rlang::as_label(dots[[1]])}} is given too.",
          "i" = "Arguments after {.arg ...} need their name.", arg = "...")
}

# `raw`: the columns of weights and clusters, see read_design(). With `logits` the numbers are kept as they are.
new_predictions <- function(x, truth, event_level = "first", na_rm = TRUE, direction = TRUE,
                            raw = list(), logits = FALSE) {
  truth <- plain_truth(truth)
  if (is.matrix(truth) && ncol(truth) > 1) stop_truth_kind(truth)
  x <- check_kind(x)
  scalar <- is.null(dim(x)) || is_lone_column(x)
  columns <- dimnames(x)[[2]]
  if (scalar) {
    check_length(length(x), length(truth), x = x)
    coded <- code_outcome(truth, event_level, columns)
    x <- as_numbers(x)
  } else {
    stop_if(ncol(x) < 2, "{.arg x} must have a column for every class, at least two.",
            "x" = "It has {ncol(x)} column{?s}.", class = "probs", arg = "x")
    check_length(nrow(x), length(truth), ncol(x))
    if (!is.double(x)) storage.mode(x) <- "double" # which makes a copy of doubles too
    coded <- code_truth(truth, columns, ncol(x))
    coded$event <- match(event_level, c("first", "second"))
    x <- in_order(x, coded$order)
  }
  outcome <- coded$outcome
  check_interrupt()
  known <- if (coded$missing %||% has_missing(outcome)) !is.na(outcome) else TRUE
  complete <- complete_rows(x, known, na_rm, if (logits) "Logits" else "Probabilities", raw)
  keep <- complete$rows
  if (!complete$whole) {
    x <- rows_of_part(x, keep)
    outcome <- outcome[keep]
  }
  x <- if (logits) check_logits(x, keep) else check_probs(x, keep, complete$unit)
  # no copy of what has no names
  x <- unname(x)
  out <- new_ce_predictions(
    n_input = complete$n_input, levels = coded$levels, event = coded$event, rows = keep, dropped = complete$dropped,
    na = complete$na, column = if (scalar) columns, named = isTRUE(coded$named),
    design = bind_design(raw, keep, complete$censored)
  )
  out[if (scalar) c("prob", "outcome") else c("probs", "truth")] <- list(x, outcome)
  out[c("columns", "order", "ordered")] <- list(columns, coded$order,
                                                is.ordered(truth) && identical(levels(truth), coded$levels))
  check_interrupt()
  if (direction && !logits) warn_direction(out, if (scalar && is.factor(truth)) event_level)
  out
}

# A single probability, perhaps with a name.
is_lone_column <- function(x) is.matrix(x) && ncol(x) == 1

# Predictions without outcomes, of these levels; rows with a missing value are left out. If there are more levels than
# two, a single probability is that of a label that is right.
unlabelled_predictions <- function(x, levels, event) {
  x <- check_kind(x)
  several <- NCOL(x) > 1
  stop_if(several && ncol(x) != length(levels), "{.arg x} must have a column for each of the {length(levels)} classes.",
          "x" = "It has {ncol(x)} columns.", class = "columns", arg = "x")
  of_levels <- several || length(levels) == 2
  if (!of_levels) x <- as_numbers(x)
  # any outcomes say the levels
  any <- if (of_levels) factor(rep(levels[1], NROW(x)), levels) else numeric(NROW(x))
  new_predictions(x, any, c("first", "second")[event], na_rm = FALSE, direction = FALSE)
}

predictions_of <- function(x, input, ...) {
  as_predictions(x, input$truth, input$dots, input$event_level, input$na_rm, ..., design = input$design)
}
