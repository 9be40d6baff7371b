# Recalibrated probabilities of rows that had no part in the map: every row's own fold is left out.

# The choice of `recalibration`: a method whose functions estimate a gap, a map, or a map's name.
check_recalibration <- function(recalibration) {
  if (is_choice(recalibration, "map") || rlang::is_string(recalibration)) {
    map <- as_choice(recalibration, "map", arg = "recalibration")
    stop_if(map$name == "variance", "{.arg recalibration} must be a map of probabilities.",
            "x" = "It is a map of variances.", "i" = "For example {.fn map_platt}.", arg = "recalibration")
    return(map)
  }
  stop_if(
    !is_method(recalibration),
    "{.arg recalibration} must be a method such as {.fn method_stack}, a map such as {.fn map_platt}, or its name.",
    "x" = "It is {describe(recalibration)}.", "i" = "See {.code ?ce_methods} and {.code ?ce_maps}.",
    class = c("method", "argument"), arg = "recalibration", value = recalibration
  )
  check_bins_notion(list(recalibration), "binary")
  recalibration
}

# One probability per row, in [0, 1]. A fold without other rows keeps its predictions.
recalibrated_probs <- function(problem, recalibration, fold) {
  of <- recalibrator(recalibration, problem)
  out <- cross_fit(fold, problem$features[, 1, drop = FALSE], of, workers = TRUE)$values[, 1]
  pmin(pmax(out, 0), 1)
}

# list(fit(rows), apply(fit, rows)): what is fitted on some rows of the problem, and the probabilities that it makes of
# others.
recalibrator <- function(recalibration, problem) UseMethod("recalibrator")

#' @export
recalibrator.ce_method <- function(recalibration, problem) {
  force(list(recalibration, problem))
  fit <- function(rows) {
    grid <- method_grid(recalibration, "binary", length(rows))
    stop_if(nrow(grid) != 1, "{.arg recalibration} must have a single value of {.arg {recalibration$parameter}}.",
            "x" = "It has a grid of {nrow(grid)}.", "i" = "{.fn ce_tune} finds the best one.",
            class = c("method", "argument"), arg = "recalibration")
    form <- fit_form(recalibration, take_rows(problem, rows), grid_point(grid, 1), new_context())
    stop_if(!isTRUE(form$gap), "{.arg recalibration} must estimate the calibration gap itself.",
            "x" = "{.field {recalibration$name}} estimates only products of calibration gaps.",
            "i" = "Use {.fn method_stack}, {.fn method_ukkr}, {.fn method_kde} or {.fn method_bins}.",
            class = c("method", "argument"), arg = "recalibration")
    form
  }
  list(fit = fit, apply = function(form, rows) {
    features <- problem$features[rows, , drop = FALSE]
    features[, 1] - form_gap(form, features)[, 1]
  })
}

#' @export
recalibrator.ce_choice <- function(recalibration, problem) {
  data <- given_rows(problem$features[, 1], list(logits = FALSE, floor = .Machine$double.eps))
  data$truth <- as.integer(problem$labels) + 1L
  data$design <- problem$design
  of <- map_of_rows(recalibration, data)
  list(fit = function(rows) {
    fit <- of$fit(rows)
    warn_convergence(fit, recalibration$name)
    fit
  }, apply = function(fit, rows) of$apply(fit, rows)[, 2])
}
