power_criteria <- c("oe_ratio", "slope", "auroc", "net_benefit", "standardized_net_benefit", "calibration_error")

# The width of a criterion's interval at n rows, from the nodes of an assumption; the published criteria have that of as
# many independent rows (inst/include/calibrisk/power/criteria.h). `facts`: z, prevalence, auroc, oe_ratio, threshold,
# level.
expected_width <- function(name, n, nodes, facts) {
  if (name == "calibration_error") return(ladder_expected(n, nodes, facts)[[name]])
  cpp_criterion_width(name, n / design_effect(facts$clusters), nodes, facts)
}

# The smallest n from which on `value(n)` is at most the target (`falls`), or at least; Inf where there is none up to
# `most_rows`. Bisection: the finest basis grows with n, which moves the value by steps too small to matter.
most_rows <- 1e9

needed_rows <- function(value, target, falls = TRUE) {
  enough <- function(n) if (falls) value(n) <= target else value(n) >= target
  high <- 16
  while (!enough(high)) {
    if (high >= most_rows) return(Inf)
    high <- min(16 * high, most_rows)
  }
  low <- if (high == 16) 2 else high / 16
  while (high - low > 1) {
    middle <- floor((low + high) / 2)
    if (enough(middle)) high <- middle else low <- middle
  }
  high
}
