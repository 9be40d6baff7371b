#' @rdname pred
#' @export
pred_negbin <- function(mean, size) {
  make_distribution(families$negbin, list(mean = mean, size = size), current_env())
}

family_negbin <- function() {
  record <- new_family(
    "negbin", list(mean = c(0, Inf), size = c(0, Inf)),
    moments = function(mean, size) list(mean = mean, variance = mean + mean^2 / size),
    cdf = function(y, mean, size) stats::pnbinom(y, size, mu = mean),
    quantile = function(u, mean, size) stats::qnbinom(u, size, mu = mean),
    draw = function(n, mean, size) stats::rnbinom(n, size, mu = mean),
    density = function(y, mean, size) stats::dnbinom(y, size, mu = mean),
    support = "count",
    crps = crps_negbin,
    # root mean, and root of the variance over that of a Poisson distribution
    features = function(mean, size) cbind(sqrt(mean), sqrt(1 + mean / size))
  )
  extend_record(
    record,
    window = function(law, tail) {
      p <- parameters_of(law)
      list(from = stats::qnbinom(tail, p$size, mu = p$mean),
           to = stats::qnbinom(tail, p$size, mu = p$mean, lower.tail = FALSE))
    },
    reads = list(negbin = function(par) pred_negbin(par$n * (1 - par$p) / par$p, par$n))
  )
}

# y (2 F(y) - 1) - 2 E[X; X <= y] + E X - E|X - X'| / 2, with E[X; X <= y] = mean P(X+ <= y - 1) for X+ of size + 1 and
# the same probability.
crps_negbin <- function(y, mean, size) {
  below <- stats::pnbinom(y, size, mu = mean)
  part <- mean * stats::pnbinom(y - 1, size + 1, mu = mean * (size + 1) / size)
  y * (2 * below - 1) - 2 * part + mean - negbin_spread(mean, size)
}

# E|X - X'| / 2 = mean / p 2F1(size + 1, 1/2; 2; -4 (1 - p) / p^2), by Euler's integral with t = sin^2:
# 4 / pi int_0^(pi/2) cos^2 (1 + 4 (1 - p) / p^2 sin^2)^-(size + 1)
negbin_spread <- function(mean, size) {
  z <- 4 * mean * (size + mean) / size^2
  nodes <- unit_nodes(step = 0.05)
  sum <- sum_nodes(nodes, function(at, rest, w) {
    w * cospi(at / 2)^2 * exp(-(size + 1) * log1p(z * sinpi(at / 2)^2))
  })
  mean * (size + mean) / size * 2 * sum
}
