#' Estimate the calibration error with a confidence interval
#'
#' Estimates how far predicted probabilities are from the event probabilities given the prediction (root mean square).
#' Returns a confidence interval, a one-sided lower bound and a test of calibration. The result uses all rows, needs no
#' tuning and involves no random numbers: the same rows give the same number in any order. For rows that are not in one
#' place, pass a [ce_state()] as `x`; then only `level` may be given.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param notion One or several types of calibration; see [ce_args].
#' @param method `"adaptive"`, the estimate from nested bases; or a method of [ce_methods], tuned over its own grid by 5
#'   folds. Then `estimate` and `std.error` are that method's; interval, bound and test are still those of the nested
#'   bases.
#' @param bases The nested bases: `NULL` for the default ones, or a list; see [ce_bases].
#' @return One row per type of calibration (and group). Its columns are `notion` (the type), `estimate` (root of the
#'   squared calibration error, at least `conf.low`), `std.error` (of the root; `NA` where the estimated square is
#'   not above 0), `conf.low` and `conf.high`. Then follow the one-sided `lower_bound`, the `p.value` of the test of
#'   calibration, `resolution` (knots of the finest basis per coordinate), `upper_bound` (upper limit of the root Brier
#'   score), `method` and `n`. The printed table adds the result in words and the number of incomplete rows that were
#'   dropped.
#'
#' @section Definition:
#' Residuals \eqn{e_i} (prediction minus outcome) are projected on nested bases of functions of the predictions, from a
#' constant to hats on many knots ([ce_bases]). With orthonormal columns \eqn{b_i} and leverages \eqn{h_i}, \eqn{g_i =
#' (b_i'\sum_l b_l e_l - h_i e_i) / (1 - h_i)} is the miscalibration at row i, estimated from the other rows, and
#' \deqn{\psi_m = \frac1n \sum_i \langle e_i, g_i\rangle}
#' estimates the squared error that basis m can represent. It is unbiased if the miscalibration is in the span of the
#' basis, and otherwise its expectation is never too large. The estimate combines the bases with the weights of
#' [method_stack()]; *Derivation of the test and the interval* has all formulas.
#' @section Test and interval:
#' The hypothesis is that outcomes are draws from the predictions, so they can be simulated (1,999 times, with a fixed
#' seed; 39,980 times if `p.value` is below 0.0055 and the variances of at most 5,000 rows sum to less than 20). For one
#' probability the statistics, with their shares of the level, are intercept and slope (10/16), the number of events in
#' each direction (1.5/16 each), the miscalibration on 8 and on \eqn{\lceil\sqrt n\rceil} knots (1/16 each), and groups
#' of neighbouring predictions (1/16). `conf.low` is above 0 exactly if `p.value` is below \eqn{\alpha}, and it holds
#' for every form of miscalibration. `conf.high` covers the error that some basis can represent (*detectable at this
#' resolution*). Only `upper_bound` covers finer errors, since no calibration error exceeds the root Brier score. Rows
#' with clusters or importance weights are tested by flips of signs of whole clusters (weights: or of redrawn outcomes,
#' if larger); with 5 or fewer clusters no result is significant at the 5% level. The canonical row takes the class-wise
#' and top-label errors of the same rows into account, and with \eqn{n \ge 40 K + 30} rows its `conf.high` covers what
#' vector scaling mends (while \eqn{n K (4 K + 3) \le 2 \cdot 10^7}).
#'
#' Known to fail: `conf.high` for miscalibration that changes its sign between neighbouring predictions; canonical
#' limits with \eqn{K^2 > n/4} classes for miscalibration that is not additive in the classes. *Coverage of the
#' confidence interval* has the simulations.
#' @section Invariants:
#' The order of rows and classes and which class is the event do not change the result, except the top-label error of
#' rows with several most probable classes. With two classes the class-wise and the canonical error are \eqn{\sqrt 2}
#' times the binary error.
#' @section Cost:
#' Linear in the number of rows, mostly for simulations; the class-wise and the canonical error grow with the square of
#' the number of classes. A call that takes more than 10 seconds for that says so beforehand.
#' @references
#' Kline, P., Saggio, R. and Soelvsten, M. (2020). Leave-out estimation of variance components. *Econometrica* 88,
#' 1859-1898.
#'
#' `r ref_gruber_buettner`
#' @seealso [ce_tune()] for which function describes the miscalibration best, [ce_test()] for other tests.
#' @concept calibration error
#' @concept miscalibration
#' @concept confidence interval
#' @concept classifier
#' @concept neural network
#' @concept leave-one-out
#' @concept uncertainty quantification
#' @concept overconfidence
#' @export
#' @examples
#' ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise", "canonical"))
ce_estimate <- function(x, truth, ..., notion = NULL, method = "adaptive", bases = NULL,
                        .by = NULL, level = 0.95, event_level = "first", weights = NULL, cluster = NULL,
                        horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  notion <- unique(check_notion(notion, several = TRUE))
  check_estimate_method(method, notion)
  bases <- check_bases(bases, notion)
  check_level(level)
  x <- read_table(x, FALSE)
  input <- rows_input(copies = !is_method(method) && is.null(bases))
  if (has_sums(x)) check_sums_options(x, c("method", "bases")[c(is_method(method), !is.null(bases))])
  # what a group says beside its rows stands in the first of them
  out <- by_predictions(x, function(predictions) {
    part <- estimate_group(predictions, notion, method, bases, level, input$design$horizon)
    part$rows$.said <- c(list(part), rep(list(NULL), nrow(part$rows) - 1))
    structure(part$rows, estimates = if (isTRUE(predictions$kept)) part$estimates)
  }, c(input, list(notion = notion, sums = "ladder")))
  said <- out$.said
  out$.said <- NULL
  of_groups <- function(name) Filter(length, lapply(said, `[[`, name))
  # the line of outcomes counts the events
  attr(out, "event") <- NULL
  attr(out, "dropped") <- Reduce(`+`, of_groups("dropped"), c(0, 0))
  attr(out, "design") <- c(attr(out, "design") %||% design_sentence(of_groups("design")),
                           few_clusters_sentence(unlist(of_groups("least")), level), unique(unlist(of_groups("note"))))
  attr(out, "df") <- min(vapply(of_groups("design"), cpp_design_df, 0), Inf)
  # models have the same ones
  if (is_models(x)) said <- said[out$model == out$model[1]]
  events <- of_groups("events")
  n <- unlist(lapply(events, `[[`, "n"))
  new_estimate_table(out, level, if (length(events) > 0) replace(events[[1]], "n", list(if (!is.null(n)) sum(n))))
}

# The rows of one group, and what the result says about it: list(rows, dropped = c(dropped, of all), design, events,
# least = the fewest clusters of a ladder, note, estimates).
estimate_group <- function(predictions, notion, method, bases, level, horizon) {
  notion <- notion %||% default_notion(predictions)
  out <- list(dropped = c(predictions$dropped, predictions$n_input), design = predictions$design,
              events = events_of(predictions, notion, horizon))
  ladders <- list()
  # the canonical ladder takes the coarser ones on the default bases
  last <- notion == "canonical"
  predictions <- redrawn_rows(predictions, notion)
  for (one in c(notion[!last], notion[last])) {
    known <- if (is.null(bases)) ladders else list()
    ladders[[one]] <- notion_ladder(predictions, one, level, bases, known)
  }
  rows <- lapply(notion, function(one) headline_row(ladders[[one]], one, n_obs(predictions)))
  if (is_method(method)) {
    split <- split_predictions(predictions, 5, 0.2)
    # the method's own number beside the ladder's interval
    rows <- Map(function(row, one) {
      tuned <- tune_predictions(predictions, one, check_methods(method), list(split), level, headline = row)$glance
      replace(row, c("estimate", "std.error", "method"), tuned[c("estimate_holdout", "std.error_holdout", "method")])
    }, rows, notion)
  } else {
    # the squared estimate with its rows, and its limits as roots
    out$estimates <- lapply(unname(ladders), function(one) c(one$value, list(limits = c(one$low, one$high))))
  }
  of_ladders <- function(name) unlist(lapply(unname(ladders), `[[`, name))
  c(out, list(rows = bind_rows(rows), least = of_ladders("least"), note = of_ladders("note")))
}

# list(n, label, hint) of the events of a group; NULL of other notions.
events_of <- function(predictions, notion, horizon) {
  label <- if ("binary" %in% notion) event_label(predictions, "binary", horizon)
  if (is.null(label)) return(NULL)
  is_event <- if (is.null(predictions$probs)) predictions$outcome else predictions$truth == predictions$event
  copies <- predictions$design$copies
  # sums do not count them
  n <- if (is.null(predictions$ladder)) sum(if (is.null(copies)) is_event else is_event * copies)
  list(n = n, label = label, hint = event_hint(predictions))
}

check_estimate_method <- function(method, notion) {
  if (identical(method, "adaptive")) return(invisible())
  stop_if(!is_method(method), "{.arg method} must be {.val adaptive} or a method of {.code ?ce_methods}.",
          "x" = "It is {describe(method)}.",
          "i" = "{.fn ce_tune} chooses among methods by their risk.", class = "method", arg = "method", value = method)
  check_bins_notion(list(method), notion)
}
