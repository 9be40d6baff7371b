# Redrawn outcomes of predictive laws from factors of both kernels
# (inst/include/calibrisk/skce/law_redraws.h): n r s numbers per redraw, at any n.

outcome_candidates <- 2048L

law_redraws <- function(problem, options, threads) {
  outcome <- outcome_factor(problem, threads)
  products <- redraw_products[["laws"]] / nrow(outcome$pivots)
  factor <- redraw_factor(problem, options$tolerance, products, threads)
  statistics <- function(y, sets, progress = NULL) {
    sums <- cpp_law_sums(factor$L, outcome$expected, problem$target_kernel, outcome$pivots, outcome$triangle, y, sets,
                         threads, progress)
    (sums[1, ] - sums[2, ]) / (problem$n * (problem$n - 1))
  }
  null <- with_bar("Redrawing outcomes", function(progress) {
    over_redraws(problem$laws, options$replicates, progress, 1e7, statistics)
  })
  list(statistic = statistics(problem$laws$y, 1), null = null, rank = ncol(factor$L), neglected = factor$neglected)
}

# Pivots of a factor of the target kernel, the factor at the pivots, and E l(t, Z_i) for every
# prediction. The pivots are outcomes drawn from predictions: the factor must not depend on what
# was observed.
outcome_factor <- function(problem, threads, rank = outcome_rank(problem$n)) {
  laws <- problem$laws
  n <- problem$n
  rows <- round(seq(1, n, length.out = min(n, outcome_candidates)))
  drawn <- redraw_outcomes(take_rows(laws, rows))$y
  kernel <- problem$target_kernel
  tolerance <- redraw_tolerance * mean(cpp_gram_diagonal(kernel, drawn))
  factor <- cpp_pivoted_cholesky(kernel, drawn, tolerance, rank, threads)
  pivots <- drawn[factor$pivots, , drop = FALSE]
  list(pivots = pivots, triangle = factor$L[factor$pivots, , drop = FALSE],
       expected = cpp_target_expectation(problem$target, target_points(problem$target, pivots), threads))
}

outcome_rank <- function(n) max(16, min(64, 2e6 %/% n))
