# Which outcome is the event, in words: on every page that counts events.

# Name of the outcomes: that of their column, or of the variable that holds them.
outcome_name <- function(truth, x, column = NULL) {
  if (is.data.frame(x)) return(if (length(column) == 1) names(x)[column] else "truth")
  attr(truth, "name") %||% variable_name(rlang::quo_get_expr(truth))
}

# "type = No" of binary predictions; NULL where the event is that a label was right, or one by a time.
event_label <- function(predictions, notion = "binary", horizon = NULL) {
  # predictions of several models have their horizon in their design
  horizon <- horizon %||% predictions$design$follow_up
  if (notion != "binary" || !is.null(horizon) || n_classes(predictions) != 2) return(NULL)
  level <- predictions$levels[predictions$event]
  # a column without a name
  paste(predictions$truth_name %||% "truth", "=", if (nzchar(level)) level else predictions$event)
}

# "Event: type = No.", NULL without one.
event_sentence <- function(event) if (!is.null(event)) paste0("Event: ", event, ".")

# "223 events (type = No)"; "events: type = No" if they were not counted.
events_text <- function(n, event = NULL) {
  if (is.null(n)) return(paste0("events: ", event))
  paste0(count_of(n, "event"), if (!is.null(event)) paste0(" (", event, ")"))
}

event_words <- c("yes", "1", "true", "event", "positive", "present", "dead", "case", "success")

# The remedy if the other outcome was probably meant, judging by its name; else NULL.
event_hint <- function(predictions, notion = "binary", horizon = NULL) {
  if (is.null(event_label(predictions, notion, horizon))) return(NULL)
  event <- predictions$levels[predictions$event]
  other <- predictions$levels[3 - predictions$event]
  if (!tolower(other) %in% event_words || tolower(event) %in% event_words) return(NULL)
  remedy <- if (predictions$named && !is.null(predictions$column)) {
    paste0("give its column: ", predictions$column, " is the probability of \"", event, "\"")
  } else if (identical(predictions$event_level, "first")) {
    "use event_level = \"second\""
  } else {
    "use event_level = \"first\""
  }
  paste0("The event is \"", event, "\". If you mean \"", other, "\", ", remedy, ".")
}
