# The input of ce_rank(): metrics, models, their outcomes and the size of the subsamples.

# A named list: a built-in metric's name, or a metric as a value.
check_rank_metrics <- function(metric, call = caller_env()) {
  alone <- is.function(metric) || inherits(metric, c("ce_metric_value", "ce_score_rule"))
  metric <- if (alone) list(metric) else as.list(metric)
  if (length(metric) == 0) stop_rank_metric(NULL, call)
  given <- names(metric) %||% rep("", length(metric))
  metric <- lapply(metric, rank_metric, call)
  own <- vapply(metric, function(m) if (is.character(m)) m else m$name %||% "", "")
  names(metric) <- ifelse(given == "", own, given)
  metric
}

rank_metric <- function(metric, call) {
  if (rlang::is_string(metric) && metric %in% rank_metrics) return(metric)
  known <- is.function(metric) || inherits(metric, c("ce_metric_value", "ce_score_rule")) ||
    !is.null(named_metric(metric))
  if (!known) stop_rank_metric(metric, call)
  as_metric(metric, call)
}

# For distributions of numbers the names mean the same; `options`: kernel and ridge, where they are given.
law_rank_metric <- function(metric, options, call) {
  if (!is.character(metric)) return(metric)
  debias <- c(ckce = "none", ckce_debiased = "off_diagonal", ckce_null_mean = "null_mean")
  if (metric %in% names(debias)) {
    return(new_metric_value(ckce, c(list(debias = debias[[metric]]), options), metric))
  }
  if (metric == "jkce") return(new_metric_value(jkce, options["kernel"[!is.null(options$kernel)]], metric))
  stop_input(c(
    "{.arg metric} must be one of predictive distributions where the models predict numbers.",
    "x" = "{.val {metric}} is one of class probabilities.",
    "i" = "Metrics of distributions are {.val {c(names(debias), 'jkce', 'skce', 'ucme')}}, the scores \\
           {.val {real_scores()}}, and functions of your own."
  ), "argument", arg = "metric", value = metric, call = call)
}

stop_rank_metric <- function(metric, call) {
  stop_input(c(
    "{.arg metric} must name metrics among {.or {.val {rank_metrics}}}, or give metrics such as {.code rbs} or \
     {.code ce_metric(ece, p = 2)}, scores such as {.code score_log()}, or functions.",
    "x" = "It has {describe(metric)}.",
    metric_remedy(metric, call)
  ), "argument", arg = "metric", value = metric, call = call)
}

# Which named metrics read an argument of ce_rank(): another metric would ignore it.
rank_options <- list(kernel = c("ckce", "ckce_debiased", "ckce_null_mean", "jkce"),
                     bandwidth = c("ckce", "ckce_debiased", "ckce_null_mean", "jkce"),
                     ridge = c("ckce", "ckce_debiased", "ckce_null_mean"), n_bins = c("ece_canonical", "ece_pointwise"))

check_rank_options <- function(metrics, given, call = caller_env()) {
  built_in <- unlist(Filter(is.character, metrics))
  for (arg in given) {
    owners <- rank_options[[arg]]
    if (any(built_in %in% owners)) next
    stop_input(c(
      "{.arg {arg}} is not an option of {cli::qty(length(metrics))}{?this metric/these metrics}.",
      "x" = "The metrics that are named {.or {.val {owners}}} have it.",
      "i" = "A metric as a value holds its own options, as in {.code ce_metric(ece, n_bins = 5)}."
    ), "argument", arg = arg, value = names(metrics), call = call)
  }
}

check_law_options <- function(given, call = caller_env()) {
  foreign <- intersect(given, c("bandwidth", "n_bins"))
  stop_if(length(foreign) > 0, "{.arg {foreign[1]}} is for models of class probabilities.",
          "x" = "The models predict numbers.", arg = foreign[1], call = call)
}

# Names of metrics that have none: what they call themselves on these rows.
name_metrics <- function(metrics, data, call = caller_env()) {
  unnamed <- which(names(metrics) == "")
  names(metrics)[unnamed] <- vapply(metrics[unnamed], function(m) {
    metric_value(m, data$models[[1]], call)$name
  }, "")
  names(metrics) <- make.unique(names(metrics), sep = "_")
  metrics
}

check_rank_design <- function(metrics, data, call = caller_env()) {
  if (is_plain(data$models[[1]]$design)) return(invisible())
  plain <- !vapply(metrics, inherits, NA, "ce_metric_value")
  stop_if(any(plain), "{.arg weights} and {.arg cluster} are for metrics as values, such as {.code metric = ece}.",
          "x" = "{.val {names(metrics)[plain]}} {?is/are} computed from independent, unweighted rows.",
          class = "weights", arg = "metric", call = call)
}

# Outcomes before models, or columns of a data frame.
rank_remedy <- function(models, truth, call) {
  typed <- typed_call(call)
  if (rlang::is_bare_list(typed_value("truth", call))) {
    return(remedy("Predictions come first, outcomes second", swapped_line(call, c("models", "truth"))))
  }
  name <- truth_name(truth)
  if (is.data.frame(models) && !is.null(typed) && length(name) == 1 && name %in% names(models)) {
    frame <- typed_argument(typed, "models")
    columns <- setdiff(names(models)[vapply(models, is.numeric, NA)], name)
    chosen <- intersect(columns, vapply(typed$args, function(arg) if (is.name(arg)) as.character(arg) else "", ""))
    if (length(chosen) > 1) columns <- chosen
    list <- as.call(c(quote(list), lapply(setNames(nm = columns), function(column) call("$", frame, as.name(column)))))
    if (length(columns) > 1 && !any(startsWith(columns, ".pred_"))) {
      line <- line_text(as.call(c(typed$expr[[1]], list, call("$", frame, as.name(name)))))
      return(remedy("If the columns belong to different models, give them as a list", line))
    }
  }
  c("i" = "Give all models, as in {.code ce_rank(list(a = p, b = q), y)}.")
}

# Every model's probabilities on the rows that are complete for all of them.
rank_data <- function(models, truth, event_level, design = NULL, call = caller_env()) {
  stop_if(!is.list(models) || is.data.frame(models) || length(models) < 2,
          "{.arg models} must be a list with the predictions of two or more models.", "x" = "It is {describe(models)}.",
          rank_remedy(models, truth, call), arg = "models", call = call)
  check_truth_given(truth, call)
  settings <- list(design = design, event_level = event_level)
  found <- collect_kept(told_once(warned_once(list_models(models, truth, settings, call), "calibrisk_warning_cluster")),
                   "designs")
  parts <- found$value
  check_two_models(parts, call, "models")
  parts <- common_rows(parts)
  if (n_obs(parts[[1]]) == 0) stop_empty(NROW(models[[1]]), call)
  if (is_real(parts[[1]])) return(list(models = parts))
  list(
    models = parts, counted = if (length(found$kept) > 0) design_sentence(found$kept),
    probs = lapply(parts, simplex_probs), truth = simplex_truth(parts[[1]]),
    scalar = all(vapply(parts, function(part) is.null(part$probs), NA))
  )
}

# The outcomes, and the column they come from where data frames hold them.
rank_truth <- function(models, truth, call) {
  frames <- lapply(Filter(is.data.frame, models), ungroup_frame)
  column <- truth_name(truth)
  # outcomes of several dimensions
  if (rlang::quo_is_call(truth, "c") && length(frames) == length(models)) {
    column <- names(frames[[1]])[select_columns(truth, frames[[1]], "truth", call)]
  }
  if (is.null(column) || length(frames) == 0 || !all(vapply(frames, function(x) all(column %in% names(x)), NA))) {
    if (length(frames) == length(models)) check_column_of_all(column, frames, truth, call)
    return(list(values = outcome_vector(truth, call)))
  }
  values <- lapply(frames, function(x) if (length(column) == 1) x[[column]] else as.matrix(x[column]))
  same <- vapply(values, function(v) identical(as.character(v), as.character(values[[1]])), NA)
  stop_if(!all(same), "All models must predict the same outcomes in the same order.",
          "x" = "Column {.field {column}} of model {.val {names(frames)[!same][1]}} is not that of model \\
                 {.val {names(frames)[1]}}.", class = "truth", arg = "truth", call = call)
  list(values = values[[1]], column = column)
}

# A name that is neither a column of every model nor a vector.
check_column_of_all <- function(column, frames, truth, call) {
  if (is.null(column) || !rlang::is_error(tryCatch(rlang::eval_tidy(truth), error = identity))) return(invisible())
  lacks <- which(!vapply(frames, function(x) column %in% names(x), NA))[1]
  shared <- Reduce(intersect, lapply(frames, outcome_names))
  typed <- typed_call(call)
  at <- which(vapply(typed$args, identical, NA, rlang::quo_get_expr(truth)))
  line <- if (length(shared) == 1 && length(at) > 0) {
    args <- typed$args
    args[at[1]] <- list(as.name(shared))
    if (!"metric" %in% c(names(typed$places), "")) args$metric <- quote(ece)
    line_text(as.call(c(typed$expr[[1]], args)))
  }
  stop_input(c(
    "{.arg truth} must be a column of every model's data frame, or a vector.",
    "x" = "Model {.val {list_names(frames, rep('model', length(frames)))[lacks]}} has no column {.val {column}}, and \
           there is no vector of that name.",
    if (is.null(line)) c("i" = "Its columns are {.field {names(frames[[lacks]])}}.") else remedy(
      paste0("Did you mean {.field ", escape_braces(shared), "}?"), line)
  ), c("columns", "truth"), arg = "truth", call = call)
}

# `truth` or "truth", if that is how a column is meant.
truth_name <- function(truth) {
  expr <- rlang::quo_get_expr(truth)
  if (rlang::is_symbol(expr)) as.character(expr) else if (rlang::is_string(expr)) expr
}

rank_columns <- function(x, column, call) {
  x <- ungroup_frame(x)
  x <- x[setdiff(names(x), column)]
  x <- x[vapply(x, is.numeric, NA)]
  predicted <- startsWith(names(x), ".pred_")
  if (any(predicted)) x <- x[predicted]
  stop_if(ncol(x) == 0, "A data frame of predictions must have numeric columns.", "x" = "It has none.",
          class = "columns", arg = "models", call = call)
  as.matrix(x)
}

check_n_sub <- function(n_sub, n, least = 1, call = caller_env()) {
  if (is.null(n_sub)) return(as.integer(max(least, min(500, n %/% 2))))
  check_count(n_sub, call = call)
  stop_if(n_sub < least, "{.arg n_sub} must be at least {least} for this {.arg metric}, a mean over pairs.",
          "x" = "It is {n_sub}.", arg = "n_sub", value = n_sub, call = call)
  stop_if(n_sub > n,
          "{.arg n_sub} must be at most the number of observations: subsamples are drawn without replacement.",
          "x" = "It is {n_sub}; there are {n} observations.",
          remedy("The default is at most half of them", mended_line(call, list(n_sub = n %/% 2))), arg = "n_sub",
          value = n_sub, call = call)
  as.integer(n_sub)
}
