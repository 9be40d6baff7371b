# The test that the interval of ce_estimate() inverts.

joint_test <- function(test, laws, level, threads, call) {
  if (!is.null(laws$law) || !is.null(laws$group)) {
    stop_input(c(
      "The joint test takes class probabilities, without groups.",
      "x" = if (is.null(laws$law)) "{.arg group} is given." else "The predictions are {family_text(laws)}.",
      "i" = "Use {.code test = \"conditional\"}."
    ), "test", arg = "test", call = call)
  }
  predictions <- laws$predictions
  if (ncol(laws$probs) == 2) predictions$event <- 2L
  notion <- if (ncol(laws$probs) == 2) "binary" else "canonical"
  ladder <- notion_ladder(predictions, notion, level, threads, check_bases(test$bases, notion, call), call)
  redrawn <- is.null(ladder$rungs)
  list(
    estimate = ladder$estimate, statistic = c(T = ladder$statistic),
    parameter = if (redrawn) c(redraws = joint_redraws) else c(rungs = length(ladder$rungs)), p.value = ladder$p.value,
    method = paste(if (redrawn) "Joint test of" else "Leave-one-out test on nested bases of", notion, "calibration"),
    conf.int = structure(c(ladder$low, ladder$high), conf.level = level), std.error = ladder$std.error
  )
}
