#' @rdname pred
#' @export
pred_gamma <- function(shape, rate) make_distribution(family_gamma, list(shape = shape, rate = rate))

family_gamma <- family_record(
  "gamma", list(shape = c(0, Inf), rate = c(0, Inf)),
  moments = function(shape, rate) list(mean = shape / rate, variance = shape / rate^2),
  cdf = stats::pgamma, quantile = stats::qgamma, draw = stats::rgamma, density = stats::dgamma, support = "positive",
  crps = core_crps("gamma"),
  closed_forms = list(affinity = core_affinity("gamma")),
  reads = list(gamma = function(par) pred_gamma(par$shape, par$rate))
)
