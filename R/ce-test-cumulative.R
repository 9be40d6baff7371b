# Tests on the cumulated residuals of one event, predictions sorted by size; outcomes are redrawn from the predictions.

#' @rdname ce_tests
#' @export
test_cumulative <- function(statistic = c("bridge", "kuiper", "ks"), times = 1000, add_one = TRUE) {
  statistic <- check_choice(statistic, c("bridge", "kuiper", "ks"))
  check_redraws(times, add_one)
  new_choice("test", "cumulative", statistic = statistic, times = times, add_one = add_one)
}

cumulative_test <- function(test, laws) {
  check_cumulative(laws)
  predictions <- laws$predictions
  predictions$event <- 2L
  sorted <- sort_problem(notion_problems(predictions, "binary")[[1]])
  found <- cpp_cumulative(sorted, test$times, draw_seed(), thread_count())
  # of the rows, then of redraws
  extremes <- found$extremes
  # "bridge": Fisher's combination of the asymptotic p-values of the walk's end (normal) and of the bridge (Kolmogorov),
  # which are independent under calibration; redraws give it its distribution
  value <- switch(test$statistic,
    ks = extremes$largest, kuiper = extremes$range,
    bridge = -2 * (log(2) + stats::pnorm(-abs(extremes$end), log.p = TRUE) + extremes$tail)
  )
  statistic <- value[1]
  null <- value[-1]
  name <- c(bridge = "two parts, mean and bridge", kuiper = "Kuiper", ks = "Kolmogorov-Smirnov")[[test$statistic]]
  list(
    estimate = cpp_ks_error(sorted, integer())$value,
    statistic = stats::setNames(statistic, c(bridge = "T", kuiper = "range", ks = "max|S|")[[test$statistic]]),
    parameter = c(times = test$times),
    p.value = resampled_p(statistic, null, test$add_one),
    method = paste0("Cumulated residuals (", name, "), outcomes simulated from the predictions"), null = null,
    details = list(cumulative = test$statistic, walk = found$walk, extremes = lapply(extremes, `[`, 1),
                   place = found$at[[test$statistic]])
  )
}

check_cumulative <- function(laws) {
  stop_if(!is.null(laws$law) || !is.null(laws$group) || ncol(laws$probs) != 2,
          "The test on cumulated residuals takes the probability of one event, without groups.",
          "x" = if (!is.null(laws$group)) "{.arg group} is given." else if (!is.null(laws$law)) {
            "The predictions are {family_text(laws)}."
          } else {
            "The predictions have {ncol(laws$probs)} classes."
          }, "i" = "Use {.code test = \"conditional\"}.", class = "test", arg = "test")
}

# "Up to the prediction 0.41 there are 12.3 events fewer than predicted."
cumulative_sentence <- function(x) {
  details <- x$details
  if (is.null(details$cumulative)) return("")
  observed <- details$walk
  count_at <- function(place) if (place == 0) 0 else observed$scale * observed$walk[match(place, observed$place)]
  place <- details$place
  events <- if (length(place) == 2) count_at(place[2]) - count_at(place[1]) else count_at(place)
  shown <- format(place, digits = 3, trim = TRUE)
  where <- if (length(place) == 2) paste("Between the predictions", shown[1], "and", shown[2]) else {
    paste("Up to the prediction", shown)
  }
  what <- if (abs(events) < 0.05) "as many events as predicted" else {
    paste(format(round(abs(events), 1), trim = TRUE), if (events > 0) "events more than predicted" else
      "events fewer than predicted")
  }
  mean_part <- if (details$cumulative == "bridge") {
    paste0("mean: S = ", format(details$extremes$end, digits = 3), ", bridge: B = ",
           format(details$extremes$bridge, digits = 3), "\n")
  }
  paste0(mean_part, where, " there are ", what, ".\n")
}
