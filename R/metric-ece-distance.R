# The binned error of whole probability vectors in a distance between the frequencies and the mean
# prediction of a bin.

distances <- list(
  tv = function(a, b) rowSums(abs(a - b)) / 2,
  euclidean = function(a, b) sqrt(rowSums((a - b)^2)),
  hellinger = function(a, b) sqrt(rowSums((sqrt(a) - sqrt(b))^2) / 2)
)

check_distance <- function(distance, scheme, p_given, call) {
  if (is.null(distance)) return(NULL)
  if (!identical(scheme$notion, "canonical")) {
    stop_input(c(
      "{.arg distance} compares whole probability vectors.",
      "x" = if (is.null(scheme$notion)) {
        "{.arg notion} is not given; by default a gap is one number."
      } else {
        "{.arg notion} is {.val {scheme$notion}}, where a gap is one number."
      },
      "i" = "Use {.code notion = \"canonical\"}, or {.arg p}."
    ), "argument", arg = "distance", call = call)
  }
  if (p_given || scheme$debias) {
    stop_input(c("{.arg distance} takes the place of {.arg p} and {.arg debias}.",
                 "i" = "Give one or the other."), "argument", arg = "distance", call = call)
  }
  if (is.function(distance)) return(distance)
  distances[[check_choice(distance, names(distances), "distance", call)]]
}

# The influence of a row is not known for a distance of the user: its interval is that of a bootstrap.
distance_columns <- function(problem, scheme, interval) {
  value <- distance_error(list(problem), scheme)
  estimates <- lapply(value$power, new_estimate, influence = NULL, design = problem$design)
  columns <- error_columns(estimates, interval, list(problem), function(part) distance_error(part, scheme)$power)
  counts <- scheme$n_bins
  c(columns, list(n_bins = ifelse(is.na(counts), value$cells, counts), n = nrow(problem$features)))
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
                        "For {length(size)} bin{?s} and {ncol(prediction)} classes.", "function")
    if (!is.numeric(value) || length(value) != length(size) || !all(is.finite(value)) || any(value < 0)) {
      stop_input(c(
        "{.arg distance} must return a finite number of at least 0 per row.",
        "x" = "For {length(size)} row{?s} it returned {.val {describe(value)}}."
      ), "function", arg = "distance", call = NULL)
    }
    list(power = sum(size * value) / sum(size), cells = length(size))
  })
  list(power = vapply(parts, `[[`, 0, "power"), cells = vapply(parts, `[[`, 0L, "cells"))
}
