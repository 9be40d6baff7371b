# Parts of a mean score of a real outcome: the distribution of the outcome given the prediction is the empirical
# distribution of a group of predictions.

decompose_real <- function(x, input, scores, n_bins, times) {
  by_groups(x, input$by, function(part) {
    data <- laws_of(part, input)
    stop_if(is.null(data$law) || dimension_of(data$law) > 1, "This score needs predictions of a real outcome.",
            "x" = "{.arg x} holds class probabilities, or predictions of several outcomes.",
            "i" = "Give a vector of distributions such as {.fn pred_normal}.", class = "score", arg = "x")
    y <- data$y[, 1]
    group <- law_groups(data$law, n_bins, data$design$w)
    rows <- lapply(scores, function(s) {
      of <- list(given = s$value(data$law, y), y = y, labels = group, design = data$design)
      decompose_score(of, s, "discrete", "regression", times, function(of) {
        fit <- function(group) empirical_scores(s, of$y, group, of$design$w)
        list(rows = score_terms(of$given, fit(rep(1L, length(of$y))), fit(of$labels)), distinct = max(group))
      })
    })
    if (is.null(n_bins)) warn_distinct(rows[[1]]$n_distinct, length(y))
    with_read(vctrs::vec_rbind(!!!rows), data)
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
