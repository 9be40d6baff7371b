#' Root Brier score, the upper bound of the calibration error
#'
#' The root of the mean Brier score. It is never below the calibration error CE_2, and,
#' unlike binned errors, hardly depends on the number of observations.
#'
#' # Definition
#' `RBS = sqrt(BS)` with `BS = mean_i |p_i - e_{y_i}|^2` over all K classes, without 1/2 or
#' 1/K: `BS` lies in `[0, 2]` (Gruber and Buettner 2022, Theorem 4.3 and Example 4.4). For two
#' classes and for a single probability the default is scalar, `RBS = sqrt(mean (p_i - y_i)^2)`, without the factor
#' 2 of the second class. The column `notion` says which was used: `"canonical"` (the
#' default for three or more classes; `"class_wise"` is the same number) or `"binary"` (the default otherwise);
#' `"top_label"` uses confidence and correctness.
#'
#' `corrected` removes the first-order bias of the root, `RBS + s^2 / (8 N RBS^3)` with the
#' sample variance `s^2` of the scores. The mean score itself, column `power`, is unbiased.
#'
#' # Intervals
#' Normal for the mean Brier score with standard error `s / sqrt(N)`, mapped to the root.
#' `std.error` is that of the root, `s / (2 RBS sqrt(N))`.
#'
#' # Invariants
#' At least `ece(type = "discrete", p = 2, notion = "canonical")`, with equality where labels
#' are constant for each distinct prediction; at most `sqrt(2)`.
#' @inheritParams ece
#' @param notion `NULL` for the default above, or a type of calibration as in [ece()].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`,
#' `power` (the mean Brier score), `corrected`, `n`, `notion`, `interval`, `level`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @seealso [ce_gain()] for differences, [ce_hierarchy()] for the chain of errors below it.
#' @concept Brier score
#' @concept root Brier score
#' @concept upper bound
#' @examples
#' probs <- rbind(c(0.7, 0.2, 0.1), c(0.2, 0.5, 0.3), c(0.1, 0.3, 0.6))
#' rbs(probs, c(1, 2, 1))
#' rbs(c(0.2, 0.7, 0.9), c(0, 1, 1))
#' @export
rbs <- new_metric("rbs", function(x, truth, ..., notion = NULL, level = 0.95, times = NULL, .by = NULL,
                           event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  if (!is.null(notion)) check_notion(notion)
  interval <- check_interval(level, times)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "rbs", function(predictions) {
    used <- notion %||% whole_notion(predictions)
    if (used == "canonical") {
      check_whole_sums(predictions, "The root Brier score")
    }
    design <- predictions$design
    squares <- function(problem) rowSums(problem$residuals^2)
    estimate <- if (!used %in% c("top_label", "binary")) {
      mean_estimate(Reduce(`+`, lapply(notion_problems(predictions, used), squares)), design, power = 2)
    } else if (is.null(predictions$problem)) {
      # of one probability its rows suffice
      rows <- scalar_rows(predictions, used)
      brier_estimate(rows$prob, rows$outcome, design, power = 2)
    } else {
      problem_brier(notion_problems(predictions, used)[[1]], power = 2)
    }
    c(rbs_columns(estimate, interval), list(n = n_obs(predictions), notion = used))
  }, choices = list(interval = interval$type, level = level), edges = numeric(), notion = notion)
}, "minimize", c(0, sqrt(2)))

# `estimate`: of the mean squared error, with the power 2
rbs_columns <- function(estimate, interval) {
  problem <- function(scores) new_problem(matrix(scores), matrix(scores), scores, design = estimate$design)
  columns <- error_columns(list(estimate), interval, list(problem(influence_rows(estimate))),
                           function(part) row_mean(part[[1]]$labels, part[[1]]$design))
  root <- columns$.estimate
  c(columns, list(corrected = if (root > 0) root + cpp_estimate_std_error(estimate)^2 / (8 * root^3) else root))
}
