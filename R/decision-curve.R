# The decision curve of calibration: net benefit and what of it miscalibration loses, at all thresholds at once. A row
# with the prediction p is treated at the threshold c if p >= c, and then contributes (y - c) / (1 - c). Rows whose two
# predictions (the model's and the recalibrated one) lie between the same thresholds have the same decisions. They are
# counted in cells, so the cost does not grow with rows times thresholds.

# A cell: the numbers of thresholds that its rows' predictions reach, `own` and `better`, their outcome y, and the sums
# of weights (1), of their squares and of rows. In the order of the clusters.
decision_cells <- function(own, better, y, design, n_thresholds) {
  key <- (own * (n_thresholds + 1) + better) * 2 + y
  if (!is.null(design$cluster)) key <- key + (design$cluster - 1) * 2 * (n_thresholds + 1)^2
  order <- order(key)
  sorted <- key[order]
  first <- which(c(TRUE, sorted[-1] != sorted[-length(sorted)]))
  size <- diff(c(first, length(key) + 1L))
  at <- order[first]
  total <- function(v) if (length(v) == 0) as.numeric(size) else as.vector(rowsum(v[order], rep(seq_along(size), size)))
  list(own = own[at], better = better[at], y = y[at], cluster = design$cluster[at],
       rows = total(design$copies), w = total(design$w), w2 = total(if (!is.null(design$w)) copy_powers(design, 2)))
}

decision_quantities <- c("net_benefit", "recalibrated", "loss")

# Contribution of the rows of these cells at every threshold, cells x thresholds.
cell_influence <- function(cells, thresholds, quantity, at = seq_along(cells$y)) {
  index <- seq_along(thresholds)
  acts <- function(reached) outer(reached[at], index, ">=")
  on <- switch(quantity, net_benefit = acts(cells$own), recalibrated = acts(cells$better),
               loss = acts(cells$better) - acts(cells$own))
  on * outer(cells$y[at], thresholds, "-") / rep(1 - thresholds, each = length(at))
}

# Blocks of cells whose tables stay small; a cluster is in one block.
cell_blocks <- function(cells, n_thresholds, size = max(1, floor(4e6 / n_thresholds))) {
  block <- ceiling(seq_along(cells$y) / size)
  if (!is.null(cells$cluster)) block <- block[match(cells$cluster, cells$cluster)]
  split(seq_along(block), block)
}

# Value and covariance matrix at the thresholds: those of row_mean() and row_covariance() of all rows.
threshold_moments <- function(cells, thresholds, quantity, design) {
  blocks <- cell_blocks(cells, length(thresholds))
  total <- sum(cells$w)
  value <- Reduce(`+`, lapply(blocks, function(at) {
    colSums(cells$w[at] * cell_influence(cells, thresholds, quantity, at))
  })) / total
  draws <- cluster_count(design) %||% copy_count(design)
  if (draws < 2) return(list(value = value, covariance = matrix(NA_real_, length(value), length(value))))
  covariance <- Reduce(`+`, lapply(blocks, function(at) {
    centred <- cell_influence(cells, thresholds, quantity, at) - rep(value, each = length(at))
    if (is.null(cells$cluster)) return(crossprod(sqrt(cells$w2[at]) * centred))
    crossprod(rowsum(cells$w[at] * centred, cells$cluster[at], reorder = FALSE))
  }))
  list(value = value, covariance = draws / (draws - 1) * covariance / total^2)
}

# The least variance of the outcomes of decisions that change: that of outcomes which happen as often as the threshold
# says, c / (1 - c) a row. If few decisions change, all of their outcomes may be the more likely one and look as if they
# did not vary.
changed_noise <- function(cells, thresholds, weight = cells$w2 / sum(cells$w)^2) {
  of <- function(reached) acting_weight(reached, weight, length(thresholds))
  # reached by the larger, not by the smaller of the two
  pmax(of(pmax(cells$own, cells$better)) - of(pmin(cells$own, cells$better)), 0)
}

# Sums of the weights that reach the thresholds 1 to n, from how many each reaches.
acting_weight <- function(reached, weight, n) {
  at <- rowsum(c(weight[reached > 0], numeric(n)), c(reached[reached > 0], seq_len(n)), reorder = TRUE)
  rev(cumsum(rev(as.vector(at))))
}

# The curve of one problem (features p, labels y, design): a list of the table `curve`, one row per threshold, and the
# row `summary`. `better`: the recalibrated probabilities.
decision_curve <- function(problem, better, settings) {
  thresholds <- settings$thresholds
  p <- problem$features[, 1]
  y <- as.numeric(problem$labels)
  design <- problem$design
  changes <- changed_cells(p, better, y, design, thresholds)
  tables <- lapply(setNames(nm = decision_quantities), function(quantity) {
    changed_limits(p, better, y, design, quantity, settings, changes)
  })
  value <- function(quantity) tables[[quantity]]$estimate
  limits <- function(quantity) tables[[quantity]][-1]
  own <- limits("net_benefit")
  names(own) <- paste0("net_benefit.", names(own))
  rate <- row_mean(y, design)
  curve <- columns_frame(
    threshold = thresholds, net_benefit = value("net_benefit"),
    treat_all = (rate - thresholds) / (1 - thresholds), loss = value("loss"), !!!limits("loss"),
    recalibrated = value("recalibrated"), changed = as.integer(changes$changed), !!!own
  )
  # treat all and treat none as the second predictions: the model is better than both
  behind <- with_seed_kept(1, lapply(c(1, 0), function(all) {
    changed_limits(p, rep(all, length(p)), y, design, "loss", settings)$band.high < 0
  }))
  curve$useful <- (behind[[1]] & behind[[2]]) %in% TRUE
  list(curve = curve, summary = decision_summary(curve, p, better, y, design, settings$level))
}

# The change from the first to the second of two predictions of the same rows. A list of the cells, the number of rows
# whose decision changes at every threshold, and the least variance of the change.
changed_cells <- function(p, better, y, design, thresholds) {
  cells <- decision_cells(reached(p, thresholds), reached(better, thresholds), y, design, length(thresholds))
  list(cells = cells, changed = changed_noise(cells, thresholds, cells$rows),
       noise = changed_noise(cells, thresholds) * thresholds / (1 - thresholds))
}

# A quantity at all thresholds: estimate, standard error, limits at one and at all of them.
changed_limits <- function(p, better, y, design, quantity, settings,
                           changes = changed_cells(p, better, y, design, settings$thresholds)) {
  thresholds <- settings$thresholds
  moments <- threshold_moments(changes$cells, thresholds, quantity, design)
  least <- if (quantity == "loss") ifelse(changes$changed > 0, changes$noise, 0) else 0 * changes$noise
  estimates <- lapply(seq_along(thresholds), function(k) {
    new_estimate(moments$value[k], function() decision_rows(p, better, y, thresholds[k], quantity), design,
                 noise = least[k], smallest = -Inf, variance = moments$covariance[k, k])
  })
  one <- summarise_estimates(estimates, settings$level)
  factor <- band_factor(moments$covariance, one$std.error, design, settings)
  if (quantity == "net_benefit") {
    return(benefit_columns(moments$value, changes$cells, one$std.error, design, settings, factor))
  }
  reach <- factor * one$std.error
  list(estimate = one$.estimate, std.error = one$std.error, conf.low = one$conf.low, conf.high = one$conf.high,
       band.low = one$.estimate - reach, band.high = one$.estimate + reach)
}

# For the net benefit, from the weights of the rows that act with and without an event.
benefit_columns <- function(value, cells, std_error, design, settings, factor) {
  thresholds <- settings$thresholds
  acting <- function(y) acting_weight(cells$own, cells$w * (cells$y == y), length(thresholds)) / sum(cells$w)
  true <- acting(1)
  false <- acting(0)
  limits <- function(z) net_benefit_limits(value, true, false, thresholds, std_error, design, z)
  one <- limits(design_quantile((1 + settings$level) / 2, design))
  band <- limits(factor)
  list(estimate = value, std.error = ifelse(std_error > 0, std_error, NA), conf.low = one$low,
       conf.high = one$high, band.low = band$low, band.high = band$high)
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

# Contribution of every row at one threshold: each is a cell.
decision_rows <- function(p, better, y, threshold, quantity) {
  of <- function(v) if (!is.null(v)) reached(v, threshold)
  cell_influence(list(own = of(p), better = of(better), y = y), threshold, quantity)[, 1]
}

# How many thresholds are at most p, except for rounding: 0.3 reaches 3 * 0.1, and 2/3 the threshold 2/3 with 12 digits.
reached <- function(p, thresholds) findInterval(p + 1e-12, thresholds)

# The area under the loss, 2 int (1 - c) loss(c) dc, is the difference of mean squared errors, row by row.
decision_summary <- function(curve, p, better, y, design, level) {
  area <- mean_estimate((p - y)^2 - (better - y)^2, design, smallest = -Inf)
  columns <- summarise_estimates(list(area), level)
  top <- which.max(curve$loss)
  columns_frame(
    n = entered_rows(design), event_rate = row_mean(y, design), area = columns$.estimate, std.error = columns$std.error,
    conf.low = columns$conf.low, conf.high = columns$conf.high, worst = curve$threshold[top],
    loss = curve$loss[top], bought = mean(curve$band.low > 0), useful = mean(curve$useful)
  )
}

# By how many standard errors a band is wide that holds all thresholds at once. Rows (clusters) times independent
# standard normal multipliers have, given the data, exactly the normal distribution with the covariance matrix of the
# influences: it is drawn from at once.
band_factor <- function(covariance, std_error, design, settings) {
  pointwise <- design_quantile((1 + settings$level) / 2, design)
  known <- which(is.finite(std_error) & std_error > 0 & diag(covariance) > 0)
  if (length(known) == 0 || is.na(pointwise)) return(pointwise)
  spectrum <- eigen(covariance[known, known, drop = FALSE] / outer(std_error[known], std_error[known]),
                    symmetric = TRUE)
  # the symmetric root, which does not jump where eigenvalues are equal; what is 0 except for rounding is 0
  scale <- sqrt(ifelse(spectrum$values > 1e-12 * spectrum$values[1], spectrum$values, 0))
  root <- spectrum$vectors %*% (scale * t(spectrum$vectors))
  times <- settings$times
  largest <- cpp_column_maxima(abs(root %*% matrix(stats::rnorm(length(known) * times), length(known))))
  df <- design_df(design)
  if (is.finite(df)) largest <- largest * sqrt(df / stats::rchisq(times, df))
  max(pointwise, sort(largest)[min(ceiling((times + 1) * settings$level), times)])
}
