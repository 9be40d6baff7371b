# Risks and their standard errors from Hajek projections r_i, whose mean is the risk R.

# The result of every form_risk(), from the core's list: NA for NaN. Standard errors are those of risk_std_error().
finish_risk <- function(risk) {
  for (name in c("risk", "zero_risk", "projections", "zero_projections")) {
    if (anyNA(risk[[name]])) risk[[name]][is.na(risk[[name]])] <- NA_real_
  }
  if (risk$clipped) tell("i" = "A risk was negative by rounding and is set to 0.", class = "rounding")
  risk
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

# Risks of folds and their standard errors, from each fold's projections and design. Rows left out (NA) do not count; NA
# below three copies or clusters, where a U-statistic of pairs does not vary over rows.
risk_facts <- function(folds, designs) {
  estimates <- Map(risk_estimate, folds, designs)
  list(value = vapply(estimates, `[[`, 0, "value"), std.error = vapply(estimates, function(estimate) {
    size <- cluster_count(estimate$design) %||% copy_count(estimate$design)
    if (size < 3) NA_real_ else cpp_estimate_std_error(estimate)
  }, 0))
}

risk_std_error <- function(projections, design = NULL) risk_facts(list(projections), list(design))$std.error

# Risk of a minus risk of b on the same rows, with the standard error of the difference. a and b are projections, or
# lists of them by fold (with a list of designs). A list has the mean over folds. Folds are disjoint, so their
# variances add; the overlap of their training rows is ignored.
paired_difference <- function(a, b, design = NULL) {
  folds <- if (is.list(a)) Map(`-`, a, b) else list(a - b)
  designs <- if (is.list(a) && !is.null(design)) design else rep(list(design), length(folds))
  several <- vapply(seq_along(folds), function(f) {
    rows <- folds[[f]]
    copies <- designs[[f]]$copies
    if (!is.null(copies)) return(sum(copies[!is.na(rows)]) > 1)
    length(rows) > 1 && (!anyNA(rows) || sum(!is.na(rows)) > 1)
  }, NA)
  if (!any(several)) return(list(difference = NA_real_, std.error = NA_real_))
  facts <- risk_facts(folds[several], designs[several])
  list(difference = mean(facts$value), std.error = sqrt(sum(facts$std.error^2)) / sum(several))
}

# CE^4 >= R(0) - R(h) for every fixed h; `difference` is the paired one of the two risks.
ce_lower_bound <- function(difference, level, design = NULL) {
  if (is.na(difference$std.error)) return(NA_real_)
  z <- if (is.null(design)) qnorm(level) else design_quantile(level, design)
  max(0, difference$difference - z * difference$std.error)^(1 / 4)
}

mean_std_error <- function(x) if (length(x) < 2) NA_real_ else sd(x) / sqrt(length(x))

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
