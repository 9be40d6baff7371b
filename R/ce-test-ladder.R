# The test that the interval of ce_estimate() inverts: leave-one-out projections, all rows, no redraws.

ladder_test <- function(test, laws, level, threads, call) {
  if (!is.null(laws$law) || !is.null(laws$group)) {
    stop_input(c(
      "The test on nested bases takes class probabilities, without groups.",
      "x" = if (is.null(laws$law)) "{.arg group} is given." else "The predictions are {family_text(laws)}.",
      "i" = "Use {.code test = \"conditional\"}."
    ), "test", arg = "test", call = call)
  }
  predictions <- laws$predictions
  if (ncol(laws$probs) == 2) predictions$event <- 2L
  notion <- if (ncol(laws$probs) == 2) "binary" else "canonical"
  ladder <- notion_ladder(predictions, notion, level, threads, check_bases(test$bases, notion, call), call)
  list(
    estimate = ladder$estimate, statistic = c(Z = ladder$statistic),
    parameter = c(rungs = length(ladder$rungs)), p.value = ladder$p.value,
    method = paste0("Leave-one-out test on nested bases of ", if (notion == "binary") "binary" else "canonical",
                    " calibration"),
    conf.int = structure(c(ladder$low, ladder$high), conf.level = level), std.error = ladder$std.error
  )
}
