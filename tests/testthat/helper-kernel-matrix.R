# Gram matrices of kernels, which the package never forms.
kernel_matrix <- function(kernel, x, y = x, draws = 100) {
  if (is_law(x)) return(law_matrix(kernel, as_distribution(x), draws))
  x <- as_features(x)
  cpp_gram(resolve_kernel(kernel, x), x, as_features(y), thread_count())
}

# Distributions without outcomes: zeros, which no kernel on predictions uses.
law_matrix <- function(kernel, law, draws) {
  probs <- class_probs(law)
  if (!is.null(probs) && !is.matrix(probs)) probs <- cbind(1 - probs, probs)
  n <- length(law)
  laws <- if (is.null(probs)) list(law = law, y = matrix(0, n, dimension_of(law)), n = n) else
    list(law = NULL, probs = probs, y = matrix(1, n, 1), n = n)
  cpp_prediction_matrix(bind_prediction(kernel, laws, draws)$spec, thread_count())
}
