# Predictions that are drawn with a seed, and outcomes that are events as often as `rate` of the predictions says.
drawn_rows <- function(seed, predictions, rate = identity) {
  withr::with_seed(seed, list(p = predictions, y = stats::rbinom(length(predictions), 1, rate(predictions))))
}
