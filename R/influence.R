# An estimate is a value with what its error is made of:
#   value      on the scale on which it is a mean over rows, for instance the mean p-th power of gaps
#   influence  numeric n, value - truth ~ weighted mean of (influence - its mean); or a function of no arguments that
#              returns it; NULL where there is none
#   squares    sum of (influence - mean)^2, where it is known without the rows; or
#   variance   of the value, where that is known without the rows for their weights and clusters too
#   honest     an estimate whose expectation is a lower bound of the value (R/crossfit.R); NULL
#   noise      variance of the value under calibration, where the influence vanishes
#   known      variance of the value if outcomes are drawn from the predictions, of a mean of terms; NULL
#   pairs      of a mean over pairs whose interval depends on both (src/estimates.cpp): list(value, influence: without
#              the pairs of a row with itself, NULL for that of the estimate; trace: sum of w_i^2 h_ii / W1^2; known and
#              known_trace: expectations of noise and trace under calibration, the observed ones if there is no
#              formula); NULL
#   power      what is reported is value^(1 / power)
#   smallest, largest  the smallest and largest value there can be: intervals end there
#   lower      the lower limit as a function of the level, of an estimate with a test that it inverts; NULL
#   size       how many rows the value is of, where those are not all; NULL
#   few_events their effective number, of a mean of losses of few: its limits are those of its logarithm; NULL
#   lone       what the upper limit adds: squares of rows that debiased bins cannot use
#   df         degrees of freedom of its error, where they are fewer than those of the design; NULL
#   design     weights and clusters of the rows (R/design.R)
# Sums, multiples and differences of estimates are estimates: whoever computes one leaves its standard error and its
# interval to summarise_estimate().

new_estimate <- function(value, influence, design, power = 1, honest = NULL, noise = 0, squares = NULL,
                         smallest = 0, variance = NULL, pairs = NULL, lower = NULL, size = NULL, known = NULL,
                         largest = Inf, few_events = NULL, df = NULL, lone = 0) {
  # a class would make every look at a field take ten times as long
  list(value = value, influence = influence, squares = squares, honest = honest, noise = noise, power = power,
       design = design, smallest = smallest, variance = variance, pairs = pairs, lower = lower, size = size,
       known = known, largest = largest, few_events = few_events, df = df, lone = lone)
}

# Dependence within clusters, and on weights, is not known: of such rows the larger one of known and estimated variance.
null_known <- function(known, estimated, design) {
  if (is_unweighted(design)) known else max(known, estimated)
}

influence_rows <- function(estimate) {
  if (is.function(estimate$influence)) estimate$influence() else estimate$influence
}

# sum_k scale_k estimate_k, of the same rows and on the same scale.
combine_estimates <- function(estimates, scale = rep(1, length(estimates))) {
  first <- estimates[[1]]
  if (length(estimates) == 1 && scale == 1) return(first)
  influence <- cpp_scaled_sum(lapply(estimates, influence_rows), scale)
  honest <- lapply(estimates, `[[`, "honest")
  known <- lapply(estimates, `[[`, "known")
  largest <- vapply(estimates, `[[`, 0, "largest")
  new_estimate(
    sum(scale * vapply(estimates, `[[`, 0, "value")), influence, first$design, first$power,
    if (all(scale >= 0) && all(lengths(honest) > 0)) combine_estimates(honest, scale), combined_noise(estimates, scale),
    smallest = if (all(scale >= 0)) sum(scale * vapply(estimates, `[[`, 0, "smallest")) else -Inf,
    # residuals of classes are negatively correlated: with slopes of any sign, at most twice the sum of their variances
    known = if (all(scale >= 0) && all(lengths(known) > 0)) 2 * sum(scale^2 * unlist(known)),
    # the residuals of a row's classes have sizes that sum to 2 at most
    largest = if (all(scale >= 0)) min(sum(scale * largest), 2 * max(scale * largest)) else Inf,
    pairs = if (all(scale >= 0)) combine_pairs(estimates, scale),
    lone = sum(pmax(scale, 0) * vapply(estimates, `[[`, 0, "lone"))
  )
}

# The mean over the classes; of one problem its estimate.
class_mean <- function(estimates) combine_estimates(estimates, rep(1 / length(estimates), length(estimates)))

# The eigenvalues of a sum are those of its parts.
combine_pairs <- function(estimates, scale) {
  pairs <- lapply(estimates, `[[`, "pairs")
  # a part without residuals has no noise, and adds nothing
  kept <- !vapply(pairs, is.null, NA)
  if (!any(kept) || any(vapply(estimates[!kept], `[[`, 0, "value") != 0)) return(NULL)
  total <- function(name) Reduce(`+`, Map(`*`, lapply(pairs[kept], `[[`, name), scale[kept]))
  noise <- function(one) replace(one, "noise", list(one$pairs$known))
  list(value = total("value"), influence = total("influence"), trace = total("trace"),
       known = combined_noise(lapply(estimates[kept], noise), scale[kept]), known_trace = total("known_trace"))
}

# Means over pairs of the same rows share their noise as they share their influence: models that are nearly one differ
# by next to nothing.
combined_noise <- function(estimates, scale) {
  roots <- scale * sqrt(vapply(estimates, `[[`, 0, "noise"))
  paired <- !any(vapply(estimates, function(one) is.null(one$pairs) || is.null(one$influence), NA))
  if (!paired) return(sum(roots^2))
  design <- estimates[[1]]$design
  covariance <- cpp_row_covariance(vapply(estimates, influence_rows, numeric(design$n)), design)
  spread <- sqrt(diag(covariance))
  if (!all(is.finite(spread) & spread > 0)) return(sum(roots^2))
  max(sum(pmax(covariance / outer(spread, spread), 0) * outer(roots, roots)), 0)
}

# An estimate that is the mean of these rows.
mean_estimate <- function(rows, design, ...) {
  if (!is_many(rows) || !is_plain(design)) return(new_estimate(row_mean(rows, design), rows, design, ...))
  moments <- cpp_row_moments(rows)
  new_estimate(moments[1], rows, design, ..., squares = moments[2])
}

# Limits on the scale of the value. `draws`: bootstrap values, for the standard error. An estimated error is biased
# upwards, and that of resampled rows once more. The bias depends on the unknown gaps: it is 0 if all gaps are large and
# of one sign. Limits that subtract it can be too small, and near calibration they exclude 0. The upper limit therefore
# has no correction, and the lower one is honest.
estimate_limits <- function(estimate, level, draws = NULL) {
  limits <- cpp_estimate_limits(estimate, level, if (!is.null(draws)) sd(draws))
  if (is.null(estimate$lower)) limits else replace(limits, "low", estimate$lower(level))
}

# The columns of squared errors, which are reported as they are and may be negative; limits end at 0.
squared_columns <- function(estimates, level) {
  limits <- lapply(estimates, estimate_limits, level)
  pick <- function(name) vapply(limits, `[[`, 0, name)
  list(.estimate = vapply(estimates, `[[`, 0, "value"), std.error = pick("std.error"),
       conf.low = pmax(pick("low"), 0), conf.high = pmax(pick("high"), 0), .estimates = estimates)
}

# The columns of an estimate (or of several, one row each): built on the scale of the value, where it may be negative,
# and mapped to the root at the end.
# `draws`: bootstrap values, a row per estimate.
summarise_estimates <- function(estimates, level, draws = NULL) {
  # most are one
  one <- length(estimates) == 1
  field <- function(parts, name) if (one) parts[[1]][[name]] else vapply(parts, `[[`, 0, name)
  value <- field(estimates, "value")
  power <- field(estimates, "power")
  smallest <- field(estimates, "smallest")
  limits <- lapply(seq_along(estimates), function(j) estimate_limits(estimates[[j]], level, draws[j, ]))
  std_error <- field(limits, "std.error")
  linear <- power == 1
  root <- function(v) {
    v <- pmax.int(v, smallest)
    if (all(linear)) return(v)
    out <- pmax.int(v, 0)^(1 / power)
    out[linear] <- v[linear]
    out
  }
  estimate <- root(value)
  # 0, or what rounding leaves of it, has no tangent
  flat <- !linear & !value > 1e-13^power * std_error
  if (!all(linear)) std_error <- std_error / (power * estimate^(power - 1))
  std_error[flat] <- NA_real_
  list(.estimate = estimate, std.error = std_error, conf.low = root(field(limits, "low")),
       conf.high = root(field(limits, "high")), power = value)
}

# Scales on which an interval is symmetric: to it, back, and the derivative of the way back.
log_scale <- list(to = log, back = exp, slope = exp)
logit_scale <- list(to = stats::qlogis, back = stats::plogis, slope = stats::dlogis)
own_scale <- list(to = identity, back = identity, slope = function(v) 1)
# at most 1, as that of perfect predictions
skill_scale <- replace(own_scale, "back", list(function(v) pmin(v, 1)))

# The columns of a value with its influence, both on its own scale; `null`: the value that a test compares it with.
# Rows without variation give no standard error.
scaled_columns <- function(value, influence, design, level, scale = own_scale, null = NULL, smallest = -Inf,
                           few_events = NULL) {
  at <- scale$to(value)
  if (!is.finite(at) || !all(is.finite(influence))) return(list(.estimate = value))
  estimate <- new_estimate(at, influence / scale$slope(at), design, smallest = smallest, few_events = few_events)
  out <- summarise_estimates(list(estimate), level)
  if (!isTRUE(out$std.error > 0)) return(list(.estimate = value))
  list(.estimate = value, std.error = out$std.error * scale$slope(at), conf.low = scale$back(out$conf.low),
       conf.high = scale$back(out$conf.high),
       p.value = if (!is.null(null)) 2 * stats::pt(-abs(at - scale$to(null)) / out$std.error, cpp_design_df(design)))
}

# A mean over pairs of rows, U = sum_i w_i s_i / D with D = sum_i w_i P_i: s_i is the sum of w_j h_ij over the partners
# j of row i, P_i their weight. Biased: all rows, P = W1. Unbiased: all others, P_i = W1 - w_i. With clusters: the rows
# of other clusters, since two rows of a cluster are dependent. Its influence is 2 W1 (s_i - U P_i) / D; of a mean over
# sets of `order` rows, where the others of a set are the partner, order W1 (s_i - U P_i) / D.
pair_mean <- function(sums, partners, design, ..., order = 2) {
  w <- design_weights(design)
  size <- sum(w * partners)
  value <- sum(w * sums) / size
  new_estimate(value, order * sum(w) * (sums - value * partners) / size, design, ...)
}

# The weight of the partners of each row's copies in an unbiased mean over pairs.
partner_weight <- function(design) {
  own <- design_weights(design)
  cluster <- design$cluster
  own <- if (is.null(cluster)) own / (design$copies %||% 1) else sum_by_cluster(own, cluster)[cluster]
  total_weight(design) - own
}

# sum_{i != j} w_i w_j, in clusters of different ones.
pair_weight <- function(design) sum(design_weights(design) * partner_weight(design))
