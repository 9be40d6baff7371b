# States (R/state.R) and tables of a database (R/database.R) have sums in place of rows.

# The functions that read them.
sum_readers <- list(
  ce_state = c("ce_estimate", "ce_panel", "ce_score", "ce_tune", "ce_validate", "ks_error"),
  ce_database = c("ece", "ce_estimate", "ce_panel", "ce_score", "ce_tune", "ce_validate", "ks_error")
)

is_state <- function(x) inherits(x, "ce_state")

is_database <- function(x) inherits(x, c("tbl_lazy", "ce_database"))

# An error for states and tables where a function needs rows; `arg`: the argument.
check_has_rows <- function(x, call, arg = "x") {
  unsupported_if(is_database(x), paste("only the sums of", fn_list(sum_readers$ce_database, "and"), "are computed"),
                 needs_rows(call), call, arg)
  stop_if(is_state(x), "A state keeps sums in place of rows.", "x" = needs_rows(call),
          "i" = paste0(fn_list(sum_readers$ce_state, "and"), " read a state; for other functions give a sample of the \\
                       rows."),
          class = c("unsupported", "state"), arg = arg, call = call)
}

needs_rows <- function(call) {
  verb <- verb_name(call)
  paste(if (nzchar(verb)) paste0("{.fn ", verb, "}") else "This function", "needs rows.")
}

fn_list <- function(names, last) {
  marks <- paste0("{.fn ", names, "}")
  paste(toString(marks[-length(marks)]), last, marks[length(marks)])
}

has_sums <- function(x) is_state(x) || is_database(x)

# fn(predictions) of every group. The predictions are scalar, and have
#   problem   the rows that stand for those of the state or table, of its `notion`; as they are sorted
#   n         how many rows these are
#   log       the estimate of the mean log score, where the sums have their own; else NULL
#   ladder    function(level, threads): that of the main estimate
#   events    how many rows have the outcome 1
#   extreme   whether some are 0 or 1, where the problem's rows do not tell
# `input`: what says how rows are read (truth, dots, by, notion, event_level, na_rm, design), the `interval`, and the
# `edges` where the cells of a table must end.
by_sums <- function(x, fn, input, call) UseMethod("by_sums")

sums_predictions <- function(problem, about, ...) {
  out <- new_ce_predictions(
    prob = problem$features[, 1], outcome = as.numeric(problem$labels), levels = about$levels, event = about$event,
    rows = seq_along(problem$labels), design = problem$design, ...
  )
  out[c("problem", "notion")] <- list(problem, about$notion)
  out
}
