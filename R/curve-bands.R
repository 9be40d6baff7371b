# Intervals and bands of calibration curves.
#   conf       for the conditional event frequency at one prediction (pointwise)
#   band       for the whole curve at once (simultaneous)
#   null       where the curve lies if the predictions are calibrated (consistency), pointwise
#   null_band  the same for the whole curve at once

band_columns <- c("conf.low", "conf.high", "band.low", "band.high", "null.low", "null.high",
                  "null_band.low", "null_band.high")
