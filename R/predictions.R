# From what the user types to one internal value, a `ce_predictions`:
#   probs   matrix n x K, rows on the simplex, columns in the order of `levels`; NULL for a scalar
#   truth   integer n in 1..K; NULL for a scalar
#   prob    numeric n in [0, 1] and outcome 0/1 numeric n: the scalar form; NULL for a matrix
#   levels  character K; event: index of the event among them (a scalar's event is level 2)
#   rows    which rows of the input were kept; dropped: how many were incomplete
#   na      TRUE where a missing value is to give NA (na_rm = FALSE)
# All input errors of predictions and outcomes are raised here and in R/predictions-*.R.

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
  complete <- complete_rows(x, truth, na_rm, call)
  keep <- complete$rows
  dropped <- nrow(x) - length(keep)
  if (dropped > 0) {
    x <- x[keep, , drop = FALSE]
    truth <- truth[keep]
  }
  if (nrow(x) == 0 && !complete$na) stop_empty(dropped, call)
  x <- check_simplex(x, keep, call)
  dimnames(x) <- NULL
  new_ce_predictions(
    probs = x, truth = truth, levels = coded$levels,
    event = if (event_level == "first") 1L else 2L,
    rows = keep, dropped = dropped, na = complete$na
  )
}

scalar_predictions <- function(x, truth, event_level, na_rm, call) {
  check_length(length(x), length(truth), call)
  coded <- code_outcome(truth, event_level, call)
  complete <- complete_rows(as.matrix(x), coded$outcome, na_rm, call)
  keep <- complete$rows
  dropped <- length(x) - length(keep)
  x <- x[keep]
  outcome <- coded$outcome[keep]
  if (length(x) == 0 && !complete$na) stop_empty(dropped, call)
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
    rows = keep, dropped = dropped, na = complete$na
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
