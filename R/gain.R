#' Improvement by a recalibration map
#'
#' Compares the predictions of the same rows before and after recalibration, with a paired standard error. Either one
#' map was fitted on other data, or several maps (and no map) are fitted here on folds of the rows.
#'
#' # Definition
#' `gain = mean_i [ S(before_i, y_i) - S(after_i, y_i) ]`, positive where `after` is better, with
#' standard error `sd(differences) / sqrt(N)`: the row `scale = "squared"`. For the Brier score, the
#' only one that is a squared distance, the row `scale = "root"` is the difference of the root Brier
#' scores R with standard error `sd(S_before / R_before - S_after / R_after) / (2 sqrt(N))`. With fewer than 30 events,
#' non-events or effective rows (N / (kurtosis of the differences - 2)), limits have Student's quantiles with one degree
#' of freedom less than there are, as those of [ce_compare()] and of the area of [ce_decision()] have. With one event
#' there are none.
#'
#' # When is it the improvement of the calibration error?
#' If `after = h(before)` with an injective `h` that was fitted on other data, the difference of mean scores is an
#' unbiased estimate of the difference of the proper calibration errors, `CE_S(before) - CE_S(after)` (Gruber and
#' Buettner 2022, Proposition 4.5). For the Brier score that is the difference of squared errors CE_2; on the root scale
#' it is not. A map that is not injective also loses sharpness, and the gain mixes both; for two unrelated models there
#' is no map at all.
#'
#' With `injective = NULL` the data decide whether it is `FALSE`; otherwise it is unknown (`NA`), because a finite
#' sample cannot prove it. A warning of class `calibrisk_warning_injective` is given if it is `FALSE` and you did not
#' set it yourself.
#' # Several maps
#' `after` may be a list of maps to fit, such as `list(map_platt(), map_update())` or `c("platt", "isotonic")`. Each is
#' fitted to all folds except one and judged on that one, so every row is judged by maps that have not seen it. It is
#' the gain of maps fitted to the share `1 - 1 / folds` of the rows. The row `"none"` leaves the predictions as they
#' are. Folds follow from the rows' values: the same rows have the same folds in any order and for any seed. The rows of
#' a cluster are in one fold.
#' @inheritParams ece
#' @param before,after Predictions of the same rows: matrices, vectors, or data frames with the same
#'   probability columns. `after` may be a map of [ce_recalibrate()], which is then applied to `before`, or what
#'   `augment()` makes of it: columns `.recal_*` go before `.pred_*`; or a map to be fitted, or several, see *Several
#'   maps*.
#' @param truth The outcome; for data frames a column of `before`.
#' @param ... <[`tidy-select`][tidyselect::language]> Probability columns of data frames; by default those that a map in
#'   `after` was fitted on, else those that start with `.pred_`.
#' @param score A class score, see [score_rules].
#' @param injective Is `after` an injective function of `before`? Maps to be fitted know it.
#' @param folds,repeats For maps to be fitted: the number of folds, an integer vector with each row's fold, or an
#'   rsample `rset`; and the number of splits to average over if `folds` is a number.
#' @return A tibble with the groups, then `score`, `scale`, `before`, `after`, `gain`, `std.error`, `conf.low`,
#'   `conf.high`,
#' `injective`, `measures` (what the gain is an estimate of), `n`, `level`. For a list of maps a row for `"none"` and
#' each map on the squared scale: `map`, `score`, `before`, `after`, `gain`, `std.error`, `conf.low`, `conf.high`,
#' `injective` (in every fold), `converged`, `folds`, `repeats`, `n`, `level`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#'
#' Bayle, P., Bayle, A., Janson, L. and Mackey, L. (2020). Cross-validation confidence intervals for test error.
#' *Advances in Neural Information Processing Systems* 33.
#' @concept recalibration gain
#' @concept proper score
#' @concept Brier score
#' @concept temperature scaling
#' @concept paired difference
#' @examples
#' before <- rbind(c(0.7, 0.2, 0.1), c(0.2, 0.5, 0.3), c(0.1, 0.3, 0.6), c(0.8, 0.1, 0.1))
#' after <- before^0.8 / rowSums(before^0.8)
#' ce_gain(before, after, c(1, 2, 1, 1), injective = TRUE)
#' # which map, if any?
#' set.seed(1)
#' p <- runif(300)
#' y <- rbinom(300, 1, plogis(0.5 * qlogis(p)))
#' ce_gain(p, list(map_platt(), "isotonic", map_update()), y)
#' @export
ce_gain <- function(before, after, truth, ..., score = "brier", injective = NULL, level = 0.95,
                    .by = NULL, event_level = "first", weights = NULL, cluster = NULL, horizon = NULL,
                    folds = 10, repeats = 1) {
  score <- as_scores(score)[[1]]
  stop_if(score$kind != "class", "{.fn ce_gain} needs a score of class probabilities.",
          "x" = "It is {.val {score$name}}.", class = "score", arg = "score")
  if (!is.null(injective) && !(is.logical(injective) && length(injective) == 1)) {
    check_flag(injective)
  }
  check_level(level)
  before <- read_results(before, "before")
  input <- evaluate_input_once(rows_input(copies = TRUE), before)
  after_dots <- input$dots
  stop_if(missing(after), "{.arg after} must be given: other predictions, or maps.", "x" = "It is missing.",
          arg = "after")
  check_has_rows(after, "after")
  check_ordered(after, "after")
  if (is_survey(after)) after <- survey_frame(after)
  maps <- unfitted_maps(after)
  check_gain_folds(is.null(maps), injective, c("folds", "repeats")[!c(missing(folds), missing(repeats))])
  if (!is.null(maps)) {
    asked <- list(score = score, level = level, folds = folds, repeats = repeats, logits = FALSE,
                  floor = .Machine$double.eps)
    return(gains_of_maps(before, maps, c(input, asked)))
  }
  stated <- !is.null(injective)
  reason <- "different predictions have the same image, or equal ones different images"
  check_gain_map(after)
  if (inherits(after, "ce_recalibration")) {
    if (!stated) {
      injective <- after$injective$value
      reason <- after$injective$reason
    }
    map <- after
    after <- predict(map, if (is.data.frame(before)) ungroup_frame(before) else before)
    before <- without_logits(before, map)
    if (is.data.frame(after)) {
      after_dots <- rlang::quos(tidyselect::all_of(!!names(after)))
      if (length(input$dots) == 0) input$dots <- after_dots
    }
  }
  check_same_kind(before, after)
  out <- by_pairs(before, after, input$by, function(before, after) {
    pair <- gain_pair(before, after, input, after_dots)
    one <- injective %||% if (not_injective(pair$before, pair$after)) FALSE else NA
    with_read(gain_table(pair, score, one, level), pair$read)
  })
  if (!stated && any(out$injective %in% FALSE)) warn_not_injective(reason)
  measures <- unique(out$measures[out$scale == "squared"])
  new_table(out, c("Gain" = "before minus after, on the same rows",
                   "Squared scale" = if (length(measures) == 1) measures else "see `measures`"), "ce_gain")
}

# Arguments that the other kind of `after` does not read.
check_gain_folds <- function(predicted, injective, given) {
  stop_if(predicted && length(given) > 0, "{.arg {given}} {?is/are} for maps that are fitted here.",
          "x" = "{.arg after} holds predictions, or a map that was fitted before.",
          "i" = "As in {.code ce_gain(before, list(map_platt(), map_update()), truth)}.", arg = given[1])
  stop_if(!predicted && !is.null(injective), "{.arg injective} is for given predictions.",
          "x" = "Maps know whether they are.", arg = "injective")
}

check_gain_map <- function(after) {
  stop_if(inherits(after, "ce_grouped"), "{.arg after} must be one map, or predictions.",
          "x" = "It is a map per group.", "i" = "Take the rows and the map of each group.", arg = "after")
  stop_if(inherits(after, "ce_recalibration") && after$kind == "distribution",
          "{.fn ce_gain} needs a map of class probabilities.", "x" = "It is a map of variances.",
          "i" = "{.code ce_moments(x, truth, after = map)} gives its gain.", arg = "after")
}

check_same_kind <- function(before, after) {
  stop_if(is.data.frame(before) != is.data.frame(after), "{.arg before} and {.arg after} must be of the same kind.",
          "x" = "They are {.cls {class(before)[1]}} and {.cls {class(after)[1]}}.",
          "i" = "Give both as data frames with the same columns, or both as vectors or matrices.", arg = "after")
  designs <- if (is.data.frame(after)) list(before[[survey_column]], after[[survey_column]])
  stop_if(!is.null(designs[[2]]) && !identical(designs[[1]], designs[[2]]),
          "{.arg before} and {.arg after} must be of the same survey design.",
          "x" = if (is.null(designs[[1]])) "{.arg before} is a data frame." else "Their weights or clusters differ.",
          class = "weights", arg = "after")
  stop_if(
    NROW(after) != NROW(before), "{.arg before} and {.arg after} must be predictions of the same rows.",
    "x" = "{.arg before} has {NROW(before)} rows, {.arg after} has {NROW(after)}.",
    "i" = "Models leave out rows with missing values: predict with {.code newdata =}. A data frame that has both in \\
           columns keeps them together.", class = "length", arg = "after"
  )
}

# by_groups() for two inputs with the same rows; the groups are those of the first.
by_pairs <- function(x, y, by, fn) {
  plain <- function(data) if (is.data.frame(data)) ungroup_frame(data) else data
  y <- plain(y)
  by_groups(x, by, function(part) {
    rows <- if (isTRUE(attr(part, "in_group"))) attr(part, "rows", exact = TRUE)
    fn(plain(part), if (is.null(rows)) y else vctrs::vec_slice(y, rows))
  })
}

# Both predictions on the rows that are complete in both.
gain_pair <- function(before, after, input, after_dots) {
  one <- read <- predictions_of(before, input)
  # the outcomes of `before` are those of `after`
  outcomes <- read_outcomes(input$truth, before, input$design$horizon)
  if (is.data.frame(before)) {
    if (any(is_recalibrated(after))) after_dots <- list()
    after <- recalibrated_columns(after, one$column, !is.null(one$probs))
    except <- match(names(before)[outcomes$column], names(after), 0L)
    after <- read_probs(after, after_dots, outcomes$values, except)
  }
  two <- align_event(new_predictions(after, outcomes$values, input$event_level), one$levels[2])
  stop_if(n_classes(one) != n_classes(two) || is.null(one$probs) != is.null(two$probs),
          "{.arg before} and {.arg after} must have the same classes.",
          "x" = "They have {n_classes(one)} and {n_classes(two)}.", class = "columns", arg = "after")
  # rows as `before` has them
  at <- match(one$rows, two$rows)
  one <- take_rows(one, which(!is.na(at)))
  two <- take_rows(two, at[!is.na(at)])
  list(before = one, after = two, read = read)
}

# augment() adds columns to the old predictions; its columns are used.
is_recalibrated <- function(x) grepl("^[.]recal(_|$)", names(x)) & vapply(x, is.numeric, NA)

# `column`: the name of a single column before; `classes`: whether there were several.
recalibrated_columns <- function(x, column = NULL, classes = FALSE) {
  recal <- is_recalibrated(x)
  if (!any(recal)) return(x)
  stop_if(sum(recal) == 1 && classes, "{.arg before} must be the column of which {.field .recal} was made.",
          "x" = "{.field .recal} is one probability, and several columns were read.",
          "i" = "Select that column, in {.arg ...}.", class = "columns", arg = "before")
  x <- x[recal]
  names(x) <- sub("^[.]recal_?", ".pred_", names(x))
  if (length(x) == 1 && !is.null(column)) names(x) <- paste0(".pred_", sub("^[.]pred_", "", column))
  x
}

not_injective <- function(before, after) {
  from <- vctrs::vec_group_id(before$probs %||% before$prob)
  to <- vctrs::vec_group_id(after$probs %||% after$prob)
  pairs <- nrow(unique(cbind(from, to)))
  pairs != length(unique(from)) || pairs != length(unique(to))
}

# Inf - Inf is no number: the gain is NA, and the warning says why.
finite_difference <- function(before, after, design) {
  both <- is.infinite(before) & is.infinite(after)
  warn_if(any(both), "The gain is {.val {NA}}: scores are infinite both before and after.",
          "x" = "In {sum(both * (design$copies %||% 1))} of {copy_count(design)} row{?s} the class has probability 0.",
          "i" = "{.code score = score_log(floor = 1e-7)} keeps scores finite.", class = "infinite")
  ifelse(both, NA_real_, before - after)
}

gain_table <- function(pair, score, injective, level) {
  s <- score_rows(pair$before, score)
  t <- score_rows(pair$after, score)
  design <- pair$before$design
  difference <- finite_difference(s, t, design)
  infimum <- score$infimum
  means <- c(row_mean(s, design), row_mean(t, design))
  root <- sqrt(means - infimum)
  direction <- (s - infimum) / root[1] - (t - infimum) / root[2]
  estimates <- list(mean_estimate(difference, design), new_estimate(root[1] - root[2], direction / 2, design))
  gain <- vapply(estimates, `[[`, 0, "value")
  std.error <- vapply(estimates, cpp_estimate_std_error, 0)
  std.error[!is.finite(std.error)] <- NA # an infinite score
  df <- paired_df(difference, simplex_truth(pair$before), n_classes(pair$before), design)
  z <- design_quantile((1 + level) / 2, design, df)
  measures <- if (isTRUE(injective)) {
    c("improvement of the calibration error",
      "same sign as the improvement of the root calibration error, at most its size")
  } else if (isFALSE(injective)) {
    rep("improvement of the upper bound, loss of sharpness included", 2)
  } else {
    rep("improvement of the calibration error only if the map is injective", 2)
  }
  out <- columns_frame(
    score = score$name, scale = c("squared", "root"),
    before = c(means[1], root[1]), after = c(means[2], root[2]),
    gain = gain, std.error = std.error, conf.low = gain - z * std.error,
    conf.high = gain + z * std.error, injective = injective, measures = measures, n = copy_count(design),
    level = level
  )
  # only the Brier score is a squared distance, whose root has a meaning
  if (score$name == "brier") out else out[1, ]
}
