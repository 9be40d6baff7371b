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
#   numbers, weights         what limits need of the rungs, a column each, and their weights in the estimate
#   upper                    function(tail): the upper limits of the error and of the root Brier score that are missed
#                            with this probability; high and upper_bound are those of (1 - level) / 2

# `facts`: of the squared residuals; `df`: of the rows or clusters. The last three are those of a state's cells: see
# cpp_nested_ladder().
run_ladder <- function(problem, bases, level, facts = square_facts(problem), df = cpp_design_df(problem$design),
                       scatter = NA, expected_copies = numeric(), expected_scale = 1) {
  design <- problem$design
  out <- cpp_nested_ladder(problem$features, problem$residuals, design, bases, facts, df, level, scatter,
                           expected_copies, expected_scale, thread_count())
  out$upper <- nested_upper(out$numbers, out$columns, facts, df)
  out$value <- new_estimate(out$square %||% NA_real_, if (!is.null(out$square)) out$influence, design, power = 2,
                            noise = out$noise)
  out
}

# The function is kept with results. `numbers`: of the rungs; `columns`: of the finest basis.
nested_upper <- function(numbers, columns, facts, df) {
  force(list(numbers, columns, facts, df))
  function(tail) cpp_nested_upper(numbers, facts, columns, df, tail)[1:2]
}

square_facts <- function(problem, ...) {
  score_facts(rowSums(problem$residuals^2), problem$design, if (ncol(problem$residuals) == 1) 1 else 2, ...)
}

# Facts about squared residuals by row: their mean, its standard error and third central moment; the effective number of
# independent rows or clusters (`size`) and of rows; `largest`: the largest possible one.
score_facts <- function(scores, design, largest, rows = 1 / weight_concentration(design)) {
  mean <- row_mean(scores, design)
  if (is_plain(design)) {
    n <- design$n
    return(list(mean = mean, error = cpp_row_std_error(scores, design), third = sum((scores - mean)^3) / n^3, size = n,
                rows = rows, largest = largest))
  }
  total <- total_weight(design)
  third <- sum(unit_powers(scores - mean, design, 3)) / total^3
  list(mean = mean, error = cpp_row_std_error(scores, design), third = third,
       size = total^2 / sum(unit_powers(rep(1, design$n), design, 2)), rows = rows, largest = largest)
}
