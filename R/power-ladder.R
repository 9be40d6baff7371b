# The expected result of ce_estimate() for n rows: the ladder with every sum over rows replaced by its expectation. Per
# rung with orthonormal hats b and the gap's projection g = b'E[b (p - eta)]:
#   psi = |E b (p - eta)|^2,  T = E[v b b'] with v = E[(p - y)^2 | p],  noise = 2 tr T^2 / n^2 (leverages: 1 / (1 - h))
#   linear = 4 Var(e g) / n,  scatter = 4 E v / n
# With clusters the pairs of rows of a cluster add R = E[b b' Cov(y, y')] times their number to T, and the same to the
# variances (R/power-clusters.R). Upper limits are then those of src/limits.cpp.

ladder_expected <- function(n, nodes, facts) {
  clusters <- facts$clusters
  df <- expected_df(n, clusters)
  # fewer than two clusters give no information
  if (df < 1) return(list(low = 0, high = Inf, width = Inf, power = 0))
  rungs <- expected_rungs(n, nodes, clusters)
  scores <- expected_scores(n, nodes, clusters)
  columns <- max(vapply(rungs, `[[`, 0, "columns"))
  rungs <- Filter(function(rung) isTRUE(rung$noise > 0), rungs)
  alpha <- 1 - facts$level
  high <- nested_upper(rungs, columns, scores, df)(alpha / 2)[1]
  # certain predictions, and right ones: no row has a residual
  if (length(rungs) == 0) return(list(low = 0, high = high, width = high, power = 0))
  if (is.null(clusters)) return(joint_expected(n, nodes, rungs, alpha, high))
  flipped_expected(n, nodes, clusters, rungs, alpha, df, high)
}

# For clusters: sum and slope of the flipped residuals at their shares of the threshold, with Student's t for the flips.
# The threshold is about 1.4 alpha. Hats and the nested bases' limits are as they are.
flipped_expected <- function(n, nodes, clusters, rungs, alpha, df, high) {
  share <- 1.4 * alpha * c(5, 4, 1) / 11
  scores <- score_columns(nodes)$scores
  gap <- nodes$p - nodes$eta
  of_rows <- colSums(nodes$share * nodes$eta * (1 - nodes$eta) * scores^2)
  error <- sqrt(pmax(of_rows + diag(cluster_covariance(nodes, scores, clusters)), 1e-12) / n)
  distance <- abs(colSums(nodes$share * gap * scores)) - stats::qt(1 - share[seq_len(ncol(scores))] / 2, df) * error
  low <- max(0, distance / sqrt(colSums(nodes$share * scores^2)),
             sqrt(cpp_nested_low(rung_numbers(rungs), df, alpha / (2 * length(rungs)))))
  hats <- vapply(utils::tail(rungs, 2), expected_rejection, 0, stats::qt(1 - share[3], df))
  list(low = min(low, high), high = high, width = max(high - low, 0), power = max(pnorm(distance / error), hats))
}

# 1, and the logit orthogonal to it under calibration; `v`: variance there.
score_columns <- function(nodes) {
  v <- nodes$p * (1 - nodes$p)
  v[v == 0] <- 1e-12
  l <- pmin(pmax(nodes$logit, -12), 12)
  sloped <- diff(range(l)) > 1e-9
  list(v = v, scores = cbind(rep(1, length(l)), if (sloped) l - node_mean(nodes, v * l) / node_mean(nodes, v)))
}

# For independent rows, from the parts of the joint test at their shares of the threshold. The threshold is about 1.4
# alpha since the parts are dependent. The scores z of intercept and slope are normal; their statistic is taken as
# |z|^2, a scaled noncentral chi-squared variable with the variance that the assumed risks give.
joint_expected <- function(n, nodes, rungs, alpha, high) {
  share <- 1.4 * alpha * c(cox = 10, total = 1.5, hats = 1) / 16
  columns <- score_columns(nodes)
  scores <- columns$scores
  unit <- sqrt(colSums(nodes$share * columns$v * scores^2))
  gap <- nodes$p - nodes$eta
  theta <- colSums(nodes$share * gap * scores)
  delta <- sqrt(n) * theta / unit
  turned <- scores / rep(unit, each = nrow(scores))
  spread <- crossprod(turned, nodes$share * nodes$eta * (1 - nodes$eta) * turned)
  scale <- max(mean(diag(spread)), 1e-12)
  critical <- stats::qchisq(1 - share[["cox"]], ncol(scores))
  hats <- utils::tail(rungs, 2)
  z <- qnorm(1 - share[["hats"]])
  power <- c(
    stats::pchisq(critical / scale, ncol(scores), sum(delta^2) / scale, lower.tail = FALSE),
    pnorm((abs(delta[1]) - qnorm(1 - share[["total"]])) / sqrt(max(spread[1, 1], 1e-12))),
    vapply(hats, expected_rejection, 0, z)
  )
  # the norm of the projection on the scores, and its standard error
  weight <- solve(crossprod(scores, nodes$share * scores))
  size <- sqrt(sum(theta * (weight %*% theta)))
  moved <- drop(turned %*% (unit * (weight %*% theta))) / max(size, 1e-12)
  error <- sqrt(node_mean(nodes, nodes$eta * (1 - nodes$eta) * moved^2) / n)
  low <- max(0, size - sqrt(critical) * error, sqrt(cpp_nested_low(rung_numbers(hats), Inf, share[["hats"]] / 2)))
  list(low = min(low, high), high = high, width = max(high - low, 0), power = max(power))
}

# As score_facts(); third moments are those of rows.
expected_scores <- function(n, nodes, clusters = NULL) {
  moment <- function(power) node_mean(nodes, nodes$eta * (1 - nodes$p)^power + (1 - nodes$eta) * nodes$p^power)
  mean <- moment(2)
  variance <- moment(4) - mean^2 + drop(cluster_covariance(nodes, 1 - 2 * nodes$p, clusters))
  third <- moment(6) - 3 * mean * moment(4) + 2 * mean^3
  list(mean = mean, error = sqrt(max(variance, 0) / n), third = third / n^2, size = n / (1 + (clusters$others %||% 0)),
       rows = n, largest = 1)
}

expected_rungs <- function(n, nodes, clusters = NULL) {
  gap <- nodes$p - nodes$eta
  second <- nodes$p^2 + (1 - 2 * nodes$p) * nodes$eta
  shared_by <- function(values) drop(cluster_covariance(nodes, values, clusters))
  lapply(ladder_bases("binary", 1, n), function(basis) {
    hats <- node_hats(nodes, basis$own, n)
    spectrum <- eigen(crossprod(sqrt(nodes$share) * hats), symmetric = TRUE)
    kept <- spectrum$values > 1e-10 * spectrum$values[1]
    whitened <- hats %*% (spectrum$vectors[, kept, drop = FALSE] / rep(sqrt(spectrum$values[kept]), each = ncol(hats)))
    projection <- colSums(nodes$share * gap * whitened)
    shared <- cluster_covariance(nodes, whitened, clusters)
    spread <- crossprod(sqrt(nodes$share * second) * whitened) + shared
    fitted <- drop(whitened %*% projection)
    psi <- sum(projection^2)
    cube <- sum((spread %*% spread) * spread)
    # rows, or clusters, are left out of their own gap; those of a cluster have different predictions
    leverage <- min((ncol(whitened) + (clusters$others %||% 0)) / n, 0.5)
    list(psi = psi, columns = ncol(whitened), noise = 2 * sum(spread^2) / (n * (1 - leverage))^2,
         skew = min(2.8, 8 * cube / (2 * sum(spread^2))^1.5),
         linear = 4 * max(node_mean(nodes, second * fitted^2) - psi^2 + shared_by(fitted), 0) / n,
         scatter = 4 * (node_mean(nodes, second) + shared_by(rep(1, length(gap)))) / n)
  })
}

# Hats on the knots that n rows are expected to have.
node_hats <- function(nodes, m, n) {
  reached <- cumsum(nodes$share)
  at <- pmin(pmax(seq(0, 1, length.out = m), 0.5 / n), 1 - 0.5 / n)
  knots <- unique(nodes$p[pmin(findInterval(at, reached, left.open = TRUE) + 1L, length(reached))])
  if (length(knots) < 2) return(matrix(1, length(nodes$p), 1))
  cell <- findInterval(nodes$p, knots, all.inside = TRUE)
  t <- pmin(pmax((nodes$p - knots[cell]) / diff(knots)[cell], 0), 1)
  out <- matrix(0, length(nodes$p), length(knots))
  rows <- seq_along(t)
  out[cbind(rows, cell)] <- 1 - t
  out[cbind(rows, cell + 1L)] <- t
  out[, colSums(nodes$share * out) > 0, drop = FALSE]
}

# The probability that a rung exceeds its critical value, at the quantile z. The distribution is Pearson III, less skew
# away from calibration.
expected_rejection <- function(rung, z) {
  1 - rung_below(rung, cpp_pearson3_quantile(z, rung$skew) * sqrt(rung$noise))
}

# The probability that the upper limit at 1 - 2 alpha is below delta: that psi of every basis is below the value at
# which its limit is delta. The finest basis has that of the coarser one and an increment, independent of it, which
# counts where it is above 0 (inst/include/calibrisk/joint/headline.h). The mean residual has a limit of its own, from
# the binomial distribution of the number of events.
equivalence_expected <- function(n, nodes, facts) {
  clusters <- facts$clusters
  df <- expected_df(n, clusters)
  if (df < 1) return(0)
  delta <- facts$delta
  tail <- 1 - facts$level
  scores <- expected_scores(n, nodes, clusters)
  rungs <- expected_rungs(n, nodes, clusters)
  of_squares <- cpp_nested_upper(rung_numbers(list()), scores, max(vapply(rungs, `[[`, 0, "columns")), df, tail)
  if (sqrt(of_squares[3]) >= delta) return(0)
  # limits are those of a psi of at least 0
  reached <- function(psi) if (psi > 0) psi else -Inf
  if (of_squares[2] < delta) return(1)
  rungs <- Filter(function(rung) isTRUE(rung$noise > 0), rungs)
  if (length(rungs) == 0) return(1)
  if (!is.null(clusters)) {
    z <- stats::qt(1 - tail, df)
    below <- function(rung) rung_below(rung, reached(delta^2 - z * sqrt(rung$noise + rung_slope(rung) * delta^2)))
    return(min(vapply(rungs, below, 0)))
  }
  v <- pmax(nodes$p * (1 - nodes$p), 1e-12)
  carriers <- n * node_mean(nodes, v^2)^2 / node_mean(nodes, v^3)
  limit <- function(rung) {
    slope <- rung_slope(rung)
    variance <- rung$noise + slope * delta^2
    skew <- min((rung$skew * rung$noise^1.5 + 1.5 * slope^2 * delta^2) / variance^1.5, 2.8)
    reached(delta^2 + cpp_pearson3_quantile(qnorm(tail), carriers / (carriers + 30) * skew) * sqrt(variance))
  }
  coarse <- rungs[[max(length(rungs) - 1, 1)]]
  fine <- rungs[[length(rungs)]]
  own <- rung_below(coarse, limit(coarse))
  at <- (seq_len(64) - 0.5) / 64 * own
  psi <- coarse$psi + rung_deviation(coarse) * cpp_pearson3_quantile(qnorm(at), rung_skew(coarse))
  more <- list(psi = fine$psi - coarse$psi, noise = max(fine$noise - coarse$noise, 1e-12 * fine$noise),
               linear = max(fine$linear - coarse$linear, 0))
  more$skew <- max(fine$skew * fine$noise^1.5 - coarse$skew * coarse$noise^1.5, 0) / more$noise^1.5
  together <- own * mean(rung_below(more, pmax(0, limit(fine) - psi)))
  # the mean residual, by the limits of the event rate
  spread <- sqrt(node_mean(nodes, nodes$eta * (1 - nodes$eta)) / n)
  within <- delta - qnorm(1 - tail) * sqrt(facts$prevalence * (1 - facts$prevalence) / n)
  gap <- node_mean(nodes, nodes$p - nodes$eta)
  max(min(together, pnorm((within - gap) / spread) - pnorm((-within - gap) / spread)), 0)
}

# At a squared error x the variance of psi is noise + slope x.
rung_slope <- function(rung) {
  scale <- 2 * sqrt(rung$noise)
  (rung$linear + rung$scatter * scale) / (max(rung$psi, 0) + scale)
}

rung_deviation <- function(rung) sqrt(rung$noise + rung$linear)

rung_skew <- function(rung) min(rung$skew * (rung$noise / (rung$noise + rung$linear))^1.5, 2.8)

# The probability that psi is below a value.
rung_below <- function(rung, value) {
  -expm1(cpp_pearson3_tail((value - rung$psi) / rung_deviation(rung), rung_skew(rung)))
}

# The same of drawn data sets: mean width and shares of rejections. `each`: outcomes that are drawn for the same
# predictions, whose redraws they share.
simulated_ladder <- function(n, nodes, facts, times, each = 1, redraws = joint_redraws) {
  drawn <- lapply(seq_len(ceiling(times / each)), function(i) {
    rows <- draw_study(nodes, n, facts$clusters, each)
    found <- if (is.null(facts$clusters)) {
      y <- matrix(as.numeric(rows$y), n)
      lapply(cpp_joint(rows$p, y, numeric(), numeric(), list(), facts$level, redraws, thread_count()),
             function(one) replace(one, "upper", list(joint_upper(one$upper))))
    } else {
      list(binary_ladder(replace(scalar_problem(rows$p, rows$y), "design", list(new_design(n, cluster = rows$cluster))),
                         facts$level))
    }
    vapply(found, function(one) {
      c(calibration_error = one$high - one$low, test = rejects_at(one$p.value, facts$level),
        equivalence = !is.null(facts$delta) && isTRUE(one$upper(1 - facts$level)[1] < facts$delta))
    }, c(calibration_error = 0, test = 0, equivalence = 0))
  })
  rowMeans(do.call(cbind, drawn))
}

# With few events the distributions that the formulas take do not hold, and power is that of drawn data sets, of which
# the number of rows decides how many there are. The same seed gives the same plan.
has_few_events <- function(n, nodes) {
  events <- node_mean(nodes, nodes$eta)
  n * min(events, 1 - events) < 500
}

drawn_power <- function(name, n, nodes, facts, share = 2) {
  times <- share * min(1000, max(400, 2e6 / n))
  each <- if (is.null(facts$clusters)) 20 else 1
  with_seed_kept(1, simulated_ladder(n, nodes, facts, times / 4^(each == 1), each, 999L))[name]
}

# The smallest n by the formula, whose power as a normal quantile is moved to that of data sets of about as many rows.
drawn_rows <- function(power_of, target, name, nodes, facts) {
  quantile <- function(power) qnorm(min(max(power, 1e-3), 1 - 1e-3))
  total <- move <- 0
  for (share in c(0.3, 0.7, 1.5, 0)) {
    n <- needed_rows(function(n) quantile(power_of(n)) + move, qnorm(target), falls = FALSE)
    if (share == 0 || !has_few_events(n, nodes)) return(n)
    own <- quantile(drawn_power(name, n, nodes, facts, share)) - quantile(power_of(n))
    total <- total + share
    move <- move + (own - move) * share / total
  }
}
