# The test that the interval of ce_estimate() inverts, and that of an error below delta by its upper limit.

joint_test <- function(test, laws, level, threads, call) {
  stop_if(!is.null(laws$law) || !is.null(laws$group), if (is.null(test$delta)) {
    "The joint test takes class probabilities, without groups."
  } else {
    "{.arg delta} needs an upper limit of the calibration error, which class probabilities without groups have."
  }, "x" = if (is.null(laws$law)) "{.arg group} is given." else "The predictions are {family_text(laws)}.",
  class = "test", arg = if (is.null(test$delta)) "test" else "delta", call = call)
  predictions <- laws$predictions
  if (ncol(laws$probs) == 2) predictions$event <- 2L
  notion <- if (ncol(laws$probs) == 2) "binary" else "canonical"
  ladder <- notion_ladder(predictions, notion, level, threads, check_bases(test$bases, notion, call), call)
  if (!is.null(test$delta)) return(equivalence_test(ladder, notion, test$delta, level))
  flipped <- !is.null(ladder$flips)
  said <- c(impossible_sentence(ladder$p.value), ladder$found, ladder$note, few_clusters_sentence(ladder$least, level))
  redrawn <- !flipped && (is.null(ladder$rungs) || !is.null(ladder$found))
  list(
    estimate = ladder$estimate, statistic = c(T = ladder$statistic),
    parameter = if (redrawn) {
      c(simulations = joint_redraws)
    } else if (flipped) {
      c(flips = ladder$flips)
    } else {
      c(bases = length(ladder$rungs))
    },
    p.value = ladder$p.value,
    method = paste(if (redrawn || flipped) "Joint test of" else "Leave-one-out test on nested bases of", notion,
                   "calibration"),
    conf.int = structure(c(ladder$low, ladder$high), conf.level = level), std.error = ladder$std.error,
    details = if (length(said) > 0) list(found = paste(said, collapse = " "))
  )
}

# The interval is the one-sided one at `level`, whose upper limit is the two-sided one at 2 level - 1.
equivalence_test <- function(ladder, notion, delta, level) {
  found <- equivalence(ladder, delta, level)
  list(
    estimate = ladder$estimate, statistic = c("upper limit" = found$high), parameter = c(delta = delta),
    p.value = found$p.value,
    method = paste("Equivalence test of", notion, "calibration by the upper limit of its error"),
    conf.int = structure(c(0, found$high), conf.level = level), std.error = ladder$std.error, null.value = delta,
    alternative = "less"
  )
}
