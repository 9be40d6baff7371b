# The marginalised target kernel h_Y of predictions and outcomes, as a source for the core
# (src/as_source.h): a closed form where there is one, means over draws otherwise. Returns
# list(spec, kernel = resolved, form = "closed form" or "draws (S)").

bind_target <- function(kernel, laws, draws, threads, call = caller_env()) {
  check_feature_kernel(kernel, "target_kernel", call)
  if (is.null(laws$law)) {
    classes <- seq_len(ncol(laws$probs))
    kernel <- resolve_kernel(kernel, matrix(as.numeric(classes)), threads, call)
    return(bind_finite(kernel, laws$probs, laws$y, classes, threads))
  }
  kernel <- resolve_kernel(kernel, laws$y, threads, call)
  bind_law(kernel, laws, draws, threads, call)
}

bind_law <- function(kernel, laws, draws, threads, call) {
  family <- family_of(laws$law)
  if (family == "poisson") return(bind_poisson(kernel, laws, draws, threads, call))
  if (kernel$type == "sum") {
    parts <- lapply(kernel$parts, bind_law, laws, draws, threads, call)
    forms <- unique(vapply(parts, `[[`, "", "form"))
    return(list(spec = list(form = "sum", scale = kernel$scale, parts = lapply(parts, `[[`, "spec")),
                kernel = kernel, form = setdiff(c(forms, "closed form"), "closed form")[1] %|% "closed form"))
  }
  if (kernel$type == "white") {
    stop_input(c(
      "{.fn kernel_white} cannot compare continuous outcomes.",
      "x" = "The predictions are {.val {family}}.",
      "i" = "Use {.fn kernel_gaussian}, {.fn kernel_laplace} or {.fn kernel_matern}."
    ), "kernel", arg = "target_kernel", call = call)
  }
  if (!kernel$type %in% c("gaussian", "laplace", "matern", "linear", "product")) {
    stop_input(c("{.code {format(kernel)}} is not a kernel for numeric outcomes."),
               "kernel", arg = "target_kernel", call = call)
  }
  spec <- closed_form(kernel, laws)
  if (!is.null(spec)) return(list(spec = scaled(spec, kernel), kernel = kernel, form = "closed form"))
  law <- laws$law
  if (family != "draws") law <- pred_draws(draw_law(law, draws))
  values <- par_of(law, "draws")
  spec <- list(form = "draws", kernel = kernel, draws = values, y = laws$y)
  spec$embedding <- draws_embedding(kernel, values, laws$y, threads)
  if (is.null(spec$embedding)) spec$draws <- affordable_draws(kernel, values, ncol(laws$y))
  list(spec = spec, kernel = kernel, form = draws_text(spec, values))
}

draws_text <- function(spec, values) {
  d <- ncol(spec$y)
  used <- ncol(spec$draws) / d
  all <- ncol(values) / d
  missed <- spec$embedding$missed %||% 0
  paste0("draws (", used, if (used < all) paste(" of", all), ")",
         if (missed > 1e-12) paste0(", features to ", format(missed, digits = 1)))
}

# Mean features of the draws, which replace S^2 evaluations per pair of predictions; NULL where
# direct sums take a moment, or where the kernel has no small factor (Laplace, Matern; on the line
# these have sums of their own, inst/include/calibrisk/targets/draws_line.h).
draws_embedding <- function(kernel, draws, y, threads) {
  if (nrow(draws)^2 * (ncol(draws) / ncol(y))^2 < embedding_pairs) return(NULL)
  with_bar("Embedding draws", function(progress) cpp_draws_embedding(kernel, draws, y, threads, progress))
}

embedding_pairs <- 1e6

# Evenly spaced draws where direct sums over all pairs of draws would take minutes: n^2 S^2 / 2
# evaluations of a kernel that has no small factor.
affordable_draws <- function(kernel, draws, d, evaluations = direct_evaluations) {
  s <- ncol(draws) / d
  wanted <- max(least_draws, floor(sqrt(2 * evaluations) / nrow(draws)))
  on_the_line <- d == 1 && kernel$type %in% c("laplace", "matern")
  if (on_the_line || s <= wanted) return(draws)
  kept <- round(seq(1, s, length.out = wanted))
  draws[, rep((kept - 1) * d, each = d) + seq_len(d), drop = FALSE]
}

direct_evaluations <- 2e9
least_draws <- 8

`%|%` <- function(x, y) if (is.na(x)) y else x

scaled <- function(spec, kernel) {
  if (kernel$scale == 1) spec else list(form = "sum", scale = kernel$scale, parts = list(spec))
}

# NULL where there is none.
closed_form <- function(kernel, laws) {
  law <- laws$law
  form <- switch(kernel$type,
    linear = list(form = "linear", mean = law_moments(law)$mean),
    gaussian = c(gaussian_form(law), list(gamma = 1 / (2 * kernel$bandwidth^2))),
    # the Laplace kernel is the Matern kernel with nu = 1/2
    laplace = c(matern_form(law, 0.5, kernel$bandwidth), list(gamma = 1 / kernel$bandwidth)),
    matern = c(matern_form(law, kernel$nu, kernel$bandwidth), list(gamma = 1 / kernel$bandwidth))
  )
  if (!is.null(form$form)) c(form, list(y = laws$y))
}

gaussian_form <- function(law) {
  par <- function(name) par_of(law, name)
  switch(family_of(law),
    normal = list(form = "diagonal_normal", mean = par("mean"), variance = par("sd")^2),
    mvnormal_diagonal = list(form = "diagonal_normal", mean = par("mean"), variance = par("var")),
    mvnormal = ,
    mixture_mvnormal = list(form = "full_normal", weight = component_weights(law), mean = par("mean"),
                            covariance = par("cov")),
    mixture_normal = c(form = "normal_gaussian", scalar_components(law)),
    laplace = ,
    mixture_laplace = c(form = "laplace_gaussian", scalar_components(law))
  )
}

matern_form <- function(law, nu, bandwidth) {
  switch(family_of(law),
    normal = ,
    mixture_normal = c(form = "normal_matern", scalar_components(law), nu = nu, rate = sqrt(2 * nu) / bandwidth),
    laplace = ,
    mixture_laplace = if (nu == 0.5) c(form = "laplace_laplace", scalar_components(law))
  )
}

# Weight, location and scale of every component of laws of one number.
scalar_components <- function(law) {
  normal <- family_of(law) == "normal"
  list(weight = component_weights(law), location = par_of(law, if (normal) "mean" else "location"),
       scale = par_of(law, if (normal) "sd" else "scale"))
}

component_weights <- function(law) {
  if (startsWith(family_of(law), "mixture")) par_of(law, "weight") else matrix(1, length(law), 1)
}

# Outcomes `support[1], ..., support[m]` with probabilities `probs`; y is the value.
bind_finite <- function(kernel, probs, y, support, threads) {
  residuals <- canonical_residuals(probs, match(as.vector(y), support))
  if (kernel$type == "white" && kernel$scale == 1) {
    right <- residuals
    probs_right <- probs
  } else {
    gram <- cpp_gram(kernel, matrix(as.numeric(support)), matrix(as.numeric(support)), threads)
    right <- residuals %*% gram
    probs_right <- probs %*% gram
  }
  list(spec = list(form = "finite", residuals = residuals, right = right, probs = probs,
                   probs_right = probs_right, support = support),
       kernel = kernel, form = "closed form")
}

poisson_support <- 5000L

# A Poisson law is a finite one to rounding: the window that holds all but 1e-18 of each.
bind_poisson <- function(kernel, laws, draws, threads, call) {
  rate <- as.vector(par_of(laws$law, "rate"))
  from <- min(stats::qpois(1e-18, rate), laws$y)
  to <- max(stats::qpois(1e-18, rate, lower.tail = FALSE), laws$y)
  if (to - from > poisson_support) {
    stop_input(c(
      "Poisson predictions must span at most {poisson_support} counts.",
      "x" = "They span {to - from + 1}.",
      "i" = "For rates this large use {.code pred_normal(rate, sqrt(rate))} or {.fn pred_draws}."
    ), "distribution", arg = "x", call = call)
  }
  support <- seq(from, to)
  probs <- outer(rate, support, function(a, z) stats::dpois(z, a))
  bind_finite(kernel, probs, laws$y, support, threads)
}

# Roots of the covariances, which draws need: computed once where outcomes are redrawn often.
law_roots <- function(law) {
  if (is.null(law)) return(NULL)
  switch(family_of(law),
    mvnormal = covariance_roots(par_of(law, "cov"), dimension_of(law)),
    mixture_mvnormal = mixture_roots(law)
  )
}

# Draws from every law: an n x S matrix, or n x S x d array.
draw_law <- function(law, size, roots = law_roots(law)) {
  n <- length(law)
  f <- function(name) par_of(law, name)
  d <- dimension_of(law)
  each <- function(rdist, ...) matrix(rdist(n * size, ...), n)
  rlaplace <- function(m, location, scale) {
    location + scale * stats::rexp(m) * sample(c(-1, 1), m, replace = TRUE)
  }
  component <- function(weight) {
    u <- matrix(stats::runif(n * size), n)
    upto <- t(apply(weight, 1, cumsum))
    pick <- matrix(1L, n, size)
    for (a in seq_len(ncol(weight) - 1)) pick <- pick + (u > upto[, a])
    # rounding of the last sum must not pick a component of weight 0
    pmin(pick, max.col(weight > 0, "last"))
  }
  of <- function(m, pick) matrix(m[cbind(rep(seq_len(n), size), as.vector(pick))], n)
  switch(family_of(law),
    normal = each(stats::rnorm, f("mean"), f("sd")),
    laplace = each(rlaplace, as.vector(f("location")), as.vector(f("scale"))),
    poisson = each(stats::rpois, f("rate")),
    mixture_normal = {
      pick <- component(f("weight"))
      matrix(stats::rnorm(n * size, of(f("location"), pick), of(f("scale"), pick)), n)
    },
    mixture_laplace = {
      pick <- component(f("weight"))
      matrix(rlaplace(n * size, of(f("location"), pick), of(f("scale"), pick)), n)
    },
    mvnormal_diagonal = {
      noise <- array(stats::rnorm(n * size * d), c(n, size, d))
      value <- lapply(seq_len(d), function(k) f("mean")[, k] + sqrt(f("var")[, k]) * noise[, , k])
      array(unlist(value, use.names = FALSE), c(n, size, d))
    },
    mvnormal = draw_mvnormal(f("mean"), roots, matrix(1L, n, size), d),
    mixture_mvnormal = draw_mvnormal(f("mean"), roots, component(f("weight")), d),
    draws = {
      s <- ncol(f("draws")) / d
      pick <- matrix(sample.int(s, n * size, replace = TRUE), n)
      if (d == 1) return(of(f("draws"), pick))
      axes <- lapply(seq_len(d), function(k) of(f("draws"), (pick - 1) * d + k))
      simplify2array(axes)
    }
  )
}

draw_mvnormal <- function(mean, roots, pick, d) {
  n <- nrow(pick)
  size <- ncol(pick)
  noise <- array(stats::rnorm(n * size * d), c(n, size, d))
  rows <- rep(seq_len(n), size)
  out <- array(0, c(n, size, d))
  for (k in seq_len(d)) {
    value <- mean[cbind(rows, (as.vector(pick) - 1) * d + k)]
    for (l in seq_len(d)) {
      root <- roots[cbind(rows, (as.vector(pick) - 1) * d * d + (l - 1) * d + k)]
      value <- value + root * as.vector(noise[, , l])
    }
    out[, , k] <- value
  }
  out
}

# One new outcome per observation from its prediction.
redraw_outcomes <- function(laws) {
  if (is.null(laws$law)) {
    laws$y <- matrix(as.numeric(draw_classes(laws$probs)))
  } else {
    laws$y <- matrix(draw_law(laws$law, 1, laws$roots %||% law_roots(laws$law)), laws$n)
  }
  laws
}

draw_classes <- function(probs) {
  u <- stats::runif(nrow(probs))
  pick <- rep(1L, nrow(probs))
  upto <- 0
  for (k in seq_len(ncol(probs) - 1)) {
    upto <- upto + probs[, k]
    pick <- pick + (u >= upto)
  }
  pmin(pick, max.col(probs > 0, "last"))
}

default_target_kernel <- function(laws) {
  if (is.null(laws$law) || family_of(laws$law) == "poisson") kernel_white() else kernel_gaussian("median")
}
