# Values of scores, and their entropy and divergence under true distributions.
score_parts <- function(score, prediction, truth) {
  score <- as_score(score)
  stop_if(missing(truth), "{.arg truth} must be given.", "x" = "It is missing.", class = "truth", arg = "truth")
  known <- is_law(truth) || is.list(truth) || is.matrix(truth)
  classes <- score$kind == "class" && !(is_law(prediction) && !is.null(score$real) && !known)
  if (!known) {
    value <- if (classes) class_values(score, prediction, truth) else law_values(score, prediction, truth)
    return(tibble::tibble(value = value))
  }
  read <- if (classes) as_simplex_matrix else as_law
  prediction <- read(prediction)
  truth <- read(truth)
  if (classes) check_same_shape(prediction, truth)
  entropy <- score$entropy(truth)
  divergence <- score$divergence(prediction, truth)
  tibble::tibble(value = entropy + divergence, entropy = entropy, divergence = divergence)
}

class_values <- function(score, prediction, truth) {
  predictions <- new_predictions(as_simplex_matrix(prediction), truth)
  score$value(predictions$probs, predictions$truth)
}

law_values <- function(score, prediction, truth) {
  prediction <- as_law(prediction)
  check_length(vctrs::vec_size(prediction), length(truth))
  truth <- as.numeric(truth)
  if (is_count(prediction)) check_count_outcomes(truth, seq_along(truth), "truth")
  score$real(prediction, truth)
}

check_same_shape <- function(prediction, truth) {
  stop_if(!identical(dim(prediction), dim(truth)),
          "{.arg prediction} and {.arg truth} must have the same rows and classes.",
          "x" = "They are {nrow(prediction)} x {ncol(prediction)} and {nrow(truth)} x {ncol(truth)}.", class = "length",
          arg = "truth")
}

as_simplex_matrix <- function(p) {
  if (is.numeric(p) && is.null(dim(p))) p <- matrix(p, 1)
  if (is.data.frame(p)) p <- as.matrix(p)
  stop_if(!is.matrix(p) || !is.numeric(p), "Class distributions must be a matrix with one row each.",
          "x" = "They are {.cls {class(p)[1]}}.", class = "probs", arg = "prediction")
  check_simplex(p, seq_len(nrow(p)))
}

as_law <- function(x) {
  if (is_law(x)) return(as_distribution(x))
  stop_if(any(x$variance <= 0), "Variances must be positive.", class = "variance", arg = "prediction")
  pred_normal(x$mean, sqrt(rep_len(x$variance, length(x$mean))))
}
