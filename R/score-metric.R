#' Mean proper scores with their upper bounds
#'
#' The mean score, and with `bound = TRUE` the mean score minus its smallest possible entropy, which bounds the proper
#' calibration error from above.
#'
#' # Definition
#' `mean_i S(p_i, y_i)`, see [score_rules]. The proper calibration error of the score is
#' `CE_S = E d_S(f(X), P(Y | f(X)))`; it is zero exactly where predictions are calibrated
#' (strictly proper scores) and cannot be estimated without bias. Its upper bound
#' `U_S = E S(f(X), Y) - inf g_S` can (Gruber and Buettner 2022, Theorem 4.3). The difference is the remaining entropy
#' of the outcome given the prediction. The entropy of the Dawid-Sebastiani score has no lower bound unless variances
#' have one, `score_dss(min_variance = )`. A [ce_state()] of two classes, or of single probabilities, can be given as
#' `x`.
#'
#' # U-scores
#' A U-score of order 2 is `S(P_1, P_2, y_1, y_2)`; it is proper if predicting the conditional distributions minimises
#' its expectation over independent pairs. The result is its U-statistic `2 / (n (n - 1)) sum_{i < j} S(p_i, p_j, y_i,
#' y_j)` (Gruber and Buettner 2022, appendix F), `.metric` `"u_score"`, with a normal interval that is too short where
#' it is degenerate. Give the U-score as a function of `(p1, y1, p2, y2)`: matrices of probabilities with one row per
#' pair, and integer classes. It returns a number per pair and must not change when the two are swapped. For order 3 it
#' is a function of `(p1, y1, p2, y2, p3, y3)`, and so on.
#' # AUROC
#' `score = "auroc"`, alone, is the area under the ROC curve of two classes: the probability that an event has a higher
#' prediction than a non-event, ties half. Larger values are better. It has the limits of DeLong et al. (1988), cut to 0
#' and 1. Those of [ce_validate()] have the same standard error, on the logit scale. With fewer than 30 events or
#' non-events they go over into Wilson's, and with fewer than 2 there are none.
#' # Errors
#' `calibrisk_error_score` for an unknown score, a class score of real outcomes or the
#' reverse, and an upper bound that does not exist.
#' @inheritParams ece
#' @param x For class scores as everywhere; for `"dss"`, `"mse"`, `"crps"` and `"log"` a vector of
#'   predictive distributions such as [pred_normal()], or a data frame with such a column. Each of several
#'   columns or expressions is a model and has its row.
#' @param score One or several scores: names, or a list of [score_rules]. Or a function, see *U-scores*; or `"auroc"`.
#' @param bound Whether to estimate the upper bound \eqn{U_S} instead of the mean score.
#' @return A tibble with `.metric` (the score, or `"upper_bound"`), `.estimator`,
#' `.estimate`, `std.error`, `conf.low`, `conf.high`, `score`, `upper_bound`, `n`, `notion`
#' (`"canonical"` for three or more classes, `"binary"` for two and for a single probability, where the Brier score has
#' no factor 2 for the second class, `"regression"`),
#' `level`. Intervals are normal (with weights or clusters: Student's t), with the standard error of a mean, and end at
#' the score's smallest possible value (0; -1 for the spherical score, none for the Dawid-Sebastiani score). With fewer
#' than 30 events or non-events (or clusters) those of Brier and log score are symmetric on the log scale; with none
#' of them they are `NA`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#'   DeLong, DeLong and Clarke-Pearson (1988) \doi{10.2307/2531595}.
#' @seealso [ce_decompose()] splits the mean score; [rbs()] is the root of the Brier score.
#' @concept proper scoring rule
#' @concept Brier score
#' @concept log loss
#' @concept CRPS
#' @concept AUC
#' @concept DeLong
#' @concept forecast
#' @concept ensemble
#' @concept probabilistic forecast
#' @examples
#' probs <- rbind(c(0.7, 0.2, 0.1), c(0.2, 0.5, 0.3), c(0.1, 0.3, 0.6))
#' ce_score(probs, c(1, 2, 1), score = c("brier", "log", "spherical"))
#' # ordered classes
#' pain <- factor(c("none", "mild", "none"), levels = c("none", "mild", "severe"), ordered = TRUE)
#' ce_score(probs, pain, score = "rps")
#' ce_score(pred_normal(c(0, 1, 2), 1), c(0.3, 0.2, 2.5), score = "crps")
#' # a U-score: the kernel of skce()
#' residual <- function(p, y) p - diag(ncol(p))[y, , drop = FALSE]
#' ce_score(probs, c(1, 2, 1), score = function(p1, y1, p2, y2) {
#'   exp(-sqrt(rowSums((p1 - p2)^2))) * rowSums(residual(p1, y1) * residual(p2, y2))
#' })
#' @export
ce_score <- new_metric("ce_score", function(x, truth, ..., score = "brier", bound = FALSE, level = 0.95,
                                .by = NULL, event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL,
                                horizon = NULL) {
  check_flag(bound)
  check_level(level)
  # a function of the user's, not one that makes a score
  if (is.function(score) && !any(vapply(score_makers, identical, NA, score))) {
    return(u_score_frame(x, rows_input(quote_dots), score, level, bound))
  }
  if (identical(score, "auroc")) return(auroc_frame(x, rows_input(quote_dots, copies = TRUE), level, bound))
  scores <- as_scores(score, of_both = TRUE)
  score_frame(x, rows_input(quote_dots, copies = TRUE), scores, level, bound)
}, "minimize", c(-Inf, Inf))

# of_both: the log score is one of classes and of numbers, for who has both.
as_scores <- function(score, of_both = FALSE) {
  if (inherits(score, "ce_score_rule") || is.function(score)) score <- list(score)
  stop_if("auroc" %in% Filter(rlang::is_string, score), "{.val auroc} must be the only score.",
          "x" = "It is one of {length(score)}.", class = "score", arg = "score", value = score)
  scores <- lapply(score, as_score)
  if (length(scores) == 0) as_score(NULL)
  class <- vapply(scores, `[[`, "", "kind") == "class"
  real <- if (of_both) !vapply(scores, function(one) is.null(one$real), NA) else !class
  stop_if(!all(class) && !all(real), "All scores must be for classes or all for real outcomes.",
          "x" = "They are {.val {vapply(scores, `[[`, '', 'name')}}.", class = "score", arg = "score")
  scores
}

score_frame <- function(x, input, scores, level, bound) {
  names <- vapply(scores, `[[`, "", "name")
  dots <- input$dots
  real <- read_as_real(x, dots, scores)
  # `estimate`: of a score's mean, with its smallest value; `density`: whether outcomes have one
  columns <- function(estimate, notion, design, n = copy_count(design), log = NULL, density = FALSE) {
    # a density has no largest value
    least <- function(of) vapply(scores, function(s) if (density && s$kind == "class") -Inf else s[[of]], 0)
    smallest <- least("smallest")
    infima <- least("infimum")
    stop_if(bound && any(is.infinite(infima)), "A score whose entropy is unbounded below has no upper bound.",
            "x" = "It is {.val {names[is.infinite(infima)][1]}}.",
            "i" = "Give {.fn score_dss} its {.arg min_variance}, or compare mean scores: {.code bound = FALSE}.",
            class = "score", arg = "score")
    shift <- if (bound) infima else rep(0, length(infima))
    # no value of the score lies below `smallest`, hence no mean of them
    estimates <- lapply(seq_along(scores), function(k) {
      # of a state
      if (!is.null(log) && is_plain_log(scores[[k]])) return(log)
      one <- estimate(scores[[k]], smallest[k] - shift[k])
      replace(one, "value", one$value - shift[k])
    })
    mean <- vapply(estimates, `[[`, 0, "value")
    c(summarise_estimates(estimates, level)[shown_columns],
      list(upper_bound = ifelse(is.finite(infima), mean + shift - infima, NA_real_),
           score = names, n = n, notion = notion, .estimates = estimates))
  }
  metric <- if (bound) "upper_bound" else names
  if (real) {
    return(regression_frame(x, input, metric, function(law, y, design) {
      columns(function(s, smallest) score_estimate(s$real(law, y), design, smallest), "regression", design,
              density = !is_count(law))
    }, list(level = level)))
  }
  if (!"data" %in% names(dots)) check_no_laws(x, check_dot_names(dots), scores)
  metric_frame(x, input, metric, function(predictions) {
    check_whole_sums(predictions)
    columns(class_scores(predictions), whole_notion(predictions), predictions$design, n_obs(predictions),
            predictions$log)
  }, choices = list(level = level), edges = numeric())
}

# The log score without a floor is infinite where the outcome was impossible.
is_plain_log <- function(score) score$name == "log" && is.infinite(score$value(cbind(1, 0), 2L))

# Sums are of one probability per row. `what`: it needs all of them.
check_whole_sums <- function(predictions, what = "A score") {
  stop_if(!is.null(predictions$problem) && n_classes(predictions) > 2,
          "{what} of several classes needs all probabilities of a row.",
          "x" = "There are {n_classes(predictions)} classes, and sums of one probability per row.",
          "i" = "Take the rows, or a sample of them.", class = c("unsupported", "notion"), arg = "x")
}

# For scores that are for classes and numbers, the predictions say which.
read_as_real <- function(x, dots, scores) {
  if (any(vapply(scores, `[[`, "", "kind") == "real")) return(TRUE)
  if (missing(x)) return(FALSE)
  if (any(vapply(scores, function(one) is.null(one$real), NA)) || "data" %in% names(dots)) return(FALSE)
  if (is_models(x)) x <- x[[1]]
  if (is_read(x)) return(is_real(x))
  if (length(dots) == 1 && makes_law(dots[[1]])) return(TRUE)
  !is.null(law_given(x, check_column_names(dots))) || length(law_columns(x, dots)) > 1
}

# Scores of classes read probabilities.
check_no_laws <- function(x, dots, scores) {
  name <- (Find(function(one) is.null(one$real), scores) %||% scores[[1]])$name
  default <- if (length(scores) == 1 && name == "brier") ", the default,"
  stop_if(!missing(x) && !is.null(if (is_models(x)) x[[1]]$law else law_given(x, dots)),
          "{.arg score} must be one of numbers where {.arg x} holds predictive distributions.",
          "x" = "{.val {name}}{default} is a score of class probabilities.",
          "i" = "Scores of numbers are {.or {.val {real_scores()}}}.", class = "score", arg = "score", value = name)
}

# The mean of a score's rows. Rows of Inf and of -Inf have none: NA, with a warning.
score_estimate <- function(rows, design, smallest, few_events = NULL) {
  one <- mean_estimate(rows, design, smallest = smallest, few_events = few_events)
  if (all_finite(rows)) return(one)
  none <- is.nan(one$value) && !anyNA(rows)
  warn_if(
    none, "The mean score is {.val {NA}}: some scores are infinite, with both signs.",
    "x" = "{sum(rows == Inf)} of {length(rows)} are {.val {Inf}}, {sum(rows == -Inf)} are {.val {-Inf}}: \\
           predictions without spread.",
    "i" = "Give variances a lower bound, or use the CRPS, which such predictions have.", class = "infinite"
  )
  replace(one, c("value", "influence"), list(if (none) NA_real_ else one$value, NULL))
}

# The estimate of each score; the Brier score of one probability is a sum over its rows. Columns of both classes are
# made once, where a score needs them.
class_scores <- function(predictions, probs = simplex_probs(predictions), truth = simplex_truth(predictions)) {
  design <- predictions$design
  function(s, smallest) {
    if (s$name == "brier" && !is.null(predictions$prob)) {
      return(brier_estimate(predictions$prob, predictions$outcome, design, smallest = smallest))
    }
    few_events <- if (n_classes(predictions) == 2 && !is.null(s$of_one)) {
      cpp_few_events(predictions$outcome %||% (truth == 1), design)
    }
    score_estimate(score_rows(predictions, s, probs, truth), design, smallest, few_events)
  }
}

score_rows <- function(predictions, s, probs = simplex_probs(predictions), truth = simplex_truth(predictions)) {
  check_ranked(s, predictions)
  if (!is.null(s$of_one) && !is.null(predictions$prob)) return(s$of_one(predictions$prob, predictions$outcome))
  value <- s$value(probs, truth)
  if (n_classes(predictions) == 2) s$scalar * value else value
}

# metric_frame() for real outcomes.
regression_frame <- function(x, input, metric, fn, choices) {
  check_flag(input$na_rm, "na_rm")
  input <- without_yardstick(input)
  check_of_numbers <- function(classes) {
    stop_if(classes, "This score needs predictions of a real outcome.", "x" = "{.arg x} holds class probabilities.",
            "i" = "Give a vector of distributions such as {.fn pred_normal}, or choose a score of classes.",
            class = "score", arg = "x")
  }
  if (!missing(x)) check_of_numbers(is_state(x))
  frame <- function(data) {
    check_of_numbers(is.null(data$law))
    values <- as.list(fn(data$law, law_outcomes(data), data$design))
    if (data$na) values <- mask_numbers(values)
    with_read(result_frame(metric, "standard", values, choices, data), data)
  }
  by_groups(x, input$by, function(part) {
    models <- if (!is_read(part)) law_models(part, input)
    if (is.null(models)) return(frame(laws_of(part, input)))
    with_read(bind_parts(columns_frame(model = names(models)), unname(lapply(models, frame))), models)
  })
}
