# Recalibrated probabilities of rows that had no part in the map: every row's own fold is left out.

# The choice of `recalibration`: a method whose functions estimate a gap, a map, or a map's name.
check_recalibration <- function(recalibration, call) {
  if (is_choice(recalibration, "map") || rlang::is_string(recalibration)) {
    map <- as_choice(recalibration, "map", arg = "recalibration", call = call)
    check_probability_map(map, call)
    return(map)
  }
  stop_if(
    !is_method(recalibration),
    "{.arg recalibration} must be a method such as {.fn method_stack}, a map such as {.fn map_platt}, or its name.",
    "x" = "It is {describe(recalibration)}.", "i" = "See {.code ?ce_methods} and {.code ?ce_maps}.",
    class = c("method", "argument"), arg = "recalibration", value = recalibration, call = call
  )
  check_bins_notion(list(recalibration), "binary", call)
  recalibration
}

check_probability_map <- function(map, call) {
  stop_if(map$name == "variance", "{.arg recalibration} must be a map of probabilities.",
          "x" = "It is a map of variances.", "i" = "For example {.fn map_platt}.", arg = "recalibration", call = call)
}

# One probability per row, in [0, 1]. A fold without other rows keeps its predictions.
recalibrated_probs <- function(problem, recalibration, fold, threads, call) {
  out <- problem$features[, 1]
  folds <- Filter(function(held) length(held) < length(out), unname(split(seq_along(out), fold)))
  parts <- over_some_workers(folds, fold_recalibrator(recalibration, problem, threads, call),
                             fold_recalibrator(recalibration, problem, 1L, NULL), call)
  out[unlist(folds)] <- unlist(parts)
  pmin(pmax(out, 0), 1)
}

fold_recalibrator <- function(recalibration, problem, threads, call) {
  force(list(recalibration, problem, threads, call))
  function(held) {
    recalibrated_rows(recalibration, problem, seq_along(problem$labels)[-held], held, threads, call)
  }
}

# The probabilities of the rows `held` by what was fitted on the rows `fitted`.
recalibrated_rows <- function(recalibration, problem, fitted, held, threads, call) UseMethod("recalibrated_rows")

#' @export
recalibrated_rows.ce_method <- function(recalibration, problem, fitted, held, threads, call) {
  grid <- method_grid(recalibration, "binary", length(fitted))
  stop_if(nrow(grid) != 1, "{.arg recalibration} must have a single value of {.arg {recalibration$parameter}}.",
          "x" = "It has a grid of {nrow(grid)}.", "i" = "{.fn ce_tune} finds the best one.",
          class = c("method", "argument"), arg = "recalibration", call = call)
  form <- fit_form(recalibration, take_rows(problem, fitted), grid_point(grid, 1), new_context(threads))
  stop_if(!isTRUE(form$gap), "{.arg recalibration} must estimate the calibration gap itself.",
          "x" = "{.field {recalibration$name}} estimates only products of calibration gaps.",
          "i" = "Use {.fn method_stack}, {.fn method_ukkr}, {.fn method_kde} or {.fn method_bins}.",
          class = c("method", "argument"), arg = "recalibration", call = call)
  features <- problem$features[held, , drop = FALSE]
  features[, 1] - form_gap(form, features, threads)[, 1]
}

#' @export
recalibrated_rows.ce_choice <- function(recalibration, problem, fitted, held, threads, call) {
  layout <- list(logits = FALSE, floor = .Machine$double.eps)
  data <- expand_probs(problem$features[, 1], layout, threads)
  data$truth <- as.integer(problem$labels) + 1L
  data$design <- problem$design
  fit <- fit_map(recalibration, take_rows(data, fitted), threads)
  warn_convergence(fit, recalibration$name)
  map_probs(fit$map, take_rows(data, held), threads)[, 2]
}

# A number of folds: rows are spread by their values, so that nothing is random.
decision_folds <- function(problem, folds, rows, n_rows, call) {
  if (length(folds) == 1 && !inherits(folds, "rset")) {
    return(value_folds(problem$features, problem$labels, problem$design$cluster, folds))
  }
  recal_folds(folds, nrow(problem$features), rows, n_rows, call, problem$design$cluster)
}
