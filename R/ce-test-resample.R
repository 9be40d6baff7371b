# Tests that redraw outcomes from the predictions: conditional (the predictions as they
# are) and consistency resampling (predictions drawn with replacement).

redraw_tolerance <- 1e-6
redraw_rank <- 512L

resampling_test <- function(problem, options, resample, threads, call) {
  n <- problem$n
  what <- if (resample) "consistency resampling" else "outcomes redrawn from the predictions"
  check_rows(n, 2, "The test", call)
  estimate <- skce_value(problem, "unbiased", NULL, NULL, threads, call)$estimate
  by_group <- !is.null(problem$laws$group) && !resample && has_class_factor(group_free(problem))
  value <- if (by_group) {
    redraws_by_group(problem, options, threads)
  } else if (has_class_factor(problem)) {
    class_redraws(problem, options, resample, threads)
  } else if (!resample && n <= kept_rows && !is.function(problem$asked$kernel)) {
    list(statistic = estimate, null = redraws_of_kept(problem, options$replicates, threads, estimate))
  } else {
    list(statistic = estimate, null = redraw_statistics(problem, options$replicates, resample, threads))
  }
  list(
    estimate = estimate, statistic = c(U = value$statistic), parameter = c(replicates = options$replicates),
    p.value = resampled_p(value$statistic, value$null, options$add_one, value$magnitude %||% 0),
    method = paste("Calibration test: unbiased SKCE,", what), null = value$null,
    details = list(rank = value$rank)
  )
}

# Statistic and redraws from a factor of the kernel.
class_redraws <- function(problem, options, resample, threads) {
  factor <- class_factor(problem, options$tolerance, threads)
  gram <- target_gram(problem, threads)
  probs <- problem$laws$probs
  statistic <- cpp_class_statistic(factor, probs, gram, as.integer(problem$laws$y), threads)
  null <- with_bar("Redrawing labels", function(progress) {
    cpp_class_redraws(factor, probs, gram, options$replicates, resample, threads, progress)
  })
  list(statistic = statistic, null = null, rank = ncol(factor), magnitude = max(rowSums(factor^2)) * max(abs(gram)))
}

# The kernel is 0 across groups and the labels of different groups are drawn independently:
# the pairs' sum is the sum of the groups' own, each with a factor of its own.
redraws_by_group <- function(problem, options, threads) {
  free <- group_free(problem)
  id <- problem$laws$group$id
  parts <- lapply(split(seq_along(id), id), function(rows) {
    # the kernel is resolved: its bandwidth is that of all predictions
    part <- free
    part$laws <- laws_rows(free$laws, rows)
    part$n <- length(rows)
    part$prediction$features <- free$prediction$features[rows, , drop = FALSE]
    share <- part$n * (part$n - 1) / (problem$n * (problem$n - 1))
    if (share == 0) return(list(statistic = 0, null = 0, rank = 0))
    value <- class_redraws(part, options, FALSE, threads)
    list(statistic = share * value$statistic, null = share * value$null, rank = value$rank)
  })
  add <- function(name) Reduce(`+`, lapply(parts, `[[`, name))
  list(statistic = add("statistic"), null = add("null"), rank = add("rank"))
}

# The problem without its group, which kernel_problem() made the second factor of the kernel.
group_free <- function(problem) {
  if (is.null(problem$laws$group) || is.null(problem$prediction$parts)) return(problem)
  problem$prediction <- problem$prediction$parts[[1]]
  problem$laws$group <- NULL
  problem
}

# A factor L of the kernel on class probabilities, K ~ L L'. The test is exact for the kernel
# L L' whatever its rank.
class_factor <- function(problem, tolerance, threads) {
  spec <- problem$prediction
  rank <- if (is.null(tolerance)) min(problem$n, redraw_rank) else problem$n
  cpp_pivoted_cholesky(spec$kernel, spec$features, tolerance %||% redraw_tolerance, rank, threads)$L
}

has_class_factor <- function(problem) {
  is.null(problem$laws$law) && problem$prediction$form == "features"
}

# The target kernel between classes.
target_gram <- function(problem, threads) {
  classes <- matrix(as.numeric(seq_len(ncol(problem$laws$probs))))
  cpp_gram(problem$target_kernel, classes, classes, threads)
}

kept_rows <- 5000L  # a matrix of 200 MB

# The kernel on the predictions is kept as a matrix. Predictions that draws stand for keep their
# draws: the statistic is one function of the outcomes.
redraws_of_kept <- function(problem, replicates, threads,
                            estimate = skce_value(problem, "unbiased", threads = threads)$estimate) {
  k <- cpp_prediction_matrix(problem$prediction, threads)
  diag(k) <- 0
  null <- with_bar("Redrawing outcomes", function(progress) {
    outcome_shifts(k, problem$target, problem$target_kernel, problem$laws, replicates, threads, progress)
  })
  estimate + null / (problem$n * (problem$n - 1))
}

# By how much sum_ij W_ij h_Y(i, j) changes where outcomes redrawn from the predictions replace
# the observed ones; W symmetric, [n x n].
outcome_shifts <- function(weights, target, kernel, laws, replicates, threads, progress = NULL,
                           numbers_at_once = 1e7) {
  batch <- max(1, min(replicates, floor(numbers_at_once / length(laws$y))))
  sums <- lapply(seq(1, replicates, by = batch), function(from) {
    size <- min(batch, replicates - from + 1)
    part <- if (!is.null(progress)) function(fraction) progress((from - 1 + fraction * size) / replicates)
    outcome_sums(weights, target, kernel, draw_outcomes(laws, size), size, threads, part)
  })
  unlist(sums) - outcome_sums(weights, target, kernel, laws$y, 1, threads)
}

# Sets of outcomes side by side, n x (sets d); one sum per set (inst/include/calibrisk/skce/outcome_sums.h).
draw_outcomes <- function(laws, sets) {
  laws$roots <- law_roots(laws$law)
  do.call(cbind, lapply(seq_len(sets), function(r) redraw_outcomes(laws)$y))
}

outcome_sums <- function(weights, target, kernel, y, sets, threads, progress = NULL) {
  cpp_outcome_sums(weights, target, kernel, y, target_points(target, y), sets, threads, progress)
}

# Outcomes as a target takes them: positions in a finite support.
target_points <- function(target, y) {
  if (is.null(target$support)) return(y)
  y[] <- as.numeric(match(y, target$support))
  y
}

# The general case: the problem anew for every redraw.
redraw_statistics <- function(problem, replicates, resample, threads) {
  problem$laws$roots <- law_roots(problem$laws$law)
  one <- function(r) {
    if (resample) {
      laws <- laws_rows(problem$laws, sample.int(problem$n, replace = TRUE))
      # kernels as resolved on the data
      again <- suppressWarnings(kernel_problem(
        redraw_outcomes(laws), resolved(problem, "kernel"), resolved(problem, "target_kernel"),
        problem$asked$draws, threads
      ))
    } else {
      again <- with_outcomes(problem, redraw_outcomes(problem$laws), threads)
    }
    sums <- cpp_pair_sums(again$prediction, again$target, threads, NULL)
    full_estimates(sums)$unbiased
  }
  with_bar("Redrawing outcomes", function(progress) {
    vapply(seq_len(replicates), function(r) {
      if (!is.null(progress)) progress(r / replicates)
      one(r)
    }, 0)
  })
}

# The kernel as resolved on the data, or the function that was asked for.
resolved <- function(problem, which) {
  if (is.function(problem$asked$kernel)) problem$asked[[which]] else problem[[which]]
}
