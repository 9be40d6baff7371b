# The tests of ce_test() except for those that redraw outcomes: methods of run_test().

#' @export
run_test.test_block <- function(test, problem, level) {
  few <- has_few_failures(problem)
  # redrawn outcomes are those of single copies
  if (few) problem <- do.call(kernel_problem, c(list(single_copies(problem$laws)), problem$asked))
  n <- copy_count(problem$laws$design)
  check_rows(n, 4, "The block test")
  block <- check_block(test$block, n)
  stop_if(n < 2 * block, "The block test needs at least two blocks.",
          "x" = "{.arg block} is {block}, there are {n} observations.",
          "i" = "Use a {.arg block} of at most {n %/% 2}.", arg = "block")
  sums <- cpp_block_sums(problem$prediction, problem$target, block, thread_count(), NULL, problem$laws$design$copies)
  eta <- check_computable(sums$unbiased)
  estimate <- mean(eta)
  se <- if (test$reference == "blocks") {
    sd(eta) / sqrt(length(eta))
  } else {
    sqrt(2 * mean(sums$squares) / (length(eta) * block * (block - 1)))
  }
  # equal block estimates: no variance to compare with
  degenerate <- !is.finite(se) || se <= 1e-14 * max(abs(eta))
  if (degenerate && !few) {
    warn_result("All block estimates are equal: the block test is not available.",
                "i" = "Use {.code test = \"conditional\"}.", class = "degenerate")
  }
  if (degenerate) se <- NA_real_
  z <- estimate / se
  # the variance of few failures cannot be estimated, and their mean is not normal
  null <- if (few) {
    one_by_one(few_failures_redraws, function() {
      again <- with_outcomes(problem, redraw_outcomes(problem$laws))
      mean(cpp_block_sums(again$prediction, again$target, block, thread_count())$unbiased)
    })
  }
  low <- estimate - if (is.null(null)) qnorm(level) * se else quantile(null, level, names = FALSE)
  list(
    estimate = estimate, std.error = se, statistic = if (is.null(null)) c(z = z) else c(U = estimate),
    parameter = c(block = block, blocks = length(eta)),
    p.value = if (is.null(null)) stats::pnorm(-z) else resampled_p(estimate, null, TRUE),
    conf.int = structure(c(max(0, low), Inf), conf.level = level),
    method = paste("Calibration test: block estimates of the SKCE,", if (is.null(null)) "normal" else redrawn_text),
    null = null, details = list(blocks = eta, reference = test$reference)
  )
}

# Of outcomes that are labels, how many are not the most frequent one; if they are few, outcomes are redrawn from the
# predictions.
has_few_failures <- function(problem, enough = 20) {
  if (!finite_outcomes(problem) || is.function(problem$asked$kernel)) return(FALSE)
  design <- problem$laws$design
  copy_count(design) - max(copies_by_group(design$copies, match(problem$laws$y, problem$laws$y), design$n)) < enough
}
few_failures_redraws <- 399
redrawn_text <- "outcomes simulated from the predictions"

#' @export
run_test.test_bootstrap <- function(test, problem, level) {
  design <- problem$laws$design
  n <- copy_count(design)
  check_rows(n, 2, "The bootstrap test")
  if (has_few_failures(problem)) return(run_test.test_conditional(test, problem, level))
  sums <- row_sums(problem$prediction, problem$target, "unbiased", design)
  value <- function(type) pair_estimate(sums, type, design)$value
  estimate <- value("unbiased")
  statistic <- n / (n - 1) * estimate - value("biased")
  null <- with_bar("Bootstrap", function(progress) {
    cpp_bootstrap(problem$prediction, problem$target, test$times, design$copies, thread_count(), progress)
  })
  list(
    estimate = estimate, statistic = c(T = statistic),
    parameter = c(times = test$times),
    p.value = resampled_p(statistic, null, test$add_one),
    method = "Calibration test: unbiased SKCE, bootstrap of the degenerate null", null = null
  )
}

# count: rows for the biased estimate, else independent pairs (Hoeffding).
bound_p <- function(estimate, count, bound, type) {
  estimate <- max(estimate, 0)
  if (type == "biased") return(exp(-0.5 * max(sqrt(count * estimate / bound) - 1, 0)^2))
  exp(-count * (estimate / bound)^2 / 2)
}

#' @export
run_test.test_bound <- function(test, problem, level) {
  n <- problem$n
  classes <- is.null(problem$laws$law)
  bound <- 2 * kernel_bound(problem$kernel, classes) * kernel_bound(problem$target_kernel, FALSE)
  type <- test$type
  value <- skce_value(problem, type, test$block, NULL)
  count <- switch(type, biased = n, unbiased = n %/% 2, block = (n %/% value$block) * (value$block %/% 2))
  estimate <- value$estimate$value
  list(
    estimate = estimate, statistic = c(ratio = estimate / bound), parameter = c(count = count),
    p.value = bound_p(estimate, count, bound, type),
    method = paste0("Calibration test: distribution-free bound, ", type, " SKCE"),
    details = list(bound = bound)
  )
}
