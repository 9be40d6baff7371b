#' Kernels between predictive distributions
#'
#' Kernels that compare predictions as distributions, for [skce()] and [ce_test()]. The plain kernels
#' ([kernel_gaussian()], [kernel_laplace()], ...) also apply: to the probabilities of classes, otherwise to the
#' parameters. These are the mean and standard deviation of a normal, the location and root-2 times the scale of a
#' Laplace, and the mean and root covariance of a multivariate normal distribution. A Poisson distribution has its root
#' rate, Student's t location, scale and scale / df, a negative binomial \eqn{\sqrt{mean}} and \eqn{\sqrt{1 +
#' mean/size}}. Draws are sorted and divided by root S, and quantile forecasts have their quantiles. Other families have
#' mean and standard deviation.
#'
#' @section Definition:
#' With a distance D between distributions \eqn{\exp(-(D / bandwidth)^{power} / power)}: `power = 1` is
#' \eqn{\exp(-D / bandwidth)}, `power = 2` is \eqn{\exp(-D^2 / (2\,bandwidth^2))}. These are the kernels
#' \eqn{\exp(-\lambda D^\nu)} of Widmann et al. (2021, section 3.1), \eqn{\nu = power} and \eqn{\lambda =
#' 1 / (power\,bandwidth^{power})}, valid for \eqn{0 < \nu \le 2} where D is Hilbertian.
#' \describe{
#'   \item{`kernel_wasserstein()`}{2-Wasserstein distance. Normal: \eqn{D^2 = (\mu-\mu')^2 + (\sigma-\sigma')^2};
#'     Laplace: \eqn{(\mu-\mu')^2 + 2(\beta-\beta')^2}; multivariate normal: \eqn{|\mu-\mu'|^2 +
#'     tr(\Sigma+\Sigma'-2(\Sigma'^{1/2}\Sigma\Sigma'^{1/2})^{1/2})}; mixtures: the mixture Wasserstein distance, the
#'     cheapest coupling of the components. Draws on the line: root mean squared difference of the sorted draws; other
#'     families of one number: that of 64 evenly spaced quantiles.}
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
#' covariances that commute. It is not for covariances that do not commute, nor for mixtures. Widmann et al. (2021,
#' Theorem D.1) state that the mixture distance inherits the property, but there are five two-component mixtures whose
#' kernel has an eigenvalue of -0.027. Such Gram matrices are checked (on at most 500 evenly spaced predictions), with a
#' warning of class `calibrisk_warning_not_psd` that names the eigenvalue. Biased estimates may then be negative;
#' unbiased ones and their tests stay centred.
#'
#' @section Cost:
#' [kernel_mmd()] and [kernel_embedding()] keep an n x n matrix up to 10,000 predictions. Above, they use the features
#' of a factor of the target kernel, whose pivots are drawn with R's random numbers. Its error is at most a millionth of
#' the kernel's diagonal, or it has rank 128. [kernel_hellinger()], other powers than 1 and 2, mixture distances and
#' full covariances that do not commute always keep the matrix.
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

#' @rdname kernel_distributions
#' @export
kernel_hellinger <- function(bandwidth = "median", power = 1) {
  new_kernel("hellinger", bandwidth = check_bandwidth(bandwidth), power = check_share(power, upper = 2))
}

#' @rdname kernel_distributions
#' @export
kernel_embedding <- function(target_kernel = kernel_gaussian("median")) {
  check_feature_kernel(check_kernel(target_kernel), "target_kernel")
  new_kernel("embedding", target_kernel = target_kernel)
}

bind_embedding <- function(kernel, laws, draws) {
  target <- bind_pooled(kernel$target_kernel, laws, draws)
  kernel$target_kernel <- target$kernel
  if (laws$n > matrix_rows) {
    plain <- kernel_linear()
    plain$scale <- kernel$scale
    return(list(spec = feature_spec(plain, embedding_features(target, laws)), kernel = kernel))
  }
  inner <- check_computable(inner_matrix(target$spec))
  # with means over draws the diagonal takes all pairs, so that the matrix is positive semidefinite
  diag(inner) <- diag(inner) + draws_diagonal(target$spec, laws$n)
  list(spec = list(kind = "matrix", values = kernel$scale * inner), kernel = kernel)
}

# E l(Z_i, Z_j'), n x n
inner_matrix <- function(spec) {
  with_bar("Comparing predictions", function(progress) cpp_target_matrix(spec, TRUE, thread_count(), progress))
}

# Excess of the diagonal of E l(Z_i, Z_i') over all pairs of draws over that of different draws; 0 for closed forms.
draws_diagonal <- function(spec, n) {
  if (spec$kind == "sum") {
    parts <- lapply(spec$parts, draws_diagonal, n)
    return(spec$scale * Reduce(`+`, parts))
  }
  if (spec$kind != "draws") return(numeric(n))
  if (!is.null(spec$embedding)) return(-spec$embedding$own)
  cpp_draws_diagonal(spec$kernel, spec$draws, ncol(spec$y))
}

# A kernel and the predictions -> list(spec = source for the core, kernel = resolved).
bind_prediction <- function(kernel, laws, draws) {
  if (kernel$type %in% c("sum", "product")) {
    parts <- lapply(kernel$parts, bind_prediction, laws, draws)
    kernel$parts <- lapply(parts, `[[`, "kernel")
    specs <- lapply(parts, `[[`, "spec")
    if (all(vapply(specs, function(s) s$kind == "features" && identical(s$features, specs[[1]]$features), NA))) {
      # one composed kernel on the same features: it can have a factor
      plain <- kernel
      plain$parts <- lapply(specs, `[[`, "kernel")
      return(list(spec = feature_spec(plain, specs[[1]]$features), kernel = kernel))
    }
    return(list(spec = list(kind = kernel$type, scale = kernel$scale, parts = specs), kernel = kernel))
  }
  switch(kernel$type,
    wasserstein = bind_wasserstein(kernel, laws),
    hellinger = bind_hellinger(kernel, laws),
    mmd = bind_mmd(kernel, laws, draws),
    embedding = bind_embedding(kernel, laws, draws),
    {
      features <- parameter_features(laws)
      kernel <- resolve_kernel(kernel, features, laws$design$copies)
      list(spec = feature_spec(kernel, features), kernel = kernel)
    }
  )
}

feature_spec <- function(kernel, features) {
  list(kind = "features", kernel = kernel, features = features)
}

# exp(-(D / b)^power / power) of a distance that is Euclidean in `features`.
bind_hilbert <- function(kernel, features) {
  if (!kernel$power %in% 1:2) return(bind_distances(kernel, as.matrix(stats::dist(features)), valid = TRUE))
  plain <- if (kernel$power == 1) kernel_laplace(kernel$bandwidth) else kernel_gaussian(kernel$bandwidth)
  plain$scale <- kernel$scale
  plain <- resolve_kernel(plain, features)
  kernel$bandwidth <- plain$bandwidth
  list(spec = feature_spec(plain, features), kernel = kernel)
}

# The same of a stored matrix of distances.
bind_distances <- function(kernel, distance, valid) {
  check_computable(distance)
  if (identical(kernel$bandwidth, "median")) {
    pairs <- distance[lower.tri(distance)]
    middle <- if (length(pairs) == 0) 0 else median(pairs)
    if (middle == 0) middle <- if (any(pairs > 0)) median(pairs[pairs > 0]) else 1
    kernel$bandwidth <- check_bandwidth_range(middle)
  }
  b <- kernel$bandwidth
  values <- kernel$scale * exp(-(distance / b)^kernel$power / kernel$power)
  if (!valid) warn_not_psd(values, kernel)
  list(spec = list(kind = "matrix", values = values), kernel = kernel)
}

psd_rows <- 500L

warn_not_psd <- function(gram, kernel) {
  rows <- if (nrow(gram) > psd_rows) round(seq(1, nrow(gram), length.out = psd_rows)) else seq_len(nrow(gram))
  values <- eigen(gram[rows, rows], symmetric = TRUE, only.values = TRUE)$values
  smallest <- min(values)
  warn_if(smallest < -1e-8 * max(values),
          "The kernel {.code {format(kernel)}} is not positive semidefinite on these predictions.",
          "x" = "Its Gram matrix has the eigenvalue {.val {signif(smallest, 6)}}.",
          "i" = if (kernel$type != "function") "{.fn kernel_mmd} and {.fn kernel_hellinger} are always valid.",
          class = "not_psd", eigenvalue = smallest)
}

# Sums over pairs, or kernel values.
check_computable <- function(values) {
  stop_if(!all(is.finite(values)), "Kernels and their expectations must be numbers.",
          "x" = "Some are not: outcomes, scales of predictions and bandwidths are too far apart for double precision.",
          "i" = "Use other bandwidths or units.", class = "distribution", arg = "x")
  values
}
