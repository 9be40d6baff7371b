#' Split a mean score into entropy, calibration and sharpness
#'
#' # Definition
#' `E S(f, Y) = g(P_Y) + E d(f, P_{Y|f}) - E d(P_Y, P_{Y|f})`, entropy plus calibration minus
#' sharpness (Gruber and Buettner 2022, Lemma 4.1), also known as uncertainty,
#' miscalibration (reliability) and discrimination (resolution).
#'
#' * `method = "discrete"` groups equal predictions and takes the observed frequencies of
#'   each group for `P_{Y|f}`: the identity is exact. It is meant for predictions with few
#'   distinct values; where all are distinct, every outcome is its own frequency, and
#'   calibration is as large as it can be (Murphy 1973).
#' * `method = "isotonic"` (scalar predictions only) takes the isotonic regression of the outcome on the prediction, by
#'   pooling adjacent violators. Calibration is the gain in mean score by that recalibration, sharpness its gain over
#'   the overall frequency. Neither is ever negative (CORP: Dimitriadis, Gneiting and Jordan 2021).
#'
#' For predictive distributions of a real outcome (`"dss"`, `"mse"`, `"crps"`) the rows are grouped: by equal
#' predictions, or in `n_bins` groups of about equal size and similar predicted mean. The empirical distribution of a
#' group's outcomes replaces `P_{Y|f}`, and that of all outcomes replaces `P_Y`. Calibration is the mean score of the
#' predictions minus the mean score of the groups' distributions. Sharpness is the mean score of the distribution of all
#' outcomes minus the mean score of the groups' distributions. With groups of equal predictions these are the mean
#' divergences of the Lemma; groups of similar predictions add the differences within a group.
#'
#' # Intervals
#' All parts are means over rows of scores and of differences of scores. A proper score is smallest at the frequency, so
#' noise in the frequencies changes these means only in second order. The standard error accounts for noise, not for
#' bias. With few rows per distinct prediction, calibration and sharpness are both too large by about the same amount.
#' With `"discrete"` a warning of class `calibrisk_warning_distinct` is raised if there are more than half as many
#' distinct predictions as rows. The bootstrap's standard errors (`times`) are `NA` for one row, and if a score is
#' infinite.
#' # Invariants
#' `entropy + calibration - sharpness = mean_score`; calibration and sharpness are at least 0.
#' @inheritParams ece
#' @param score One or several scores, see [score_rules]: of classes, or of real outcomes (`"dss"`, `"mse"`, `"crps"`).
#' @param method `"discrete"` or `"isotonic"`.
#' @param notion `"canonical"`, `"top_label"` or `"binary"`; by default binary for a single probability and for two
#'   classes, and of more classes canonical with `"discrete"`, top-label with `"isotonic"`.
#' @param times Number of bootstrap samples for standard errors of the parts; 0 for the analytic ones.
#' @param n_bins For real outcomes: the number of groups of similar predicted means; `NULL` for groups of equal
#'   predictions.
#' @return A tibble with `score`, `method`, `notion`, `mean_score`, `entropy`, `calibration`,
#' `sharpness`, `n_distinct` (groups or pools) and `n`; one row per score and group.
#' The columns `mean_score_std.error`, `entropy_std.error`, `calibration_std.error` and
#' `sharpness_std.error` are standard errors: see Intervals.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835};
#'   Murphy (1973), A new vector partition of the probability score, *Journal of Applied
#'   Meteorology* 12;
#'   Dimitriadis, Gneiting and Jordan (2021) \doi{10.1073/pnas.2016191118}.
#' @concept score decomposition
#' @concept Murphy decomposition
#' @concept CORP
#' @concept reliability resolution uncertainty
#' @concept discrimination
#' @concept forecast
#' @examples
#' p <- c(0.2, 0.2, 0.2, 0.8, 0.8, 0.8, 0.8)
#' y <- c(0, 0, 1, 1, 1, 0, 1)
#' ce_decompose(p, y, score = c("brier", "log"))
#' ce_decompose(p, y, method = "isotonic")
#' @export
ce_decompose <- function(x, truth, ..., score = "brier", method = c("discrete", "isotonic"),
                         notion = NULL, times = 0, .by = NULL, event_level = "first",
                         n_bins = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  scores <- as_scores(score)
  method <- check_choice(method, c("discrete", "isotonic"))
  check_count(times, lower = 0)
  check_bins(n_bins, null = TRUE)
  if (scores[[1]]$kind == "real") {
    stop_if(method != "discrete" || !is.null(notion),
            "Scores of real outcomes are split by {.code method = \"discrete\"}, without a {.arg notion}.",
            "x" = "The score is {.val {scores[[1]]$name}}.", "i" = "{.arg n_bins} groups similar predictions.",
            class = "score", arg = "score")
    return(decompose_real(x, rows_input(quote_dots), scores, n_bins, times))
  }
  input <- rows_input(copies = TRUE)
  check_no_laws(x, input$dots, scores)
  stop_if(!is.null(n_bins), "{.arg n_bins} is for scores of real outcomes.",
          "x" = "The score is {.val {scores[[1]]$name}}.",
          "i" = "Round the probabilities, or use {.code method = \"isotonic\"}.", arg = "n_bins")
  if (!is.null(notion)) check_notion(notion)
  allowed <- c(if (method == "discrete") "canonical", "top_label", "binary")
  stop_if(!is.null(notion) && !notion %in% allowed,
          "{.code method = \"{method}\"} is for {.or {.val {allowed}}} predictions.",
          "x" = "{.arg notion} is {.val {notion}}.", class = "notion", arg = "notion")
  asked <- list(notion = notion, interval = if (times > 0) "bootstrap")
  by_predictions(read_table(x), function(predictions) {
    used <- notion %||% if (method == "isotonic") default_notion(predictions) else whole_notion(predictions)
    if (used == "canonical") lapply(scores, check_ranked, predictions)
    data <- decompose_data(predictions, used)
    rows <- lapply(scores, function(s) {
      decompose_score(data, s, method, used, times, function(data) split_classes(data, s, method),
                      if (data$scalar) s$scalar else 1)
    })
    if (method == "discrete") warn_distinct(rows[[1]]$n_distinct, rows[[1]]$n)
    vctrs::vec_rbind(!!!rows)
  }, c(input, asked))
}

# The predictions as a simplex matrix with classes; `factor` halves the scalar Brier score.
decompose_data <- function(predictions, notion) {
  if (notion == "canonical" && is.null(predictions$problem)) {
    scalar <- is.null(predictions$probs)
    return(list(probs = simplex_probs(predictions), truth = simplex_truth(predictions), scalar = scalar,
                design = predictions$design))
  }
  problem <- notion_problems(predictions, notion)[[1]]
  x <- problem$features[, 1]
  list(probs = cpp_event_columns(x), truth = problem$labels + 1L, scalar = TRUE, design = predictions$design)
}

# A row of the result. `split(data)`: list(rows, distinct) of all rows or of those of a bootstrap sample. The columns of
# `rows` are the terms of mean score, entropy, calibration and sharpness. The standard error of the mean score is that
# of its rows; those of the others are from the bootstrap where it is asked for.
decompose_score <- function(data, score, method, notion, times, split, factor = 1) {
  design <- data$design
  n <- copy_count(design)
  whole <- if (n > 0) split(data) else list(rows = matrix(NA_real_, 0, 4), distinct = NA_integer_)
  means <- function(rows, design) factor * apply(rows, 2, row_mean, design)
  value <- means(whole$rows, design)
  error <- factor * apply(whole$rows, 2, cpp_row_std_error, design)
  single <- all(is.finite(whole$rows[, 1])) && !all(is.finite(whole$rows))
  warn_if(single, "Parts of the score are {.val {NA}}: a group of predictions has outcomes without spread.",
          "i" = "Take fewer groups ({.arg n_bins}), or the CRPS.", class = "distinct")
  value[is.nan(value) | single & is.infinite(value)] <- NA_real_
  if (times > 0 && n > 1) {
    drawn <- vapply(seq_len(times), function(b) {
      sample <- sampled_rows(data, resampled_copies(design))
      means(split(sample)$rows, sample$design)
    }, value)
    error[-1] <- apply(drawn, 1, sd)[-1]
  }
  # an infinite score has no spread, in samples without its rows too
  error[!is.finite(error) | !is.finite(value)] <- NA_real_
  parts <- c("mean_score", "entropy", "calibration", "sharpness")
  columns_frame(score = score$name, method = method, notion = notion, !!!setNames(value, parts),
                !!!setNames(error, paste0(parts, "_std.error")), n_distinct = whole$distinct, n = n)
}

# From the scores of rows: those of their predictions, of the outcomes of all rows, and of the outcomes that belong to
# the prediction.
score_terms <- function(own, overall, best) cbind(own, overall, own - best, overall - best)

split_classes <- function(data, score, method) {
  probs <- data$probs
  truth <- data$truth
  w <- design_weights(data$design)
  classes <- seq_len(ncol(probs))
  if (method == "isotonic") {
    fitted <- cpp_isotonic_rows(probs[, 2], truth - 1L, data$design$w)
    best <- cpp_event_columns(fitted$rows)
    distinct <- length(fitted$values)
  } else {
    cell <- vctrs::vec_group_id(probs)
    distinct <- attr(cell, "n")
    sums <- sum_by_cluster(cbind(w, w * outer(truth, classes, `==`)), cell)
    best <- (sums[, -1, drop = FALSE] / sums[, 1])[cell, , drop = FALSE]
  }
  # one prediction for all rows has a score for each class
  frequency <- sum_by_cluster(w, truth, ncol(probs)) / sum(w)
  overall <- score$value(matrix(frequency, ncol(probs), ncol(probs), byrow = TRUE), classes)[truth]
  list(rows = score_terms(score$value(probs, truth), overall, score$value(best, truth)), distinct = distinct)
}

# Warns if most predictions are distinct, since the frequencies are then the outcomes themselves.
warn_distinct <- function(distinct, n) {
  warn_if(isTRUE(distinct > n / 2) && n >= 2,
          "The decomposition is not informative: {distinct} of {n} prediction{?s} {?is/are} distinct.",
          "x" = "Each is compared with the outcomes of its own few rows: calibration comes out near the score, \\
                 sharpness near the entropy.",
          "i" = "Round or bin the predictions, or use {.code method = \"isotonic\"}; {.fn ce_estimate} estimates the \\
                 calibration error.", class = "distinct")
}
