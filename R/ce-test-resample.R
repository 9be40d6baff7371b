# Tests that redraw outcomes from the predictions: conditional (the predictions as they
# are) and consistency resampling (predictions drawn with replacement).

redraw_tolerance <- 1e-6
redraw_rank <- 512L

resampling_test <- function(problem, options, resample, threads, call) {
  n <- problem$n
  what <- if (resample) "consistency resampling" else "outcomes redrawn from the predictions"
  check_rows(n, 2, "The test", call)
  estimate <- skce_value(problem, "unbiased", NULL, NULL, threads, call)$estimate
  factor <- class_factor(problem, options$tolerance, threads)
  if (is.null(factor)) {
    statistic <- estimate
    null <- redraw_statistics(problem, options$replicates, resample, threads)
  } else {
    gram <- target_gram(problem, threads)
    probs <- problem$laws$probs
    statistic <- cpp_class_statistic(factor, probs, gram, as.integer(problem$laws$y), threads)
    null <- with_bar("Redrawing labels", function(progress) {
      cpp_class_redraws(factor, probs, gram, options$replicates, resample, threads, progress)
    })
  }
  list(
    estimate = estimate, statistic = c(U = statistic), parameter = c(replicates = options$replicates),
    p.value = resampled_p(statistic, null, options$add_one),
    method = paste("Calibration test: unbiased SKCE,", what), null = null,
    details = list(rank = ncol(factor))
  )
}

# A factor L of the kernel on class probabilities, K ~ L L'; NULL where there is none. The
# test is exact for the kernel L L' whatever its rank.
class_factor <- function(problem, tolerance, threads) {
  if (!has_class_factor(problem)) return(NULL)
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

# The general case: the problem anew for every redraw.
redraw_statistics <- function(problem, replicates, resample, threads) {
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
