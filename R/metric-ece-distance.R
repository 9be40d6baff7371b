# The binned error of whole probability vectors in a distance between the frequencies and the mean prediction of a bin.

distances <- list(
  tv = function(a, b) rowSums(abs(a - b)) / 2,
  euclidean = function(a, b) sqrt(rowSums((a - b)^2)),
  hellinger = function(a, b) sqrt(rowSums((sqrt(a) - sqrt(b))^2) / 2)
)

check_distance <- function(distance, scheme, p_given) {
  if (is.null(distance)) return(NULL)
  stop_if(!identical(scheme$notion, "canonical"), "{.arg distance} compares whole probability vectors.",
          "x" = if (is.null(scheme$notion)) {
            "{.arg notion} is not given; by default a bin has one number."
          } else {
            "{.arg notion} is {.val {scheme$notion}}, where a bin has one number."
          }, "i" = "Use {.code notion = \"canonical\"}, or {.arg p}.", arg = "distance")
  stop_if(p_given || scheme$debias, "{.arg distance} takes the place of {.arg p} and {.arg debias}.",
          "i" = "Give one or the other.", arg = "distance")
  if (is.function(distance)) return(distance)
  distances[[check_choice(distance, names(distances), "distance")]]
}

# A user's distance has no formula for the influence of a row, so its standard error is from the bootstrap. Outcomes
# redrawn from the predictions show the error that noise alone gives. By the triangle inequality, the estimate minus an
# upper quantile of that error is a lower limit. With clusters, whose rows cannot be redrawn independently, the lower
# limit is 0.
distance_columns <- function(problem, scheme, interval) {
  value <- distance_error(list(problem), scheme)
  estimates <- lapply(value$power, new_estimate, influence = NULL, design = problem$design)
  columns <- error_columns(estimates, interval, list(problem), function(part) distance_error(part, scheme)$power)
  if (interval$type == "bootstrap") {
    columns$conf.low <- pmin(columns$conf.low, value$power - distance_noise(problem, scheme, interval))
    columns$conf.low <- pmax(columns$conf.low, 0)
  }
  counts <- scheme$n_bins
  c(columns, list(n_bins = ifelse(is.na(counts), value$cells, counts), n = nrow(problem$features)))
}

distance_noise <- function(problem, scheme, interval) {
  if (!is.null(problem$design$cluster)) return(Inf)
  probs <- problem$features
  draws <- vapply(seq_len(interval$times), function(b) {
    problem$residuals <- canonical_residuals(probs, cpp_draw_classes(probs))
    distance_error(list(problem), scheme)$power
  }, numeric(length(scheme$n_bins)))
  apply(matrix(draws, ncol = interval$times), 1, quantile, (1 + interval$level) / 2, names = FALSE)
}

distance_error <- function(problems, scheme) {
  problem <- problems[[1]]
  w <- design_weights(problem$design)
  parts <- lapply(scheme$n_bins, function(n_bins) {
    cell <- simplex_cells(problem$features, scheme$type, n_bins, scheme$min_size)
    size <- rowsum(w, cell, reorder = TRUE)[, 1]
    prediction <- rowsum(w * problem$features, cell, reorder = TRUE) / size
    frequency <- rowsum(w * (problem$features - problem$residuals), cell, reorder = TRUE) / size
    value <- user_value(scheme$distance(frequency, prediction), "distance",
                        cli::format_inline("For {length(size)} bin{?s} and {ncol(prediction)} classes."), "function")
    stop_if(!is.numeric(value) || length(value) != length(size) || !all(is.finite(value)) || any(value < 0),
            "{.arg distance} must return a finite number of at least 0 per row.",
            "x" = "For {length(size)} row{?s} it returned {describe(value)}.", class = "function", arg = "distance")
    list(power = sum(size * value) / sum(size), cells = length(size))
  })
  list(power = vapply(parts, `[[`, 0, "power"), cells = vapply(parts, `[[`, 0L, "cells"))
}
