# Regression: is the outcome a draw from its predicted distribution? The probability integral
# transform u = F(y) is then uniform. Where F jumps at y (counts, ensembles) the outcome is spread evenly over
# the jump (Czado, Gneiting & Held 2009), without randomisation. Bands come from outcomes redrawn from the
# predictions, since the spread is not that of a binomial count.

# Weighted and clustered rows (`counts`, R/curve-design.R): n is how many they are effectively.
#' @export
curve_points.curve_pit <- function(curve, problem, values, control, counts) {
  pit <- problem$pit
  upper <- pit_edges(pit, control$n_bins)
  found <- cpp_pit_bars(pit$low, pit$high, upper, counts$v, pit_null_draws(pit, upper, control, counts),
                        isTRUE(pit$whole), control$level, copy_count(problem$design))
  curve_frame(found, upper = Inf)
}

# Upper ends of the bars, of equal width. A small ensemble has a bar for each rank of the outcome among its members.
# Forecasts that give quantiles have ends at some of their levels, since outcomes between two cannot be placed.
pit_edges <- function(pit, n_bins) {
  m <- as.integer(n_bins %||% if (!is.null(pit$members) && pit$members < 30) pit$members + 1 else 15)
  even <- seq_len(m) / m
  if (is.null(pit$levels)) return(even)
  nearest <- vapply(even[-m], function(level) which.min(abs(pit$levels - level)), 0L)
  c(if (length(pit$levels) < m) pit$levels else pit$levels[unique(nearest)], 1)
}

#' @export
curve_points.curve_quantile <- function(curve, problem, values, control, counts) {
  pit <- problem$pit
  levels <- pit$levels %||% seq(0, 1, length.out = 101L)
  inner <- setdiff(levels, 0)
  upper <- c(inner, if (inner[length(inner)] < 1) 1)
  draws <- pit_null_draws(pit, upper, control, counts)
  curve_frame(cpp_quantile_curve(pit$low, pit$high, levels, upper, counts$v, draws, isTRUE(pit$whole),
                                 length(pit$levels) %in% 1:10, control$level))
}

# Means over the rows of F(level | Y) for outcomes drawn from the predictions, [levels x times]. Many rows are
# represented by evenly spaced ones: the spread of a mean is known from 20,000 as well. Weighted rows stand at evenly
# spaced sums of their weights. No columns where no distribution jumps, or what is between two levels is not known.
pit_null_draws <- function(pit, levels, control, counts = NULL, most = 20000) {
  if (is.null(pit$jumps) || isTRUE(pit$whole)) return(matrix(0, 0, 0))
  n <- if (is.null(counts$copies)) length(pit$low) else sum(counts$copies)
  most <- max(1000, min(most, 2e7 / (pit$members %||% 1)))
  if (is.null(counts)) {
    rows <- if (n <= most) seq_len(n) else round(seq(1, n, length.out = most))
  } else {
    places <- (seq_len(min(n, most)) - 0.5) / min(n, most)
    rows <- pmin(findInterval(places, cumsum(counts$v) / sum(counts$v)) + 1, n)
    n <- sum(counts$v)
  }
  seed <- draw_seed()
  total <- matrix(0, length(levels), control$times)
  # tables of jumps are held for some rows at a time
  for (at in split(seq_along(rows), (seq_along(rows) - 1) %/% 2000)) {
    table <- pit$jumps(rows[at])
    # draws of a row that is taken several times are different ones
    first <- if (is.null(counts$copies)) rows[at[1]] else at[1]
    total <- total + cpp_pit_draws(table$start, table$low, table$high, levels, control$times, seed, first,
                                   thread_count())
  }
  levels + (total / length(rows) - levels) * sqrt(length(rows) / n)
}
