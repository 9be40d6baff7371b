# Tests that redraw outcomes from the predictions: conditional (the predictions as they are) and consistency resampling
# (predictions drawn with replacement).

# Rows up to which a sum over all pairs is affordable: beyond, what is estimated is the error under the kernel that the
# factor stands for.
pair_rows <- 10000L

#' @export
run_test.test_conditional <- function(test, problem, level) {
  n <- problem$n
  resample <- test$name == "consistency"
  what <- if (resample) "consistency resampling" else redrawn_text
  check_rows(copy_count(problem$laws$design), 2, "The test")
  exact <- if (n <= pair_rows || !has_redraw_factor(problem, resample)) {
    skce_value(problem, "unbiased", NULL, NULL)$estimate$value
  }
  value <- redrawn(problem, test, resample, exact)
  check_computable(value$statistic)
  list(
    estimate = exact %||% value$statistic, statistic = c(U = value$statistic),
    parameter = c(times = test$times),
    p.value = resampled_p(value$statistic, value$null, test$add_one, value$magnitude %||% 0),
    method = paste("Calibration test: unbiased SKCE,", what), null = value$null,
    details = list(rank = value$rank, neglected = value$neglected)
  )
}

#' @export
run_test.test_consistency <- run_test.test_conditional

# list(statistic, null, ...): of a factor of the kernel wherever there is one. `options`: a test, for its `times`
# and tolerance.
redrawn <- function(problem, options, resample, exact) {
  if (has_redraw_factor(problem, resample)) {
    if (!has_few_labels(problem, resample)) return(law_redraws(problem, options))
    if (!is.null(problem$laws$group) && !resample && has_class_factor(group_free(problem))) {
      return(redraws_by_group(problem, options))
    }
    return(class_redraws(problem, options, resample))
  }
  # kernels in matrices, or evaluated anew
  null <- if (resample || is.function(problem$asked$kernel)) {
    redraw_statistics(problem, options$times, resample)
  } else {
    redraws_of_kept(problem, options$times, exact)
  }
  list(statistic = exact, null = null)
}

# Few rows of distributions are quicker with the exact kernels in a matrix.
has_redraw_factor <- function(problem, resample) {
  if (is.function(problem$asked$kernel)) return(FALSE)
  few <- has_few_labels(problem, resample)
  if (resample) few && has_class_factor(problem) else few || problem$n > kept_rows
}

# Classes and counts: redrawn outcomes are labels.
finite_outcomes <- function(problem) problem$target$kind == "finite"

# Are redraws of labels cheap? They need the probabilities of rows drawn with replacement and, unless it is a multiple
# of the identity, the matrix of the target kernel between labels. That is cheap for classes, but not for counts with a
# heavy tail, which may have thousands of values.
has_few_labels <- function(problem, resample = FALSE) {
  if (!finite_outcomes(problem)) return(FALSE)
  white <- problem$target_kernel$type == "white"
  copies <- problem$laws$design$copies
  if (!resample) return(white || !is.null(copies) || is_label_matrix_small(problem$target, problem$n))
  n <- problem$n
  labels <- as.numeric(ncol(problem$target$probs))
  n > pair_rows || min(n, redraw_rank[2]) * labels * (n + if (white) 0 else labels) <= pair_products * n^2
}

pair_products <- 800 # in the time of a pair of a problem anew

# Statistic and redraws from a factor of the kernel.
class_redraws <- function(problem, options, resample) {
  factor <- redraw_factor(problem, options$tolerance, redraw_products[["labels"]])
  gram <- target_gram(problem)
  probs <- problem$target$probs
  labels <- as.integer(target_points(problem$target, problem$laws$y))
  copies <- problem$laws$design$copies
  statistic <- cpp_class_statistic(factor$L, probs, gram, labels, thread_count(), copies)
  null <- with_bar("Redrawing labels", function(progress) {
    cpp_class_redraws(factor$L, probs, gram, options$times, resample, thread_count(), progress, copies)
  })
  list(statistic = statistic, null = null, rank = ncol(factor$L), neglected = factor$neglected,
       magnitude = max(rowSums(factor$L^2)) * max(abs(gram)))
}

# The kernel is 0 across groups and the labels of different groups are drawn independently:
# the pairs' sum is the sum of the groups' own, each with a factor of its own.
redraws_by_group <- function(problem, options) {
  free <- group_free(problem)
  id <- problem$laws$group$id
  parts <- lapply(split(seq_along(id), id), function(rows) {
    # the kernel is resolved: its bandwidth is that of all predictions
    part <- replace(free, c("laws", "n"), list(take_rows(free$laws, rows), length(rows)))
    part$prediction <- source_rows(free$prediction, rows)
    part$target$probs <- free$target$probs[rows, , drop = FALSE]
    share <- pair_weight(part$laws$design) / pair_weight(problem$laws$design)
    if (share == 0) return(list(statistic = 0, null = 0, rank = 0, neglected = 0))
    value <- class_redraws(part, options, FALSE)
    list(statistic = share * value$statistic, null = share * value$null, rank = value$rank,
         neglected = value$neglected * part$n / problem$n)
  })
  add <- function(name) Reduce(`+`, lapply(parts, `[[`, name))
  list(statistic = add("statistic"), null = add("null"), rank = add("rank"), neglected = add("neglected"))
}

# Outcomes that are labels, and predictions that one matrix of features describes.
has_class_factor <- function(problem) finite_outcomes(problem) && problem$prediction$kind == "features"

redraw_rank <- c(32L, 512L)
redraw_products <- c(labels = 1e7, laws = 1e8)  # per redraw: a thousand take seconds

# A factor of the kernel on the predictions, K ~ L L', and the mean share of its diagonal that L L' lacks. The test is
# exact for the kernel L L' for any rank.
redraw_factor <- function(problem, tolerance, products) {
  spec <- problem$prediction
  n <- problem$n
  rank <- if (is.null(tolerance)) min(n, max(redraw_rank[1], min(redraw_rank[2], products %/% n))) else n
  diagonal <- mean(cpp_source_diagonal(spec))
  tolerance <- tolerance %||% (redraw_tolerance * diagonal)
  factor <- if (spec$kind == "features") {
    cpp_pivoted_cholesky(spec$kernel, spec$features, tolerance, rank, thread_count())
  } else {
    with_bar("Factor of the kernel",
             function(progress) cpp_source_factor(spec, tolerance, rank, thread_count(), progress))
  }
  factor$neglected <- if (diagonal > 0) factor$residual_trace / diagonal else 0
  # the statistic of copies times their weights, over the weight of their pairs
  design <- problem$laws$design
  n <- copy_count(design)
  each <- design$w / (design$copies %||% 1)
  if (!is.null(design$w)) factor$L <- factor$L * each * sqrt(n * (n - 1) / pair_weight(design))
  factor
}

# The target kernel between the possible outcomes; a 1 x 1 matrix if it is a multiple of the identity.
target_gram <- function(problem) {
  if (problem$target_kernel$type == "white") return(matrix(problem$target_kernel$scale))
  support <- matrix(as.numeric(problem$target$support))
  cpp_gram(problem$target_kernel, support, support, thread_count())
}

# The kernel on the predictions is kept as a matrix. Predictions that draws stand for keep their
# draws: the statistic is one function of the outcomes.
redraws_of_kept <- function(problem, times, estimate = skce_value(problem, "unbiased")$estimate$value) {
  k <- cpp_prediction_matrix(problem$prediction, thread_count())
  diag(k) <- 0
  design <- problem$laws$design
  if (!is.null(design$w)) k <- k * outer(design$w, design$w)
  null <- with_bar("Redrawing outcomes", function(progress) {
    outcome_shifts(k, problem$target, problem$target_kernel, problem$laws, times, progress)
  })
  estimate + null / pair_weight(design)
}

# By how much sum_ij W_ij h_Y(i, j) changes where outcomes redrawn from the predictions replace the observed ones; W
# symmetric, [n x n].
outcome_shifts <- function(weights, target, kernel, laws, times, progress = NULL, numbers_at_once = 1e7) {
  sums <- over_redraws(laws, times, progress, numbers_at_once, function(y, sets, part) {
    outcome_sums(weights, target, kernel, y, sets, part)
  })
  sums - outcome_sums(weights, target, kernel, laws$y, 1)
}

# fn(outcomes, sets, progress) of all redrawn sets of outcomes, as many at a time as memory takes.
over_redraws <- function(laws, times, progress, numbers_at_once, fn) {
  laws$roots <- law_roots(laws$law)  # once
  batch <- max(1, min(times, floor(numbers_at_once / length(laws$y))))
  values <- lapply(seq(1, times, by = batch), function(from) {
    size <- min(batch, times - from + 1)
    part <- if (!is.null(progress)) function(fraction) progress((from - 1 + fraction * size) / times)
    fn(draw_outcomes(laws, size), size, part)
  })
  unlist(values)
}

# The general case: the problem anew for every redraw.
redraw_statistics <- function(problem, times, resample) {
  problem$laws$roots <- law_roots(problem$laws$law)
  # kernels as resolved on the data, or the function that was asked for
  kernels <- if (is.function(problem$asked$kernel)) problem$asked else problem
  one <- function() {
    if (resample) {
      laws <- take_rows(problem$laws, sample.int(problem$n, replace = TRUE))
      again <- suppressWarnings(kernel_problem(redraw_outcomes(laws), kernels$kernel, kernels$target_kernel,
                                               problem$asked$draws))
    } else {
      again <- with_outcomes(problem, redraw_outcomes(problem$laws))
    }
    sums <- cpp_pair_sums(again$prediction, again$target, thread_count(), NULL)
    pair_estimate(sums, "unbiased", new_design(problem$n))$value
  }
  one_by_one(times, one)
}

one_by_one <- function(times, fn) {
  with_bar("Redrawing outcomes", function(progress) {
    vapply(seq_len(times), function(r) {
      if (!is.null(progress)) progress(r / times)
      fn()
    }, 0)
  })
}
