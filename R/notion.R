# A notion of calibration maps predictions to problems: features X (n x q), what "calibrated" conditions on, and
# residuals D (n x d), prediction minus outcome. Gruber & Bach 2025, section 2; nothing after this file knows about
# notions.

ce_notions <- c("top_label", "class_wise", "canonical", "binary")

# NULL is the default_notion() of the predictions.
check_notion <- function(notion, several = FALSE) {
  if (is.null(notion)) return(NULL)
  ok <- is.character(notion) && length(notion) >= 1 && all(notion %in% ce_notions) &&
    (several || length(notion) == 1)
  meant <- if (!ok) meant_word(notion, ce_notions)
  stop_if(!ok, "{.arg notion} must be {if (several) 'among' else 'one of'} {.or {.val {ce_notions}}}.",
          "x" = "It is {describe(notion)}.", "i" = if (!is.null(meant)) "Did you mean {.val {meant}}?",
          class = "notion", arg = "notion", value = notion)
  notion
}

# One problem: features X, residuals D, labels (the outcome that the kernel density ratio averages: 0/1 for d = 1,
# classes 1..K otherwise) and the design of the rows (R/design.R).
new_problem <- function(features, residuals, labels, class = NULL, design = new_design(length(labels))) {
  list(features = features, residuals = residuals, labels = labels, class = class, design = design)
}

scalar_problem <- function(prob, outcome, class = NULL, design = new_design(length(prob))) {
  rows <- cpp_scalar_rows(prob, outcome)
  new_problem(rows$features, rows$residuals, rows$labels, class, design)
}

# Two outcomes are an event or not; of more, the top label.
default_notion <- function(predictions) {
  predictions$notion %||% if (n_classes(predictions) == 2) "binary" else "top_label"
}

# The same where a whole vector of probabilities is read.
whole_notion <- function(predictions) if (n_classes(predictions) == 2) "binary" else "canonical"

# A list of problems: one, or one per class for "class_wise".
notion_problems <- function(predictions, notion) {
  if (!is.null(predictions$problem)) return(list(predictions$problem))
  design <- predictions$design
  switch(notion %||% default_notion(predictions),
    top_label = , binary = {
      rows <- scalar_rows(predictions, notion)
      list(scalar_problem(rows$prob, rows$outcome, design = design))
    },
    canonical = {
      probs <- simplex_probs(predictions)
      truth <- simplex_truth(predictions)
      list(new_problem(probs, canonical_residuals(probs, truth), truth, design = design))
    },
    class_wise = class_wise_problems(predictions)
  )
}

# The probability that the binary notion is about, in words: of the event where it has a name.
probability_of <- function(x) {
  event <- x$levels[x$event]
  paste0("probability", if (!event %in% c("1", "TRUE")) paste(" of", event))
}

# list(prob, outcome) of the event, or of the top label. A single probability is then a confidence in a label that was
# right or not.
scalar_rows <- function(predictions, notion) {
  if (!is.null(predictions$problem)) {
    return(list(prob = predictions$problem$features[, 1], outcome = predictions$problem$labels))
  }
  if ((notion %||% default_notion(predictions)) == "binary") {
    prob <- event_prob(predictions)
    return(list(prob = prob, outcome = predictions$outcome %||% as.numeric(predictions$truth == predictions$event)))
  }
  if (is.null(predictions$probs)) return(predictions[c("prob", "outcome")])
  top <- top_label(predictions$probs)
  list(prob = top$confidence, outcome = as.numeric(top$label == predictions$truth))
}

event_prob <- function(predictions) {
  stop_if(n_classes(predictions) != 2, "{.code notion = \"binary\"} needs two classes.",
          "x" = "There are {n_classes(predictions)}.",
          "i" = "Leave it out for the default of several classes, or use {.val class_wise} or {.val canonical}.",
          class = "notion", arg = "notion")
  predictions$prob %||% predictions$probs[, predictions$event]
}

# Confidence and label of the first maximum of each row.
top_label <- function(probs) {
  label <- max.col(probs, ties.method = "first")
  list(label = label, confidence = probs[cbind(seq_len(nrow(probs)), label)])
}

# p_i - onehot(y_i)
canonical_residuals <- function(probs, truth) {
  at <- cbind(seq_along(truth), truth)
  probs[at] <- probs[at] - 1
  probs
}

class_wise_problems <- function(predictions) {
  probs <- simplex_probs(predictions)
  truth <- simplex_truth(predictions)
  design <- predictions$design
  fold <- if (is.null(design$copies) || !is.null(design$cluster)) design_folds(probs, truth, design)
  counts <- if (is.null(fold)) copies_by_fold(probs, truth, design)
  lapply(seq_len(ncol(probs)), function(k) {
    problem <- scalar_problem(probs[, k], as.numeric(truth == k), predictions$levels[k], design)
    problem[c("fold", "copies_by_fold")] <- list(fold, counts)
    problem
  })
}

# The simplex form of predictions: a scalar is read as the two columns (1 - p, p).
simplex_probs <- function(predictions) {
  predictions$probs %||% cpp_event_columns(predictions$prob)
}

simplex_truth <- function(predictions) {
  predictions$truth %||% as.integer(predictions$outcome + 1)
}
