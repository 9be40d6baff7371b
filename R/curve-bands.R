# Intervals and bands of calibration curves.
#   conf       for the conditional event frequency at one prediction (pointwise)
#   band       for the whole curve at once (simultaneous)
#   null       where the curve lies if the predictions are calibrated (consistency), pointwise
#   null_band  the same for the whole curve at once

band_columns <- c("conf.low", "conf.high", "band.low", "band.high", "null.low", "null.high",
                  "null_band.low", "null_band.high")

band_rounding <- 1e-12

# By how much the curve is outside of where those of calibrated models lie; negative inside.
leaves_null_band <- function(points) {
  pmax(points$observed - points$null_band.high, points$null_band.low - points$observed)
}

# One decision for both bands: the curve's own holds `target` (the diagonal) everywhere exactly if the curve stays
# within the null band. A band that is widened covers as before. A curve may leave the null band while its own band
# holds the target. Its own band then ends at the target where the curve leaves, since the null band says no more than
# on which side the frequency is.
agreeing_band <- function(points, target) {
  leaves <- leaves_null_band(points) > band_rounding
  if (!isTRUE(any(leaves))) {
    points$band.low <- pmin(points$band.low, target)
    points$band.high <- pmax(points$band.high, target)
    return(points)
  }
  if (any(off_band(points, target))) return(points)
  beside <- 10 * band_rounding
  up <- leaves & points$observed >= target
  down <- leaves & !up
  for (end in c("band.low", "conf.low")) points[[end]][up] <- pmax(points[[end]], target + beside)[up]
  for (end in c("band.high", "conf.high")) points[[end]][down] <- pmin(points[[end]], target - beside)[down]
  points
}

off_band <- function(points, target) {
  target < points$band.low - band_rounding | target > points$band.high + band_rounding
}
