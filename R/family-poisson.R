#' @rdname pred
#' @export
pred_poisson <- function(rate) {
  make_distribution(family_poisson, list(rate = rate))
}

family_poisson <- family_record(
  "poisson", list(rate = c(0, Inf)),
  moments = function(rate) list(mean = rate, variance = rate),
  cdf = function(y, rate) stats::ppois(y, rate),
  quantile = function(u, rate) stats::qpois(u, rate),
  draw = function(n, rate) stats::rpois(n, rate),
  density = function(y, rate, log = FALSE) stats::dpois(y, rate, log),
  support = "count",
  # E|X - X'| = 2 rate exp(-2 rate) (I_0(2 rate) + I_1(2 rate)); besselI(, , TRUE) is 0 above 1e5, where two terms of
  # the asymptotic series suffice
  crps = function(y, rate) {
    below <- stats::ppois(y, rate)
    few <- pmin(rate, 1e4)
    spread <- ifelse(rate == few, few * (besselI(2 * few, 0, TRUE) + besselI(2 * few, 1, TRUE)),
                     sqrt(rate / pi) * (1 - 1 / (16 * rate) - 3 / (512 * rate^2)))
    (y - rate) * (2 * below - 1) + 2 * rate * stats::dpois(floor(y), rate) - spread
  },
  features = function(rate) matrix(sqrt(rate)),
  closed_forms = list(affinity = function(rate) exp(-0.5 * outer(sqrt(rate), sqrt(rate), `-`)^2)),
  label = "Poisson", closed = TRUE,
  window = function(law, tail) {
    rate <- vctrs::field(law, "rate")
    list(from = stats::qpois(tail, rate), to = stats::qpois(tail, rate, lower.tail = FALSE))
  },
  reads = list(poisson = function(par) pred_poisson(par$l))
)
