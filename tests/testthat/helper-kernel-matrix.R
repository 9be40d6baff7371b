# Gram matrices of kernels, which the package never forms.
kernel_matrix <- function(kernel, x, y = NULL, draws = 100) {
  check_kernel(kernel)
  if (is_law(x) || is_law(y)) {
    check_count(draws, lower = 2)
    return(law_matrix(kernel, x, y, draws))
  }
  stop_if(compares_laws(kernel), "{.code {format(kernel)}} compares predictive distributions.",
          "x" = "{.arg x} is {describe(x)}.",
          "i" = "Make them with {.fn pred_normal}, ...; of probabilities with {.fn pred_categorical}.",
          class = "kernel", arg = "kernel")
  x <- as_features(x)
  y <- if (is.null(y)) x else as_features(y)
  stop_if(ncol(x) != ncol(y), "{.arg x} and {.arg y} must have the same number of columns.",
          "x" = "They have {ncol(x)} and {ncol(y)}.", class = "length", arg = "y")
  check_memory(nrow(x), nrow(y), "the Gram matrix")
  cpp_gram(resolve_kernel(kernel, x), x, y, thread_count())
}

# Between predictive distributions: one matrix of all of them, so that every kernel has it.
law_matrix <- function(kernel, x, y, draws) {
  stop_if(!is_law(x) || !is.null(y) && !is_law(y),
          "{.arg x} and {.arg y} must both be predictive distributions, or both numbers.", arg = "y")
  read <- function(law, arg) {
    rlang::try_fetch(as_distribution(law), error = function(cnd) {
      stop_input("{.arg {arg}} cannot be read as predictive distributions.", class = "distribution", parent = cnd)
    })
  }
  x <- read(x, "x")
  y <- if (!is.null(y)) read(y, "y")
  if (!is.null(y)) {
    # bandwidths are those of x
    own <- bind_prediction(kernel, unlabelled_laws(x), draws)
    kernel <- own$kernel
  }
  all <- if (is.null(y)) x else c(x, y)
  check_memory(length(all), length(all), "the Gram matrix of all distributions")
  bound <- bind_prediction(kernel, unlabelled_laws(all), draws)
  values <- cpp_prediction_matrix(bound$spec, thread_count())
  if (is.null(y)) values else values[seq_along(x), length(x) + seq_along(y), drop = FALSE]
}

# Distributions without outcomes: zeros, which no kernel on predictions uses.
unlabelled_laws <- function(law) {
  probs <- class_probs(law)
  if (!is.null(probs) && !is.matrix(probs)) probs <- cbind(1 - probs, probs)
  n <- length(law)
  if (is.null(probs)) return(list(law = law, y = matrix(0, n, dimension_of(law)), n = n))
  list(law = NULL, probs = probs, y = matrix(1, n, 1), n = n)
}
