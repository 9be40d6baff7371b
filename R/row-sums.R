# States (R/state.R) have sums in place of rows, and so have tables of a database that are too long for memory
# (R/database.R).

# An error if options that need rows were given: their names.
check_sums_options <- function(x, given) {
  if (length(given) == 0) return(invisible())
  arg <- given[1]
  stop_input("A state has fixed what its sums can give.", "x" = "{.arg {arg}} is given.",
             "i" = "{.fn ce_state} takes the options that a state has.", class = c("state", "argument"), arg = arg)
}

# fn(predictions) of every group of `x`, rows or a state. Those of a state are scalar, and have
#   problem   the rows that stand for those of the state, of its `notion`, as they are sorted; NULL where only other
#             sums are asked for
#   n         how many rows these are
#   log       the estimate of the mean log score
#   ladder    function(level): that of the main estimate
#   events    how many rows have the outcome 1; NULL without `problem`
#   bins      the edges of a state's bins
#   between   function(value): by how much the cumulated residual of a state may be larger between its cells' edges
# `input`: what says how rows are read (see rows_input()), and of sums
#   notion, interval   as they are chosen
#   edges     where cells must end, named by the argument that says so; NULL: a function that needs rows
#   sums      "ladder" where that takes the place of a `problem`
by_predictions <- function(x, fn, input) UseMethod("by_predictions")

#' @export
by_predictions.default <- function(x, fn, input) {
  by_groups(x, input$by, function(part) {
    predictions <- predictions_of(part, input)
    with_read(fn(predictions), predictions)
  })
}
