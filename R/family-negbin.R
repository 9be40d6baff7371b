#' @rdname pred
#' @export
pred_negbin <- function(mean, size) make_distribution(family_negbin, list(mean = mean, size = size))

family_negbin <- family_record(
  "negbin", list(mean = c(0, Inf), size = c(0, Inf)),
  moments = function(mean, size) list(mean = mean, variance = mean + mean^2 / size),
  cdf = function(y, mean, size) stats::pnbinom(y, size, mu = mean),
  quantile = function(u, mean, size) stats::qnbinom(u, size, mu = mean),
  draw = function(n, mean, size) stats::rnbinom(n, size, mu = mean),
  density = function(y, mean, size, log = FALSE) stats::dnbinom(y, size, mu = mean, log = log),
  support = "count",
  crps = core_crps("negbin"),
  # root mean, and root of the variance over that of a Poisson distribution
  features = function(mean, size) cbind(sqrt(mean), sqrt(1 + mean / size)),
  window = function(law, tail) {
    p <- parameters_of(law)
    list(from = stats::qnbinom(tail, p$size, mu = p$mean),
         to = stats::qnbinom(tail, p$size, mu = p$mean, lower.tail = FALSE))
  },
  reads = list(negbin = function(par) pred_negbin(par$n * (1 - par$p) / par$p, par$n))
)
