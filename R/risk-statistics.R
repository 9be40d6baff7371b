# Risks and their standard errors from Hajek projections r_i, whose mean is the risk R.

# What every form_risk() returns, from the core's list: NA for NaN, and the standard error.
finish_risk <- function(risk, design = NULL) {
  for (name in c("risk", "zero_risk", "projections", "zero_projections")) {
    if (anyNA(risk[[name]])) risk[[name]][is.na(risk[[name]])] <- NA_real_
  }
  risk$std.error <- risk_std_error(risk$projections, design)
  if (risk$clipped) {
    tell(c("i" = "A risk was negative by rounding and is set to 0."), "rounding")
  }
  risk[c("risk", "std.error", "projections", "zero_risk", "zero_projections", "squared",
         "n", "n_missing", "clipped")]
}

# The risk of weighted or clustered rows from that of plain ones. pair_sums(rows, root): the core's list for these
# rows (NULL: all) with residuals times the roots `root` of their weights, and h times those of both. Then
#   sum_{j != i} w_i w_j (<e_i, e_j> - h_ij)^2
# are sums of plain rows; pairs within a cluster are taken off, cluster by cluster.
#   r_i = sum_j w_j (<e_i, e_j> - h_ij)^2 / P_i,  P_i the weight of its partners;  R = sum w_i P_i r_i / sum w_i P_i
design_risk <- function(pair_sums, design) {
  if (is.null(design) || is_plain(design)) return(finish_risk(pair_sums(NULL, 1)))
  w <- design_weights(design)
  root <- sqrt(w)
  sums_of <- function(rows, n) {
    part <- pair_sums(rows, root[rows])
    part[c("projections", "zero_projections")] <- lapply(part[c("projections", "zero_projections")], `*`, n - 1)
    part
  }
  all <- sums_of(seq_len(design$n), design$n)
  if (design$n < 2) all$projections <- all$zero_projections <- rep(NA_real_, design$n)
  for (rows in if (!is.null(design$cluster)) split(seq_len(design$n), design$cluster)) {
    if (length(rows) == 1) next
    own <- sums_of(rows, length(rows))
    for (name in c("projections", "zero_projections")) all[[name]][rows] <- all[[name]][rows] - own[[name]]
  }
  partners <- partner_weight(design)
  size <- sum(w * partners)
  value <- function(sums) if (size > 0) sum(sums) / size else NA_real_
  risk <- value(all$projections)
  finish_risk(list(
    risk = max(risk, 0), projections = all$projections / (w * partners),
    zero_risk = max(value(all$zero_projections), 0), zero_projections = all$zero_projections / (w * partners),
    squared = all$squared / w, n = design$n, n_missing = all$n_missing,
    clipped = isTRUE(risk < -1e-12 * value(all$zero_projections))
  ), design)
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
  draws <- cluster_count(estimate$design) %||% estimate$design$n
  list(value = estimate$value, std.error = if (draws < 3) NA_real_ else estimate_std_error(estimate))
}

risk_std_error <- function(projections, design = NULL) risk_facts(projections, design)$std.error

# Risk of a minus risk of b on the same rows, with the standard error of the difference. a and b are
# projections, or lists of them by fold (with a list of designs): then the mean over folds, whose variances add because
# they are disjoint (the overlap of their training rows is left out).
paired_difference <- function(a, b, design = NULL) {
  folds <- if (is.list(a)) Map(`-`, a, b) else list(a - b)
  designs <- if (is.list(a)) design else list(design)
  several <- vapply(folds, function(rows) length(rows) > 1 && (!anyNA(rows) || sum(!is.na(rows)) > 1), NA)
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
