# Random features of a kernel: a list of terms list(scale, linear, frequencies), for sums of linear, Gaussian, Laplace,
# Matern and total-variation kernels. Frequencies follow the kernel's spectral distribution and come from R's random
# numbers: with z normal, chi from a chi-squared with 2 nu degrees of freedom and Cauchy coordinates for the L1 norm.

feature_terms <- function(kernel, q, n_features, frequencies = NULL) {
  lapply(feature_leaves(kernel, 1), function(leaf) {
    if (leaf$type == "linear") return(list(scale = leaf$weight, linear = TRUE, frequencies = NULL))
    w <- frequencies %||% draw_frequencies(leaf, q, n_features)
    stop_if(!is.matrix(w) || !is.numeric(w) || ncol(w) != q || nrow(w) < 1 || !all(is.finite(w)),
            "{.arg frequencies} must be a finite numeric matrix with one frequency per row and {q} column{?s}.",
            "x" = "It is {describe(w)}{if (is.matrix(w)) paste0(', ', nrow(w), ' x ', ncol(w))}.", arg = "frequencies")
    list(scale = leaf$weight, linear = FALSE, frequencies = t(w))
  })
}

featured_kernels <- c("linear", "gaussian", "laplace", "matern", "tv")

feature_leaves <- function(kernel, weight) {
  weight <- weight * kernel$scale
  if (kernel$type == "sum") return(unlist(lapply(kernel$parts, feature_leaves, weight), recursive = FALSE))
  stop_if(!kernel$type %in% featured_kernels,
          "Random features need a sum of linear, Gaussian, Laplace, Mat\u00e9rn or total variation kernels.",
          "x" = "The kernel has the part {.val {format(kernel)}}.",
          "i" = "Use {.code computation = \"low_rank\"} or {.val dual}.", class = "computation", arg = "computation")
  list(c(unclass(kernel), weight = weight))
}

# One frequency per row, [n_features x q].
draw_frequencies <- function(leaf, q, n_features) {
  z <- matrix(stats::rnorm(n_features * q), n_features, q, byrow = TRUE)
  if (leaf$type == "tv") {
    return(matrix(stats::rcauchy(n_features * q), n_features, q, byrow = TRUE) / (2 * leaf$bandwidth))
  }
  df <- switch(leaf$type, gaussian = Inf, laplace = 1, matern = 2 * leaf$nu)
  if (is.finite(df)) z <- z / sqrt(stats::rchisq(n_features, df) / df)
  z / leaf$bandwidth
}
