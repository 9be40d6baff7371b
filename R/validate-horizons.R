# The validation at several horizons: one for each, of a column of predictions of its own.

# `given`: the arguments of ce_validate() that are the same at all horizons; quosures stay unevaluated.
validate_horizons <- function(x, truth, dots, given, horizons) {
  check_truth_given(truth)
  inputs <- horizon_inputs(x, dots, length(horizons))
  results <- Map(function(input, horizon) {
    rlang::inject(ce_validate(input$x, !!truth, !!!input$dots, !!!given, horizon = horizon))
  }, inputs, horizons)
  structure(list(keys = columns_frame(horizon = vapply(horizons, `[[`, 0, "time")), results = results),
            class = c("ce_horizons", "ce_grouped", "ce_result"))
}

# For each horizon list(x, dots): its column of a data frame or of a matrix, or of each of the models.
horizon_inputs <- function(x, dots, n) {
  models <- if (is_bare_list(x)) x else list(x)
  first <- models[[1]]
  # of tidymodels they hold all times, see at_horizon()
  if (length(dots) == 0 && (holds_survival(first) || is_survival_frame(first))) {
    return(rep(list(list(x = x, dots = dots)), n))
  }
  frame <- is.data.frame(first)
  columns <- if (frame && length(dots) > 0) {
    first <- ungroup_frame(first)
    names(first)[select_columns(rlang::quo(c(!!!unname(dots))), first, "...")]
  } else if (is.matrix(first)) {
    seq_len(ncol(first))
  }
  stop_if(length(columns) != n, "Several horizons need one column of predictions each, in their order.",
          "x" = if (frame) "There are {n} horizons, and {.arg ...} selects {length(columns)} column{?s}." else
            "There are {n} horizons, and {.arg x} is {describe(x)}.", class = c("columns", "horizon"), arg = "horizon")
  lapply(columns, function(column) {
    if (frame) return(list(x = x, dots = list(rlang::quo(!!column))))
    taken <- lapply(models, function(model) model[, column])
    list(x = if (is_bare_list(x)) taken else taken[[1]], dots = dots)
  })
}
