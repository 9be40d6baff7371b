# Standard errors from Hajek projections r_i, whose mean is the risk R.

# What every form_risk() returns, from the core's list: NA for NaN, and the standard error.
finish_risk <- function(risk) {
  for (name in c("risk", "zero_risk", "projections", "zero_projections")) {
    risk[[name]][is.na(risk[[name]])] <- NA_real_
  }
  risk$std.error <- risk_std_error(risk$projections)
  if (risk$clipped) {
    note(c("i" = "A risk was negative by rounding and is set to 0."), "rounding")
  }
  risk[c("risk", "std.error", "projections", "zero_risk", "zero_projections", "squared",
         "n", "n_missing", "clipped")]
}

# se^2 = 4 / (m (m - 1)) sum_i (r_i - R)^2. Rows left out (NA) do not count; NA below
# three rows, where a U-statistic of pairs does not vary over rows.
risk_std_error <- function(projections) {
  projections <- projections[!is.na(projections)]
  m <- length(projections)
  if (m < 3) return(NA_real_)
  sqrt(4 / (m * (m - 1)) * sum((projections - mean(projections))^2))
}

# Risk of a minus risk of b on the same rows, with the standard error of the difference. a and b are
# projections, or lists of them by fold: then the mean over folds, whose variances add because they
# are disjoint (the overlap of their training rows is left out).
paired_difference <- function(a, b) {
  folds <- if (is.list(a)) Map(`-`, a, b) else list(a - b)
  folds <- lapply(folds, function(rows) rows[!is.na(rows)])
  folds <- folds[lengths(folds) > 1]
  if (length(folds) == 0) return(list(difference = NA_real_, std.error = NA_real_))
  list(
    difference = mean(vapply(folds, mean, 0)),
    std.error = sqrt(sum(vapply(folds, risk_std_error, 0)^2)) / length(folds)
  )
}

# CE^4 >= R(0) - R(h) for every fixed h; `difference` is the paired one of the two risks.
ce_lower_bound <- function(difference, level) {
  if (is.na(difference$std.error)) return(NA_real_)
  max(0, difference$difference - qnorm(level) * difference$std.error)^(1 / 4)
}

mean_std_error <- function(x) {
  if (length(x) < 2) NA_real_ else sd(x) / sqrt(length(x))
}
