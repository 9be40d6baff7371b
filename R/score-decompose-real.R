# Parts of a mean score of a real outcome: the distribution of the outcome given the prediction is the empirical
# distribution of a group of predictions.

decompose_real <- function(x, input, scores, n_bins, times) {
  by_groups(x, input$by, function(part) {
    data <- counted_laws(part, input)
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
  of_groups <- function(v, crps = FALSE) cpp_group_scores(v, group, as.numeric(w), crps)
  if (score$name == "crps") return(of_groups(y, TRUE))
  r <- (y - of_groups(y))^2
  if (score$name == "mse") r else dss_terms(of_groups(r), r)
}
