#' Kernels between predictive distributions
#'
#' Kernels that compare predictions as distributions, for [skce()], [ucme()] and [ce_test()]. The plain kernels
#' ([kernel_gaussian()], [kernel_laplace()], ...) apply as well: to the probabilities of classes, else to the
#' parameters (mean and standard deviation of a normal, location and root-2 times scale of a Laplace, mean and root
#' covariance of a multivariate normal, root rate of a Poisson distribution, sorted draws over root S, the quantiles of
#' a quantile forecast, location, scale and scale / df of Student's t, \eqn{\sqrt{mean}} and
#' \eqn{\sqrt{1 + mean/size}} of a negative binomial; mean and standard deviation of other families).
#'
#' @section Definition:
#' With a distance D between distributions \eqn{\exp(-(D / bandwidth)^{power} / power)}: `power = 1` is
#' \eqn{\exp(-D / bandwidth)}, `power = 2` is \eqn{\exp(-D^2 / (2\,bandwidth^2))}. These are the kernels
#' \eqn{\exp(-\lambda D^\nu)} of Widmann et al. (2021, section 3.1), \eqn{\nu = power} and \eqn{\lambda =
#' 1 / (power\,bandwidth^{power})}, valid for \eqn{0 < \nu \le 2} where D is Hilbertian.
#' \describe{
#'   \item{`kernel_wasserstein()`}{2-Wasserstein distance. Normal: \eqn{D^2 = (\mu-\mu')^2 + (\sigma-\sigma')^2};
#'     Laplace: \eqn{(\mu-\mu')^2 + 2(\beta-\beta')^2}; multivariate normal: \eqn{|\mu-\mu'|^2 +
#'     tr(\Sigma+\Sigma'-2(\Sigma'^{1/2}\Sigma\Sigma'^{1/2})^{1/2})}; mixtures: the mixture Wasserstein distance,
#'     the cheapest coupling of the components; draws on the line: root mean squared difference of the sorted
#'     draws; other families of one number: that of 64 evenly spaced quantiles.}
#'   \item{`kernel_hellinger()`}{Hellinger distance, \eqn{D^2 = 1 - \int \sqrt{p p'}}: always a valid kernel, also
#'     for full covariances.}
#'   \item{`kernel_mmd()`}{Maximum mean discrepancy under `target_kernel`, \eqn{D^2 = E k(Z_1,Z_2) - 2 E k(Z_1,Z') +
#'     E k(Z'_1,Z'_2)}: always a valid kernel where the expectations are closed forms; the default for mixtures.}
#'   \item{`kernel_embedding()`}{\eqn{E k(Z, Z')} under `target_kernel`, the inner product of the mean embeddings:
#'     the analogue for distributions of [kernel_linear()] on probabilities, for sums with one of the others.}
#' }
#'
#' @section Invariants:
#' The Wasserstein distance is Hilbertian, and the kernel positive semidefinite, for univariate families and for
#' covariances that commute. It is not for covariances that do not commute, nor for mixtures: Widmann et al. (2021,
#' Theorem D.1) state that the mixture distance inherits the property, but there are five two-component mixtures
#' whose kernel has an eigenvalue of -0.027. Such Gram matrices are checked (on at most 500 evenly spaced
#' predictions), with a warning of class `calibrisk_warning_not_psd` that names the eigenvalue. Biased estimates may
#' then be negative; unbiased ones and their tests stay centred.
#'
#' @section Cost:
#' [kernel_mmd()] and [kernel_embedding()] keep an n x n matrix up to 10,000 predictions; above, they take the features
#' of a factor of the target kernel (its pivots are drawn with R's random numbers; what it lacks is at most a millionth
#' of the kernel's diagonal, or rank 128). [kernel_hellinger()], other powers than 1 and 2, mixture distances and full
#' covariances that do not commute always keep the matrix.
#'
#' @param bandwidth Length scale, or `"median"`: the median of the distance over all pairs of predictions.
#' @param power The exponent of the distance, at most 2; other values than 1 and 2 keep an n x n matrix.
#' @param target_kernel Kernel on outcomes; a bandwidth of `"median"` is the root mean squared distance of outcomes
#'   drawn from two of the predictions.
#' @return A kernel; see [ce_kernels].
#' @seealso [ce_kernels] for kernels on probabilities.
#' @name kernel_distributions
#' @examples
#' kernel_wasserstein("median")
#' set.seed(1)
#' p <- pred_normal(rnorm(50), 1)
#' skce(p, rnorm(50), kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1))
NULL

check_power <- function(power, call = caller_env()) {
  ok <- (rlang::is_scalar_double(power) || rlang::is_scalar_integer(power)) && isTRUE(power > 0 && power <= 2)
  if (!ok) {
    stop_input(c(
      "{.arg power} must be a number greater than 0, at most 2.",
      "x" = "It is {.val {describe(power)}}.",
      "i" = "Beyond 2 the kernel is never positive semidefinite."
    ), "argument", arg = "power", call = call)
  }
  power
}

#' @rdname kernel_distributions
#' @export
kernel_wasserstein <- function(bandwidth = "median", power = 1) {
  new_kernel("wasserstein", bandwidth = check_bandwidth(bandwidth), power = check_power(power))
}

#' @rdname kernel_distributions
#' @export
kernel_hellinger <- function(bandwidth = "median", power = 1) {
  new_kernel("hellinger", bandwidth = check_bandwidth(bandwidth), power = check_power(power))
}

#' @rdname kernel_distributions
#' @export
kernel_mmd <- function(bandwidth = "median", target_kernel = kernel_gaussian("median"), power = 2) {
  check_feature_kernel(check_kernel(target_kernel), "target_kernel")
  new_kernel("mmd", bandwidth = check_bandwidth(bandwidth), target_kernel = target_kernel,
             power = check_power(power))
}

#' @rdname kernel_distributions
#' @export
kernel_embedding <- function(target_kernel = kernel_gaussian("median")) {
  check_feature_kernel(check_kernel(target_kernel), "target_kernel")
  new_kernel("embedding", target_kernel = target_kernel)
}

bind_embedding <- function(kernel, laws, draws, threads, call) {
  if (laws$n > matrix_rows) return(bind_many_embeddings(kernel, laws, draws, threads, call))
  # no kernel on predictions may depend on the outcomes
  target <- bind_target(pooled_kernel(kernel$target_kernel, laws, call), laws, draws, threads, call)
  kernel$target_kernel <- target$kernel
  inner <- check_computable(inner_matrix(target$spec, threads), call)
  # with means over draws the diagonal takes all pairs, so that the matrix is positive semidefinite
  diag(inner) <- diag(inner) + draws_diagonal(target$spec, laws$n)
  list(spec = list(form = "matrix", values = kernel$scale * inner), kernel = kernel)
}

# E l(Z_i, Z_j'), n x n
inner_matrix <- function(spec, threads) {
  with_bar("Comparing predictions", function(progress) cpp_target_matrix(spec, TRUE, threads, progress))
}

# What the diagonal of E l(Z_i, Z_i') over all pairs of draws has more than over pairs of
# different draws; 0 for closed forms.
draws_diagonal <- function(spec, n) {
  if (spec$form == "sum") {
    parts <- lapply(spec$parts, draws_diagonal, n)
    return(spec$scale * Reduce(`+`, parts))
  }
  if (spec$form != "draws") return(numeric(n))
  if (!is.null(spec$embedding)) return(-spec$embedding$own)
  d <- ncol(spec$y)
  s <- ncol(spec$draws) / d
  vapply(seq_len(n), function(i) {
    z <- matrix(spec$draws[i, ], s, d, byrow = TRUE)
    gram <- cpp_gram(spec$kernel, z, z, 1L)
    mean(gram) - (sum(gram) - sum(diag(gram))) / (s * (s - 1))
  }, 0)
}

# A kernel and the predictions -> list(spec = source for the core, kernel = resolved).
bind_prediction <- function(kernel, laws, draws, threads, call = caller_env()) {
  if (kernel$type %in% c("sum", "product")) {
    parts <- lapply(kernel$parts, bind_prediction, laws, draws, threads, call)
    kernel$parts <- lapply(parts, `[[`, "kernel")
    specs <- lapply(parts, `[[`, "spec")
    if (same_features(specs)) {
      # one composed kernel on the same features: it can have a factor
      plain <- kernel
      plain$parts <- lapply(specs, `[[`, "kernel")
      return(list(spec = feature_spec(plain, specs[[1]]$features), kernel = kernel))
    }
    return(list(spec = list(form = kernel$type, scale = kernel$scale, parts = specs), kernel = kernel))
  }
  bound <- switch(kernel$type,
    wasserstein = bind_wasserstein(kernel, laws, threads, call),
    hellinger = bind_hellinger(kernel, laws, threads, call),
    mmd = bind_mmd(kernel, laws, draws, threads, call),
    embedding = bind_embedding(kernel, laws, draws, threads, call),
    bind_features(kernel, parameter_features(laws), threads, call)
  )
  bound
}

same_features <- function(specs) {
  all(vapply(specs, function(s) s$form == "features" && identical(s$features, specs[[1]]$features), NA))
}

feature_spec <- function(kernel, features) {
  list(form = "features", kernel = kernel, features = features)
}

bind_features <- function(kernel, features, threads, call) {
  kernel <- resolve_kernel(kernel, features, threads, call)
  list(spec = feature_spec(kernel, features), kernel = kernel)
}

# exp(-(D / b)^power / power) of a distance that is Euclidean in `features`.
bind_hilbert <- function(kernel, features, threads, call) {
  if (!kernel$power %in% 1:2) {
    return(bind_distances(kernel, as.matrix(stats::dist(features)), valid = TRUE, call))
  }
  plain <- if (kernel$power == 1) kernel_laplace(kernel$bandwidth) else kernel_gaussian(kernel$bandwidth)
  plain$scale <- kernel$scale
  plain <- resolve_kernel(plain, features, threads, call)
  kernel$bandwidth <- plain$bandwidth
  list(spec = feature_spec(plain, features), kernel = kernel)
}

# The same of a stored matrix of distances.
bind_distances <- function(kernel, distance, valid, call) {
  check_computable(distance, call)
  if (identical(kernel$bandwidth, "median")) {
    pairs <- distance[lower.tri(distance)]
    middle <- if (length(pairs) == 0) 0 else median(pairs)
    if (middle == 0) middle <- if (any(pairs > 0)) median(pairs[pairs > 0]) else 1
    kernel$bandwidth <- check_bandwidth_range(middle, call)
  }
  b <- kernel$bandwidth
  values <- kernel$scale * exp(-(distance / b)^kernel$power / kernel$power)
  if (!valid) warn_not_psd(values, kernel)
  list(spec = list(form = "matrix", values = values), kernel = kernel)
}

psd_rows <- 500L

smallest_eigenvalue <- function(gram) {
  n <- nrow(gram)
  if (n > psd_rows) {
    rows <- round(seq(1, n, length.out = psd_rows))
    gram <- gram[rows, rows]
  }
  values <- eigen(gram, symmetric = TRUE, only.values = TRUE)$values
  c(smallest = min(values), largest = max(values))
}

warn_not_psd <- function(gram, kernel) {
  values <- smallest_eigenvalue(gram)
  if (values[["smallest"]] < -1e-8 * values[["largest"]]) {
    warn_result(c(
      "The kernel {.code {format(kernel)}} is not positive semidefinite on these predictions.",
      "x" = "Its Gram matrix has the eigenvalue {.val {signif(values[['smallest']], 6)}}.",
      "i" = if (kernel$type != "function") "{.fn kernel_mmd} and {.fn kernel_hellinger} are always valid."
    ), "not_psd", eigenvalue = values[["smallest"]])
  }
}

# n x d^2 symmetric roots of n x d^2 covariances.
covariance_roots <- function(cov, d) {
  if (d == 1) return(sqrt(pmax(cov, 0)))
  t(apply(cov, 1, function(v) {
    e <- eigen(matrix(v, d), symmetric = TRUE)
    as.vector(e$vectors %*% (sqrt(pmax(e$values, 0)) * t(e$vectors)))
  }))
}
