# Moments, CRPS and densities of real-valued predictions: vectors of predictive
# distributions (pred_normal() and its kin), or list(mean, variance).

as_law <- function(x, call = caller_env()) {
  if (is_law(x)) return(as_distribution(x))
  if (is.list(x) && !is.null(x$mean) && (!is.null(x$variance) || !is.null(x$sd))) {
    mean <- as.numeric(x$mean)
    variance <- rep_len(as.numeric(x$variance %||% x$sd^2), length(mean))
    bad <- which(!is.finite(mean) | !is.finite(variance) | variance <= 0)
    if (length(bad) > 0) {
      stop_input(c(
        "Means must be finite and variances finite and positive.",
        "x" = "Row {bad[1]} is mean {.val {mean[bad[1]]}}, variance {.val {variance[bad[1]]}}; \\
               {length(bad)} of {length(mean)} rows are affected."
      ), "variance", arg = "prediction", row = bad[1], call = call)
    }
    return(pred_normal(mean, sqrt(variance)))
  }
  stop_input(c(
    "Real-valued predictions must be a vector of distributions, or a list with {.field mean} and {.field variance}.",
    "x" = "It is {.cls {class(x)[1]}}.",
    "i" = "See {.fn pred_normal} and its kin."
  ), "distribution", arg = "prediction", call = call)
}

n_laws <- function(law) vctrs::vec_size(law)

stop_family <- function(law, what, call = caller_env()) {
  stop_input(c(
    "{what} is not available for this family of predictions.",
    "x" = "The family is {.val {family_of(law)}}.",
    "i" = "Give draws instead: {.fn pred_draws}."
  ), "distribution", arg = "prediction", call = call)
}

score_moments <- function(law) {
  if (dimension_of(law) > 1) stop_family(law, "The score of several outcomes")
  if (family_of(law) == "bernoulli") {
    p <- par_of(law, "prob")[, 1]
    return(list(mean = p, variance = p * (1 - p)))
  }
  if (family_of(law) == "categorical") stop_family(law, "The mean and variance")
  moments <- law_moments(law)
  list(mean = moments$mean[, 1], variance = moments$cov[, 1])
}

normal_moments <- function(law) {
  if (family_of(law) != "normal") stop_family(law, "The entropy and divergence of the CRPS")
  score_moments(law)
}

# E |m + s Z|
folded_normal <- function(m, s) {
  ifelse(s == 0, abs(m), sqrt(2 / pi) * s * exp(-(m / s)^2 / 2) + m * (1 - 2 * pnorm(-m / s)))
}

law_crps <- function(law, y) {
  par <- function(name) par_of(law, name)
  switch(family_of(law),
    normal = folded_normal(par("mean")[, 1] - y, par("sd")[, 1]) - par("sd")[, 1] / sqrt(pi),
    laplace = {
      apart <- abs(y - par("location")[, 1])
      scale <- par("scale")[, 1]
      apart + scale * (ifelse(scale > 0, exp(-apart / scale), 0) - 3 / 4)
    },
    bernoulli = (par("prob")[, 1] - y)^2,
    poisson = crps_poisson(par("rate")[, 1], y),
    mixture_normal = crps_normal_mixture(par("weight"), par("location"), par("scale"), y),
    draws = {
      if (dimension_of(law) > 1) stop_family(law, "The CRPS of several outcomes")
      crps_draws(par("draws"), y)
    },
    stop_family(law, "The CRPS")
  )
}

# E|X - X'| = 2 rate exp(-2 rate) (I_0(2 rate) + I_1(2 rate))
crps_poisson <- function(rate, y) {
  below <- stats::ppois(y, rate)
  spread <- rate * (besselI(2 * rate, 0, TRUE) + besselI(2 * rate, 1, TRUE))
  (y - rate) * (2 * below - 1) + 2 * rate * stats::dpois(floor(y), rate) - spread
}

crps_normal_mixture <- function(w, location, scale, y) {
  k <- ncol(w)
  near <- rowSums(w * folded_normal(location - y, scale))
  spread <- 0
  for (a in seq_len(k)) {
    apart <- folded_normal(location[, a] - location, sqrt(scale[, a]^2 + scale^2))
    spread <- spread + w[, a] * rowSums(w * matrix(apart, ncol = k))
  }
  near - spread / 2
}

# The predictive law is the empirical law of the draws; sorted, sum_ij |x_i - x_j| is linear.
crps_draws <- function(draws, y) {
  s <- ncol(draws)
  sorted <- t(apply(draws, 1, sort))
  if (s == 1) sorted <- matrix(draws)
  spread <- drop(sorted %*% (2 * seq_len(s) - s - 1)) * 2 / s^2
  rowMeans(abs(draws - y)) - spread / 2
}
