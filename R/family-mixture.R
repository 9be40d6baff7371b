# Mixtures: families "mixture_normal", "mixture_laplace" (fields weight, location, scale, each
# n x K) and "mixture_mvnormal" (weight n x K, mean n x K d, cov n x K d^2). Fewer components in
# some observations are components of weight 0.

family_mixture_normal <- function() {
  extend_record(
    location_scale_mixture("mixture_normal", stats::rnorm, 1),
    crps = function(law, y) crps_mixture(par_of(law, "weight"), par_of(law, "location"), par_of(law, "scale"), y,
                                         near = folded_normal, apart = function(m, a, b) {
                                           folded_normal(m, sqrt(a^2 + b^2))
                                         }),
    closed_forms = list(normal_components = mixture_components)
  )
}

family_mixture_laplace <- function() {
  extend_record(
    location_scale_mixture("mixture_laplace", draw_laplace, 2),
    crps = function(law, y) crps_mixture(par_of(law, "weight"), par_of(law, "location"), par_of(law, "scale"), y,
                                         near = folded_laplace, apart = folded_laplaces),
    closed_forms = list(laplace_components = mixture_components)
  )
}

# `variance`: that of the standard component.
location_scale_mixture <- function(name, draw, variance) {
  new_record(
    name, support = "real",
    moments = function(law) {
      mixture_moments(par_of(law, "weight"), par_of(law, "location"), variance * par_of(law, "scale")^2, 1L)
    },
    cdf = function(law, y) location_scale_cdf(location_scale_parts(law), y),
    draw = function(law, size, roots) {
      pick <- draw_components(par_of(law, "weight"), size)
      rows <- rep(seq_along(law), size)
      of <- function(name) par_of(law, name)[cbind(rows, as.vector(pick))]
      matrix(draw(length(rows), of("location"), of("scale")), length(law))
    },
    features = mixture_features, kernel = function(law) kernel_mmd("median"), format = mixture_text,
    closed_forms = list(wasserstein = function(law) {
      list(distance = mixture_wasserstein(law), valid = FALSE)
    })
  )
}

family_mixture_mvnormal <- function() {
  new_record(
    "mixture_mvnormal", support = "real",
    moments = function(law) {
      mixture_moments(par_of(law, "weight"), par_of(law, "mean"), par_of(law, "cov"), dimension_of(law))
    },
    prepare = function(law) mixture_roots(law),
    draw = function(law, size, roots) {
      draw_mvnormal(par_of(law, "mean"), roots, draw_components(par_of(law, "weight"), size), dimension_of(law))
    },
    features = mixture_features, kernel = function(law) kernel_mmd("median"), format = mixture_text,
    closed_forms = list(
      gaussian = function(law) full_normal_form(law, par_of(law, "weight")),
      wasserstein = function(law) list(distance = mixture_wasserstein(law), valid = FALSE)
    )
  )
}

mixture_components <- function(law) {
  list(weight = par_of(law, "weight"), location = par_of(law, "location"), scale = par_of(law, "scale"))
}

mixture_text <- function(law, number) paste0("mixture[", rowSums(par_of(law, "weight") > 0), "]")

# The component of each of `size` draws, n x size.
draw_components <- function(weight, size) {
  n <- nrow(weight)
  u <- matrix(stats::runif(n * size), n)
  upto <- t(apply(weight, 1, cumsum))
  pick <- matrix(1L, n, size)
  for (a in seq_len(ncol(weight) - 1)) pick <- pick + (u > upto[, a])
  # rounding of the last sum must not pick a component of weight 0
  pmin(pick, max.col(weight > 0, "last"))
}

# Mean and covariance of mixtures: weight n x K, mean n x K d, cov n x K d^2.
mixture_moments <- function(weight, mean, cov, d) {
  k <- ncol(weight)
  pick <- function(m, size, a) m[, (a - 1) * size + seq_len(size), drop = FALSE]
  centre <- Reduce(`+`, lapply(seq_len(k), function(a) weight[, a] * pick(mean, d, a)))
  outer_rows <- function(x) x[, rep(seq_len(d), d), drop = FALSE] * x[, rep(seq_len(d), each = d), drop = FALSE]
  spread <- Reduce(`+`, lapply(seq_len(k), function(a) {
    weight[, a] * (pick(cov, d * d, a) + outer_rows(pick(mean, d, a) - centre))
  }))
  list(mean = centre, cov = spread)
}

# Mean and root covariance of the mixture.
mixture_features <- function(law) {
  m <- law_moments(law)
  cbind(m$mean, covariance_roots(m$cov, dimension_of(law)))
}

# near: E|X_a - y|; apart: E|X_a - X_b|
crps_mixture <- function(w, location, scale, y, near, apart) {
  k <- ncol(w)
  first <- rowSums(w * matrix(near(location - y, scale), ncol = k))
  spread <- 0
  for (a in seq_len(k)) {
    between <- apart(location[, a] - location, scale[, a], scale)
    spread <- spread + w[, a] * rowSums(w * matrix(between, ncol = k))
  }
  first - spread / 2
}

# E |m + s X| of a standard Laplace X
folded_laplace <- function(m, s) abs(m) + s * ifelse(s > 0, exp(-abs(m) / s), 0)

# E |m + a X - b X'|: the density is (a^2 f_a - b^2 f_b) / (a^2 - b^2); of nearly equal scales its limit.
folded_laplaces <- function(m, a, b) {
  a <- rep_len(a, length(b))
  m <- as.vector(m)
  b <- as.vector(b)
  term <- function(s) s^2 * folded_laplace(m, s)
  near <- abs(a - b) <= 1e-5 * (a + b)
  s <- (a + b) / 2
  limit <- abs(m) + ifelse(s > 0, exp(-abs(m) / s), 0) * (3 * s + abs(m)) / 2
  ifelse(near, limit, (term(a) - term(b)) / ifelse(near, 1, a^2 - b^2))
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

# Mixture Wasserstein distance of order `order`, from the component distances D:
# (min over couplings of sum w D^order)^(1/order).
mixture_wasserstein <- function(law, order = 2) {
  weight <- par_of(law, "weight")
  features <- switch(family_of(law),
    mixture_normal = list(par_of(law, "location"), par_of(law, "scale")),
    mixture_laplace = list(par_of(law, "location"), sqrt(2) * par_of(law, "scale")),
    list(par_of(law, "mean"), mixture_roots(law))
  )
  cpp_mixture_wasserstein(weight, features[[1]], features[[2]], dimension_of(law), order, thread_count())
}

mixture_roots <- function(law) {
  d <- dimension_of(law)
  cov <- par_of(law, "cov")
  blocks <- lapply(seq_len(attr(law, "components")), function(a) {
    covariance_roots(cov[, (a - 1) * d * d + seq_len(d * d), drop = FALSE], d)
  })
  do.call(cbind, blocks)
}
