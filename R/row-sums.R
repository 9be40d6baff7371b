# States (R/state.R) have sums in place of rows, and so have tables of a database that are too long for memory
# (R/database.R).

# Why functions with outcomes need rows, and which other one has what they ask for.
row_reasons <- list(
  assume_pilot = "recalibrates the rows, fold by fold",
  ce_compare = "compares models row by row",
  ce_curve = c("simulates the outcomes of rows for its bands", "`plot(ce_tune(x))` has a curve"),
  ce_decision = c("recalibrates the rows, fold by fold", "`ce_validate()` has net benefit"),
  ce_decompose = c("pools equal predictions, which a cell mixes with others", "`ce_score()` has the mean score"),
  ce_fit = c("takes methods of any kind, and most of them need rows", "`ce_tune()` fits bins and kernel ridges"),
  ce_gain = "compares two predictions of every row",
  ce_hierarchy = "reads all probabilities of a row together",
  ce_moments = "is for outcomes that are numbers, of which no sums are kept",
  ce_rank = "compares models row by row",
  ce_recalibrate = c("returns a recalibrated prediction of every row", "`cox_calibration()` has slope and intercept"),
  ce_report = c("simulates the outcomes of rows for its figures", "`ce_validate()` has the numbers"),
  ce_risk = c("evaluates a fit at every row", "`ce_tune()` has the risks of bins and kernel ridges"),
  ce_test = c("redraws the outcomes of rows", "`ce_estimate()` has a test"),
  ckce = "compares every pair of rows",
  ece = "ends bins of other types than \"width\" at single predictions, and has no `preset` here",
  hosmer_lemeshow = c("cuts into groups of equally many rows, not at edges of cells", "`spiegelhalter()` has a test"),
  ici = c("fits a smooth curve to rows", "`ce_validate()` has its errors, of a curve through 1,000 cells"),
  kde_error = "compares every pair of rows",
  mmce = "compares every pair of rows",
  skce = "compares every pair of rows",
  smooth_ece = "smooths the residuals of rows, over distances that may be narrower than cells",
  ucme = "evaluates a kernel at every row"
)

is_state <- function(x) inherits(x, "ce_state")

# An error for states where a function needs rows; `arg`: the argument.
check_has_rows <- function(x, call, arg = "x") {
  if (!is_state(x)) return(invisible())
  verb <- verb_name(call)
  why <- row_reasons[verb][[1]] %||% "needs rows"
  named <- if (nzchar(verb)) paste0("`", verb, "()`") else "The function"
  stop_input("A state keeps sums in place of rows.", "x" = "{named} {why[1]}.",
             "i" = if (length(why) > 1) "{why[2]}.", "i" = "A sample of the rows can be taken.",
             class = c("unsupported", "state"), arg = arg, call = call)
}

has_sums <- function(x) is_state(x) || is_table(x)

# An error if options that need rows were given: their names.
check_sums_options <- function(x, given, call) {
  if (length(given) == 0) return(invisible())
  arg <- given[1]
  stop_input("A state has fixed what its sums can give.", "x" = "{.arg {arg}} is given.",
             "i" = "{.fn ce_state} takes the options that a state has.", class = c("state", "argument"), arg = arg,
             call = call)
}

# fn(predictions) of every group of `x`, rows or a state. Those of a state are scalar, and have
#   problem   the rows that stand for those of the state, of its `notion`, as they are sorted; NULL where only other sums
#             are asked for
#   n         how many rows these are
#   log       the estimate of the mean log score
#   ladder    function(level, threads): that of the main estimate
#   events    how many rows have the outcome 1; NULL without `problem`
#   bins      the edges of a state's bins
#   between   function(value): by how much the cumulated residual of a state may be larger between its cells' edges
# `input`: what says how rows are read (see rows_input()), and of sums
#   notion, interval   as they are chosen
#   edges     where cells must end, named by the argument that says so; NULL: a function that needs rows
#   sums      "ladder" where that takes the place of a `problem`
by_predictions <- function(x, fn, input, call) UseMethod("by_predictions")

#' @export
by_predictions.default <- function(x, fn, input, call) {
  by_groups(x, input$by, function(part) fn(predictions_of(part, input, call)), call)
}

sums_predictions <- function(problem, about, ...) {
  out <- new_ce_predictions(
    prob = problem$features[, 1], outcome = as.numeric(problem$labels), levels = about$levels, event = about$event,
    rows = seq_along(problem$labels), ...
  )
  out[c("problem", "notion")] <- list(problem, about$notion)
  if (!is.null(problem)) out$design <- problem$design
  out
}
