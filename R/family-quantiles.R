#' @rdname pred
#' @export
pred_quantiles <- function(values, levels) {
  values <- check_parameter(values, "values")
  levels <- check_levels(levels)
  if (is.null(dim(values))) values <- matrix(values, 1)
  stop_if(length(dim(values)) != 2 || ncol(values) != length(levels),
          "{.arg values} must be a matrix with a column per level, {length(levels)} here.",
          "x" = "It is {describe_shape(values)}.",
          "i" = "The columns of {.arg values} are in the order of {.arg levels}, one row per prediction.",
          class = "distribution")
  order <- order(levels)
  values <- values[, order, drop = FALSE]
  levels <- levels[order]
  crossing <- which(values[, -1, drop = FALSE] < values[, -ncol(values), drop = FALSE], arr.ind = TRUE)
  if (nrow(crossing) > 0) {
    first <- crossing[order(crossing[, 1]), , drop = FALSE][1, ]
    rows <- length(unique(crossing[, 1]))
    stop_input(
      "Quantiles must not cross: the value of a higher level must not be smaller.",
      "x" = "Row {first[1]} has {.val {signif(values[first[1], first[2]], 4)}} at level {levels[first[2]]} and \\
             {.val {signif(values[first[1], first[2] + 1], 4)}} at level {levels[first[2] + 1]}; {rows} of \\
             {nrow(values)} rows {?is/are} affected.",
      class = "distribution", arg = "values", row = first[[1]]
    )
  }
  new_distribution(list(values = values, levels = matrix(levels, nrow(values), length(levels), byrow = TRUE)),
                   "quantiles")
}

check_levels <- function(levels) {
  levels <- as.vector(check_parameter(levels, "levels"))
  stop_if(length(levels) < 2 || any(levels <= 0 | levels >= 1) || anyDuplicated(levels),
          "{.arg levels} must be two or more different numbers between 0 and 1.", "x" = "They are {.val {levels}}.",
          "x" = if (any(levels > 1) && all(levels > 0 & levels < 100)) "They lie in 0 to 100, as percentages do.",
          class = "distribution")
  levels
}

# The quantile function is linear between the levels; beyond the outer ones the tails are exponential, with the density
# of the segment next to them. Equal quantiles are a point with the probability between their levels.
family_quantiles <- function() {
  by_name <- family_record(
    "quantiles", c("values", "levels"),
    moments = quantile_moments, cdf = quantile_cdf, quantile = quantile_level, draw = NULL, density = quantile_density,
    support = "real", crps = quantile_crps, features = function(values, levels) values
  )
  extend_record(
    by_name,
    pit = quantile_pit, cells = quantile_cells,
    format = function(law, number) {
      values <- vctrs::field(law, "values")
      paste0("quantiles[", ncol(values), "](", number(values[, 1]), ", ", number(values[, ncol(values)]), ")")
    }
  )
}

# Scales of the two exponential tails.
tail_scales <- function(values, levels) {
  k <- ncol(values)
  list(low = levels[, 1] * (values[, 2] - values[, 1]) / (levels[, 2] - levels[, 1]),
       high = (1 - levels[, k]) * (values[, k] - values[, k - 1]) / (levels[, k] - levels[, k - 1]))
}

# The piece of every row between two quantiles that begins at number `at`; at the tails the outermost.
quantile_pieces <- function(at, values, levels) {
  left <- cbind(seq_len(nrow(values)), pmin(pmax(at, 1), ncol(values) - 1))
  right <- cbind(left[, 1], left[, 2] + 1)
  list(value = values[left], width = values[right] - values[left], level = levels[left],
       rise = levels[right] - levels[left])
}

# P(Y <= y), or P(Y < y).
quantile_cdf <- function(y, values, levels, open = FALSE) {
  k <- ncol(values)
  tails <- tail_scales(values, levels)
  at <- rowSums(if (open) values < y else values <= y)
  piece <- quantile_pieces(at, values, levels)
  wide <- piece$width > 0
  share <- ifelse(wide, pmin(pmax((y - piece$value) / ifelse(wide, piece$width, 1), 0), 1), 0)
  value <- piece$level + share * piece$rise
  below <- at == 0
  decay <- function(gap, scale) ifelse(scale > 0, exp(-pmax(gap, 0) / ifelse(scale > 0, scale, 1)), 0)
  value[below] <- (levels[, 1] * decay(values[, 1] - y, tails$low))[below]
  above <- at == k
  value[above] <- (1 - (1 - levels[, k]) * decay(y - values[, k], tails$high))[above]
  # a left limit at the lowest quantile: the tail's, not that of a point
  value
}

quantile_level <- function(u, values, levels) {
  k <- ncol(values)
  tails <- tail_scales(values, levels)
  at <- rowSums(levels < u)
  piece <- quantile_pieces(at, values, levels)
  value <- piece$value + (u - piece$level) / piece$rise * piece$width
  below <- at == 0
  value[below] <- (values[, 1] + tails$low * log(u / levels[, 1]))[below]
  above <- at == k
  value[above] <- (values[, k] - tails$high * log((1 - u) / (1 - levels[, k])))[above]
  value
}

quantile_density <- function(y, values, levels, log = FALSE) {
  k <- ncol(values)
  tails <- tail_scales(values, levels)
  at <- rowSums(values <= y)
  piece <- quantile_pieces(at, values, levels)
  low <- base::log(levels[, 1] / tails$low) - (values[, 1] - y) / tails$low
  high <- base::log((1 - levels[, k]) / tails$high) - (y - values[, k]) / tails$high
  value <- ifelse(at == 0, low, ifelse(at == k, high, base::log(piece$rise / piece$width)))
  if (log) value else exp(value)
}

# Mixtures of uniform distributions and two exponential ones.
quantile_moments <- function(values, levels) {
  k <- ncol(values)
  tails <- tail_scales(values, levels)
  weight <- levels[, -1, drop = FALSE] - levels[, -k, drop = FALSE]
  middle <- (values[, -1, drop = FALSE] + values[, -k, drop = FALSE]) / 2
  width <- values[, -1, drop = FALSE] - values[, -k, drop = FALSE]
  ends <- cbind(values[, 1] - tails$low, values[, k] + tails$high)
  share <- cbind(levels[, 1], 1 - levels[, k])
  mean <- rowSums(weight * middle) + rowSums(share * ends)
  variance <- rowSums(weight * ((middle - mean)^2 + width^2 / 12)) +
    rowSums(share * ((ends - mean)^2 + cbind(tails$low, tails$high)^2))
  list(mean = mean, variance = variance)
}

# int (F - 1{x >= y})^2 dx piece by piece: F is linear between quantiles, exponential outside.
quantile_crps <- function(y, values, levels) {
  k <- ncol(values)
  tails <- tail_scales(values, levels)
  y <- rep_len(y, nrow(values))
  total <- lower_tail_crps(y, values[, 1], levels[, 1], tails$low) +
    lower_tail_crps(-y, -values[, k], 1 - levels[, k], tails$high)
  for (j in seq_len(k - 1)) {
    a <- levels[, j]
    b <- levels[, j + 1]
    width <- values[, j + 1] - values[, j]
    share <- ifelse(width > 0, pmin(pmax((y - values[, j]) / ifelse(width > 0, width, 1), 0), 1), 0)
    cut <- a + share * (b - a)
    square <- function(p, q) (p^2 + p * q + q^2) / 3
    total <- total + width * (share * square(a, cut) + (1 - share) * square(1 - cut, 1 - b))
  }
  total
}

# Up to the lowest quantile q: F = level exp((x - q) / scale).
lower_tail_crps <- function(y, q, level, scale) {
  gap <- pmax(q - y, 0)
  at <- ifelse(scale > 0, exp(-gap / ifelse(scale > 0, scale, 1)), as.numeric(gap == 0))
  below <- level^2 * scale / 2 * at^2
  # int_y^q (1 - F)^2
  above <- gap - 2 * level * scale * (1 - at) + level^2 * scale / 2 * (1 - at^2)
  below + above
}

# Equal quantiles are jumps. Between two levels that all rows have, only the number of outcomes is known.
quantile_pit <- function(law, y) {
  parts <- parameters_of(law)
  values <- parts$values
  levels <- common_levels(parts$levels)
  high <- quantile_cdf(y, values, parts$levels)
  tied <- values[, -1, drop = FALSE] == values[, -ncol(values), drop = FALSE]
  if (!any(tied)) return(new_pit(high, high, levels = levels))
  jumps <- function(rows) {
    at <- which(tied[rows, , drop = FALSE], arr.ind = TRUE)
    row <- at[, 1]
    value <- values[rows, -1, drop = FALSE][at]
    order <- order(row, value)
    row <- row[order]
    value <- value[order]
    once <- !duplicated(cbind(row, value))
    row <- row[once]
    value <- value[once]
    here <- lapply(parts, function(m) m[rows, , drop = FALSE][row, , drop = FALSE])
    jump_table(tabulate(row, length(rows)), quantile_cdf(value, here$values, here$levels, open = TRUE),
               quantile_cdf(value, here$values, here$levels))
  }
  new_pit(quantile_cdf(y, values, parts$levels, open = TRUE), high, jumps, levels = levels)
}

# Between its levels a forecast says nothing; equal quantiles are one cell with the levels among them, at the ends also
# with the tail.
quantile_cells <- function(law) {
  function(rows) {
    values <- par_of(law, "values")[rows, , drop = FALSE]
    levels <- par_of(law, "levels")[rows, , drop = FALSE]
    tied <- values[, -1, drop = FALSE] == values[, -ncol(values), drop = FALSE]
    kept <- t(cbind(!(cbind(TRUE, tied) & cbind(tied, TRUE)), TRUE))
    high <- t(cbind(levels, 1))[kept]
    count <- colSums(kept)
    low <- c(0, high[-length(high)])
    low[cumsum(count) - count + 1] <- 0
    jump_table(count, low, high)
  }
}

# The levels that all rows have; NULL if there are none.
common_levels <- function(levels) {
  first <- levels[1, ]
  if (all(levels == rep(first, each = nrow(levels)))) return(first)
  rows <- unique(levels)
  common <- Reduce(intersect, lapply(seq_len(nrow(rows)), function(i) rows[i, ]))
  if (length(common) > 0) common
}
