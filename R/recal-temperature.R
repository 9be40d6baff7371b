# Temperature scaling and its ensemble (Gruber & Buettner 2022, section 2.2; Zhang et al. 2020).

#' @rdname ce_maps
#' @export
map_temperature <- function(loss = c("log", "brier"), range = c(0.01, 100)) {
  new_choice("map", "temperature", loss = check_choice(loss, c("log", "brier")), range = check_range(range))
}

#' @rdname ce_maps
#' @export
map_ets <- function(loss = c("brier", "log"), range = c(0.01, 100)) {
  new_choice("map", "ets", loss = check_choice(loss, c("brier", "log")), range = check_range(range))
}

check_range <- function(range) {
  check_numbers(range, "range", lower = 0, open = TRUE, size = 2)
  stop_if(range[1] >= range[2], "{.arg range} must give the smallest and then the largest temperature.",
          "x" = "It is {range[1]}, {range[2]}.", arg = "range", value = range)
  range
}

# Densities if the predictions are such (R/recal-density.R), else probabilities of classes, as for every map.
#' @export
recalibrate.map_temperature <- function(method, part, input) {
  laws <- if (!input$logits && !is.null(law_given(part, input$dots))) laws_of(part, input)
  if (is.null(laws$law)) return(NextMethod())
  stop_if(method$loss != "log", "The temperature of densities is fitted by the log score.",
          "x" = "{.arg loss} is {.val {method$loss}}.", arg = "loss", value = method$loss)
  recalibrate_density(method, part, laws, input$folds)
}

#' @export
fit_map.map_temperature <- function(method, data) {
  best <- best_temperature(data, method)
  new_map_fit(
    new_map("temperature", b = best$b),
    map_terms("temperature", 1 / best$b, std.error = best$std.error),
    best$converged, best$passes, best$message,
    injectivity(TRUE, "p -> p^(1/T), normalised, is one to one on the simplex")
  )
}

#' @export
map_probs.ce_map_temperature <- function(map, data) {
  if (map$b == 1) given_probs(data) else of_given(cpp_ensemble_map, data, map$b, c(1, 0, 0))
}

# The best b = 1/T in [1/range[2], 1/range[1]] (inst/include/calibrisk/recal/temperature.h), and why it is none.
best_temperature <- function(data, method) {
  fit <- of_given(cpp_temperature, data, data$truth, core_weights(data), method$loss, 1 / rev(method$range))
  fit$converged <- fit$place == 0
  # of log T = -log b, with se(b) = (n curvature)^(-1/2) of the log likelihood: T itself is skewed
  fit$std.error <- if (!fit$converged || method$loss != "log") {
    NA_real_
  } else if (is_unweighted(data$design)) {
    1 / (fit$b * sqrt(copy_count(data$design) * fit$curvature))
  } else {
    cpp_row_std_error(fit$of_rows, data$design) / (fit$b * fit$curvature)
  }
  why <- if (!fit$at_infinity) "a wider `range` may hold it." else
    if (fit$place == 2) "the labels do not follow the predictions." else
      "the labels follow the predictions without exception."
  fit$message <- if (fit$converged) "" else
    if (fit$place == 1) "All predictions are uniform: every temperature gives the same ones." else
      paste0("The optimum is at the bound T = ", format(1 / fit$b, digits = 4), " or beyond: ", why)
  fit
}

# Weights as the core reads them.
core_weights <- function(data) data$design$w %||% numeric()

# w1 softmax(l/T) + w2 p + w3/K, first T, then w.
#' @export
fit_map.map_ets <- function(method, data) {
  best <- best_temperature(data, method)
  weights <- of_given(cpp_ensemble_weights, data, data$truth, row_shares(data$design), best$b, method$loss)
  w <- weights$w
  best_weights <- weights$left < 1e-6
  message <- c(best$message, if (!best_weights) {
    paste0("EM stopped with up to ", format(weights$left, digits = 2), " nats to gain.")
  })
  # a temperature that carries no weight need not be identified
  converged <- (best$converged || w[1] == 0) && best_weights
  new_map_fit(
    new_map("ets", b = best$b, w = w),
    map_terms(c("temperature", "weight_tempered", "weight_raw", "weight_uniform"), c(1 / best$b, w)),
    converged, best$passes + weights$steps,
    paste(message[nzchar(message)], collapse = " "),
    injectivity(w[1] + w[2] > 0, "with w1 + w2 > 0 the map is the gradient of a strictly convex function of the logits",
                "all weight is on the uniform prediction")
  )
}

#' @export
map_probs.ce_map_ets <- function(map, data) of_given(cpp_ensemble_map, data, map$b, map$w)
