# Quantiles and central intervals of distributions of one number.

# Quantiles at some levels, n x levels: the smallest outcome that is not exceeded with this probability. Draws must be
# sorted_draws().
law_quantiles <- function(law, at) {
  record <- record_of(law)
  parts <- components_of(law)
  one <- if (family_of(law) == "draws") {
    function(u) rank_quantile(par_of(law, "draws"), u)
  } else if (family_of(law) == "quantiles") {
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

sorted_draws <- function(law) {
  if (family_of(law) != "draws") return(law)
  draws <- par_of(law, "draws")
  pred_draws(matrix(draws[order(row(draws), draws)], nrow(draws), byrow = TRUE))
}

# An outcome that is exchangeable with S draws is at or below the k-th of them with probability k / (S + 1): type 6 of
# quantile(). Beyond the first and the last draw nothing is known.
rank_position <- function(size, u) {
  position <- u * (size + 1)
  if (same_level(position, round(position))) position <- round(position)
  min(max(position, 1), size)
}

rank_quantile <- function(sorted, u) {
  position <- rank_position(ncol(sorted), u)
  at <- floor(position)
  low <- sorted[, at]
  low + (position - at) * (sorted[, min(at + 1, ncol(sorted))] - low)
}

# P(low <= Y <= high) under every prediction, for the central interval of a level. For S draws, the share of the S + 1
# values (draws and outcome) that are in the interval of the other S.
interval_probability <- function(law, y, low, high, level) {
  if (is_count(law)) {
    cdf <- record_of(law)$cdf
    return(cdf(law, high) - cdf(law, low - 1))
  }
  if (family_of(law) != "draws") return(family_pit(law, high)$high - family_pit(law, low)$low)
  draws <- par_of(law, "draws")
  cpp_draws_within(draws, y, rank_position(ncol(draws), (1 - level) / 2))
}
