# The width of a criterion's interval at n rows, from the nodes of an assumption. `facts`: prevalence, auroc, oe_ratio,
# threshold, level.

# Riley et al. 2021, equation by equation; z = normal quantile.
power_widths <- list(
  # interval on the log scale, se^2 = (1 - phi) / (n phi)
  oe_ratio = function(n, nodes, facts) {
    2 * facts$oe_ratio * sinh(facts$z * sqrt((1 - facts$prevalence) / (n * facts$prevalence)))
  },
  # of the logistic regression on the linear predictor, by its information
  slope = function(n, nodes, facts) {
    weight <- nodes$eta * (1 - nodes$eta)
    own <- node_mean(nodes, weight)
    cross <- node_mean(nodes, weight * nodes$logit)
    square <- node_mean(nodes, weight * nodes$logit^2)
    determinant <- own * square - cross^2
    if (determinant <= 1e-12 * own * square) return(Inf)
    2 * facts$z * sqrt(own / (n * determinant))
  },
  # Newcombe's (2006) variance
  auroc = function(n, nodes, facts) {
    c <- facts$auroc
    phi <- facts$prevalence
    half <- n / 2 - 1
    variance <- c * (1 - c) * (1 + half * (1 - c) / (2 - c) + half * c / (1 + c)) / (n^2 * phi * (1 - phi))
    2 * facts$z * sqrt(variance)
  },
  # the mean of 1{p >= c} (y - c) / (1 - c)
  net_benefit = function(n, nodes, facts) {
    above <- share_above(nodes, facts$threshold)
    odds <- facts$threshold / (1 - facts$threshold)
    right <- node_mean(nodes, above * nodes$eta)
    wrong <- node_mean(nodes, above * (1 - nodes$eta))
    2 * facts$z * sqrt((right + odds^2 * wrong - (right - odds * wrong)^2) / n)
  },
  # Riley's standardised net benefit is that over the prevalence; both are estimated (Marsh, Janes and Pepe 2020)
  standardized_net_benefit = function(n, nodes, facts) {
    phi <- node_mean(nodes, nodes$eta)
    above <- share_above(nodes, facts$threshold)
    sensitivity <- node_mean(nodes, above * nodes$eta) / phi
    specificity <- 1 - node_mean(nodes, above * (1 - nodes$eta)) / (1 - phi)
    w <- (1 - phi) / phi * facts$threshold / (1 - facts$threshold)
    variance <- sensitivity * (1 - sensitivity) / phi + w^2 * specificity * (1 - specificity) / (1 - phi) +
      w^2 * (1 - specificity)^2 / (phi * (1 - phi))
    2 * facts$z * sqrt(variance / n)
  },
  calibration_error = function(n, nodes, facts) ladder_expected(n, nodes, facts)[["calibration_error"]]
)

# For the published criteria that of as many independent rows.
expected_width <- function(name, n, nodes, facts) {
  if (name != "calibration_error") n <- n / design_effect(facts$clusters)
  power_widths[[name]](n, nodes, facts)
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
