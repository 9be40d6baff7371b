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

# Risk of a minus risk of b on the same rows, with the standard error of the difference;
# a and b are projections.
paired_difference <- function(a, b) {
  difference <- a - b
  kept <- difference[!is.na(difference)]
  list(
    difference = if (length(kept) > 0) mean(kept) else NA_real_,
    std.error = risk_std_error(difference)
  )
}
