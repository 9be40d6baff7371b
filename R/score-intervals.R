# Quantiles and central intervals of distributions of one number.

# Quantiles at some levels, n x levels: the smallest outcome that is not exceeded with this probability.
law_quantiles <- function(law, at) {
  record <- record_of(law)
  parts <- components_of(law)
  if (family_of(law) == "draws") return(cpp_draws_quantiles(par_of(law, "draws"), at))
  one <- if (family_of(law) == "quantiles") {
    # the values themselves, which an outcome may equal
    function(u) {
      level <- max.col(same_level(par_of(law, "levels"), u), "first")
      par_of(law, "values")[cbind(seq_along(level), level)]
    }
  } else if (!is.null(record$quantile)) {
    function(u) record$quantile(law, rep(u, length(law)))
  } else if (!is.null(parts)) {
    function(u) cpp_mixture_quantile(parts, u)
  } else {
    stop_family(law, "An interval")
  }
  matrix(vapply(at, one, numeric(length(law))), length(law))
}

same_level <- function(a, b) abs(a - b) < 1e-9

# P(low <= Y <= high) under every prediction, for the central interval of a level. For S draws, the share of the S + 1
# values (draws and outcome) that are in the interval of the other S.
interval_probability <- function(law, y, low, high, level) {
  if (is_count(law)) {
    cdf <- record_of(law)$cdf
    return(cdf(law, high) - cdf(law, low - 1))
  }
  if (family_of(law) != "draws") return(family_pit(law, high)$high - family_pit(law, low)$low)
  cpp_draws_quantiles(par_of(law, "draws"), (1 - level) / 2, y)[, 1]
}
