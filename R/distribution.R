#' Predictive distributions
#'
#' Vectors whose elements are distributions: what a probabilistic model predicts for each observation. They can be
#' columns of data frames, subset and combined, and go wherever [skce()], [ucme()] and [ce_test()] take predictions.
#' Vectors of the package distributional, `rvar`s and draws matrices of the package posterior are accepted there too
#' and converted by `as_distribution()`.
#'
#' @section Definition:
#' \describe{
#'   \item{`pred_normal(mean, sd)`}{Normal; `sd = 0` is the point mass.}
#'   \item{`pred_mvnormal(mean, cov)`}{Multivariate normal, `mean` an n x d matrix; `cov` a vector of n variances
#'     (isotropic), an n x d matrix of variances (independent coordinates), a d x d matrix (the same for all) or a d
#'     x d x n array. A symmetric matrix is a covariance where n = d.}
#'   \item{`pred_laplace(location, scale)`}{Density \eqn{\exp(-|y - location|/scale) / (2\,scale)}.}
#'   \item{`pred_poisson(rate)`, `pred_bernoulli(prob)`}{Counts and 0/1 outcomes.}
#'   \item{`pred_categorical(probs)`}{An n x K matrix of class probabilities.}
#'   \item{`pred_mixture(..., weights)`}{The mixture, observation by observation, of vectors of the same family and
#'     length (an ensemble has equal weights, the default). `weights` is a vector with a weight per component or a
#'     matrix n x components.}
#'   \item{`pred_draws(draws)`}{Draws from any law: an n x S matrix, or an n x S x d array for outcomes in d
#'     dimensions. Expectations are means over the draws.}
#' }
#'
#' @section Errors:
#' Negative or missing scales, covariances that are not positive semidefinite, weights off the simplex, draws with
#' missing values, fewer than two draws and parameters of different lengths are errors of class
#' `calibrisk_error_distribution`.
#'
#' @param mean,sd,cov,location,scale,rate,prob,probs Parameters, one per observation (recycled from length 1).
#' @param ... Vectors of predictive distributions, one per component.
#' @param weights Component weights.
#' @param draws Draws of each prediction.
#' @param x An object to convert.
#' @return A vector of class `ce_distribution`.
#' @name pred
#' @examples
#' p <- pred_normal(mean = c(0, 1, 2), sd = 1)
#' p[2:3]
#' pred_mixture(pred_normal(0, 1), pred_normal(3, 0.5), weights = c(0.3, 0.7))
NULL

# A record: `fields` are vectors or matrices with one row per observation; `family` says what
# they mean, `dimension` is d, `components` the number of mixture components.
new_distribution <- function(fields, family, dimension = 1L, components = NULL) {
  fields <- lapply(fields, function(f) {
    storage.mode(f) <- "double"
    if (is.matrix(f)) dimnames(f) <- NULL else names(f) <- NULL
    f
  })
  vctrs::new_rcrd(fields, family = family, dimension = as.integer(dimension),
                  components = components, class = "ce_distribution")
}

is_distribution <- function(x) inherits(x, "ce_distribution")
family_of <- function(x) attr(x, "family")
dimension_of <- function(x) attr(x, "dimension")
par_of <- function(x, name) {
  value <- vctrs::field(x, name)
  if (is.matrix(value)) value else matrix(value)
}

stop_distribution <- function(rule, fact, hint = NULL, call = caller_env(), .envir = parent.frame()) {
  stop_input(c(rule, "x" = fact, "i" = hint), "distribution", call = call, .envir = .envir)
}

check_parameter <- function(x, arg, lower = -Inf, upper = Inf, call = caller_env()) {
  if (is.data.frame(x)) x <- as.matrix(x)
  if (!is.numeric(x) || length(x) == 0) {
    stop_distribution("{.arg {arg}} must be numeric, with at least one value.",
                      "It is {.val {describe(x)}}.", call = call)
  }
  bad <- which(!is.finite(x) | x < lower | x > upper)
  if (length(bad) > 0) {
    stop_distribution("{.arg {arg}} must be finite{range_text(lower, upper, FALSE)}.",
                      "Value {bad[1]} is {.val {x[bad[1]]}}; {length(bad)} of {length(x)} are not.",
                      call = call)
  }
  x
}

recycle_parameters <- function(..., call = caller_env()) {
  values <- list(...)
  sizes <- vapply(values, vctrs::vec_size, 1L)
  n <- max(sizes)
  if (any(sizes != n & sizes != 1L)) {
    stop_distribution("Parameters must have the same length, or length 1.",
                      "{.arg {names(values)}} have {sizes} observations.", call = call)
  }
  lapply(values, vctrs::vec_recycle, n)
}

#' @rdname pred
#' @export
pred_normal <- function(mean, sd) {
  mean <- check_parameter(mean, "mean")
  sd <- check_parameter(sd, "sd", lower = 0)
  new_distribution(recycle_parameters(mean = as.vector(mean), sd = as.vector(sd)), "normal")
}

#' @rdname pred
#' @export
pred_laplace <- function(location, scale) {
  location <- check_parameter(location, "location")
  scale <- check_parameter(scale, "scale", lower = 0)
  new_distribution(recycle_parameters(location = as.vector(location), scale = as.vector(scale)),
                   "laplace")
}

#' @rdname pred
#' @export
pred_poisson <- function(rate) {
  new_distribution(list(rate = as.vector(check_parameter(rate, "rate", lower = 0))), "poisson")
}

#' @rdname pred
#' @export
pred_bernoulli <- function(prob) {
  new_distribution(list(prob = as.vector(check_parameter(prob, "prob", 0, 1))), "bernoulli")
}

#' @rdname pred
#' @export
pred_categorical <- function(probs) {
  probs <- check_parameter(probs, "probs", lower = 0)
  if (!is.matrix(probs) || ncol(probs) < 2) {
    stop_distribution("{.arg probs} must be a matrix with a column per class, at least two.",
                      "It is {.val {describe(probs)}}.")
  }
  new_distribution(list(probs = check_simplex(probs, seq_len(nrow(probs)), current_env())),
                   "categorical")
}

#' @rdname pred
#' @export
pred_mvnormal <- function(mean, cov) {
  mean <- check_parameter(mean, "mean")
  if (!is.matrix(mean)) {
    stop_distribution("{.arg mean} must be a matrix, one row per observation.",
                      "It is {.val {describe(mean)}}.",
                      "For one dimension use {.fn pred_normal}.")
  }
  n <- nrow(mean)
  d <- ncol(mean)
  cov <- check_parameter(cov, "cov")
  if (is.null(dim(cov)) || identical(dim(cov), c(n, d)) && !(n == d && isSymmetric(unname(cov)))) {
    # variances: of all coordinates, or one for each
    cov <- check_parameter(cov, "cov", lower = 0)
    if (is.null(dim(cov))) {
      if (!length(cov) %in% c(1L, n)) {
        stop_distribution("{.arg cov} must have one variance per observation.",
                          "It has {length(cov)}, {.arg mean} has {n} rows.")
      }
      cov <- matrix(cov, n, d)
    }
    return(new_distribution(list(mean = mean, var = cov), "mvnormal_diagonal", d))
  }
  size <- dim(cov)
  if (!(length(size) %in% 2:3 && all(size[1:2] == d) && (length(size) == 2 || size[3] %in% c(1, n)))) {
    stop_distribution("{.arg cov} must be {d} x {d} (or {d} x {d} x {n}), as {.arg mean} has {d} columns.",
                      "It is {paste(size, collapse = ' x ')}.")
  }
  packed <- matrix(cov, nrow = d * d)
  packed <- t(packed[, rep_len(seq_len(ncol(packed)), n), drop = FALSE])
  check_covariances(packed, d)
  new_distribution(list(mean = mean, cov = packed), "mvnormal", d)
}

check_covariances <- function(packed, d, call = caller_env()) {
  swapped <- as.vector(t(matrix(seq_len(d * d), d)))
  largest <- apply(abs(packed), 1, max)
  bad <- which(apply(abs(packed - packed[, swapped, drop = FALSE]), 1, max) > 1e-8 * largest)
  if (length(bad) > 0) {
    stop_distribution("Covariances must be symmetric.",
                      "That of observation {bad[1]} is not; {length(bad)} of {nrow(packed)} are not.",
                      call = call)
  }
  for (i in which(!duplicated(packed))) {
    values <- eigen(matrix(packed[i, ], d), symmetric = TRUE, only.values = TRUE)$values
    if (values[d] < -1e-8 * max(largest[i], .Machine$double.xmin)) {
      stop_distribution("Covariances must be positive semidefinite.",
                        "That of observation {i} has the eigenvalue {.val {signif(values[d], 3)}}.",
                        call = call)
    }
  }
}

#' @rdname pred
#' @export
pred_draws <- function(draws) {
  size <- dim(draws)
  if (!is.numeric(draws) || !length(size) %in% 2:3) {
    stop_distribution("{.arg draws} must be a numeric matrix (observations x draws) or an array \\
                       (observations x draws x dimensions).",
                      "It is {.val {describe(draws)}}.")
  }
  draws <- check_parameter(draws, "draws")
  if (size[2] < 2) {
    stop_distribution("There must be at least two draws of every prediction.",
                      "There {?is/are} {size[2]}.")
  }
  d <- if (length(size) == 3) size[3] else 1L
  if (d > 1) draws <- aperm(draws, c(1, 3, 2))
  new_distribution(list(draws = matrix(draws, size[1])), "draws", d)
}

#' @export
format.ce_distribution <- function(x, digits = 3, ...) {
  number <- function(v) trimws(format(signif(v, digits)))
  rows <- function(v) apply(matrix(number(v), nrow(v)), 1, paste, collapse = ", ")
  f <- function(name) vctrs::field(x, name)
  if (length(x) == 0) return(character())
  switch(family_of(x),
    normal = paste0("N(", number(f("mean")), ", ", number(f("sd")), ")"),
    laplace = paste0("Laplace(", number(f("location")), ", ", number(f("scale")), ")"),
    poisson = paste0("Poisson(", number(f("rate")), ")"),
    bernoulli = paste0("Bernoulli(", number(f("prob")), ")"),
    categorical = paste0("Categorical(", rows(f("probs")), ")"),
    mvnormal = , mvnormal_diagonal = paste0("MVN((", rows(f("mean")), "))"),
    draws = paste0("draws[", ncol(f("draws")) / dimension_of(x), "]"),
    paste0("mixture[", rowSums(f("weight") > 0), "]")
  )
}

#' @export
vec_ptype_abbr.ce_distribution <- function(x, ...) "dist"

#' @export
vec_ptype_full.ce_distribution <- function(x, ...) paste0("ce_distribution<", family_of(x), ">")

#' @importFrom vctrs vec_ptype_abbr vec_ptype_full
NULL
