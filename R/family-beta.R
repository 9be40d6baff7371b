#' @rdname pred
#' @export
pred_beta <- function(shape1, shape2) make_distribution(family_beta, list(shape1 = shape1, shape2 = shape2))

family_beta <- family_record(
  "beta", list(shape1 = c(0, Inf), shape2 = c(0, Inf)),
  moments = function(shape1, shape2) {
    total <- shape1 + shape2
    list(mean = shape1 / total, variance = shape1 * shape2 / (total^2 * (total + 1)))
  },
  # where mass lies closer to 0 or 1 than doubles do, the nearest double is the quantile: no accuracy to warn of
  quantile = function(u, shape1, shape2) suppressWarnings(stats::qbeta(u, shape1, shape2)),
  cdf = stats::pbeta, draw = stats::rbeta, density = stats::dbeta, support = "unit",
  crps = core_crps("beta"),
  closed_forms = list(affinity = core_affinity("beta")),
  reads = list(beta = function(par) pred_beta(par$shape1, par$shape2))
)
