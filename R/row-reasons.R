# Why functions with outcomes need rows, and which other one has what they ask for.
row_reasons <- list(
  assume_pilot = "recalibrates the rows, fold by fold",
  ce_compare = "compares models row by row",
  ce_coverage = "compares every outcome with its interval",
  ce_curve = c("simulates the outcomes of rows for its bands", "`plot(ce_tune(x))` has a curve"),
  ce_decision = c("recalibrates the rows, fold by fold", "`ce_validate()` has net benefit"),
  ce_decompose = c("pools equal predictions, which a cell mixes with others", "`ce_score()` has the mean score"),
  ce_fit = c("takes methods of any kind, and most of them need rows", "`ce_tune()` fits bins and kernel ridges"),
  ce_gain = "compares two predictions of every row",
  ce_grades = c("needs every distinct prediction, which a cell mixes with others", "`ece()` has bins"),
  ce_hierarchy = "reads all probabilities of a row together",
  ce_models = "reads several models row by row",
  ce_moments = "is for outcomes that are numbers, of which no sums are kept",
  ce_optimism = "fits models to rows",
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

# An error for states where a function needs rows; `arg`: the argument.
check_has_rows <- function(x, arg = "x") {
  if (!is_state(x)) return(invisible())
  call <- rlang::error_call(called_verb())
  verb <- if (rlang::is_call(call)) rlang::call_name(call)
  why <- row_reasons[[verb %||% ""]] %||% "needs rows"
  named <- if (is.null(verb)) "The function" else paste0("`", verb, "()`")
  stop_input("A state keeps sums in place of rows.", "x" = "{named} {why[1]}.",
             "i" = if (length(why) > 1) "{why[2]}.", "i" = "A sample of the rows can be taken.",
             class = c("unsupported", "state"), arg = arg)
}
