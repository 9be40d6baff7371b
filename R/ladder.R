# The headline: the calibration error from leave-one-out projections on a ladder of bases (rungs).
# Each rung gives an estimate of the squared error that its basis sees, psi; it may be negative. It is
# unbiased for any variances of the outcomes, since a row's own outcome is left out of its gap. No folds,
# no random numbers. One rung: inst/include/calibrisk/ladder/rung.h; its limits: src/limits.cpp.
#
# A ladder is a list:
#   estimate, std.error      on the root scale; the error is NA below twice its noise
#   low, high, lower_bound   limits of the root
#   p.value, statistic       of the rung that decides it
#   upper_bound              upper limit of the root Brier score
#   resolution               number of knots of the finest basis
#   value                    the squared estimate with its influence rows (R/influence.R)
#   rungs, weights           the rungs, and their weights in the estimate
#   upper                    function(tail): the upper limits of the error and of the root Brier score that are missed
#                            with this probability; high and upper_bound are those of (1 - level) / 2

# The weights and clusters of a problem, as the core reads them.
core_ladder <- function(problem, bases, moments) {
  design <- problem$design
  cpp_ladder(problem$features, problem$residuals, design$w %||% numeric(), design$copies %||% numeric(),
             design$cluster %||% integer(), bases, moments, thread_count())
}

run_ladder <- function(problem, bases, level) {
  design <- problem$design
  facts <- score_facts(rowSums(problem$residuals^2), design, if (ncol(problem$residuals) == 1) 1 else 2)
  rungs <- predicted_noise(core_ladder(problem, bases, TRUE), facts, function() {
    problem$residuals <- predicted_residuals(problem$features)
    problem$design$cluster <- NULL
    core_ladder(problem, bases, TRUE)
  })
  out <- finish_ladder(rungs, design, facts, level, design_df(design))
  out$value <- if (length(out$rungs) == 0) {
    new_estimate(NA_real_, NULL, design, power = 2)
  } else {
    stacked_estimate(out$rungs, out$weights, out$square, design)
  }
  out
}

# From the rungs of a basis to the numbers of a ladder, without its value (src/limits.cpp). `facts`: of the squared
# residuals, see score_facts(); `df`: of the rows or clusters, see design_df().
finish_ladder <- function(rungs, design, facts, level, df) {
  # knots per coordinate, or columns where a basis has none
  resolution <- max(vapply(rungs, function(rung) {
    knots <- max(lengths(rung$shape$own), 0)
    if (knots == 0 && rung$shape$recipe == "columns") nrow(rung$shape$weights[[1]]) else knots
  }, 0))
  columns <- max(vapply(rungs, function(rung) rung$columns / ncol(rung$gap), 0))
  rungs <- Filter(function(rung) is.finite(rung$noise) && rung$noise > 0 && df > 0, rungs)
  upper <- nested_upper(rungs, columns, facts, df)
  found <- if (length(rungs) == 0) {
    limits <- upper((1 - level) / 2)
    list(estimate = if (facts$mean == 0 && df > 0) 0 else NA_real_, std.error = NA_real_, low = 0, high = limits[1],
         lower_bound = 0, p.value = NA_real_, statistic = NA_real_, upper_bound = limits[2], weights = numeric())
  } else {
    products <- cpp_gap_products(lapply(rungs, `[[`, "gap"), design$w %||% numeric(),
                                 thread_count()) / total_weight(design)
    cpp_nested_headline(rung_numbers(rungs), products, facts, columns, df, level)
  }
  c(found, list(resolution = resolution, rungs = rungs, upper = upper))
}

# Numbers for the limits of src/limits.cpp, a column for each rung.
rung_numbers <- function(rungs) {
  matrix(vapply(rungs, function(rung) unlist(rung[c("psi", "noise", "skew", "linear", "scatter")]), numeric(5)), 5)
}

# Keeps only the numbers that a limit needs, since the function is kept with results. `columns`: of the finest basis.
nested_upper <- function(rungs, columns, facts, df) {
  force(list(columns, facts, df))
  numbers <- rung_numbers(rungs)
  function(tail) cpp_nested_upper(numbers, facts, columns, df, tail)[1:2]
}

# The squared estimate with its influence rows, the weights of the rungs taken as fixed. Rungs see much the same noise:
# its standard deviation is at most the sum of theirs.
stacked_estimate <- function(rungs, w, square, design) {
  scale <- if (sum(w) > 0) w / sqrt(sum(w)) else w
  noise <- sum(scale * sqrt(vapply(rungs, `[[`, 0, "noise")))^2
  new_estimate(square, weighted_halves(lapply(rungs, `[[`, "half"), scale), design, power = 2, noise = noise)
}

# Influence rows that are made where they are asked for: a sum of as many vectors as there are rungs.
weighted_halves <- function(halves, scale) {
  force(list(halves, scale))
  function() 2 * Reduce(`+`, Map(`*`, halves, scale))
}

# Number of failures below which squared residuals say little about their variance. Among 300 predictions of .999 that
# were all right nothing varies, but the accuracy may be .99 (all are right in 5% of such samples). All are right in
# three of four samples of a calibrated model. The variance of unseen failures is added.
few_failures <- 10

# Facts about squared residuals by row: their mean, its standard error and third central moment; the effective number of
# independent rows or clusters (`size`) and of rows; `largest`: the largest possible one.
score_facts <- function(scores, design, largest, rows = 1 / weight_concentration(design)) {
  mean <- row_mean(scores, design)
  if (is_plain(design)) {
    n <- design$n
    return(list(mean = mean, error = row_std_error(scores, design), third = sum((scores - mean)^3) / n^3, size = n,
                rows = rows, largest = largest))
  }
  total <- total_weight(design)
  list(mean = mean, error = row_std_error(scores, design), third = sum(unit_powers(scores - mean, design, 3)) / total^3,
       size = total^2 / sum(unit_powers(rep(1, design$n), design, 2)), rows = rows, largest = largest)
}

# A rung's variance where predictions are calibrated, from the variances that they give: what squares of residuals that
# are mostly absent understate. Rows are taken as independent here.
predicted_noise <- function(rungs, facts, rungs_of) {
  # 1 where there are no failures, counted in units of the largest square, and 0 from `few_failures` on
  lack <- max(0, 1 - facts$rows * facts$mean / facts$largest / few_failures)
  if (lack == 0) return(rungs)
  Map(function(rung, expected) {
    noise <- lack * expected$noise
    if (isTRUE(noise > rung$noise)) rung[c("noise", "skew")] <- list(noise, expected$skew)
    rung$scatter <- max(rung$scatter, lack * expected$scatter)
    rung
  }, rungs, rungs_of())
}

predicted_residuals <- function(features) {
  out <- sqrt(pmax(features * (1 - features), 0))
  replace(out, is.na(out), 0)
}
