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
    if (n < order) stop_few_rows(order, n)
    design <- predictions$design
    check_clusters(design, order)
    scores <- if (order == 2) pair_scores else function(...) set_scores(..., order = order)
    sums <- scores(simplex_probs(predictions), simplex_truth(predictions), design, score)
    estimate <- pair_mean(sums$total, sums$partners, design, smallest = -Inf, order = order)
    c(summarise_estimates(list(estimate), level)[shown_columns], list(n = n, .estimates = list(estimate)))
  }, choices = list(level = level))
}

# Per row, the weighted sum of its scores with all others (of other clusters), and the weight of these.
pair_scores <- function(probs, truth, design, score) {
  n <- length(truth)
  w <- design_weights(design)
  total <- numeric(n)
  for (i in seq_len(n - 1)) {
    j <- seq(i + 1, n)
    if (!is.null(design$cluster)) j <- j[design$cluster[j] != design$cluster[i]]
    m <- length(j)
    if (m == 0) next
    value <- check_scores(
      score(probs[rep(i, m), , drop = FALSE], rep(truth[i], m), probs[j, , drop = FALSE], truth[j]), m,
      cli::format_inline("For {m} pair{?s} of rows and {ncol(probs)} classes.")
    )
    total[i] <- total[i] + sum(w[j] * value)
    total[j] <- total[j] + w[i] * value
  }
  list(total = total, partners = partner_weight(design))
}

most_sets <- 1e7
sets_per_call <- 1e4

# The same over sets of `order` rows.
set_scores <- function(probs, truth, design, score, order, per_call = sets_per_call) {
  n <- length(truth)
  stop_if(choose(n, order) > most_sets, "There must be at most {count_text(most_sets)} sets of {order} rows.",
          "x" = "{n} rows have {count_text(choose(n, order))}.",
          "i" = "Use a score of fewer predictions, or a sample of the rows.", class = "rows", arg = "score")
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
    value <- check_scores(do.call(score, arguments), ncol(part),
                          cli::format_inline("For {ncol(part)} sets of {order} rows and {ncol(probs)} classes."))
    # product of the weights of the others
    others <- rep(apply(matrix(w[part], order), 2, prod), each = order) / w[part]
    per_row <- function(v) vapply(split(v, factor(part, seq_len(n))), sum, 0, USE.NAMES = FALSE)
    total <- total + per_row(others * rep(value, each = order))
    partners <- partners + per_row(others)
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
