# Scores of several predictions at once: ce_score() with a function as its score, of all pairs (or larger sets) of rows.

u_score_frame <- function(x, input, score, level, bound) {
  size <- length(setdiff(names(formals(args(score))), "..."))
  stop_if(size < 4 || size %% 2 != 0, "{.arg score} must be a score, or a function of {.code (p1, y1, p2, y2)}.",
          "x" = "It takes {size} argument{?s}.", "i" = "See U-scores in {.code ?ce_score}.", class = "score",
          arg = "score")
  stop_if(bound, "A score of several predictions has no upper bound.", "x" = "{.arg bound} is {.val {TRUE}}.",
          class = "score", arg = "bound")
  stop_if(!missing(x) && is_state(x), "A score of several predictions needs rows.",
          "x" = "{.arg x} is a state.", class = "unsupported", arg = "x")
  order <- size %/% 2
  metric_frame(x, input, "u_score", function(predictions) {
    n <- n_obs(predictions)
    check_rows(n, order)
    design <- predictions$design
    check_clusters(design, order)
    sums <- set_scores(simplex_probs(predictions), simplex_truth(predictions), design, score, order)
    estimate <- pair_mean(sums$total, sums$partners, design, smallest = -Inf, order = order)
    c(summarise_estimates(list(estimate), level)[shown_columns], list(n = n, .estimates = list(estimate)))
  }, choices = list(level = level))
}

most_sets <- 1e7

# Per row, the weighted sum of its scores with all sets of others (of other clusters), and the weight of these.
set_scores <- function(probs, truth, design, score, order) {
  n <- length(truth)
  stop_if(order > 2 && choose(n, order) > most_sets,
          "There must be at most {count_text(most_sets)} sets of {order} rows.",
          "x" = "{n} rows have {count_text(choose(n, order))}.",
          "i" = "Use a score of fewer predictions, or a sample of the rows.", class = "rows", arg = "score")
  w <- design_weights(design)
  total <- partners <- numeric(n)
  for (i in seq_len(n - order + 1)) {
    # those whose first row is i
    sets <- rbind(i, i + if (order == 2) seq_len(n - i) else utils::combn(n - i, order - 1))
    if (!is.null(design$cluster)) {
      sets <- sets[, apply(matrix(design$cluster[sets], order), 2, anyDuplicated) == 0, drop = FALSE]
    }
    if (ncol(sets) == 0) next
    arguments <- lapply(seq_len(order), function(k) list(probs[sets[k, ], , drop = FALSE], truth[sets[k, ]]))
    score_of <- function(arguments) {
      check_scores(do.call(score, unlist(arguments, recursive = FALSE)), ncol(sets),
                   cli::format_inline("For {ncol(sets)} sets of {order} rows and {ncol(probs)} classes."))
    }
    value <- score_of(arguments)
    stop_if(i == 1 && !isTRUE(all.equal(value, score_of(rev(arguments)))),
            "{.arg score} must not depend on the order of its predictions.",
            "x" = "It returns other numbers for the same ones in reverse.", class = "score", arg = "score")
    for (k in seq_len(order)) {
      others <- Reduce(`*`, lapply(seq_len(order)[-k], function(j) w[sets[j, ]]))
      sums <- sum_by_cluster(cbind(others * value, others), sets[k, ], n)
      total <- total + sums[, 1]
      partners <- partners + sums[, 2]
    }
  }
  list(total = total, partners = partners)
}

# `where`: a text for the error of a score that fails.
check_scores <- function(value, size, where) {
  value <- user_value(value, "score", where, "score")
  stop_if(!is.numeric(value) || length(value) != size || anyNA(value),
          "{.arg score} must return a number for each of its pairs or sets.",
          "x" = "For {size} of them it returned {describe(value)}.", class = "score", arg = "score")
  value
}
