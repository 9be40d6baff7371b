#' Sample size of a validation study
#'
#' Computes how many rows a validation needs, for intervals as narrow as you want and for a test of calibration that
#' detects a given miscalibration. The result is one table with a row per criterion; the largest number of rows is the
#' answer. If you give `n` instead, the table has the widths and the power to expect from `n` rows.
#'
#' @section Definition:
#' The *width* of an interval is its upper minus its lower limit. Five criteria follow Riley et al. (2021), with exact
#' integrals over the assumed predictions:
#' `oe_ratio`, `slope` (of the logistic regression of the outcome on the linear predictor), `auroc` (the C statistic),
#' `net_benefit` at `threshold`, and `standardized_net_benefit` (divided by the prevalence). Three are new here:
#' \describe{
#'   \item{`calibration_error`}{Width of the interval of [ce_estimate()] (binary), with all sums over rows replaced by
#'     their expectations.}
#'   \item{`test`}{Power of the test of [ce_estimate()] at the level \eqn{1 - level}.}
#'   \item{`equivalence`}{Power of the test that the calibration error is below `delta`, see *Equivalence* of
#'     [ce_test()].}
#' }
#' With fewer than 500 expected events (or non-events) data sets are drawn from the assumption, with a fixed seed.
#' *Clusters* of \eqn{m} rows divide the rows by the design effect \eqn{1 + (\bar m - 1) \rho}. The vignette *Notation*
#' has the formulas, and what they gave in simulations.
#' @param x Assumptions about the data of the study, from [assume_model()], or those that a pilot study
#'   supports, from [assume_pilot()].
#' @param ... Must be empty.
#' @param width Target widths of the intervals: a named vector for some of the criteria in *Definition*, such as
#'   `c(oe_ratio = 1, slope = 0.2)`.
#' @param power Target power of the test of calibration, between 0 and 1.
#' @param delta A calibration error between 0 and 1. `power` (by default 0.8) is then the probability of showing that
#'   the calibration error is below `delta` (the criterion `equivalence`), if the error is as assumed. The defaults of
#'   `assume_model()` assume a calibrated model.
#' @param n Number of rows, instead of `width` and `power`. The table then gives what to expect from `n` rows for all
#'   criteria (for net benefit only if there is a `threshold`).
#' @param prevalence,auroc Prevalence and C statistic for the criteria `oe_ratio` and `auroc`, if you know them better
#'   than the assumption implies.
#' @param threshold Threshold probability of net benefit.
#' @param cluster_size,icc For rows that come in clusters: the number of rows of a cluster (or the sizes of several
#'   clusters), and the intra-cluster correlation of the outcomes of two rows with the same risk.
#' @param simulate Number of data sets to simulate with the needed (or given) number of rows, at least 2, or `NULL` for
#'   none. The column `simulated` then has the result for the criteria `calibration_error`, `test` and `equivalence`.
#' @param level Confidence level of the intervals; the level of the test is 1 - `level`.
#' @return A tibble of class `ce_power`, one row per criterion: `criterion`, `quantity` (`"width"` or `"power"`),
#'   `target` (the target, or what to expect from `n` rows), `n`, `events` (expected) and, with `simulate`, `simulated`.
#'   `n` is `Inf` if a billion rows are not enough, as for the test of a calibrated model. `tidy()` returns the plain
#'   tibble, and `glance()` one row with `n`, `events`, `criterion` (the one that needs most rows), `prevalence`,
#'   `auroc` and `error` (the calibration error under the assumption).
#' @section Errors:
#' `calibrisk_error_argument` for an unknown criterion, for net benefit without `threshold`, and if there is neither `n`
#' nor a target, or both.
#' @references Riley, R. D., Debray, T. P. A., Collins, G. S. et al. (2021). Minimum sample size for external validation
#'   of a clinical prediction model with a binary outcome. *Statistics in Medicine* 40, 4230-4251.
#' @seealso [ce_validate()] for the validation itself.
#' @concept sample size
#' @concept power
#' @concept study planning
#' @concept minimum sample size
#' @export
#' @examples
#' # Riley et al. (2021): deep vein thrombosis
#' ce_power(assume_model(c(-5, 2.5)), width = c(oe_ratio = 1, slope = 0.2, auroc = 0.1),
#'          prevalence = 0.018, auroc = 0.8)
#' # predictions that are too extreme: is it found, and how precise is its size?
#' ce_power(assume_model(beta = c(1, 3), slope = 0.8), width = c(calibration_error = 0.06))
#' # rows to show that the error of a calibrated model is below .05
#' ce_power(assume_model(beta = c(1, 3)), delta = 0.05)
#' # the predictions and the miscalibration of a pilot study
#' p <- plogis(seq(-2, 2, length.out = 100))
#' y <- as.numeric((1:100 * 0.618) %% 1 < p)
#' ce_power(assume_pilot(p, y, recalibration = "platt"), width = c(slope = 0.3))
#' # centres of 20 patients
#' too_extreme <- assume_model(beta = c(1, 3), slope = 0.8)
#' ce_power(too_extreme, width = c(oe_ratio = 0.2), cluster_size = 20, icc = 0.05)
ce_power <- function(x, ..., width = NULL, power = NULL, delta = NULL, n = NULL, prevalence = NULL, auroc = NULL,
                     threshold = NULL, cluster_size = NULL, icc = NULL, simulate = NULL, level = 0.95) {
  # not the predictions of a pilot study, a model, a number of rows or a word
  stop_if(missing(x) || !inherits(x, "ce_assumption"), "{.arg x} must be an assumption on the predictions.",
          "x" = if (missing(x)) "It is missing." else "It is {describe(x)}.",
          "i" = "Functions make them: {.fn assume_model}, and {.fn assume_pilot} of rows.", arg = "x")
  check_empty(...)
  check_level(level)
  check_number(prevalence, lower = 0, upper = 1, open = TRUE, null = TRUE)
  check_number(auroc, lower = 0, upper = 1, open = TRUE, null = TRUE)
  check_number(threshold, lower = 0, upper = 1, open = TRUE, null = TRUE)
  check_count(simulate, lower = 2, null = TRUE)
  check_delta(delta)
  if (is.null(c(width, power, n)) && !is.null(delta)) power <- 0.8
  check_wishes(width, power, n, threshold, delta)
  events <- node_mean(x, x$eta)
  prevalence <- prevalence %||% events
  stop_if(prevalence <= 0 || prevalence >= 1, "A validation is planned for outcomes that happen and do not.",
          "x" = "The assumed prevalence is {prevalence}.",
          "i" = "Take a larger pilot, or another assumption, such as {.fn assume_model}.", class = "rows", arg = "x")
  facts <- list(prevalence = prevalence, auroc = auroc %||% node_auroc(x), oe_ratio = events / node_mean(x, x$p),
                error = sqrt(node_mean(x, (x$p - x$eta)^2)), threshold = threshold, delta = delta, level = level,
                z = qnorm((1 + level) / 2), clusters = new_power_clusters(cluster_size, icc))
  rows <- if (is.null(n)) wished_rows(x, facts, width, power) else expected_of(n, x, facts)
  rows$events <- rows$n * facts$prevalence
  if (!is.null(simulate)) rows$simulated <- simulated_column(rows, x, facts, simulate)
  rows <- new_table(rows, power_header(x, facts), "ce_power")
  attr(rows, "facts") <- c(facts, list(given = !is.null(n), event = x$event))
  rows
}

check_wishes <- function(width, power, n, threshold, delta) {
  wished <- !is.null(width) || !is.null(power)
  stop_if(wished == !is.null(n), "Give either the aim, {.arg width} or {.arg power}, or the number of rows, {.arg n}.",
          "x" = if (wished) "Both are given." else "Neither is given.", arg = "n")
  check_count(n, lower = 2, null = TRUE)
  check_number(power, lower = 0, upper = 1, open = TRUE, null = TRUE)
  stop_if(!is.null(delta) && is.null(power) && is.null(n), "{.arg delta} needs a {.arg power} beside {.arg width}.",
          "x" = "There is only {.arg width}.", arg = "delta", value = delta)
  if (is.null(width)) return(invisible())
  check_numbers(width, lower = 0, open = TRUE)
  known <- power_criteria
  named <- rlang::names2(width)
  bad <- which(!named %in% known | duplicated(named))
  name <- named[bad[1]]
  meant <- if (length(bad) > 0) meant_word(name, known)
  stop_if(length(bad) > 0, "{.arg width} must be named by different criteria: {.or {.val {known}}}.",
          "x" = if (nzchar(name)) "An element is named {.val {name}}." else "An element has no name.",
          "i" = if (!is.null(meant) && meant != name) "Did you mean {.val {meant}}?", arg = "width", value = width)
  stop_if(any(grepl("net_benefit", named)) && is.null(threshold),
          "Net benefit needs a {.arg threshold}, the risk from which on people are treated.", "x" = "It is missing.",
          arg = "threshold")
}

wished_rows <- function(nodes, facts, width, power) {
  found <- vapply(names(width), function(name) {
    needed_rows(function(n) expected_width(name, n, nodes, facts), width[[name]])
  }, 0)
  rows <- columns_frame(criterion = names(width) %||% character(), quantity = rep("width", length(width)),
                        target = as.numeric(width), n = unname(found))
  if (is.null(power)) return(rows)
  name <- if (is.null(facts$delta)) "test" else "equivalence"
  # of a calibrated model the test has no power, except for its level; no test shows an error to be below a smaller one
  possible <- if (is.null(facts$delta)) facts$error > 1e-7 else facts$error < facts$delta
  needed <- if (possible) drawn_rows(power, name, nodes, facts) else Inf
  vctrs::vec_rbind(rows, columns_frame(criterion = name, quantity = "power", target = power, n = needed))
}

expected_of <- function(n, nodes, facts) {
  names <- power_criteria
  if (is.null(facts$threshold)) names <- names[!grepl("net_benefit", names)]
  widths <- vapply(names, function(name) expected_width(name, n, nodes, facts), 0)
  powers <- c("test", if (!is.null(facts$delta)) "equivalence")
  powers <- if (has_few_events(n, nodes)) drawn_power(powers, n, nodes, facts) else {
    ladder_expected(n, nodes, facts)[powers]
  }
  columns_frame(criterion = c(names, names(powers)),
                quantity = rep(c("width", "power"), c(length(names), length(powers))),
                target = unname(c(widths, powers)), n = n)
}

# One set of drawn data sets for all criteria of the same number of rows.
simulated_column <- function(rows, nodes, facts, times) {
  found <- rep(NA_real_, nrow(rows))
  wanted <- rows$criterion %in% c("calibration_error", "test", "equivalence") & is.finite(rows$n)
  for (n in unique(rows$n[wanted])) {
    here <- which(wanted & rows$n == n)
    found[here] <- simulated_ladder(n, nodes, facts, times)[rows$criterion[here]]
  }
  found
}

power_header <- function(nodes, facts) {
  number <- function(v) format(v, digits = 3)
  c("Assumed" = nodes$label,
    "Prevalence" = paste0(number(facts$prevalence), ", C statistic ", number(facts$auroc), ", calibration error ",
                          number(facts$error)),
    "Intervals" = percent_text(facts$level),
    "Equivalence" = if (!is.null(facts$delta)) paste("error below", format(facts$delta)),
    "Clusters" = clusters_label(facts$clusters))
}

#' @export
tidy.ce_power <- function(x, ...) {
  tibble::as_tibble(vctrs::new_data_frame(unclass(x), n = nrow(x)))
}

#' @export
glance.ce_power <- function(x, ...) {
  facts <- attr(x, "facts")
  top <- which.max(x$n)
  columns_frame(n = x$n[top], events = x$events[top], criterion = if (facts$given) NA_character_ else x$criterion[top],
                prevalence = facts$prevalence, auroc = facts$auroc, error = facts$error)
}

count_each <- function(n) vapply(n, count_text, "")

power_sentence <- function(x) {
  never <- x$criterion[!is.finite(x$n)]
  top <- which.max(x$n)
  clusters <- attr(x, "facts")$clusters
  event <- attr(x, "facts")$event$label
  if (length(never) > 0) {
    return(paste0("No number of rows is enough for: ", paste(never, collapse = ", "), "."))
  }
  paste0("Rows needed: ", count_text(x$n[top]), " (", events_text(ceiling(x$events[top])),
         if (!is.null(event)) paste0(", ", event),
         if (!is.null(clusters)) paste0(", ", count_text(ceiling(x$n[top] / mean(clusters$sizes))), " clusters"), ")",
         if (nrow(x) > 1) paste0(", for ", x$criterion[top], "; the others need fewer"), ".")
}
