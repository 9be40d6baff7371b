# The unnormalised calibration mean embedding: the squared witness of miscalibration at a few test locations (Widmann,
# Lindsten & Zachariah 2021, section 3.3 and appendix), the mean over j of (mean_i z_ij)^2.
ucme_row <- function(problem, locations, laws, level) {
  z <- check_computable(cme_matrix(problem, cme_locations(problem, locations)))
  mean <- colSums(row_shares(laws$design) * z)
  # of a mean of squared means
  influence <- as.vector(z %*% (2 * mean / length(mean)))
  columns <- squared_columns(list(new_estimate(mean(mean^2), influence, laws$design)), level)
  result_frame("ucme", family_text(laws), c(columns, list(
    root = sqrt(columns$.estimate), n = laws$n, locations = ncol(z), witness = list(mean),
    kernel = format(problem$kernel), target_kernel = format(problem$target_kernel),
    target_computation = problem$target_computation
  )), read = laws)
}

check_locations <- function(locations) {
  if (!is.list(locations)) {
    check_count(locations, "locations")
  } else if (is.data.frame(locations) || !all(c("x", "truth") %in% names(locations))) {
    stop_input("{.arg locations} must be a number, or a list with elements {.field x} and {.field truth}.",
               "x" = if (is.null(names(locations))) "Its elements have no names." else
                 "Its elements are {.field {names(locations)}}.", arg = "locations")
  }
  locations
}

# Test locations: list(columns = n x J kernel values on the predictions, points = J x d).
cme_locations <- function(problem, locations) {
  stop_if(is.function(problem$asked$kernel),
          "Test locations need a product of two kernels; {.arg kernel} is a function.", class = "kernel",
          arg = "kernel")
  laws <- problem$laws
  if (is.list(locations)) {
    at <- read_laws(locations$x, rlang::new_quosure(locations$truth))
    return(list(columns = kernel_columns(problem, at), points = at$y))
  }
  # the predictions that are farthest from each other, and outcomes that they expect
  pivots <- cpp_source_factor(problem$prediction, 0, locations, thread_count(), NULL)$pivots
  # there are no pivots if the kernel of every row with itself is NaN
  check_computable(if (length(pivots) == 0) NaN)
  rows <- rep_len(pivots, locations)
  list(columns = cpp_source_columns(problem$prediction, rows), points = redraw_outcomes(take_rows(laws, rows))$y)
}

# Kernel between all predictions and those of `at`, with the problem's resolved kernel.
kernel_columns <- function(problem, at) {
  laws <- problem$laws
  classes <- is.null(laws$law)
  same <- classes == is.null(at$law) &&
    if (classes) ncol(at$probs) == ncol(laws$probs) else family_of(at$law) == family_of(laws$law)
  stop_if(!same, "Test locations must be predictions of the same kind as {.arg x}.",
          "x" = "They are of another family or number of classes.", arg = "locations")
  joint <- list(n = laws$n + at$n, y = rbind(laws$y, at$y), probs = if (classes) rbind(laws$probs, at$probs))
  if (!classes) joint$law <- c(laws$law, at$law)
  bound <- bind_prediction(problem$kernel, joint, problem$asked$draws)
  columns <- cpp_source_columns(bound$spec, laws$n + seq_len(at$n))
  columns[seq_len(laws$n), , drop = FALSE]
}

# E l(t_j, Z_i), n x J: the same for all outcomes.
cme_expected <- function(problem, at) {
  cpp_target_expectation(problem$target, target_points(problem$target, at$points), thread_count())
}

# z_ij of section Definition, n x J.
cme_matrix <- function(problem, at, y = problem$laws$y, expected = cme_expected(problem, at)) {
  at$columns * (cpp_gram(problem$target_kernel, y, at$points, thread_count()) - expected)
}

#' @export
run_test.test_cme <- function(test, problem, level) {
  laws <- problem$laws
  n <- copy_count(laws$design)
  reference <- test$reference
  at <- cme_locations(problem, test$locations)
  j <- ncol(at$columns)
  stop_if(n <= j, "The CME test needs more observations than test locations.",
          "x" = "There are {n} observation{?s} and {j} location{?s}.", class = "rows", arg = "locations", n = n)
  z <- check_computable(cme_matrix(problem, at))
  q <- cpp_hotelling(z, laws$design$copies)
  warn_if(is.na(q), "The covariance of the witness is singular: the CME test is not available.",
          "i" = "Use fewer or other {.arg locations}.", class = "degenerate")
  null <- NULL
  p <- switch(reference,
    chisq = stats::pchisq(q, j, lower.tail = FALSE),
    f = stats::pf((n - j) * q / (j * (n - 1)), j, n - j, lower.tail = FALSE),
    redraw = {
      expected <- cme_expected(problem, at)
      null <- if (is.null(laws$law)) {
        classes <- matrix(as.numeric(seq_len(ncol(laws$probs))))
        gram <- cpp_gram(problem$target_kernel, classes, at$points, thread_count())
        cpp_hotelling_redraws(at$columns, expected, gram, laws$probs, laws$design$copies, test$times, thread_count())
      } else {
        laws$roots <- law_roots(laws$law)
        replicate(test$times, cpp_hotelling(cme_matrix(problem, at, redraw_outcomes(laws)$y, expected)))
      }
      # a singular redraw counts against rejection
      null[is.na(null)] <- Inf
      if (is.na(q)) NA_real_ else resampled_p(q, null, test$add_one)
    }
  )
  text <- c(redraw = "outcomes simulated from the predictions", chisq = "chi-squared", f = "F")[[reference]]
  witness <- colSums(row_shares(laws$design) * z)
  list(
    estimate = mean(witness^2), statistic = c(Q = q), parameter = c(locations = j), p.value = p,
    method = paste0("Calibration test: mean embedding at test locations, ", text), null = null,
    details = list(witness = witness, reference = reference)
  )
}
