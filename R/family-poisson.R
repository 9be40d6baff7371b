#' @rdname pred
#' @export
pred_poisson <- function(rate) make_distribution(family_poisson, list(rate = rate))

family_poisson <- family_record(
  "poisson", list(rate = c(0, Inf)),
  moments = function(rate) list(mean = rate, variance = rate),
  cdf = function(y, rate) stats::ppois(y, rate),
  quantile = function(u, rate) stats::qpois(u, rate),
  draw = function(n, rate) stats::rpois(n, rate),
  density = function(y, rate, log = FALSE) stats::dpois(y, rate, log),
  support = "count",
  crps = core_crps("poisson"),
  features = function(rate) matrix(sqrt(rate)),
  closed_forms = list(affinity = function(rate) exp(-0.5 * outer(sqrt(rate), sqrt(rate), `-`)^2)),
  label = "Poisson", closed = TRUE,
  window = function(law, tail) {
    rate <- vctrs::field(law, "rate")
    list(from = stats::qpois(tail, rate), to = stats::qpois(tail, rate, lower.tail = FALSE))
  },
  reads = list(poisson = function(par) pred_poisson(par$l))
)
