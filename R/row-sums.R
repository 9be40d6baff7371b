# States (R/state.R) and tables of a database (R/database.R) have sums in place of rows.

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
  smooth_ece = "smooths the residuals of rows, over distances that may be narrower than cells"
)

is_state <- function(x) inherits(x, "ce_state")

is_database <- function(x) inherits(x, c("tbl_lazy", "ce_database"))

# As many different rows of a table as are sent with their counts.
few_rows <- 20000

# An error for states and tables where a function needs rows; `arg`: the argument; `few`: whether it takes tables with
# few different rows.
check_has_rows <- function(x, arg = "x", few = FALSE) {
  if (!has_sums(x)) return(invisible())
  verb <- verb_name()
  why <- row_reasons[verb][[1]] %||% "needs rows"
  named <- if (nzchar(verb)) paste0("`", verb, "()`") else "The function"
  elsewhere <- c(if (few) paste("Up to", count_text(few_rows), "different rows of a table are taken"), why[-1])
  unsupported_if(is_database(x), "only sums are computed", "{named} {why[1]}.", arg,
                 instead = if (length(elsewhere) > 0) "{paste(elsewhere, collapse = '; ')}.")
  stop_input("A state keeps sums in place of rows.", "x" = "{named} {why[1]}.",
             "i" = if (length(why) > 1) "{why[2]}.", "i" = "A sample of the rows can be taken.",
             class = c("unsupported", "state"), arg = arg)
}

has_sums <- function(x) is_state(x) || is_database(x)

# An error if options that need rows were given: their names.
check_sums_options <- function(x, given) {
  if (length(given) == 0) return(invisible())
  arg <- given[1]
  unsupported_if(is_database(x), "only sums are computed, which have no such choice", "{.arg {arg}} is given.", arg)
  stop_input("A state has fixed what its sums can give.", "x" = "{.arg {arg}} is given.",
             "i" = "{.fn ce_state} takes the options that a state has.", class = c("state", "argument"), arg = arg)
}

# fn(predictions) of every group of `x`: of rows, a state or a table. Those of sums are scalar, and have
#   problem   the rows that stand for those of the state or table, of its `notion`, as they are sorted; NULL where only
#             other sums are asked for
#   n         how many rows these are
#   log       the estimate of the mean log score, where the sums have their own; else NULL
#   ladder    function(level, notion): that of the main estimate
#   binned    function(scheme, interval): the columns of ece() from sums of many different rows of a table; else NULL
#   events    how many rows have the outcome 1; NULL without `problem`
#   bins      the edges of a state's bins
#   between   function(value): by how much the cumulated residual of a state may be larger between its cells' edges
# `input`: what says how rows are read (see rows_input()), and of sums
#   notion, interval   as they are chosen
#   edges     where cells must end, named by the argument that says so; NULL: a function that needs rows, or a table
#             with few different ones
#   sums      the name of those in place of a `problem`, "ladder" or "binned"; of few different rows of a table there is
#             one nevertheless
by_predictions <- function(x, fn, input) UseMethod("by_predictions")

#' @export
by_predictions.default <- function(x, fn, input) {
  by_groups(x, input$by, function(part) fn(predictions_of(part, input)))
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

# The problem of sums.
sums_problem <- function(predictions, notion) {
  stop_if(isTRUE(notion %in% c("class_wise", "canonical")), "Rows of a table are read as one probability each.",
          "x" = "{.arg notion} is {.val {notion}}, which needs those of all classes.",
          "i" = "{.code dplyr::collect(x)} takes the rows into memory.", class = c("unsupported", "notion"),
          arg = "notion")
  predictions$problem
}
