# Two maps that keep nothing of a prediction but its top label (Gruber & Buettner 2022, Proposition D.2 and
# appendix E.1): not injective on purpose. They show what the errors low in the hierarchy cannot see.

map_constant_confidence <- function(loss = c("brier", "log")) {
  new_choice("map", "constant_confidence", loss = check_choice(loss, c("brier", "log")))
}

map_label_frequency <- function(loss = c("brier", "log")) {
  new_choice("map", "label_frequency", loss = check_choice(loss, c("brier", "log")))
}

# One confidence, the accuracy, for every top label; the other classes share the rest.
#' @export
fit_map.map_constant_confidence <- function(method, data) { # nolint: object_length_linter.
  k <- class_count(data)
  right <- as.numeric(predicted_label(data) == data$truth)
  accuracy <- row_mean(right, data$design)
  warn_if(accuracy * k <= 1, "The accuracy must be above {.code 1 / K} for the top labels to stay.",
          "x" = "It is {format(accuracy, digits = 4)} with K = {k}: the other classes get at least as much.",
          "i" = "The errors of the top label are then not zero.", class = "accuracy")
  std.error <- if (is_unweighted(data$design)) {
    sqrt(accuracy * (1 - accuracy) / copy_count(data$design))
  } else {
    cpp_row_std_error(right, data$design)
  }
  images <- matrix((1 - accuracy) / (k - 1), k, k)
  diag(images) <- accuracy
  label_map_fit(images, "confidence", accuracy, std.error = std.error)
}

label_map_fit <- function(images, ...) {
  new_map_fit(new_map("label", images = images), map_terms(...), iterations = 1L,
              injective = injectivity(FALSE, "all predictions with the same top label have one image"))
}

# The label frequencies among the fitted rows with the same top label; of all rows where a
# label was never predicted.
#' @export
fit_map.map_label_frequency <- function(method, data) {
  k <- class_count(data)
  labels <- list(factor(predicted_label(data), seq_len(k)), factor(data$truth, seq_len(k)))
  counts <- unname(tapply(design_weights(data$design), labels, sum, default = 0))
  never <- rowSums(counts) == 0
  counts[never, ] <- rep(colSums(counts), each = sum(never))
  images <- matrix(counts / rowSums(counts), k)
  label_map_fit(images, paste0("frequency_", rep(seq_len(k), each = k)), t(images),
                class = as.character(rep(seq_len(k), k)))
}

# The first largest class; of a probability of the event, the event from 1/2 on (Eq. 46).
predicted_label <- function(data) {
  probs <- given_probs(data)
  if (is_scalar(data)) return(1L + (probs[, 2] >= 0.5))
  max.col(probs, ties.method = "first")
}

#' @export
map_probs.ce_map_label <- function(map, data) {
  map$images[predicted_label(data), , drop = FALSE]
}
