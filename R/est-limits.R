# Limits of the squared error from one rung (psi, noise, skew, linear, scatter; see ladder.R). Where predictions are
# calibrated psi has variance `noise` and the shape of a Pearson III distribution; at a squared error x its variance is
# noise + slope x.

# Quantile of the standardised Pearson III distribution with this skewness, at the probability of the normal quantile z:
# by the logarithm of the nearer tail, since Student's quantiles of few degrees of freedom lie where pnorm() is 0 or 1.
pearson3_quantile <- function(z, skew) {
  if (skew < 1e-3) return(z)
  shape <- 4 / skew^2
  tail <- pnorm(abs(z), lower.tail = FALSE, log.p = TRUE)
  at <- ifelse(z < 0, qgamma(tail, shape, log.p = TRUE), qgamma(tail, shape, lower.tail = FALSE, log.p = TRUE))
  (at - shape) / sqrt(shape)
}

# The upper tail.
pearson3_tail <- function(x, skew, log = FALSE) {
  if (skew < 1e-3) return(pnorm(x, lower.tail = FALSE, log.p = log))
  shape <- 4 / skew^2
  pgamma(shape + x * sqrt(shape), shape, lower.tail = FALSE, log.p = log)
}

rung_slope <- function(rung) {
  scale <- 2 * sqrt(rung$noise)
  (rung$linear + rung$scatter * scale) / (max(rung$psi, 0) + scale)
}

# Two-sided at `level`: the largest x with psi >= x - z sqrt(noise + slope x).
rung_high <- function(rung, level, df = Inf) {
  z <- stats::qt((1 + level) / 2, df)
  slope <- rung_slope(rung)
  psi <- max(rung$psi, 0)
  psi + z^2 * slope / 2 + z * sqrt(rung$noise + slope * psi + z^2 * slope^2 / 4)
}

# Where variances are estimated from few independent draws (clusters, weights; see design_df()), Student's quantile
# stands instead of the normal one.

# One-sided at the probability p: 0 exactly where the p-value is at least 1 - p. At most psi, where p is so small that
# the quantile is negative.
rung_low <- function(rung, p, df = Inf) {
  z <- stats::qt(p, df)
  slope <- rung_slope(rung)
  excess <- function(x) {
    variance <- rung$noise + slope * x
    skew <- rung$skew * (rung$noise / variance)^1.5
    rung$psi - x - pearson3_quantile(z, skew) * sqrt(variance)
  }
  if (rung$psi <= 0 || excess(0) <= 0) return(0)
  if (excess(rung$psi) >= 0) return(rung$psi)
  uniroot(excess, c(0, rung$psi), tol = 1e-12 * rung$psi)$root
}

rung_statistic <- function(rung) rung$psi / sqrt(rung$noise)

rung_p_value <- function(rung, df = Inf) {
  if (!is.finite(df)) return(pearson3_tail(rung_statistic(rung), rung$skew))
  tail <- pearson3_tail(rung_statistic(rung), rung$skew, log = TRUE)
  stats::pt(qnorm(tail, lower.tail = FALSE, log.p = TRUE), df, lower.tail = FALSE)
}

# argmin_{w >= 0} sum_i v_i |e_i - sum_m w_m g_mi|^2 from psi_m = <e, g_m> and A = <g_m, g_l>: of the few
# rungs every subset is solved, the best one with weights >= 0 kept. At most 1 in sum.
stack_weights <- function(products, psi) {
  m <- length(psi)
  products <- products + diag(1e-12 + 1e-9 * diag(products), m)
  best <- list(loss = 0, weights = numeric(m))
  for (subset in seq_len(2^m - 1)) {
    on <- which(bitwAnd(subset, 2^(seq_len(m) - 1)) > 0)
    weights <- tryCatch(solve(products[on, on, drop = FALSE], psi[on]), error = function(cnd) NA)
    if (anyNA(weights) || any(weights < 0)) next
    loss <- -sum(weights * psi[on])
    if (loss < best$loss) best <- list(loss = loss, weights = replace(numeric(m), on, weights))
  }
  best$weights / max(1, sum(best$weights))
}
