# Distances between predictive distributions: as features where they are Euclidean, else
# as matrices.

bind_wasserstein <- function(kernel, laws, threads, call) {
  if (is.null(laws$law)) {
    stop_input(c(
      "{.fn kernel_wasserstein} needs predictions of numbers.",
      "x" = "The predictions are class probabilities.",
      "i" = "Use {.fn kernel_tv} or {.fn kernel_hellinger}."
    ), "kernel", arg = "kernel", call = call)
  }
  law <- laws$law
  family <- family_of(law)
  one_axis <- dimension_of(law) == 1
  if (family %in% c("normal", "laplace", "mvnormal_diagonal") || family == "draws" && one_axis) {
    return(bind_hilbert(kernel, parameter_features(laws), threads, call))
  }
  if (family == "mvnormal") {
    roots <- covariance_roots(par_of(law, "cov"), dimension_of(law))
    if (commuting(par_of(law, "cov"), dimension_of(law))) {
      return(bind_hilbert(kernel, cbind(par_of(law, "mean"), roots), threads, call))
    }
    squared <- cpp_bures(par_of(law, "mean"), roots, threads)
    return(bind_distances(kernel, sqrt(squared), valid = FALSE, call))
  }
  if (startsWith(family, "mixture")) {
    return(bind_distances(kernel, mixture_wasserstein(law, threads), valid = FALSE, call))
  }
  stop_input(c(
    "{.fn kernel_wasserstein} is not available for {.val {family}} predictions in dimension {dimension_of(law)}.",
    "i" = "Use {.fn kernel_mmd}."
  ), "kernel", arg = "kernel", call = call)
}

# All covariances commute if the eigenvectors of one generic combination diagonalise each.
commuting <- function(cov, d) {
  if (d == 1) return(TRUE)
  weight <- 1 + ((seq_len(nrow(cov)) * 0.6180339887498949) %% 1)
  generic <- matrix(colSums(weight * cov), d)
  v <- eigen(generic, symmetric = TRUE)$vectors
  rotated <- cov %*% kronecker(v, v)  # row i: vec(v' S_i v)
  off <- setdiff(seq_len(d * d), seq(1, d * d, by = d + 1))
  max(abs(rotated[, off])) <= 1e-10 * max(abs(cov))
}

# Mixture Wasserstein distance of order `order`, from the component distances D:
# (min over couplings of sum w D^order)^(1/order).
mixture_wasserstein <- function(law, threads, order = 2) {
  weight <- par_of(law, "weight")
  family <- family_of(law)
  features <- switch(family,
    mixture_normal = list(par_of(law, "location"), par_of(law, "scale")),
    mixture_laplace = list(par_of(law, "location"), sqrt(2) * par_of(law, "scale")),
    list(par_of(law, "mean"), mixture_roots(law))
  )
  cpp_mixture_wasserstein(weight, features[[1]], features[[2]], dimension_of(law), order, threads)
}

mixture_roots <- function(law) {
  d <- dimension_of(law)
  cov <- par_of(law, "cov")
  blocks <- lapply(seq_len(attr(law, "components")), function(a) {
    covariance_roots(cov[, (a - 1) * d * d + seq_len(d * d), drop = FALSE], d)
  })
  do.call(cbind, blocks)
}

# Squared Hellinger distances, n x n, in the closed form of the family; probabilities and
# always a Hilbertian distance.
bind_hellinger <- function(kernel, laws, threads, call) {
  if (is.null(laws$law)) return(bind_hilbert(kernel, sqrt(laws$probs / 2), threads, call))
  bind_distances(kernel, sqrt(hellinger_squared(laws$law, call)), valid = TRUE, call)
}

hellinger_squared <- function(law, call = caller_env()) {
  f <- function(name) as.vector(par_of(law, name))
  family <- family_of(law)
  if (family %in% c("normal", "laplace") && any(f(if (family == "normal") "sd" else "scale") == 0)) {
    stop_input(c("The Hellinger distance needs positive scales.",
                 "x" = "Some predictions are point masses."), "kernel", arg = "kernel", call = call)
  }
  affinity <- switch(family,
    normal = {
      v <- outer(f("sd")^2, f("sd")^2, `+`)
      sqrt(2 * outer(f("sd"), f("sd")) / v) * exp(-outer(f("mean"), f("mean"), `-`)^2 / (4 * v))
    },
    laplace = laplace_affinity(f("location"), f("scale")),
    poisson = exp(-0.5 * outer(sqrt(f("rate")), sqrt(f("rate")), `-`)^2),
    mvnormal = , mvnormal_diagonal = mvnormal_affinity(law, call),
    stop_input(c("{.fn kernel_hellinger} is not available for {.val {family}} predictions.",
                 "i" = "Use {.fn kernel_mmd}."), "kernel", arg = "kernel", call = call)
  )
  squared <- 1 - affinity
  # what rounding leaves of equal predictions, whose root would be 1e-8
  squared[squared < 4 * .Machine$double.eps] <- 0
  squared
}

# Integral of sqrt(p p'): with rates a, b of the roots, a divided difference of e^{-z t} / t;
# equal rates are its limit, close ones a Taylor expansion around the mean rate.
laplace_affinity <- function(location, scale) {
  z <- abs(outer(location, location, `-`))
  a <- matrix(1 / (2 * scale), length(scale), length(scale))
  b <- t(a)
  front <- sqrt(a * b)
  near <- abs(a - b) < 1e-3 * (a + b)
  plain <- 2 * (a * exp(-b * z) - b * exp(-a * z)) / ((a - b) * (a + b))
  # a = m + e, b = m - e: (a e^{-bz} - b e^{-az}) / e = 2 e^{-mz} (cosh(ez) + m sinh(ez) / e)
  m <- (a + b) / 2
  e <- (a - b) / 2
  ez <- e * z
  sinhc <- z * (1 + ez^2 / 6 + ez^4 / 120)
  limit <- exp(-m * z) * (cosh(ez) + m * sinhc) / m
  front * ifelse(near, limit, plain)
}

mvnormal_affinity <- function(law, call) {
  mean <- par_of(law, "mean")
  cov <- full_covariance(law)
  d <- dimension_of(law)
  n <- nrow(mean)
  half_logdet <- function(s) sum(log(diag(chol(s))))
  own <- rlang::try_fetch(
    vapply(seq_len(n), function(i) half_logdet(matrix(cov[i, ], d)), 0),
    error = function(cnd) {
      stop_input(c("The Hellinger distance needs covariances of full rank.",
                   "x" = "Some are singular."), "kernel", arg = "kernel", call = call)
    })
  out <- diag(1, n)
  for (i in seq_len(n)) {
    for (j in seq_len(i - 1)) {
      root <- chol(matrix(cov[i, ] + cov[j, ], d) / 2)
      gap <- backsolve(root, mean[i, ] - mean[j, ], transpose = TRUE)
      out[i, j] <- out[j, i] <-
        exp(0.5 * (own[i] + own[j]) - sum(log(diag(root))) - sum(gap^2) / 8)
    }
  }
  out
}

# D^2(i, j) = inner(i, i) - 2 inner(i, j) + inner(j, j), inner = E k(Z_i, Z_j). For draws the
# distance between the empirical laws, own pairs included: a true distance, never negative.
bind_mmd <- function(kernel, laws, draws, threads, call) {
  if (laws$n > matrix_rows) return(bind_many_mmd(kernel, laws, draws, threads, call))
  # no kernel on predictions may depend on the outcomes
  target <- bind_target(pooled_kernel(kernel$target_kernel, laws), laws, draws, threads, call)
  kernel$target_kernel <- target$kernel
  inner <- inner_matrix(target$spec, threads)
  own <- diag(inner) + draws_diagonal(target$spec, laws$n)
  squared <- pmax(outer(own, own, `+`) - 2 * inner, 0)
  diag(squared) <- 0
  bind_distances(kernel, sqrt(squared), valid = TRUE, call)
}

# A target kernel with "median" replaced by what the predictions alone say: the root mean
# squared distance of outcomes of two predictions drawn at random.
pooled_kernel <- function(kernel, laws) {
  if (!is.null(kernel$parts)) {
    kernel$parts <- lapply(kernel$parts, pooled_kernel, laws)
  } else if (identical(kernel$bandwidth, "median")) {
    kernel$bandwidth <- check_bandwidth_range(pooled_distance(laws))
  }
  kernel
}

pooled_distance <- function(laws) {
  if (is.null(laws$law)) {
    classes <- seq_len(ncol(laws$probs))
    share <- colMeans(laws$probs)
    variance <- sum(share * classes^2) - sum(share * classes)^2
  } else {
    m <- law_moments(laws$law)
    d <- ncol(m$mean)
    within <- colMeans(m$cov[, seq(1, d * d, by = d + 1), drop = FALSE])
    variance <- sum(within + colMeans(sweep(m$mean, 2, colMeans(m$mean))^2))
  }
  if (variance > 0) sqrt(2 * variance) else 1
}
