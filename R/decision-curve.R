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
  own <- of$sums[[1]]
  curve <- columns_frame(
    threshold = settings$thresholds, net_benefit = own$estimate,
    treat_all = (row_mean(y, design) - settings$thresholds) / (1 - settings$thresholds), loss = of$sums[[3]]$estimate,
    !!!of$sums[[3]][2:6], recalibrated = of$sums[[2]]$estimate,
    changed = if (is.null(design$copies)) as.integer(of$changed) else of$changed,
    net_benefit.std.error = ifelse(own$std.error > 1e-14, own$std.error, NA_real_),
    !!!setNames(own[3:6], paste0("net_benefit.", names(own)[3:6])),
    useful = (of$sums[[4]]$band.high < 0 & of$sums[[5]]$band.high < 0) %in% TRUE
  )
  # the area under the loss, 2 int (1 - c) loss(c) dc, is the difference of mean squared errors, row by row
  rows <- (p - y)^2 - (better - y)^2
  area <- mean_estimate(rows, design, smallest = -Inf, df = paired_df(rows, y, 2, design))
  columns <- summarise_estimates(list(area), settings$level)
  top <- which.max(curve$loss)
  list(curve = curve, summary = columns_frame(
    n = entered_rows(design), event_rate = row_mean(y, design), area = columns$.estimate, std.error = columns$std.error,
    conf.low = columns$conf.low, conf.high = columns$conf.high, worst = curve$threshold[top],
    loss = curve$loss[top], bought = mean(curve$band.low > 0), useful = mean(curve$useful)
  ))
}

# Sums over rows at all thresholds: estimate, standard error, limits at one and at all of them. They are what each of
# the `better` predictions (in columns) adds to those of p. With `curve` the net benefits of p and of the first ones
# precede them; `few`: of differences that few decisions may make. With the number of rows whose decision the first ones
# change.
decision_limits <- function(p, better, y, design, settings, curve = FALSE, few = FALSE) {
  cpp_decision_curve(p, as.matrix(better), y, design, settings$thresholds, curve, rep_len(few, NCOL(better)),
                     settings$times, settings$level, design_quantile((1 + settings$level) / 2, design),
                     cpp_design_df(design), 1 / weight_concentration(design), thread_count())
}
