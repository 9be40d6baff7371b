# Metrics: one row per group, `.metric, .estimator, .estimate` first, then the
# metric's own columns. `fn(predictions)` returns a list (or one-row tibble) with
# `.estimate` and the extra columns; `choices` are columns that repeat what the user chose (a notion of
# NULL: the default one).
# `edges`: where the cells of a state must end, named by the argument that says so; NULL where rows are
# needed (see by_predictions()). `notion`: of the sums.
# yardstick's metric sets pass `data`, `estimator` and `case_weights` by name.

metric_frame <- function(x, input, metric, fn, choices = list(), edges = NULL, notion = choices$notion) {
  dots <- input$dots
  if ("data" %in% names(dots)) {
    # the first column, if it has no name, was then taken for `x`
    first <- rlang::eval_bare(quote(rlang::enquo(x)), parent.frame())
    x <- rlang::eval_tidy(dots$data)
    if (!rlang::quo_is_missing(first)) dots <- c(list(first), dots)
  }
  input$dots <- dots
  input <- without_yardstick(input)
  frame <- function(predictions) class_frame(metric, predictions, function() as.list(fn(predictions)), choices)
  if (missing(x)) stop_no_predictions()
  x <- read_table(x, is.null(edges))
  by_predictions(x, frame, c(input, list(notion = notion, interval = choices$interval, edges = edges)))
}

# The columns of fn() for predictions of classes. Where na_rm = FALSE and something is missing, numbers are NA except
# for those `kept`, and no row was dropped.
class_frame <- function(metric, predictions, fn, choices = list(), kept = "n") {
  values <- if (predictions$na && n_obs(predictions) == 0) list(.estimate = NA_real_) else fn()
  if (predictions$na) {
    values <- mask_numbers(values, kept)
    if (!is.null(values$n)) values$n <- values$n + predictions$dropped
  }
  if ("notion" %in% names(choices)) choices$notion <- choices$notion %||% default_notion(predictions)
  result_frame(metric, if (n_classes(predictions) == 2) "binary" else "multiclass", values, choices,
               predictions)
}

# The value of a metric as rows. Its own columns replace choices of the same name. Its estimates and notes are
# attributes where what was read asks for them (`kept`). A function of several metrics sets `.metric` itself.
result_frame <- function(metric, estimator, values, choices = list(), read = NULL) {
  choices <- choices[!names(choices) %in% names(values)]
  first <- list(.metric = values$.metric %||% metric, .estimator = estimator)
  beside <- c(".metric", ".estimates", ".notes")
  out <- as_columns_frame(c(first, values[!names(values) %in% beside], choices))
  if (isTRUE(read$kept)) attributes(out)[c("estimates", "notes")] <- values[beside[-1]]
  out
}

mask_numbers <- function(values, kept = "n") {
  masked <- vapply(values, is.numeric, NA) & !names(values) %in% kept
  values[masked] <- lapply(values[masked], function(v) v[rep(NA_integer_, length(v))])
  # list columns of tables
  lists <- vapply(values, is.list, NA)
  values[lists] <- lapply(values[lists], lapply, function(v) if (is.data.frame(v)) mask_numbers(v, kept) else v)
  values
}

# Without the arguments of yardstick's metric sets, which call `weights` `case_weights`.
without_yardstick <- function(input) {
  if (length(input$dots) == 0) return(input)
  weights <- input$dots$case_weights
  if (!is.null(weights) && is_given(weights)) input$design$weights <- weights
  own <- names(input$dots) %in% c("data", "estimator", "case_weights")
  dots <- if (any(own)) input$dots[!own] else input$dots
  names(dots)[names(dots) == "..."] <- ""
  input$dots <- check_column_names(dots)
  input
}

# A probability metric of yardstick: a function with a direction and a range. `name`: that of its rows.
new_metric <- function(name, fn, direction = c("minimize", "maximize", "zero"), range = c(0, Inf)) {
  structure(fn, metric = name, direction = match.arg(direction), range = range,
            class = c("prob_metric", "metric", "function"))
}
