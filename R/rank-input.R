# What ce_rank() is given: metrics, models, their outcomes and the size of the subsamples.

# A named list: a built-in metric's name, or a function.
check_rank_metrics <- function(metric, call = caller_env()) {
  metric <- if (is.function(metric)) list(metric) else as.list(metric)
  known <- vapply(metric, function(m) is.function(m) || (rlang::is_string(m) && m %in% rank_metrics), NA)
  if (length(metric) == 0 || !all(known)) {
    bad <- if (length(metric) == 0) NULL else metric[[which(!known)[1]]]
    stop_input(c(
      "{.arg metric} must name metrics among {.or {.val {rank_metrics}}}, or give functions.",
      "x" = "It has {.val {describe(bad)}}."
    ), "argument", arg = "metric", value = bad, call = call)
  }
  names(metric) <- list_names(metric, vapply(metric, function(m) if (is.function(m)) "custom" else m, ""))
  metric
}

# Every model's probabilities on the rows that are complete for all of them.
rank_data <- function(models, truth, event_level, call = caller_env()) {
  check_truth_given(truth, call)
  if (!is.list(models) || is.data.frame(models) || length(models) < 2) {
    stop_input(c(
      "{.arg models} must be a list with the predictions of two or more models.",
      "x" = "It is {.val {describe(models)}}{if (is.list(models)) paste0(' with ', length(models), ' element')}."
    ), "argument", arg = "models", call = call)
  }
  names(models) <- list_names(models, rep("model", length(models)))
  outcomes <- rank_truth(models, truth, call)
  parts <- lapply(names(models), function(name) {
    rlang::try_fetch({
      x <- models[[name]]
      if (is.data.frame(x)) x <- rank_columns(x, outcomes$column, call)
      new_predictions(x, outcomes$values, event_level, na_rm = TRUE, call = call)
    }, error = function(cnd) {
      stop_input("In model {.val {name}}.", "model", parent = cnd, call = call)
    })
  })
  parts <- lapply(parts, align_event, parts[[1]]$levels[2])
  size <- vapply(parts, n_classes, 1L)
  other <- which(size != size[1])[1]
  if (!is.na(other)) {
    stop_input(c(
      "All models must predict the same classes.",
      "x" = "Model {.val {names(models)[1]}} has {size[1]}, model {.val {names(models)[other]}} has {size[other]}."
    ), "length", arg = "models", call = call)
  }
  rows <- Reduce(intersect, lapply(parts, `[[`, "rows"))
  keep <- lapply(parts, function(part) match(rows, part$rows))
  if (length(rows) == 0) stop_empty(length(parts[[1]]$rows), call)
  list(
    probs = setNames(Map(function(part, at) simplex_probs(part)[at, , drop = FALSE], parts, keep), names(models)),
    truth = simplex_truth(parts[[1]])[keep[[1]]],
    scalar = all(vapply(parts, function(part) is.null(part$probs), NA))
  )
}

# The outcomes, and the column they come from where data frames hold them.
rank_truth <- function(models, truth, call) {
  frames <- lapply(Filter(is.data.frame, models), ungroup_frame)
  column <- truth_name(truth)
  if (is.null(column) || length(frames) == 0 || !all(vapply(frames, function(x) column %in% names(x), NA))) {
    return(list(values = outcome_vector(truth, call)))
  }
  values <- lapply(frames, `[[`, column)
  same <- vapply(values, function(v) identical(as.character(v), as.character(values[[1]])), NA)
  if (!all(same)) {
    stop_input(c(
      "All models must predict the same outcomes in the same order.",
      "x" = "Column {.field {column}} of model {.val {names(frames)[!same][1]}} is not that of model \\
             {.val {names(frames)[1]}}."
    ), "truth", arg = "truth", call = call)
  }
  list(values = values[[1]], column = column)
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
  if (ncol(x) == 0) {
    stop_input(c(
      "A data frame of predictions must have numeric columns.",
      "x" = "It has none."
    ), "columns", arg = "models", call = call)
  }
  as.matrix(x)
}

check_n_sub <- function(n_sub, n, call = caller_env()) {
  if (is.null(n_sub)) return(as.integer(max(1, min(500, n %/% 2))))
  check_count(n_sub, call = call)
  if (n_sub > n) {
    stop_input(c(
      "{.arg n_sub} must be at most the number of observations: subsamples are drawn without replacement.",
      "x" = "It is {n_sub}; there are {n} observations."
    ), "argument", arg = "n_sub", value = n_sub, call = call)
  }
  as.integer(n_sub)
}
