#' @rdname pred
#' @export
pred_gamma <- function(shape, rate) {
  make_distribution(family_gamma, list(shape = shape, rate = rate))
}

family_gamma <- family_record(
  "gamma", list(shape = c(0, Inf), rate = c(0, Inf)),
  moments = function(shape, rate) list(mean = shape / rate, variance = shape / rate^2),
  cdf = stats::pgamma, quantile = stats::qgamma, draw = stats::rgamma, density = stats::dgamma, support = "positive",
  crps = function(y, shape, rate) {
    # E[mean - X; X <= y] = y f(y) / rate
    inside <- ifelse(y > 0, y / rate * stats::dgamma(y, shape, rate), 0)
    (y - shape / rate) * (2 * stats::pgamma(y, shape, rate) - 1) + 2 * inside - 1 / (rate * beta(0.5, shape))
  },
  closed_forms = list(affinity = function(shape, rate) {
    a <- outer(shape, shape, `+`) / 2
    b <- outer(rate, rate, `+`) / 2
    half <- shape / 2 * log(rate) - lgamma(shape) / 2
    exp(lgamma(a) - a * log(b) + outer(half, half, `+`))
  }),
  reads = list(gamma = function(par) pred_gamma(par$shape, par$rate))
)
