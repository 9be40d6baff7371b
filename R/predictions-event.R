# A single probability per row: which of the two outcomes is it the probability of?

# The level that the name of its column says, `.pred_{level}` or `{level}`; NULL where it says none.
named_level <- function(column, levels) {
  if (is.null(column)) return(NULL)
  at <- match(column, paste0(".pred_", levels), nomatch = match(column, levels))
  if (!is.na(at)) at
}

# Nothing says whose probability it is, but the outcomes do: of the event, they do not fall as it rises.
warn_direction <- function(prob, outcome, levels, event_level = NULL) {
  # spares most the sort
  events <- sum(outcome)
  among <- sum(prob * outcome)
  if (!isTRUE(among / events < (sum(prob) - among) / (length(prob) - events))) return(invisible())
  warn_trend(rank_trend(prob, outcome), levels, event_level)
}

warn_trend <- function(trend, levels, event_level) {
  if (!isTRUE(trend$z < -3)) return(invisible())
  other <- if (identical(event_level, "first")) "second" else "first"
  warn_result(c(
    "The event {.val {levels[2]}} becomes rarer as its predicted probability rises.",
    "x" = "The area under the ROC curve is {signif(trend$auc, 2)} (z = {round(trend$z, 1)}).",
    "i" = if (is.null(event_level)) {
      "If these are probabilities of {.val {levels[1]}}, give {.code 1 - x}."
    } else {
      "If these are probabilities of {.val {levels[1]}}, use {.code event_level = \"{other}\"} or name the \\
       column {.code .pred_{levels[1]}}."
    }
  ), "direction", auc = trend$auc, event = levels[2])
}

# Area under the ROC curve, ties counted half, and its distance from 1/2 in standard errors of the rank test.
rank_trend <- function(prob, outcome) {
  sorted <- sort_values(prob, outcome)
  size <- diff(c(0, sorted$ties))
  rank <- sorted$ties - (size - 1) / 2
  trend_of_sums(sorted$n, as.numeric(sum(outcome)), sum(rank * bin_totals(sorted$sum_y, sorted$ties)),
                sum(size^3 - size))
}

# From the sum of the events' ranks, and of size^3 - size over the ties.
trend_of_sums <- function(n, events, ranks, ties) {
  others <- n - events
  auc <- (ranks / events - (events + 1) / 2) / others
  variance <- (n + 1 - ties / (n * (n - 1))) / (12 * events * others)
  list(auc = auc, z = (auc - 0.5) / sqrt(variance))
}

# The same predictions as ones of `event`, where they are a single probability of another. What only
# event_level made a probability is the same number for the other event.
align_event <- function(predictions, event) {
  if (is_real(predictions) || !is.null(predictions$probs)) return(predictions)
  if (predictions$levels[2] == event || !event %in% predictions$levels) {
    return(predictions)
  }
  if (predictions$named) predictions$prob <- 1 - predictions$prob
  predictions$outcome <- 1 - predictions$outcome
  predictions$levels <- rev(predictions$levels)
  predictions
}
