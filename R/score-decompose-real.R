# Parts of a mean score of a real outcome: the distribution of the outcome given the prediction is the empirical
# distribution of a group of predictions.

decompose_real <- function(x, input, scores, n_bins, times) {
  by_groups(x, input$by, function(part) {
    data <- laws_of(part, input)
    stop_if(is.null(data$law) || dimension_of(data$law) > 1, "This score needs predictions of a real outcome.",
            "x" = "{.arg x} holds class probabilities, or predictions of several outcomes.",
            "i" = "Give a vector of distributions such as {.fn pred_normal}.", class = "score", arg = "x")
    y <- data$y[, 1]
    rows <- lapply(scores, function(s) real_parts(s, data$law, y, n_bins, times, data$design))
    if (is.null(n_bins)) warn_distinct(rows[[1]]$n_distinct, length(y))
    with_read(vctrs::vec_rbind(!!!rows), data)
  })
}

real_parts <- function(score, law, y, n_bins, times, design) {
  n <- length(y)
  group <- law_groups(law, n_bins, design$w)
  own <- score$value(law, y)
  parts <- function(rows, w) {
    best <- empirical_scores(score, y[rows], group[rows], w)
    overall <- empirical_scores(score, y[rows], rep(1L, length(rows)), w)
    cbind(own[rows], overall, own[rows] - best, overall - best)
  }
  all <- parts(seq_len(n), design$w)
  single <- !all(is.finite(all)) && all(is.finite(own))
  warn_if(single, "Parts of the score are {.val {NA}}: a group of predictions has outcomes without spread.",
          "i" = "Take fewer groups ({.arg n_bins}), or the CRPS.", class = "distinct")
  error <- apply(all, 2, row_std_error, design)
  value <- apply(all, 2, row_mean, design)
  value[is.nan(value) | single & is.infinite(value)] <- NA_real_
  parts_frame(score$name, "discrete", "regression", value, error, max(group), n, times, function(b) {
    rows <- resampled_rows(design)
    drawn <- design_rows(design, rows)
    apply(parts(rows, drawn$w), 2, row_mean, drawn)
  })
}

# Equal predictions, or groups of about equal size (weight) by the predicted mean; ties stay together.
law_groups <- function(law, n_bins, w = NULL) {
  if (is.null(n_bins)) return(as.integer(vctrs::vec_group_id(law)))
  mean <- score_moments(law)$mean
  sorted <- sort_values(mean, 0 * mean, w)
  edges <- unique(sorted$x[mass_ends(sorted, n_bins)])
  match(edges[findInterval(mean, edges, left.open = TRUE) + 1L], edges)
}

# Score of every outcome under the empirical distribution of its group, with weights w (NULL: none).
empirical_scores <- function(score, y, group, w = NULL) {
  switch(score$name,
    crps = empirical_crps(y, group, w),
    mse = (y - group_means(y, group, w))^2,
    dss = {
      r <- (y - group_means(y, group, w))^2
      dss_terms(group_means(r, group, w), r)
    }
  )
}

group_means <- function(v, group, w = NULL) {
  if (is.null(w)) stats::ave(v, group) else stats::ave(w * v, group) / stats::ave(w, group)
}

# mean_j |y_i - y_j| - mean_jk |y_j - y_k| / 2, from sorted sums.
empirical_crps <- function(y, group, w = NULL) {
  w <- w %||% rep(1, length(y))
  near <- numeric(length(y))
  for (rows in split(seq_along(y), group)) {
    rows <- rows[order(y[rows])]
    sorted <- y[rows]
    below <- cumsum(w[rows] * sorted)
    weight <- cumsum(w[rows])
    m <- length(rows)
    near[rows] <- (sorted * weight - below + (below[m] - below) - sorted * (weight[m] - weight)) / weight[m]
  }
  near - group_means(near, group, w) / 2
}
