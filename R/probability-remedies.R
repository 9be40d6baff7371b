# Guesses about numbers that are not probabilities, and the line that makes probabilities of them.

# Percentages, outcomes where predictions are expected, or logits.
unit_remedy <- function(x, column, call) {
  if (all(is.finite(x) & x >= 0 & x <= 100) && max(x) > 2) {
    return(remedy("If these are percentages, divide by 100",
                  mended_predictions(call, function(x) call("/", x, 100), column)))
  }
  if (!all(is.finite(x))) return(remedy("Infinite values are not probabilities"))
  remedy("If these are logits, apply {.fn plogis}", mended_predictions(call, function(x) call("plogis", x), column))
}

logit_remedy <- function(call) {
  remedy("If these are logits, apply a softmax to each row",
         mended_predictions(call, softmax_of) %||% "z <- exp(z); z / rowSums(z)")
}

softmax_of <- function(x) call("/", call("exp", x), call("rowSums", call("exp", x)))

sum_remedy <- function(x, sums, call) {
  if (all(abs(sums - 100) < 2)) {
    return(remedy("If these are percentages, divide by 100",
                  mended_predictions(call, function(x) call("/", x, 100), colnames(x))))
  }
  if (ncol(x) == 2 && any(abs(sums - 1) > 0.05) && all(x <= 1)) return(several_models_remedy(call, colnames(x)))
  if (all(x <= 1)) {
    return(remedy("If they are right up to a factor (rounded, say), divide by the row sums",
                  mended_predictions(call, function(x) call("/", x, call("rowSums", x))) %||% "x / rowSums(x)"))
  }
  logit_remedy(call)
}

# Columns of several models, each the probability of the event.
several_models_remedy <- function(call, columns = NULL) {
  text <- "If the columns belong to different models, compare them"
  if (is_frame_call(call)) {
    return(remedy(text, mended_line(call, list(metric = quote(ece)), only = c("x", "truth", ""), verb = "ce_compare")))
  }
  remedy("If the columns belong to different models, give one at a time",
         mended_predictions(call, first_column))
}

first_column <- function(x) as.call(list(as.name("["), x, rlang::missing_arg(), 1))
