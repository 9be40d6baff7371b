# Signals by which a computation tells its callers more than its value; nobody has to take them. They carry the
# estimates of a metric with their rows, or what was read: the event, and the designs of survival outcomes. Others carry
# sentences on sums that stand for rows, or ask whether rows are those of a group.

tell_caller <- function(what, ...) {
  cnd <- list(message = what, ...)
  class(cnd) <- c(paste0("calibrisk_", what), "condition")
  signalCondition(cnd)
}

keep_estimates <- function(estimates) tell_caller("kept", name = "estimates", values = estimates)

# One of event and design.
keep_read <- function(...) tell_caller("kept", name = "reads", values = list(list(...)))

# Nothing where `what` is NULL.
keep_note <- function(about, what) {
  if (!is.null(what)) tell_caller("kept", name = "notes", values = paste0(about, what, "."))
}

# list(value, kept): all that was kept under the name while the value was computed.
collect_kept <- function(value, name) {
  kept <- list()
  value <- withCallingHandlers(value, calibrisk_kept = function(cnd) if (cnd$name == name) kept <<- c(kept, cnd$values))
  list(value = value, kept = kept)
}

in_groups <- function() {
  withRestarts({
    tell_caller("question")
    FALSE
  }, in_groups = function() TRUE)
}

while_in_groups <- function(value) {
  withCallingHandlers(value, calibrisk_question = function(cnd) invokeRestart("in_groups"))
}
