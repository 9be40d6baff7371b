# The decision curve of calibration: net benefit and what of it miscalibration loses, at all thresholds at once
# (inst/include/calibrisk/classical/decision_curve.h).

# The curve of one problem (features p, labels y, design): a list of the table `curve`, one row per threshold, and the
# row `summary`. `better`: the recalibrated probabilities.
decision_curve <- function(problem, better, settings) {
  p <- problem$features[, 1]
  y <- as.numeric(problem$labels)
  design <- problem$design
  # treat all and treat none as further predictions: the model is better than both
  of <- decision_limits(p, cbind(better, 1, 0), y, design, settings, curve = TRUE)
  # of the net benefit, from the shares of rows that are treated with and without an event
  own <- of$sums[[1]]
  limits <- function(z) {
    net_benefit_limits(own$estimate, of$true, of$false, settings$thresholds, own$std.error, design, z)
  }
  one <- limits(design_quantile((1 + settings$level) / 2, design))
  band <- limits(own$factor)
  curve <- columns_frame(
    threshold = settings$thresholds, net_benefit = own$estimate,
    treat_all = (row_mean(y, design) - settings$thresholds) / (1 - settings$thresholds), loss = of$sums[[3]]$estimate,
    !!!of$sums[[3]][2:6], recalibrated = of$sums[[2]]$estimate,
    changed = if (is.null(design$copies)) as.integer(of$changed) else of$changed,
    net_benefit.std.error = ifelse(own$std.error > 1e-14, own$std.error, NA_real_), net_benefit.conf.low = one$low,
    net_benefit.conf.high = one$high, net_benefit.band.low = band$low, net_benefit.band.high = band$high,
    useful = (of$sums[[4]]$band.high < 0 & of$sums[[5]]$band.high < 0) %in% TRUE
  )
  # the area under the loss, 2 int (1 - c) loss(c) dc, is the difference of mean squared errors, row by row
  area <- mean_estimate((p - y)^2 - (better - y)^2, design, smallest = -Inf)
  columns <- summarise_estimates(list(area), settings$level)
  top <- which.max(curve$loss)
  list(curve = curve, summary = columns_frame(
    n = entered_rows(design), event_rate = row_mean(y, design), area = columns$.estimate, std.error = columns$std.error,
    conf.low = columns$conf.low, conf.high = columns$conf.high, worst = curve$threshold[top],
    loss = curve$loss[top], bought = mean(curve$band.low > 0), useful = mean(curve$useful)
  ))
}

# Sums over rows at all thresholds: estimate, standard error, limits at one and at all of them, and the `factor` of the
# band. They are what each of the `better` predictions (in columns) adds to those of p. With `curve` the net benefits of
# p and of the first ones precede them. With the number of rows whose decision the first ones change, and the shares of
# rows that `p` treats with and without an event.
decision_limits <- function(p, better, y, design, settings, curve = FALSE) {
  cpp_decision_curve(p, as.matrix(better), y, design, settings$thresholds, curve, settings$times, settings$level,
                     design_quantile((1 + settings$level) / 2, design), design_df(design), thread_count())
}

# Limits of the net benefit at z standard errors; `true` and `false`: the shares of treated rows with and without an
# event. If few rows are treated, or none, their outcomes may all be the same, with a variance of 0. The limits are
# therefore at least as wide as Wilson's for the two shares together.
net_benefit_limits <- function(value, true, false, thresholds, std_error, design, z) {
  odds <- thresholds / (1 - thresholds)
  n <- 1 / weight_concentration(design)
  acts <- wilson_interval(true * n, n, z = z)
  needless <- wilson_interval(false * n, n, z = z)
  apart <- zou_donner(list(true, acts$low, acts$high), lapply(list(false, needless$low, needless$high), `*`, odds))
  list(low = value - pmax(apart$below, z * std_error), high = value + pmax(apart$above, z * std_error))
}

# Whether p reaches a threshold, except for rounding: 0.3 reaches 3 * 0.1, and 2/3 the threshold 2/3 with 12 digits.
reached <- function(p, threshold) p + 1e-12 >= threshold
