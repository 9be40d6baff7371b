# A metric as a value: what ce_compare() and ce_rank() evaluate on the predictions of every model.

#' Metrics as values
#'
#' `ce_metric()` holds a metric with its options, to be given to [ce_compare()] and [ce_rank()]. A metric without
#' options needs no wrapping: `metric = ece` is `metric = ce_metric(ece)`.
#'
#' @section Names:
#' Metrics of this package and scores may be given by name: `"ece"`, `"crps"`. Further names:
#'
#' * `"jkce"`: [skce()] with `kernel = "ckce"`;
#' * `"ckce_debiased"` and `"ckce_null_mean"`: [ckce()] with `debias = "off_diagonal"` or `"null_mean"`;
#' * `"ece_canonical"`: [ece()] with `notion = "canonical"` and `n_bins = 3` intervals per class, the error in L1 of the
#'   means in bins;
#' * `"ece_pointwise"`, with the option `n_bins = 3`: compares every prediction with the outcomes of its bin, and is not
#'   0 for calibrated models;
#' * `"log_loss"` ([score_log()]), `"error"`, the misclassification rate, and `"auroc"`, of which larger values are
#'   better: they rank models by more than calibration.
#'
#' The Brier score is the sum over the classes; for two classes it
#' is \eqn{(p - y)^2}, half of that, as in [ce_score()] and [rbs()].
#'
#' @section A metric from outside the package:
#' Any function of `(x, truth, ...)` is a metric, for [ce_compare()], [ce_rank()] and [ce_panel()]. It gets predictions
#' and outcomes in the form that all functions take. These are a matrix with a column per class and the factor of
#' classes; a vector of probabilities and the 0/1 outcomes; or a vector of predictive distributions and the numbers (for
#' several dimensions a matrix). Where rows have weights, it needs an argument `weights`; one that has an argument
#' `cluster` gets the clusters. It returns a number, or a data frame with one row and a column `.estimate` (as the
#' metrics of this package and of yardstick do). The metrics of this package return the influence of every row, and
#' [ce_compare()] computes the standard errors of differences from it. For other metrics it draws bootstrap samples of
#' the rows (or of whole clusters).
#'
#' @param metric A function, such as [ece]; a score such as [score_log()], whose mean is the metric; or one of the
#'   names below.
#' @param ... Named options of the metric.
#' @param name Name of the metric; by default that in its column `.metric`, else `"custom"`. For a metric of several
#'   numbers, such as [ici] and [cox_calibration()]: the name of the one to use.
#' @return A `ce_metric`.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @section Errors:
#' `calibrisk_error_argument` where `metric` is none of these or an option has no name.
#' @export
#' @examples
#' ce_metric(ece, n_bins = 5, p = 2)
#' ce_metric("ckce_debiased", ridge = 0.1)
#' ce_metric(score_log(floor = 1e-6))
#' ce_metric(ici, name = "e90")
#' ce_metric(function(x, truth) mean(abs(x - truth)), name = "mean absolute error")
ce_metric <- function(metric, ..., name = NULL) {
  value <- as_metric(metric)
  options <- list(...)
  stop_if(length(options) > 0 && !all(nzchar(rlang::names2(options))), "The options of a metric must be named.",
          "i" = "As in {.code ce_metric(ece, n_bins = 5)}.", arg = "...")
  of_rows <- intersect(names(options), c("event_level", "na_rm", ".by", "weights", "cluster", "horizon"))
  stop_if(length(of_rows) > 0 && !is.null(value$of),
          "{.arg {of_rows[1]}} says how rows are read, and is not an option of a metric.",
          "i" = "Give it to the function that reads the rows, such as {.fn ce_compare}.", arg = of_rows[1])
  stop_if(!is.null(name) && !rlang::is_string(name), "{.arg name} must be a text.", "x" = "It is {describe(name)}.",
          arg = "name")
  value$options[names(options)] <- options
  new_metric_value(value$fn, value$options, name %||% value$name)
}

# `of`: the function of this package that it is, if it is one.
new_metric_value <- function(fn, options = list(), name = NULL) {
  # others, of yardstick or written by users, are given rows and not data that were read
  own <- attr(fn, "metric") %||% Find(function(name) identical(fn, get(name, topenv())), one_number_verbs)
  structure(list(fn = fn, options = options, name = name, of = own), class = "ce_metric_value")
}

#' @export
format.ce_metric_value <- function(x, ...) {
  options <- x$options
  text <- vapply(options, option_text, "")
  paste0(x$name %||% "of one number", if (length(options) > 0) {
    paste0(if (is.null(x$name)) " ", "(", toString(paste(names(options), "=", text)), ")")
  })
}

#' @export
print.ce_metric_value <- print_value("ce_metric")

as_metric <- function(metric) {
  if (inherits(metric, "ce_metric_value")) return(metric)
  # score_log for score_log()
  made <- names(score_makers)[vapply(score_makers, identical, NA, metric)]
  stop_if(length(made) > 0, "{.arg metric} must be a score, not the function that makes it.",
          "x" = "It is the function {.fn score_{made}}.", "i" = "Call it: {.code metric = score_{made}()}.",
          arg = "metric", value = metric)
  if (is.function(metric)) return(new_metric_value(metric))
  if (inherits(metric, "ce_score_rule")) return(new_metric_value(ce_score, list(score = metric)))
  named <- named_metric(metric)
  if (!is.null(named)) return(as_metric(named))
  hint <- word_hint(metric, meant_word(metric, metric_names()))
  stop_input(
    "{.arg metric} must be a metric of one number, such as {.code ece}, {.code ce_metric(ece, n_bins = 5)} or \\
     {.val brier}.", "x" = "It is {describe(metric)}.", "i" = if (!is.null(hint)) "{hint}",
    arg = "metric", value = metric
  )
}

# A list of metrics: one alone, values, names, scores and functions, whose names in the list are what they are called.
as_metrics <- function(metrics, arg = "metrics") {
  alone <- is.function(metrics) || inherits(metrics, c("ce_metric_value", "ce_score_rule"))
  metrics <- if (alone) list(metrics) else as.list(metrics)
  wrong <- Find(function(one) rlang::is_string(one) && is.null(named_metric(one)), metrics)
  hint <- word_hint(wrong, meant_word(wrong, metric_names()))
  stop_if(!is.null(wrong), "{.arg {arg}} must be metrics of one number, such as {.code ece}, or their names.",
          "x" = "{.val {wrong}} is none of them.", "i" = if (!is.null(hint)) "{hint}", arg = arg, value = wrong)
  stop_if(length(metrics) == 0, "{.arg {arg}} must hold at least one metric.", "x" = "It is empty.", arg = arg,
          value = metrics)
  Map(function(metric, name) {
    metric <- as_metric(metric)
    if (nzchar(name)) metric$name <- name
    metric
  }, unname(metrics), rlang::names2(metrics))
}

metric_names <- function() {
  own <- Filter(function(name) is_own_metric(get(name, topenv())), sort(getNamespaceExports(topenv())))
  c(own, one_number_verbs, names(score_makers), names(metric_presets()))
}

# The metric or score of this package that has the name; NULL where there is none.
named_metric <- function(name) {
  if (!rlang::is_string(name)) return(NULL)
  if (name %in% names(score_makers)) return(score_makers[[name]]())
  preset <- metric_presets()[[name]]
  if (!is.null(preset)) return(preset)
  value <- get0(name, topenv(), inherits = FALSE)
  if (is_own_metric(value) || name %in% one_number_verbs) value
}

# Names for metrics with options, and for metrics that have no function of their own.
metric_presets <- function() {
  list(
    jkce = new_metric_value(skce, list(kernel = "ckce", computation = "auto"), "jkce"),
    ucme = new_metric_value(skce, list(locations = 3), "ucme"),
    ckce_debiased = new_metric_value(ckce, list(debias = "off_diagonal"), "ckce_debiased"),
    ckce_null_mean = new_metric_value(ckce, list(debias = "null_mean"), "ckce_null_mean"),
    ece_canonical = new_metric_value(get("ece", topenv()), list(notion = "canonical", n_bins = 3), "ece_canonical"),
    ece_pointwise = new_metric_value(ece_pointwise, name = "ece_pointwise"),
    log_loss = new_metric_value(ce_score, list(score = score_log()), "log_loss"),
    auroc = new_metric_value(ce_score, list(score = "auroc"), "auroc"),
    error = new_metric_value(error_rate, name = "error")
  )
}

error_rate <- new_metric("error", function(predictions) {
  # confidences in a top label, and whether it was right
  right <- if (identical(predictions$notion, "top_label")) predictions$outcome == 1
  wrong <- if (is.null(right)) max.col(simplex_probs(predictions), "first") != simplex_truth(predictions) else !right
  estimate <- mean_estimate(as.numeric(wrong), predictions$design)
  result_frame("error", "multiclass", list(.estimate = estimate$value, .estimates = list(estimate)), read = predictions)
})

# Every prediction against the outcomes of its cell, by which it is also not 0 for calibrated models.
ece_pointwise <- new_metric("ece_pointwise", function(predictions, n_bins = 3) {
  check_bins(n_bins)
  probs <- simplex_probs(predictions)
  cell <- simplex_cells(probs, "width", n_bins)
  w <- design_weights(predictions$design)
  happened <- outer(simplex_truth(predictions), seq_len(ncol(probs)), `==`)
  share <- rowsum(w * happened, cell) / rowsum(w, cell)[, 1]
  distance <- rowSums(abs(probs - share[cell, , drop = FALSE]))
  result_frame("ece_pointwise", "multiclass", list(.estimate = stats::weighted.mean(distance, w)))
})

# Functions that are not yardstick metrics, but give one number with its influence.
one_number_verbs <- c("skce", "ckce", "ce_estimate")

# Functions of this package that read predictive distributions of numbers, besides their scores.
law_metrics <- c("skce", "ckce")

check_law_metric <- function(metric, model) {
  foreign <- is.null(metric$of) && !is_own_metric(metric$fn)
  if (!is_real(model) || foreign || any(law_metrics == metric$of)) return(invisible())
  score <- metric$options$score
  if (identical(metric$of, "ce_score")) {
    scores <- as_scores(score %||% "brier", of_both = TRUE)
    if (all(vapply(scores, function(one) !is.null(one$real), NA))) return(invisible())
  }
  stop_input(
    "{.arg metric} must be one of predictive distributions where the models predict numbers.",
    "x" = "{.val {metric_label(metric)}} is one of class probabilities.",
    "i" = "Metrics of distributions are {.val {c(law_metrics, 'jkce', 'ucme', 'ckce_debiased', 'ckce_null_mean')}}, \\
           the scores {.val {real_scores()}}, and functions of your own.", arg = "metric"
  )
}

# 1 if smaller values are better, -1 if larger ones are, 0 if values near 0 are.
metric_sign <- function(metric) {
  if (identical(metric$options$score, "auroc")) return(-1)
  unname(c(minimize = 1, maximize = -1, zero = 0)[attr(metric$fn, "direction") %||% "minimize"])
}

# Models are put into an order by it.
check_metric_sign <- function(metric) {
  sign <- metric_sign(metric)
  stop_if(sign == 0, "{.arg metric} must have its best values at one end.",
          "x" = "Those of {.val {metric_label(metric)}} are best near 0.", arg = "metric")
  sign
}

# Its name, for messages.
metric_label <- function(metric) {
  score <- metric$options$score
  metric$name %||% (if (inherits(score, "ce_score_rule")) score$name) %||% metric$of %||% "custom"
}

# Metrics of the package and of yardstick.
is_own_metric <- function(x) inherits(x, "prob_metric")

# The value of a metric for data that were read. The metrics of this package take them as they are.
estimate_metric <- function(metric, data) {
  if (!is.null(metric$of)) return(try_metric(rlang::exec(metric$fn, data, !!!metric$options)))
  input <- metric_input(data)
  arguments <- names(formals(metric$fn))
  if ("event_level" %in% arguments) metric$options$event_level <- metric$options$event_level %||% input$event_level
  stop_if(!is.null(input$design$weights) && !"weights" %in% arguments,
          "A metric of weighted rows must have an argument {.arg weights}.",
          "x" = "Its arguments are {.arg {arguments}}.", class = "weights", arg = "metric")
  # who resamples clusters needs no argument for them
  design <- input$design[names(input$design) %in% arguments]
  # a function around a metric leaves its estimates too
  x <- structure(input$x, kept = data$kept)
  value <- function() try_metric(rlang::exec(metric$fn, x, input$truth, !!!design, !!!metric$options))
  # the warnings were said when the predictions were read
  unsaid(value(), c("calibrisk_message_weights", warning_class(c("direction", "cluster"))))
}

# Errors of other functions say that it was the metric that failed.
try_metric <- function(value) {
  rlang::try_fetch(value, error = function(cnd) {
    if (inherits(cnd, "interrupt")) return(rlang::zap())
    # of the user's call: that of exec() has all data in it
    if (inherits(cnd, "calibrisk_error")) {
      cnd["call"] <- list(rlang::error_call(called_verb()))
      rlang::cnd_signal(cnd)
    }
    stop_input("{.arg metric} must be a function of predictions and outcomes.",
               "x" = "It failed with the message below.",
               "i" = "Such as {.code metric = ece}, or {.code metric = function(x, truth) mean((x - truth)^2)}.",
               class = c("metric", "argument"), arg = "metric", parent = cnd)
  })
}

# The metric of complete predictions: list(value, estimate, name); the estimate is NULL where the metric has none.
metric_value <- function(metric, predictions) {
  value <- estimate_metric(metric, replace(predictions, "kept", TRUE))
  estimates <- attr(value, "estimates")
  value <- named_row(value, metric_label(metric))
  # the headline's column has no dot
  column <- if (is.data.frame(value)) intersect(c(".estimate", "estimate"), names(value))
  one <- metric_number(if (length(column) > 0) value[[column[1]]] else value,
                       if (is.data.frame(value)) value[[".metric"]])
  name <- metric$name %||% if (is.data.frame(value)) as.character(value[[".metric"]] %||% "ce_estimate") else "custom"
  list(value = one, estimate = if (length(estimates) == 1) estimates[[1]], name = name,
       notion = if (is.data.frame(value)) value[["notion"]])
}

# The number with this name among those of a metric; all of them if none has it.
named_row <- function(value, name) {
  if (!is.data.frame(value) || nrow(value) < 2 || is.null(name)) return(value)
  at <- match(name, value[[".metric"]])
  if (is.na(at)) value else value[at, ]
}

metric_number <- function(value, names = NULL) {
  stop_if(!is.numeric(value) || length(value) != 1, "A metric must return one number.",
          "x" = "It returned {describe(value)}.",
          "i" = if (anyDuplicated(names) == 0 && length(names) > 1) {
            "Choose one by its {.arg name}, {.or {.val {names}}}, as in {.code ce_metric(ici, name = \"e50\")}."
          } else {
            "Choose one by options, as in {.code ce_metric(ece, n_bins = 15)}."
          }, arg = "metric")
  as.numeric(value)
}

# Arguments of a call of a user's metric: weights and clusters if there are any.
metric_input <- function(predictions) {
  design <- predictions$design
  design <- drop_null(list(weights = design$w, cluster = design$cluster))
  if (is_real(predictions)) {
    return(list(x = predictions$law, truth = law_outcomes(predictions), design = design))
  }
  if (is.null(predictions$probs)) {
    return(list(x = predictions$prob, truth = predictions$outcome, design = design, event_level = "first"))
  }
  list(x = predictions$probs, truth = factor(predictions$levels[predictions$truth], levels = predictions$levels),
       design = design, event_level = if (predictions$event == 1L) "first" else "second")
}
