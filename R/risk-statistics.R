# Risks and their standard errors from Hajek projections r_i, whose mean is the risk R.

# The result of every form_risk(), from the core's list: NA for NaN, and the standard error.
finish_risk <- function(risk, design = NULL) {
  for (name in c("risk", "zero_risk", "projections", "zero_projections")) {
    if (anyNA(risk[[name]])) risk[[name]][is.na(risk[[name]])] <- NA_real_
  }
  risk$std.error <- risk_std_error(risk$projections, design)
  if (risk$clipped) {
    tell("i" = "A risk was negative by rounding and is set to 0.", class = "rounding")
  }
  risk[c("risk", "std.error", "projections", "zero_risk", "zero_projections", "squared",
         "n", "n_missing", "clipped")]
}

# A risk from its projections, with their influences.
risk_estimate <- function(projections, design = NULL) {
  design <- design %||% new_design(length(projections))
  if (anyNA(projections)) {
    kept <- !is.na(projections)
    projections <- projections[kept]
    design <- design_rows(design, kept)
  }
  # every row has the same partners: a mean
  if (is_plain(design)) {
    value <- if (design$n > 1) mean(projections) else NaN
    return(new_estimate(value, 2 * (projections - value), design))
  }
  partners <- partner_weight(design)
  pair_mean(projections * partners, partners, design)
}

# The risk and its standard error. Rows left out (NA) do not count; NA below three draws, where a U-statistic of pairs
# does not vary over rows.
risk_facts <- function(projections, design = NULL) {
  if (is.null(design) || is_plain(design)) {
    known <- if (anyNA(projections)) projections[!is.na(projections)] else projections
    n <- length(known)
    moments <- cpp_row_moments(known)
    if (n > 2 && all(is.finite(moments))) {
      return(list(value = moments[1], std.error = 2 * sqrt(moments[2] / (n * (n - 1)))))
    }
  }
  estimate <- risk_estimate(projections, design)
  draws <- cluster_count(estimate$design) %||% draw_count(estimate$design)
  list(value = estimate$value, std.error = if (draws < 3) NA_real_ else estimate_std_error(estimate))
}

risk_std_error <- function(projections, design = NULL) risk_facts(projections, design)$std.error

# Risk of a minus risk of b on the same rows, with the standard error of the difference. a and b are projections, or
# lists of them by fold (with a list of designs). A list has the mean over folds. Folds are disjoint, so their
# variances add; the overlap of their training rows is ignored.
paired_difference <- function(a, b, design = NULL) {
  folds <- if (is.list(a)) Map(`-`, a, b) else list(a - b)
  designs <- if (is.list(a)) design else list(design)
  several <- vapply(seq_along(folds), function(f) {
    rows <- folds[[f]]
    copies <- designs[[f]]$copies
    if (!is.null(copies)) return(sum(copies[!is.na(rows)]) > 1)
    length(rows) > 1 && (!anyNA(rows) || sum(!is.na(rows)) > 1)
  }, NA)
  if (!any(several)) return(list(difference = NA_real_, std.error = NA_real_))
  facts <- lapply(which(several), function(f) risk_facts(folds[[f]], designs[[f]]))
  errors <- vapply(facts, `[[`, 0, "std.error")
  list(difference = mean(vapply(facts, `[[`, 0, "value")), std.error = sqrt(sum(errors^2)) / length(facts))
}

# CE^4 >= R(0) - R(h) for every fixed h; `difference` is the paired one of the two risks.
ce_lower_bound <- function(difference, level, design = NULL) {
  if (is.na(difference$std.error)) return(NA_real_)
  z <- if (is.null(design)) qnorm(level) else design_quantile(level, design)
  max(0, difference$difference - z * difference$std.error)^(1 / 4)
}

mean_std_error <- function(x) {
  if (length(x) < 2) NA_real_ else sd(x) / sqrt(length(x))
}

# Mean of h(p_i, p_i): an estimate of the squared error. NA without rows.
mean_squared <- function(squared, form = NULL, design = NULL) {
  design <- design %||% new_design(length(squared))
  if (anyNA(squared) && isTRUE(form$na_rm)) {
    kept <- !is.na(squared)
    squared <- squared[kept]
    design <- design_rows(design, kept)
  }
  if (length(squared) == 0 || anyNA(squared)) NA_real_ else row_mean(squared, design)
}

# Missing values of a user's function are left out where it says so (a form or its risk).
kept_squared <- function(squared, form) {
  if (isTRUE(form$na_rm)) squared[!is.na(squared)] else squared
}
