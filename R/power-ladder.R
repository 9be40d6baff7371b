# The expected result of ce_estimate() for n rows, with every sum over rows replaced by its expectation (src/power.cpp):
# the width of the interval, the power of the test and, with a `delta`, that of showing that the error is below it.
ladder_expected <- function(n, nodes, facts) {
  clusters <- facts$clusters
  knots <- vapply(ladder_bases("binary", 1, n), `[[`, 0, "own")
  of_clusters <- if (is.null(clusters)) numeric() else c(clusters$others, clusters$icc, mean(clusters$sizes))
  found <- cpp_expected_ladder(nodes, n, knots, facts$level, of_clusters, facts$delta %||% NA_real_, facts$prevalence)
  c(calibration_error = found$width, test = found$power, equivalence = found$equivalence)
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
      list(binary_ladder(scalar_problem(rows$p, rows$y, design = new_design(n, cluster = rows$cluster)),
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
drawn_rows <- function(target, name, nodes, facts) {
  power_of <- function(n) ladder_expected(n, nodes, facts)[[name]]
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
