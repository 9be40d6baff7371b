#' @rdname pred
#' @export
pred_lognormal <- function(meanlog, sdlog) {
  make_distribution(families$lognormal, list(meanlog = meanlog, sdlog = sdlog), current_env())
}

family_lognormal <- function() {
  record <- new_family(
    "lognormal", list(meanlog = c(-Inf, Inf), sdlog = c(0, Inf)),
    moments = function(meanlog, sdlog) {
      mean <- exp(meanlog + sdlog^2 / 2)
      list(mean = mean, variance = mean^2 * expm1(sdlog^2))
    },
    cdf = function(y, meanlog, sdlog) stats::plnorm(y, meanlog, sdlog),
    quantile = function(u, meanlog, sdlog) stats::qlnorm(u, meanlog, sdlog),
    draw = function(n, meanlog, sdlog) stats::rlnorm(n, meanlog, sdlog),
    density = function(y, meanlog, sdlog) stats::dlnorm(y, meanlog, sdlog),
    support = "positive",
    crps = crps_lognormal,
    # the Hellinger distance does not depend on the scale of the outcomes
    closed_forms = list(affinity = function(meanlog, sdlog) normal_affinity(meanlog, sdlog))
  )
  extend_record(record, reads = list(lognormal = function(par) pred_lognormal(par$mu, par$sigma)))
}

crps_lognormal <- function(y, meanlog, sdlog) {
  z <- (log(pmax(y, 0)) - meanlog) / sdlog
  y * (2 * pnorm(z) - 1) -
    2 * exp(meanlog + sdlog^2 / 2) * (pnorm(z - sdlog) + pnorm(sdlog / sqrt(2)) - 1)
}
