# Limits of distances T between predictions and a smooth curve c. T is biased upwards, by as much as the curve's noise N
# is seen beside the gaps: not at all where these are large and of one sign, wholly near calibration. Mean and maximum
# obey the triangle inequality, T(g + N) <= T(g) + T(N): the lower limit is the estimate without an upper quantile of
# T(N). That is the distance between the curve and those of outcomes simulated from it; with clusters it is that between
# the curve of a bootstrap sample and the curve of all rows. If few events leave a flat curve, that noise is too
# small, and the triangle inequality is not one of quantiles. The lower limit therefore also subtracts an upper quantile
# of the distances of outcomes drawn from the predictions: those of a calibrated model. The upper limit adds multiples
# of the samples' standard deviation, and corrects for no bias, since there may be none.

# Events, and others, below which there is no interval.
fewest_events <- 5
too_few_events <- function(problem) {
  n <- copy_count(problem$design)
  events <- sum((problem$design$copies %||% 1) * problem$labels)
  n < 20 || min(events, n - events) < fewest_events
}
few_events_text <- "none, which takes 20 rows with 5 events and 5 non-events"

# ICI, E50, E90, Emax and ECI of samples, and of noise, a column each; `null`: a function that returns those of
# calibrated outcomes.
smooth_draws <- function(problem, frequency, smoother, span, times) {
  sorted <- sort_problem(problem)
  order <- sorted$order
  w <- sorted$w %||% numeric()
  copies <- problem$design$copies[order] %||% numeric()
  cluster <- problem$design$cluster[order] %||% integer()
  of <- function(draw, ...) {
    draw(sorted$x, ..., smoother == "loess", span, times, sampled_curve(smoother, span), thread_count())
  }
  samples <- of(cpp_smooth_samples, sorted$y, w, copies, order, cluster, frequency[order])
  redrawn <- function(from) of(cpp_smooth_redraws, w, copies, order, from)
  list(samples = samples[1:5, ], noise = if (length(cluster) > 0) samples[6:10, ] else redrawn(frequency[order]),
       null = function() redrawn(sorted$x))
}

# The curve of a sample for which the core has none.
sampled_curve <- function(smoother, span) function(x, y, w, copies) {
  smooth_frequency(x, y, smoother, span, new_design(length(x), w, copies = copies))
}

# For mean, median, 90% quantile, maximum (and more). `degree`: T(t g) = t^degree T(g).
smooth_limits <- function(value, draws, level, design, degree = 1) {
  z <- design_quantile((1 + level) / 2, design)
  rows <- seq_along(value)
  std_error <- apply(draws$samples[rows, ], 1, sd, na.rm = TRUE)
  # a value that is equal in all samples has an unknown standard error
  std_error[!(std_error >= 1e-13)] <- NA
  upper <- function(distances) apply(distances[rows, ], 1, quantile, pnorm(z), names = FALSE, na.rm = TRUE)
  noise <- upper(draws$noise)
  low <- value^(1 / degree) - noise^(1 / degree)
  if (any(low > 0, na.rm = TRUE)) low <- pmin(low, value^(1 / degree) - upper(draws$null())^(1 / degree))
  low <- pmax(low, 0)^degree
  above <- z * std_error
  # a median may be too small as well: where the curve crosses the predictions noise moves it down
  above[2] <- max(above[2], noise[2])
  high <- value + above
  # mean and quantiles of distances are at most their maximum
  if (!is.na(high[4])) high[1:4] <- pmin(high[1:4], high[4])
  list(std.error = std_error, low = ifelse(is.na(std_error), NA, low), high = high)
}
