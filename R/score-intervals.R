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
    function(u) quantile_by_bisection(parts, u)
  } else {
    stop_family(law, "An interval")
  }
  matrix(vapply(at, one, numeric(length(law))), length(law))
}

same_level <- function(a, b) abs(a - b) < 1e-9

# Mixtures: P(Y <= high) >= u > P(Y <= low), from the quantiles of the components.
quantile_by_bisection <- function(parts, u) {
  z <- if (parts$laplace) -sign(u - 0.5) * log(2 * min(u, 1 - u)) else stats::qnorm(u)
  each <- ifelse(parts$weight > 0, parts$location + z * parts$scale, NA)
  end <- function(of) as.vector(do.call(of, c(asplit(each, 2), na.rm = TRUE)))
  high <- end(pmax) + 1e-9 * (1 + abs(end(pmax)))
  low <- end(pmin) - 1e-9 * (1 + abs(end(pmin)))
  for (step in 1:50) {
    middle <- (low + high) / 2
    reached <- location_scale_cdf(parts, middle) >= u
    high <- ifelse(reached, middle, high)
    low <- ifelse(reached, low, middle)
  }
  # a point itself, not the number next to it
  near <- parts$scale == 0 & abs(parts$location - high) <= 1e-12 * pmax(abs(high), 1)
  point <- rowSums(near) > 0
  high[point] <- parts$location[cbind(seq_along(high), max.col(near, "first"))[point, , drop = FALSE]]
  high
}

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
  # the outcome at its place among the draws
  all <- pmax(cbind(-Inf, draws), pmin(cbind(draws, Inf), y))
  position <- rank_position(ncol(all) - 1, (1 - level) / 2)
  1 - missed_below(all, position) - missed_below(-all[, rev(seq_len(ncol(all))), drop = FALSE], position)
}

# Share of the values, sorted in each row, that are below the value at this position among the others.
missed_below <- function(sorted, position) {
  at <- floor(position)
  next_one <- sorted[, at + 1]
  gap <- (position - at) * (sorted[, at + 2] - sorted[, at])
  untied <- if (position > at) next_one < sorted[, at + 2] else rep(FALSE, nrow(sorted))
  lower <- rowSums(sorted[, seq_len(at), drop = FALSE] < next_one | untied)
  (lower + (next_one < sorted[, at] + gap)) / ncol(sorted)
}
