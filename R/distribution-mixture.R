# Mixtures: families "mixture_normal", "mixture_laplace" (fields weight, location, scale, each
# n x K) and "mixture_mvnormal" (weight n x K, mean n x K d, cov n x K d^2). Fewer components in
# some observations are components of weight 0.

#' @rdname pred
#' @export
pred_mixture <- function(..., weights = NULL) {
  parts <- lapply(list(...), as_distribution)
  if (length(parts) == 0) {
    stop_distribution("A mixture needs components.", "{.arg ...} is empty.")
  }
  sizes <- lengths(parts)
  n <- max(sizes, if (is.matrix(weights)) nrow(weights))
  if (any(sizes != n & sizes != 1L)) {
    stop_distribution("Components must have the same length, or length 1.", "They have {sizes}.")
  }
  parts <- lapply(parts, vctrs::vec_recycle, n)
  weight <- mixture_weights(weights, n, length(parts))
  families <- unique(vapply(parts, family_of, ""))
  dimensions <- unique(vapply(parts, dimension_of, 1L))
  if (all(families %in% c("normal", "laplace")) && length(families) == 1) {
    names <- if (families == "normal") c("mean", "sd") else c("location", "scale")
    gather <- function(name) do.call(cbind, lapply(parts, par_of, name))
    fields <- list(weight = weight, location = gather(names[1]), scale = gather(names[2]))
    return(new_distribution(fields, paste0("mixture_", families), 1L, length(parts)))
  }
  if (all(families %in% c("mvnormal", "mvnormal_diagonal")) && length(dimensions) == 1) {
    fields <- list(
      weight = weight,
      mean = do.call(cbind, lapply(parts, par_of, "mean")),
      cov = do.call(cbind, lapply(parts, full_covariance))
    )
    return(new_distribution(fields, "mixture_mvnormal", dimensions, length(parts)))
  }
  stop_distribution("Components must be of one family (normal, Laplace or multivariate normal) and dimension.",
                    "They are {.val {families}} in dimension {dimensions}.",
                    "Any other mixture can be given by its draws: {.fn pred_draws}.")
}

mixture_weights <- function(weights, n, k, call = caller_env()) {
  if (is.null(weights)) return(matrix(1 / k, n, k))
  weights <- check_parameter(weights, "weights", lower = 0, call = call)
  if (!is.matrix(weights)) weights <- matrix(weights, n, length(weights), byrow = TRUE)
  if (nrow(weights) == 1) weights <- weights[rep(1, n), , drop = FALSE]
  sums <- rowSums(weights)
  bad <- which(abs(sums - 1) > 1e-6)
  if (ncol(weights) != k || nrow(weights) != n || length(bad) > 0) {
    stop_distribution(
      "{.arg weights} must have one weight per component, summing to 1.",
      if (ncol(weights) != k || nrow(weights) != n) {
        "There are {k} components of {n} observations, and weights of {ncol(weights)} and {nrow(weights)}."
      } else {
        "Those of observation {bad[1]} sum to {.val {sums[bad[1]]}}."
      }, call = call)
  }
  weights / sums
}

# n x d^2 covariances, whatever the storage.
full_covariance <- function(law) {
  if (family_of(law) == "mvnormal") return(par_of(law, "cov"))
  d <- dimension_of(law)
  out <- matrix(0, length(law), d * d)
  out[, seq(1, d * d, by = d + 1)] <- par_of(law, "var")
  out
}

# Mixtures with different numbers of components get the larger one, with weights 0.
pad_mixture <- function(law, k) {
  have <- attr(law, "components")
  if (have == k) return(law)
  n <- length(law)
  pad <- function(name, blocks) {
    cbind(par_of(law, name), matrix(0, n, blocks * (k - have)))
  }
  d <- dimension_of(law)
  fields <- if (family_of(law) == "mixture_mvnormal") {
    list(weight = pad("weight", 1), mean = pad("mean", d), cov = pad("cov", d * d))
  } else {
    list(weight = pad("weight", 1), location = pad("location", 1), scale = pad("scale", 1))
  }
  new_distribution(fields, family_of(law), d, k)
}

check_same_family <- function(parts, call = caller_env()) {
  kind <- function(p) if (is_distribution(p)) family_of(p) else class(p)[1]
  some <- lengths(parts) > 0 | !vapply(parts, is_distribution, NA)
  families <- unique(vapply(parts[some], kind, ""))
  dimensions <- unique(unlist(lapply(parts[lengths(parts) > 0], attr, "dimension")))
  if (length(families) > 1 || length(dimensions) > 1) {
    stop_distribution("Predictions in one vector must be of one family and dimension.",
                      "They are {.val {families}} in dimension {dimensions}.",
                      "Draws of each make them one family: {.fn pred_draws}.", call = call)
  }
}

#' @export
c.ce_distribution <- function(...) {
  parts <- Filter(Negate(is.null), list(...))
  check_same_family(parts)
  components <- lapply(parts, attr, "components")
  if (all(lengths(components) == 1)) {
    parts <- lapply(parts, pad_mixture, max(unlist(components)))
  }
  vctrs::vec_c(!!!parts)
}
