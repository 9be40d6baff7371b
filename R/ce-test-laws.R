# Redrawn outcomes of predictive distributions from factors of both kernels (inst/include/calibrisk/skce/law_redraws.h):
# n r s numbers per redraw, at any n.

law_redraws <- function(problem, options) {
  outcome <- outcome_factor(problem)
  products <- redraw_products[["laws"]] / nrow(outcome$pivots)
  factor <- redraw_factor(problem, options$tolerance, products)
  statistics <- function(y, sets, progress = NULL) {
    sums <- cpp_law_sums(factor$L, outcome$expected, problem$target_kernel, outcome$pivots, outcome$triangle, y, sets,
                         thread_count(), progress)
    (sums[1, ] - sums[2, ]) / (problem$n * (problem$n - 1))
  }
  null <- with_bar("Redrawing outcomes", function(progress) {
    over_redraws(problem$laws, options$times, progress, 1e7, statistics)
  })
  list(statistic = statistics(problem$laws$y, 1), null = null, rank = ncol(factor$L), neglected = factor$neglected)
}
