# The input of ce_rank(): models, their outcomes and the size of the subsamples.

# The names of metrics, given or as they call themselves on these rows.
metric_labels <- function(metrics, data) {
  labels <- vapply(metrics, function(metric) {
    name <- metric_label(metric)
    if (name == "custom") metric_value(metric, data$models[[1]])$name else name
  }, "")
  make.unique(labels, sep = "_")
}

# The title of a metric in figures, with the type of calibration that errors of one probability per row are of: that of
# this model.
metric_title <- function(metric, name, model) {
  own <- metric$of %||% ""
  if (!number_fact(own, "kind") %in% "binary" || !is.null(metric$name)) return(number_fact(name, "words") %|% name)
  notion <- metric$options$notion %||% default_notion(model)
  binned <- own == "ece" && is.null(metric$options$type) && is.null(metric$options$preset)
  n_bins <- if (binned) metric$options$n_bins %||% formals(ece)$n_bins
  paste0(if (notion != "binary") paste0(gsub("_", "-", notion), " "), number_fact(own, "words"),
         if (!is.null(n_bins)) paste0(" (", n_bins, " bins)"))
}

# Every model's probabilities on the rows that are complete for all of them.
rank_data <- function(models, truth, event_level, design = NULL) {
  stop_if(!is.list(models) || is.data.frame(models) || length(models) < 2,
          "{.arg models} must be a list with the predictions of two or more models.", "x" = "It is {describe(models)}.",
          arg = "models")
  if (is_models(models)) {
    check_models_alone(called_verb())
    check_no_groups(models)
    parts <- models
  } else {
    check_truth_given(truth)
    settings <- list(design = design, event_level = event_level)
    parts <- said_once(list_models(models, truth, settings), "cluster")
  }
  read <- read_facts(parts)
  check_two_models(parts, "models")
  parts <- common_rows(parts)
  if (n_obs(parts[[1]]) == 0) stop_empty(NROW(models[[1]]))
  if (is_real(parts[[1]])) return(list(models = parts))
  counted <- c(event_sentence(read$event), if (length(read$designs) > 0) design_sentence(read$designs))
  # each has outcomes of its own
  if (identical(parts[[1]]$notion, "top_label")) return(list(models = parts, counted = counted))
  list(
    models = parts, counted = counted,
    probs = lapply(parts, simplex_probs), truth = simplex_truth(parts[[1]])
  )
}

# The outcomes, and the column they come from where data frames hold them; those of each model if they may be its `own`
# and differ.
rank_truth <- function(models, truth, own = NULL) {
  frames <- lapply(Filter(is.data.frame, models), ungroup_frame)
  column <- truth_name(truth)
  # outcomes of several dimensions
  if (rlang::quo_is_call(truth, "c") && length(frames) == length(models)) {
    column <- names(frames[[1]])[select_columns(truth, frames[[1]], "truth")]
  }
  if (is.null(column) || length(frames) == 0 || !all(vapply(frames, function(x) all(column %in% names(x)), NA))) {
    if (length(frames) == length(models)) check_column_of_all(column, frames, truth)
    return(list(values = outcome_vector(truth)))
  }
  values <- lapply(frames, function(x) if (length(column) == 1) x[[column]] else as.matrix(x[column]))
  same <- vapply(values, function(v) identical(as.character(v), as.character(values[[1]])), NA)
  if (!all(same) && isTRUE(own) && length(frames) == length(models)) return(list(own = values, column = column))
  stop_if(!all(same), "All models must predict the same outcomes in the same order.",
          "x" = "Column {.field {column}} of model {.val {names(frames)[!same][1]}} is not that of model \\
                 {.val {names(frames)[1]}}.", class = "truth", arg = "truth")
  list(values = values[[1]], column = column)
}

# A name that is neither a column of every model nor a vector.
check_column_of_all <- function(column, frames, truth) {
  if (is.null(column) || !rlang::is_error(tryCatch(rlang::eval_tidy(truth), error = identity))) return(invisible())
  lacks <- which(!vapply(frames, function(x) column %in% names(x), NA))[1]
  model <- list_names(frames, rep("model", length(frames)))[lacks]
  stop_input("{.arg truth} must be a column of every model's data frame, or a vector.",
             "x" = "Model {.val {model}} has no column {.val {column}}, and there is no vector of that name.",
             "i" = "Its columns are {.field {names(frames[[lacks]])}}.", class = c("columns", "truth"), arg = "truth")
}

# `truth` or "truth", if that is how a column is meant.
truth_name <- function(truth) {
  expr <- rlang::quo_get_expr(truth)
  if (rlang::is_symbol(expr)) as.character(expr) else if (rlang::is_string(expr)) expr
}

rank_columns <- function(x, column) {
  x <- ungroup_frame(x)
  x <- x[setdiff(names(x), column)]
  x <- x[vapply(x, is.numeric, NA)]
  predicted <- startsWith(names(x), ".pred_")
  if (any(predicted)) x <- x[predicted]
  stop_if(ncol(x) == 0, "A data frame of predictions must have numeric columns.", "x" = "It has none.",
          class = "columns", arg = "models")
  as.matrix(x)
}

check_n_sub <- function(n_sub, n, least = 1) {
  if (is.null(n_sub)) return(as.integer(max(least, min(500, n %/% 2))))
  check_count(n_sub)
  stop_if(n_sub < least, "{.arg n_sub} must be at least {least} for this {.arg metric}, a mean over pairs.",
          "x" = "It is {n_sub}.", arg = "n_sub", value = n_sub)
  stop_if(n_sub > n,
          "{.arg n_sub} must be at most the number of observations: subsamples are drawn without replacement.",
          "x" = "It is {n_sub}; there are {n} observations.",
          "i" = "The default is at most half of them.", arg = "n_sub", value = n_sub)
  as.integer(n_sub)
}
