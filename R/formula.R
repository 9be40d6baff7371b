# The error for a formula instead of predictions, as functions that fit models take it.

check_no_formula <- function(call) {
  typed <- typed_call(call)
  if (any(vapply(typed$args, rlang::is_call, NA, "~"))) stop_formula(typed, call)
}

stop_formula <- function(typed, call) {
  formula <- Find(function(arg) rlang::is_call(arg, "~"), typed$args)
  stop_input("{.arg x} must hold predictions: a data frame, a matrix or a vector.", "x" = "It is a formula.",
             remedy("Give the data, the outcome and the columns of predictions", formula_line(formula, typed)),
             class = c("probs", "argument"), arg = "x", call = call)
}

# The call with data, outcome and columns, if the data are given too.
formula_line <- function(formula, typed) {
  data <- typed_argument(typed, "data") %||% typed_argument(typed, "truth")
  if (is.null(data) || length(formula) != 3) return(NULL)
  columns <- Filter(function(term) term != quote(.), formula_terms(formula[[3]]))
  line_text(as.call(c(typed$expr[[1]], data, formula[[2]], columns)))
}

formula_terms <- function(expr) {
  if (rlang::is_call(expr, "+", n = 2)) c(formula_terms(expr[[2]]), formula_terms(expr[[3]])) else list(expr)
}
