# Distances between predictive distributions: as features where they are Euclidean, else as matrices.

bind_wasserstein <- function(kernel, laws) {
  stop_if(is.null(laws$law), "{.fn kernel_wasserstein} needs predictions of numbers.",
          "x" = "The predictions are class probabilities.", "i" = "Use {.fn kernel_tv} or {.fn kernel_hellinger}.",
          class = "kernel", arg = "kernel")
  law <- laws$law
  known <- closed_form_of(law, "wasserstein")
  value <- if (!is.null(known)) known(law) else if (has_quantiles(law)) {
    # the distance on the line is that of the quantile functions: their root mean squared difference
    spaced_quantiles(law, 64L) / 8
  }
  stop_if(is.null(value),
          "{.fn kernel_wasserstein} is not available for {.val {family_of(law)}} predictions in dimension \\
           {dimension_of(law)}.", "i" = "Use {.fn kernel_mmd}.", class = "kernel", arg = "kernel")
  if (is.list(value)) return(bind_distances(kernel, value$distance, value$valid))
  bind_hilbert(kernel, unname(as.matrix(value)))
}

has_quantiles <- function(law) !is.null(record_of(law)$quantile)

# Squared Hellinger distances, n x n, in the closed form of the family; probabilities and always a Hilbertian distance.
bind_hellinger <- function(kernel, laws) {
  if (is.null(laws$law)) return(bind_hilbert(kernel, sqrt(laws$probs / 2)))
  law <- laws$law
  known <- closed_form_of(law, "affinity")
  affinity <- if (!is.null(known)) {
    known(law)
  } else if (is_count(law)) {
    tcrossprod(sqrt(count_probs(law)$probs))
  }
  stop_if(is.null(affinity), "{.fn kernel_hellinger} is not available for {.val {family_of(law)}} predictions.",
          "i" = "Use {.fn kernel_mmd}.", class = "kernel", arg = "kernel")
  squared <- 1 - affinity
  # what rounding leaves of equal predictions, whose root would be 1e-8
  squared[squared < 4 * .Machine$double.eps] <- 0
  bind_distances(kernel, sqrt(squared), valid = TRUE)
}

# D^2(i, j) = inner(i, i) - 2 inner(i, j) + inner(j, j), inner = E k(Z_i, Z_j). For draws the distance between the
# empirical distributions, own pairs included: a true distance, never negative.
bind_mmd <- function(kernel, laws, draws) {
  target <- bind_pooled(kernel$target_kernel, laws, draws)
  kernel$target_kernel <- target$kernel
  if (laws$n > matrix_rows) return(bind_hilbert(kernel, embedding_features(target, laws)))
  inner <- inner_matrix(target$spec)
  own <- diag(inner) + draws_diagonal(target$spec, laws$n)
  squared <- pmax(outer(own, own, `+`) - 2 * inner, 0)
  diag(squared) <- 0
  bind_distances(kernel, sqrt(squared), valid = TRUE)
}

# No kernel on predictions may depend on the outcomes.
bind_pooled <- function(kernel, laws, draws) bind_target(pooled_kernel(kernel, laws), laws, draws)

# A target kernel whose "median" is replaced by a distance that depends on the predictions alone: the root mean squared
# distance between outcomes of two predictions drawn at random. The median distance of classes depends on no row.
pooled_kernel <- function(kernel, laws) {
  if (is.null(laws$law)) return(kernel)
  replace_medians(kernel, function(type) check_bandwidth_range(pooled_distance(laws)))
}

pooled_distance <- function(laws) {
  m <- law_moments(laws$law)
  # without a variance: that of a few quantiles
  if (!all(is.finite(m$cov))) {
    values <- spaced_quantiles(laws$law, 64L)
    m <- list(mean = matrix(rowMeans(values)), cov = matrix(rowMeans((values - rowMeans(values))^2)))
  }
  d <- ncol(m$mean)
  within <- colMeans(m$cov[, seq(1, d * d, by = d + 1), drop = FALSE])
  variance <- sum(within + colMeans(sweep(m$mean, 2, colMeans(m$mean))^2))
  # beyond doubles: no bandwidth is
  if (!is.finite(variance)) return(Inf)
  if (variance > 0) sqrt(2 * variance) else 1
}
