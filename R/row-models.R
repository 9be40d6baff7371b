# Several models of the same rows, as columns or in a list.

# Every selected column is a model's probability of the same event, or its distribution of the same number.
column_models <- function(x, truth, columns, settings) {
  x <- ungroup_frame(x)
  stop_if(length(columns) == 0, "Two or more models are needed.", "x" = "No column of predictions is selected.",
          class = "columns", arg = "...")
  made <- columns[vapply(columns, makes_law, NA)]
  names(made) <- list_names(made, vapply(made, rlang::as_label, ""))
  columns <- columns[!vapply(columns, makes_law, NA)]
  if (!any(nzchar(rlang::names2(columns)))) columns <- unname(columns)
  at <- if (length(columns) > 0) select_columns(rlang::quo(c(!!!columns)), x, "...")
  check_truth_given(truth)
  horizon <- settings$design$horizon
  # outcomes of several dimensions are several columns
  outcomes <- if (is.null(horizon)) select_columns(truth, x, "truth") else read_outcomes(truth, x, horizon)$column
  at <- at[!at %in% outcomes]
  models <- c(lapply(at, function(column) rlang::quo(!!unname(column))), made)
  models <- each_direction(names(models), function(name) {
    in_model(law_or_classes(read_laws(x, truth, unname(models[name]), settings$event_level, TRUE,
                                      settings$design)), name)
  })
  align_events(models)
}

# The same of distributions of a number: list(law, y, design, ...) by name. NULL for a single model, and for columns
# that are parts of one.
law_models <- function(x, input) {
  columns <- law_columns(x, input$dots)
  if (length(columns) < 2) return(NULL)
  models <- column_models(x, input$truth, columns, list(event_level = "first", design = input$design))
  real <- vapply(models, is_real, NA)
  stop_if(!all(real), "Beside a column of predictive distributions all must be distributions of a number.",
          "x" = "{.field {names(models)[!real][1]}} holds probabilities.", class = "columns", arg = "...")
  models
}

# Selections, of which those that make distributions may have a name: that of the model.
model_dots <- function(..., .frame = caller_env()) check_column_names(enquos(...), .frame)

check_column_names <- function(dots, frame = called_verb()) {
  if (any(nzchar(rlang::names2(dots)))) check_dot_names(dots[!vapply(dots, makes_law, NA)], frame)
  dots
}

# The columns and expressions that are selected, if there are distributions among them; by default all that are.
law_columns <- function(x, dots) {
  if (!is.data.frame(x)) return(NULL)
  made <- vapply(dots, makes_law, NA)
  columns <- if (length(dots) == 0) seq_along(x) else if (!all(made)) {
    select_columns(rlang::quo(c(!!!unname(dots[!made]))), ungroup_frame(x), "...")
  }
  laws <- columns[vapply(columns, function(k) is_law(x[[k]]), NA)]
  if (length(dots) == 0 || length(laws) + sum(made) == 0) columns <- laws
  c(lapply(names(x)[columns], function(name) rlang::quo(!!rlang::sym(name))), dots[made])
}

# Two columns beside single probabilities are that of the event.
align_events <- function(models) {
  if (is_real(models[[1]])) return(models)
  single <- any(vapply(models, function(one) !is_real(one) && is.null(one$probs), NA))
  models <- lapply(models, function(one) {
    if (!single || is.null(one$probs) || n_classes(one) != 2) return(one)
    one[c("prob", "outcome")] <- scalar_rows(one, "binary")
    one[c("levels", "event", "probs", "truth")] <- list(one$levels[c(3L - one$event, one$event)], 2L, NULL, NULL)
    one
  })
  lapply(models, align_event, models[[1]]$levels[2], alone = TRUE)
}

# The rows that are complete for all models; rows that frequency weights repeat are repeated in each.
common_rows <- function(models) {
  rows <- models[[1]]$rows
  if (all(vapply(models, function(model) identical(model$rows, rows), NA))) return(models)
  for (model in models[-1]) rows <- rows[rows %in% model$rows]
  lapply(models, function(model) take_rows(model, which(model$rows %in% rows)))
}
