# A metric as a value: what ce_compare() and ce_rank() evaluate on the predictions of every model.

#' Metrics as values
#'
#' `ce_metric()` holds a metric with its options, to be given to [ce_compare()] and [ce_rank()]. A metric without
#' options needs no wrapping: `metric = ece` is `metric = ce_metric(ece)`.
#'
#' @section A metric from outside the package:
#' Any function of `(x, truth, ...)` is a metric: it gets the predictions of one model, a matrix with a column per
#' class and the factor of classes, or a vector of probabilities and the 0/1 outcomes, and returns a number, or a data
#' frame with one row and a column `.estimate` (as the metrics of this package and of yardstick do). The metrics of this
#' package bring the influence of every row along, from which [ce_compare()] has the standard errors of differences;
#' for others it draws bootstrap samples of the rows (of clusters: whole clusters).
#'
#' @param metric A function, such as [ece].
#' @param ... Named options of the metric.
#' @param name What the metric is called; by default what it calls itself, in the column `.metric`.
#' @return A `ce_metric`.
#' @inheritSection ce_args Choosing a model
#' @section Errors:
#' `calibrisk_error_argument` where `metric` is no function or an option has no name.
#' @export
#' @examples
#' ce_metric(ece, n_bins = 5, p = 2)
#' ce_metric(function(x, truth) mean(abs(x - truth)), name = "mean absolute error")
ce_metric <- function(metric, ..., name = NULL) {
  call <- current_env()
  if (inherits(metric, "ce_metric_value")) metric <- metric$fn
  if (!is.function(metric)) {
    stop_input(c("{.arg metric} must be a function, such as {.fn ece}.", "x" = "It is {.val {describe(metric)}}."),
               "argument", arg = "metric", value = metric, call = call)
  }
  options <- list(...)
  if (length(options) > 0 && !all(nzchar(rlang::names2(options)))) {
    stop_input(c("The options of a metric must be named.", "i" = "As in {.code ce_metric(ece, n_bins = 5)}."),
               "argument", arg = "...", call = call)
  }
  if (!is.null(name) && !rlang::is_string(name)) {
    stop_input(c("{.arg name} must be a text.", "x" = "It is {.val {describe(name)}}."), "argument", arg = "name",
               call = call)
  }
  structure(list(fn = metric, options = options, name = name), class = "ce_metric_value")
}

#' @export
format.ce_metric_value <- function(x, ...) {
  options <- x$options
  text <- vapply(options, function(v) paste(deparse(v, width.cutoff = 60L), collapse = " "), "")
  paste0(x$name %||% "of one number", if (length(options) > 0) {
    paste0("(", toString(paste(names(options), "=", text)), ")")
  })
}

#' @export
print.ce_metric_value <- function(x, ...) {
  cat("<ce_metric> ", format(x), "\n", sep = "")
  invisible(x)
}

as_metric <- function(metric, call = caller_env()) {
  if (inherits(metric, "ce_metric_value")) return(metric)
  if (is.function(metric)) return(ce_metric(metric))
  own <- if (rlang::is_string(metric)) get0(metric, topenv(), inherits = FALSE)
  if (is_own_metric(own)) return(ce_metric(own))
  stop_input(c(
    "{.arg metric} must be a metric of one number, such as {.code ece} or {.code ce_metric(ece, n_bins = 5)}.",
    "x" = "It is {.val {describe(metric)}}."
  ), "argument", arg = "metric", value = metric, call = call)
}

# Metrics of the package and of yardstick.
is_own_metric <- function(x) inherits(x, "prob_metric")

# While a metric is evaluated here, frames leave their estimates (R/aaa-metric.R).
collector <- new.env(parent = emptyenv())

collect_estimates <- function(value) {
  old <- collector$estimates
  on.exit(collector$estimates <- old)
  collector$estimates <- list()
  force(value)
  list(value = value, estimates = collector$estimates)
}

keep_estimates <- function(estimates) {
  if (!is.null(collector$estimates)) collector$estimates <- c(collector$estimates, estimates)
}

# The metric of complete predictions: list(value, estimate, name); the estimate is NULL where the metric has none.
metric_value <- function(metric, predictions, call = caller_env()) {
  input <- metric_input(predictions)
  if ("event_level" %in% names(formals(metric$fn))) {
    metric$options$event_level <- metric$options$event_level %||% input$event_level
  }
  arguments <- names(formals(metric$fn))
  if (!is.null(input$design$weights) && !"weights" %in% arguments) {
    stop_input(c("A metric of weighted rows must have an argument {.arg weights}.",
                 "x" = "Its arguments are {.arg {arguments}}."), "weights", arg = "metric", call = call)
  }
  # who resamples clusters needs no argument for them
  design <- input$design[names(input$design) %in% arguments]
  found <- withCallingHandlers(
    collect_estimates(rlang::exec(metric$fn, input$x, input$truth, !!!design, !!!metric$options)),
    calibrisk_message_weights = function(cnd) rlang::cnd_muffle(cnd)
  )
  value <- found$value
  # the headline's column has no dot
  column <- if (is.data.frame(value)) intersect(c(".estimate", "estimate"), names(value))
  one <- if (length(column) > 0) value[[column[1]]] else value
  if (!is.numeric(one) || length(one) != 1) {
    stop_input(c(
      "A metric must return one number.",
      "x" = "It returned {.val {describe(value)}}{if (is.data.frame(value)) paste0(' with ', nrow(value), ' rows')}.",
      "i" = "Choose one by options, as in {.code ce_metric(ece, n_bins = 15)}."
    ), "argument", arg = "metric", call = call)
  }
  name <- metric$name %||% if (is.data.frame(value)) as.character(value[[".metric"]] %||% "ce_estimate") else "metric"
  list(value = as.numeric(one), estimate = if (length(found$estimates) == 1) found$estimates[[1]], name = name,
       notion = if (is.data.frame(value)) value[["notion"]])
}

# What a metric is called with: weights and clusters where there are any.
metric_input <- function(predictions) {
  design <- predictions$design
  design <- drop_null(list(weights = design$w, cluster = design$cluster))
  if (is.null(predictions$probs)) {
    return(list(x = predictions$prob, truth = predictions$outcome, design = design, event_level = "first"))
  }
  list(x = predictions$probs, truth = factor(predictions$levels[predictions$truth], levels = predictions$levels),
       design = design, event_level = if (predictions$event == 1L) "first" else "second")
}
