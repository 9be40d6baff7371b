# Values of scores, of classes or of numbers.
score_parts <- function(score, prediction, truth) {
  score <- as_score(score)
  classes <- score$kind == "class" && !(is_law(prediction) && !is.null(score$real))
  value <- if (classes) class_values(score, prediction, truth) else law_values(score, prediction, truth)
  tibble::tibble(value = value)
}

class_values <- function(score, prediction, truth) {
  predictions <- new_predictions(as_simplex_matrix(prediction), truth)
  score$value(predictions$probs, predictions$truth)
}

law_values <- function(score, prediction, truth) {
  prediction <- as_law(prediction)
  truth <- as.numeric(truth)
  if (is_count(prediction)) check_count_outcomes(truth, seq_along(truth), "truth")
  score$real(prediction, truth)
}

as_simplex_matrix <- function(p) {
  p <- if (is.null(dim(p))) matrix(p, 1) else as.matrix(p)
  check_simplex(p, seq_len(nrow(p)))
}

as_law <- function(x) {
  if (is_law(x)) return(as_distribution(x))
  pred_normal(x$mean, sqrt(rep_len(x$variance, length(x$mean))))
}
