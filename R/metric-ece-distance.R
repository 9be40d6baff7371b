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

# A user's distance has no formula for the influence of a row, so its standard error is from the bootstrap.
distance_estimate <- function(problem, cell, scheme) {
  w <- design_weights(problem$design)
  size <- rowsum(w, cell, reorder = TRUE)[, 1]
  prediction <- rowsum(w * problem$features, cell, reorder = TRUE) / size
  frequency <- rowsum(w * (problem$features - problem$residuals), cell, reorder = TRUE) / size
  value <- user_value(scheme$distance(frequency, prediction), "distance",
                      cli::format_inline("For {length(size)} bin{?s} and {ncol(prediction)} classes."), "function")
  stop_if(!is.numeric(value) || length(value) != length(size) || !all(is.finite(value)) || any(value < 0),
          "{.arg distance} must return a finite number of at least 0 per row.",
          "x" = "For {length(size)} row{?s} it returned {describe(value)}.", class = "function", arg = "distance")
  new_estimate(sum(size * value) / sum(size), NULL, problem$design)
}

# Outcomes redrawn from the predictions show the error that noise alone gives. By the triangle inequality, the estimate
# minus an upper quantile of that error is a lower limit. With clusters, whose rows cannot be redrawn independently, the
# lower limit is 0.
distance_noise <- function(problem, statistic, interval) {
  if (!is.null(problem$design$cluster)) return(Inf)
  probs <- problem$features
  copies <- problem$design$copies
  draws <- lapply(seq_len(interval$times), function(b) {
    problem$residuals <- if (!is.null(copies)) probs - cpp_draw_counts(probs, copies) / copies else
      canonical_residuals(probs, cpp_draw_classes(probs))
    statistic(list(problem))
  })
  apply(matrix(unlist(draws), ncol = interval$times), 1, quantile, (1 + interval$level) / 2, names = FALSE)
}
