#' Scores of several predictions at once
#'
#' The mean of a score that takes two (or more) predictions with their outcomes, over all pairs (or larger sets) of
#' rows.
#'
#' # Definition
#' A U-score of order 2 is `S(P_1, P_2, y_1, y_2)`; it is proper if predicting the conditional distributions minimises
#' its expectation over independent pairs. The U-statistic `2 / (n (n - 1)) sum_{i < j} S(p_i, p_j, y_i, y_j)` is the
#' unbiased estimator of least variance of the expected score (Gruber and Buettner 2022, appendix F). A U-score of order
#' r takes r predictions and r outcomes, and the U-statistic is the mean over all `choose(n, r)` sets of r rows. With
#' weights it is weighted by the products of the rows' weights, with clusters it is over the sets of rows of different
#' clusters. With `S = (p_1 - e_{y_1})' k(p_1, p_2) (p_2 - e_{y_2})` it is the squared kernel calibration error, with
#' entropy and sharpness 0: [skce()] computes that one fast. Results for scores of one prediction, such as the upper
#' bound and the identity behind [ce_gain()], need not hold here.
#'
#' # Cost
#' `n` calls of `score`, each with up to `n` pairs; of higher order `choose(n, order)` sets in calls of up to 10,000, at
#' most 10 million.
#' @inheritParams ece
#' @param score A function of `(p1, y1, p2, y2)`: matrices of probabilities with one row per pair and integer classes;
#'   it returns a number per pair and must not change when the two are swapped. For order 3 it is a function of `(p1,
#'   y1, p2, y2, p3, y3)`, and so on.
#' @param order Number of predictions that the score takes, at least 2.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high` (normal, from the
#' projections of
#' the U-statistic; too short where it is degenerate), `n` and `level`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @examples
#' residual <- function(p, y) p - diag(ncol(p))[y, , drop = FALSE]
#' kernel_score <- function(p1, y1, p2, y2) {
#'   exp(-sqrt(rowSums((p1 - p2)^2))) * rowSums(residual(p1, y1) * residual(p2, y2))
#' }
#' probs <- rbind(c(0.7, 0.2, 0.1), c(0.2, 0.5, 0.3), c(0.1, 0.3, 0.6), c(0.8, 0.1, 0.1))
#' u_score(probs, c(1, 2, 1, 1), score = kernel_score)
#' @export
u_score <- new_metric(function(x, truth, ..., score, level = 0.95, .by = NULL,
                               event_level = "first", na_rm = TRUE, order = 2,
                               weights = NULL, cluster = NULL, horizon = NULL) {
  check_count(order, lower = 2)
  stop_if(missing(score) || !is.function(score), "{.arg score} must be a function of {.code (p1, y1, p2, y2)}.",
          "x" = if (missing(score)) "It is missing." else "It is {describe(score)}.",
          kernel_score_remedy(if (!missing(score)) score, current_env()), class = "score", arg = "score")
  stop_if(length(formals(args(score))) < 4, "{.arg score} must be a function of {.code (p1, y1, p2, y2)}.",
          "x" = "It takes {length(formals(args(score)))} argument{?s}.", kernel_score_remedy(score, current_env()),
          class = "score", arg = "score")
  check_level(level)
  call <- current_env()
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), "u_score", function(predictions) {
    n <- n_obs(predictions)
    if (n < order) stop_few_rows(order, n, call)
    design <- predictions$design
    check_clusters(design, order, call)
    scores <- if (order == 2) pair_scores else function(...) set_scores(..., order = order)
    sums <- scores(simplex_probs(predictions), simplex_truth(predictions), design, score, call)
    estimate <- pair_mean(sums$total, sums$partners, design, smallest = -Inf, order = order)
    c(summarise_estimates(list(estimate), level)[shown_columns], list(n = n, .estimates = list(estimate)))
  }, event_level, na_rm, choices = list(level = level), design = design_input(enquo(weights), enquo(cluster), horizon))
}, "minimize", c(-Inf, Inf))

# Per row, the weighted sum of its scores with all others (of other clusters), and the weight of these.
pair_scores <- function(probs, truth, design, score, call) {
  n <- length(truth)
  w <- design_weights(design)
  total <- numeric(n)
  for (i in seq_len(n - 1)) {
    j <- seq(i + 1, n)
    if (!is.null(design$cluster)) j <- j[design$cluster[j] != design$cluster[i]]
    m <- length(j)
    if (m == 0) next
    value <- user_value(
      score(probs[rep(i, m), , drop = FALSE], rep(truth[i], m), probs[j, , drop = FALSE], truth[j]),
      "score", "For {m} pair{?s} of rows and {ncol(probs)} classes.", "score", call
    )
    check_scores(value, m, call)
    total[i] <- total[i] + sum(w[j] * value)
    total[j] <- total[j] + w[i] * value
  }
  list(total = total, partners = partner_weight(design))
}

most_sets <- 1e7
sets_per_call <- 1e4

# The same over sets of `order` rows.
set_scores <- function(probs, truth, design, score, call, order, per_call = sets_per_call) {
  n <- length(truth)
  stop_if(choose(n, order) > most_sets,
          "There must be at most {format(most_sets, big.mark = ',')} sets of {order} rows.",
          "x" = "{n} rows have {format(choose(n, order), big.mark = ',')}.",
          "i" = "Use a lower {.arg order}, or a sample of the rows.", class = "rows", arg = "order", call = call)
  sets <- utils::combn(n, order)
  w <- design_weights(design)
  if (!is.null(design$cluster)) {
    sets <- sets[, apply(matrix(design$cluster[sets], order), 2, anyDuplicated) == 0, drop = FALSE]
  }
  total <- partners <- numeric(n)
  for (begin in seq(1, ncol(sets), by = per_call)) {
    part <- sets[, begin:min(begin + per_call - 1, ncol(sets)), drop = FALSE]
    arguments <- unlist(lapply(seq_len(order), function(k) {
      list(probs[part[k, ], , drop = FALSE], truth[part[k, ]])
    }), recursive = FALSE)
    value <- user_value(do.call(score, arguments), "score",
                        "For {ncol(part)} set{?s} of {order} rows and {ncol(probs)} classes.", "score", call)
    check_scores(value, ncol(part), call)
    # product of the weights of the others
    others <- rep(apply(matrix(w[part], order), 2, prod), each = order) / w[part]
    per_row <- function(v) vapply(split(v, factor(part, seq_len(n))), sum, 0, USE.NAMES = FALSE)
    total <- total + per_row(others * rep(value, each = order))
    partners <- partners + per_row(others)
  }
  list(total = total, partners = partners)
}

check_scores <- function(value, size, call) {
  stop_if(!is.numeric(value) || length(value) != size || anyNA(value),
          "{.arg score} must return a number for each of its pairs or sets.",
          "x" = "For {size} of them it returned {describe(value)}.", class = "score", arg = "score", call = call)
}

# Scores of one row at a time are those of ce_score().
kernel_score_remedy <- function(score, call) {
  made <- names(score_makers)[vapply(score_makers, identical, NA, score)]
  name <- c(made, if (rlang::is_string(score)) meant_word(score, names(score_makers)))
  if (length(name) > 0) {
    return(remedy("{.fn ce_score} does this", mended_line(call, list(score = name[1]), verb = "ce_score")))
  }
  verb <- meant_verb(score)
  if (!is.null(verb)) return(verb_remedy(verb, call))
  c("i" = "As in {.code function(p1, y1, p2, y2) rowSums((p1 - p2)^2)}; see the example of {.code ?u_score}.")
}
