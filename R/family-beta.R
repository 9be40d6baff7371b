#' @rdname pred
#' @export
pred_beta <- function(shape1, shape2) {
  make_distribution(families$beta, list(shape1 = shape1, shape2 = shape2), current_env())
}

family_beta <- function() {
  record <- new_family(
    "beta", list(shape1 = c(0, Inf), shape2 = c(0, Inf)),
    moments = function(shape1, shape2) {
      total <- shape1 + shape2
      list(mean = shape1 / total, variance = shape1 * shape2 / (total^2 * (total + 1)))
    },
    # where mass lies closer to 0 or 1 than doubles do, the nearest double is the quantile: no accuracy to warn of
    quantile = function(u, shape1, shape2) suppressWarnings(stats::qbeta(u, shape1, shape2)),
    cdf = stats::pbeta, draw = stats::rbeta, density = stats::dbeta, support = "unit",
    crps = function(y, shape1, shape2) {
      ratio <- exp(lbeta(2 * shape1, 2 * shape2) - 2 * lbeta(shape1, shape2))
      y * (2 * stats::pbeta(y, shape1, shape2) - 1) +
        shape1 / (shape1 + shape2) * (1 - 2 * stats::pbeta(y, shape1 + 1, shape2) - 2 * ratio / shape1)
    },
    closed_forms = list(affinity = beta_affinity)
  )
  extend_record(record, reads = list(beta = function(par) pred_beta(par$shape1, par$shape2)))
}

beta_affinity <- function(shape1, shape2) {
  half <- lbeta(shape1, shape2) / 2
  mean <- function(v) outer(v, v, `+`) / 2
  exp(lbeta(mean(shape1), mean(shape2)) - outer(half, half, `+`))
}
