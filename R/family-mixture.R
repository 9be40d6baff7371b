# Mixtures: families "mixture_normal", "mixture_laplace" (fields weight, location, scale, each n x K) and
# "mixture_mvnormal" (R/family-mvnormal.R; weight n x K, mean n x K d, cov n x K d^2). Fewer components in some
# observations are components of weight 0.

mixture_text <- function(law, number) paste0("mixture[", rowSums(par_of(law, "weight") > 0), "]")

# The component of each of `size` draws, n x size.
draw_components <- function(weight, size) {
  cpp_picked_components(weight, matrix(stats::runif(nrow(weight) * size), nrow(weight)))
}

# Mean and covariance of mixtures: weight n x K, mean n x K d, cov n x K d^2, NULL for points.
mixture_moments <- function(weight, mean, cov, d) {
  both <- cpp_mixture_moments(weight, mean, cov %||% matrix(0, 0, 0), d)
  list(mean = both[, seq_len(d), drop = FALSE], cov = both[, -seq_len(d), drop = FALSE])
}

# Mean and root covariance.
root_features <- function(law) {
  m <- law_moments(law)
  cbind(m$mean, cpp_covariance_roots(m$cov, dimension_of(law)))
}

mixture_weights <- function(weights, n, k) {
  if (is.null(weights)) return(matrix(1 / k, n, k))
  weights <- check_parameter(weights, "weights", lower = 0)
  if (!is.matrix(weights)) weights <- matrix(weights, n, length(weights), byrow = TRUE)
  if (nrow(weights) == 1) weights <- weights[rep(1, n), , drop = FALSE]
  sums <- rowSums(weights)
  bad <- which(abs(sums - 1) > 1e-6)
  stop_if(
    ncol(weights) != k || nrow(weights) != n || length(bad) > 0,
    "{.arg weights} must have one weight per component, summing to 1.",
    "x" = if (ncol(weights) != k || nrow(weights) != n) {
      "There are {k} components of {n} observations, and weights of {ncol(weights)} and {nrow(weights)}."
    } else {
      "Those of observation {bad[1]} sum to {.val {sums[bad[1]]}}."
    }, class = "distribution"
  )
  weights / sums
}

# Mixtures with different numbers of components get the larger one, with weights 0.
pad_mixture <- function(law, k) {
  have <- attr(law, "components")
  if (have == k) return(law)
  n <- length(law)
  pad <- function(field) cbind(field, matrix(0, n, ncol(field) / have * (k - have)))
  names <- vctrs::fields(law)
  fields <- lapply(stats::setNames(nm = names), function(name) pad(par_of(law, name)))
  new_distribution(fields, family_of(law), dimension_of(law), k)
}

# Mixture Wasserstein distances, from the component distances D: the root of the minimum over couplings of sum w D^2.
mixture_distances <- function(law) {
  features <- switch(family_of(law),
    mixture_normal = list(par_of(law, "location"), par_of(law, "scale")),
    mixture_laplace = list(par_of(law, "location"), sqrt(2) * par_of(law, "scale")),
    list(par_of(law, "mean"), cpp_covariance_roots(par_of(law, "cov"), dimension_of(law)))
  )
  distance <- cpp_mixture_wasserstein(par_of(law, "weight"), features[[1]], features[[2]], dimension_of(law), 2,
                                      thread_count())
  list(distance = distance, valid = FALSE)
}

# `variance`: that of the standard component.
location_scale_mixture <- function(name, components, draw, variance) {
  own_components <- function(law) {
    list(weight = par_of(law, "weight"), location = par_of(law, "location"), scale = par_of(law, "scale"))
  }
  new_record(
    name, support = "real",
    moments = function(law) {
      mixture_moments(par_of(law, "weight"), par_of(law, "location"), variance * par_of(law, "scale")^2, 1L)
    },
    cdf = function(law, y) cpp_mixture_cdf(components_of(law), y),
    draw = function(law, size, roots) {
      pick <- draw_components(par_of(law, "weight"), size)
      rows <- rep(seq_along(law), size)
      of <- function(name) par_of(law, name)[cbind(rows, as.vector(pick))]
      matrix(draw(length(rows), of("location"), of("scale")), length(law))
    },
    crps = function(law, y) cpp_mixture_crps(components_of(law), y),
    features = root_features, kernel = function(law) kernel_mmd("median"), format = mixture_text,
    closed_forms = setNames(list(own_components, mixture_distances), c(components, "wasserstein"))
  )
}

family_mixture_normal <- location_scale_mixture("mixture_normal", "normal_components", stats::rnorm, 1)
family_mixture_laplace <- location_scale_mixture("mixture_laplace", "laplace_components", draw_laplace, 2)
