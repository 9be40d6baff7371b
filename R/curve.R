#' Calibration curves
#'
#' Estimates the frequency of the event (of a correct top label, of each class) as a function of the predicted
#' probability, with intervals, bands and the distribution of the predictions. Draw the curve with
#' [autoplot()][autoplot.ce_curve] or [plot()][autoplot.ce_curve].
#'
#' @section Definition:
#' \describe{
#'   \item{`"binned"`}{Mean outcome over mean prediction per bin (the reliability diagram).}
#'   \item{`"isotonic"`}{Isotonic regression, CORP (Dimitriadis, Gneiting & Jordan 2021). Its band holds at any n if the
#'     true curve increases.}
#'   \item{`"smooth"`}{The prediction plus the local linear regression of the residual on the prediction's logit,
#'     bandwidth by leave-one-out cross-validation. Intervals and band are centred at the local quadratic fit, which
#'     corrects the bias.}
#'   \item{`"quantile"`}{Regression: share of outcomes below the predicted quantile, by its level.}
#'   \item{`"pit"`}{Regression: histogram of the probability integral transform, uniform (density 1) under calibration.
#'     For counts and ensembles an outcome is spread evenly over the jump of its distribution function.}
#' }
#' [pred_quantiles()] shows the given levels only. The vignette *Notation* has intervals, bands and the effect of
#' weights that depend on the outcome.
#' @section Weights and clusters:
#' Means, regressions and histograms are weighted. Limits and bands use the effective sample size; clusters divide it by
#' the design effect. `"pit"` and `"quantile"` treat weights as unrelated to the outcome.
#' @section Test and bands:
#' `rejected`, `null_band` and `band` are one decision. If the model is calibrated, the curve leaves `null_band` with
#' probability 1 - `level`. Outcomes are simulated with a fixed seed. In simulations of miscalibrated models `band` held
#' the whole true curve in 99 to 100% of samples (isotonic) and in 94 to 100% (smooth). With 400 rows the smooth band
#' held a kink in 98%, a narrow bump in 94% and a sine wave of two periods in 95 to 97%. With 150 to 250 predictions,
#' most of them near 0 or 1, it held a monotone curve in 87 to 90%. `conf` held the true frequency at 93 to 94% of the
#' places, and at the worst place in 87% of samples (isotonic) and in 83% (smooth). A right quantile of counts has its
#' level of outcomes or more at or below it: with quantile forecasts of whole numbers only fewer are evidence in
#' `"quantile"`, and nothing is in `"pit"`.
#' @inheritParams ece
#' @param x Predictions, see [ce_args]; or several models, from [ce_models()] or a list. For `"pit"` and `"quantile"`:
#'   predictive distributions ([pred]), of which each column or expression is a model, or columns `mean` and `variance`
#'   (or `sd`).
#' @param type A curve with its options, such as `curve_binned(n_bins = 10)`, or its name; see [ce_curves]. By default
#'   `"smooth"`, `"isotonic"` if there are less than 20 different predictions, `"pit"` of predictive distributions.
#' @param notion `"top_label"`, `"binary"` or `"class_wise"`; see [ce_args].
#' @param level Level of intervals and bands.
#' @return A `ce_curve`.
#'
#' `tidy()` gives a row per curve and point. Its columns are `model` and groups if there are several, `class`
#' (class-wise), `confidence` (for regression the level or the middle of the bin), `observed`, `n`, and `left` and
#' `right` (bins). Then follow four pairs of limits: `conf` (one point), `band` (the whole curve), and `null` and
#' `null_band` (where the curve of a calibrated model lies, at one point and as a whole). `band` contains the diagonal
#' everywhere exactly if the curve stays within `null_band`.
#'
#' `glance()` gives a row per curve: `n`, `event_rate` and `mean_confidence` (mean outcome and mean prediction; for
#' regression `NA` and the mean PIT value), and `outside` (share of points where `band` excludes the diagonal).
#' `rejected` says whether the curve leaves `null_band`: a test of calibration at level 1 - `level`, and exactly then
#' `outside` is above 0. Then follow `bandwidth`, `slope` (of Cox's regression, with predictions at least 1e-5 from 0
#' and 1) and `error` (the calibration error of [ce_estimate()]).
#' @concept reliability diagram
#' @concept calibration plot
#' @concept calibration curve
#' @concept PIT histogram
#' @concept reliability curve
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(1000)
#' y <- rbinom(1000, 1, plogis(0.6 * qlogis(p)))
#' curve <- ce_curve(p, y)
#' curve
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(curve)
ce_curve <- function(x, truth, ..., type = NULL, notion = NULL, level = 0.95, event_level = "first",
                     .by = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  # several models or groups are known when the data are read
  if (rlang::is_string(type) && is_law(x) && !type %in% choice_names("curve")) stop_law_curve(type)
  curve <- if (!is.null(type)) as_choice(type, "curve")
  check_notion(notion)
  stop_if(identical(notion, "canonical"),
          "A calibration curve shows one probability: of the event, of the predicted class, or of each class.",
          "x" = "{.arg notion} is {.val canonical}: all classes at once.",
          "i" = "Use {.val top_label}, {.val binary} or {.val class_wise}.", class = "notion", arg = "notion")
  check_level(level)
  input <- evaluate_input_once(rows_input(model_dots, copies = TRUE), x)
  read <- function(part) {
    if (isTRUE(curve$name %in% c("quantile", "pit"))) return(read_pits(part, input))
    if (gives_laws(part, input)) {
      if (!is.null(curve) || !is.null(axis)) stop_law_curve(curve$name)
      curve <<- curve_pit()
      return(read_pits(part, input))
    }
    predictions <- predictions_of(part, input)
    notion <<- notion %||% default_notion(predictions)
    axis <<- probability_of(predictions)
    event <<- event_label(predictions, notion, input$design$horizon)
    with_read(notion_problems(predictions, notion), predictions)
  }
  axis <- event <- NULL
  curves <- read_curves(x, input$by, read)
  keys <- vctrs::vec_rbind(!!!curves$keys)
  if (is.null(curve)) curve <- as_choice(default_curve(curves$problems), "curve", "type")
  bind_curves(curves, keys, curve, level, notion, axis, event)
}

# `read`: what read_curves() returns; `axis`: what the predictions are called.
bind_curves <- function(read, keys, curve, level, notion, axis, event) {
  control <- c(choice_options(curve), list(level = level))
  parts <- lapply(read$problems, one_curve, curve = curve, control = control)
  bind <- function(what) bind_parts(keys, lapply(parts, `[[`, what))
  structure(
    list(curve = bind("curve"), histogram = bind("histogram"), summary = bind("summary"), ends = bind("ends"),
         logits = if (!is.null(parts[[1]]$logits)) bind("logits"),
         keys = names(keys), counted = design_sentence(lapply(read$problems, `[[`, "design")),
         type = curve$name, notion = notion, axis = axis, event = list(label = event), control = control),
    class = c("ce_curve", "ce_result")
  )
}

# A smooth curve needs more than a few predictions.
default_curve <- function(problems) {
  few <- function(x) length(unique(x[seq_len(min(length(x), 1e4))])) < 20 && length(unique(x)) < 20
  if (any(vapply(problems, function(problem) few(problem$features[, 1]), NA))) "isotonic" else "smooth"
}

# Reliability of predictive distributions of numbers is another curve. Those of classes are given as probabilities.
gives_laws <- function(part, input) {
  if (is_read(part)) return(!is.null(part$law))
  law <- law_given(part, input$dots)
  if (is.null(law)) return(length(law_columns(part, input$dots)) > 1)
  if (!is.data.frame(part)) check_length(length(law), NROW(read_outcomes(input$truth, part, NULL)$values))
  TRUE
}

stop_law_curve <- function(type) {
  classes <- type %in% choice_names("curve")
  stop_input("Predictive distributions take {.code type = \"quantile\"} or {.code type = \"pit\"}.",
             "x" = if (is.null(type)) "Other models are probabilities of classes." else if (classes)
               "{.arg type} is {.val {type}}, for probabilities of classes." else "{.arg type} is {.val {type}}.",
             arg = "type", value = type)
}

# The input as problems with a one-row tibble of keys each: model, groups, class.
read_curves <- function(x, by, read) {
  models <- if (is_bare_list(x)) x else list(x)
  if (length(models) == 0) stop_input("{.arg x} must hold at least one model.", arg = "x")
  several <- is_bare_list(x)
  names <- if (several) model_names(models)
  problems <- keys <- list()
  for (m in seq_along(models)) {
    models[m] <- list(read_results(models[[m]]))  # NULL too
    groups <- find_groups(models[[m]], by)
    part <- function() {
      if (is.null(groups)) list(read(models[[m]])) else run_groups(groups, group_parts(models[[m]], read))
    }
    parts <- if (several) in_model(part(), names[m]) else part()
    # groups whose data do not suffice have no curve
    for (g in which(!vapply(parts, rlang::is_error, NA))) {
      for (problem in parts[[g]]) {
        key <- if (is.null(groups)) tibble::new_tibble(list(), nrow = 1L) else vctrs::vec_slice(groups$keys, g)
        model <- if (several) names[m] else problem$model
        check_keys_free(key, c("model", "class")[lengths(list(model, problem$class)) > 0])
        if (!is.null(model)) key <- vctrs::vec_cbind(columns_frame(model = model), key)
        if (!is.null(problem$class)) key$class <- as.character(problem$class)
        problems <- c(problems, list(problem))
        keys <- c(keys, list(key))
      }
    }
  }
  # models that are columns were read group by group
  model <- vapply(problems, function(problem) problem$model %||% "", "")
  order <- order(match(model, unique(model)))
  list(problems = problems[order], keys = keys[order])
}

model_names <- function(models) {
  names <- names(models) %||% rep("", length(models))
  names[!nzchar(names)] <- paste0("model_", seq_along(models))[!nzchar(names)]
  make.unique(names)
}

one_curve <- function(problem, curve, control) {
  # so few that outcomes of each are simulated
  if (is.null(problem$pit) && !is_unweighted(problem$design)) problem <- repeat_copies(problem, many_rows)
  # simulated outcomes do not depend on the order of equal predictions
  if (is.null(problem$pit) && !is.null(problem$design$w)) {
    problem <- take_rows(problem, order(problem$features[, 1], problem$labels, problem$design$w))
  }
  values <- if (is.null(problem$pit)) problem$features[, 1] else (problem$pit$low + problem$pit$high) / 2
  design <- problem$design
  check_interrupt()
  # plain rows need no fit
  rows <- row_counts(values, problem$labels, if (is.null(problem$pit)) {
    cpp_isotonic_rows(values, problem$labels, design$w)$rows
  }, design, control$level)
  # simulated outcomes are the same in every call
  points <- with_seed_kept(1, curve_points(curve, problem, values, control, rows))
  bands <- cpp_agreeing_band(points, if (curve$name == "pit") 1 else points$confidence)
  share <- if (!is.null(design$w)) design$w * (copy_count(design) / sum(design$w))
  bars <- cpp_curve_bars(values, as.numeric(problem$labels), as.numeric(share))
  list(
    curve = bands$points, ends = as_columns_frame(cpp_drawn_ends(values, as.numeric(design$copies))),
    histogram = as_columns_frame(bars$shares),
    logits = if (is.null(problem$pit)) as_columns_frame(bars$logits),
    summary = columns_frame(
      n = entered_rows(design),
      event_rate = if (is.null(problem$labels)) NA_real_ else row_mean(problem$labels, design),
      mean_confidence = row_mean(values, design), outside = bands$outside, rejected = bands$rejected,
      bandwidth = attr(points, "bandwidth") %||% NA_real_, !!!curve_numbers(problem)
    )
  )
}

# Text in the corner of a figure on request: slope of Cox's regression and the error that ce_estimate() reports.
curve_numbers <- function(problem) {
  if (is.null(problem$labels)) return(list(slope = NA_real_, error = NA_real_))
  check_interrupt()
  z <- smooth_scale(problem$features[, 1])
  fit <- logistic_fit(cbind(1, z, deparse.level = 0), as.numeric(problem$labels), c(0, 1),
                      relative_weights(problem$design))
  error <- binary_ladder(problem, 0.95)$estimate
  list(slope = if (fit$converged) fit$theta[2] else NA_real_, error = error)
}

#' @export
tidy.ce_curve <- function(x, ...) x$curve

#' @export
glance.ce_curve <- function(x, ...) x$summary

#' @export
print.ce_curve <- function(x, ...) {
  what <- c(binned = "Reliability diagram", isotonic = "Isotonic (CORP) calibration curve",
            smooth = "Smooth calibration curve", quantile = "Quantile calibration", pit = "PIT histogram")
  regression <- x$type %in% c("quantile", "pit")
  cat("<ce_curve> ", what[[x$type]], if (!regression) paste0(", ", gsub("_", "-", x$notion)),
      if (x$type == "binned") paste0(", ", x$control$n_bins, " bins of equal ", x$control$bins),
      ", level ", format(x$control$level), "\n",
      counted_line(list(counted = c(event_sentence(x$event$label), x$counted))), sep = "")
  rows <- x$summary
  label <- curve_labels(rows, x$keys)
  for (i in seq_len(nrow(rows))) {
    text <- paste0(
      if (nzchar(label[i])) paste0(label[i], ": "), count_of(rows$n[i], "row"),
      if (!regression) paste0(", mean prediction ", format(rows$mean_confidence[i], digits = 3),
                              ", mean outcome ", format(rows$event_rate[i], digits = 3)),
      "; ", if (rows$rejected[i]) "leaves" else "stays within", " the band of calibrated models; ",
      place_of_diagonal(rows$outside[i], if (x$type == "pit") "uniformity" else "the diagonal")
    )
    print_lines(text)
  }
  invisible(x)
}

# Says whether the curve's own band holds the diagonal. That agrees with the test: see cpp_agreeing_band().
place_of_diagonal <- function(outside, what) {
  if (isTRUE(outside == 0)) return(paste("its simultaneous band contains", what))
  paste0("its simultaneous band excludes ", what, " at ", percent_text(signif(outside, 2)), " of the points")
}

labels_factor <- function(rows, keys, bare = FALSE) {
  text <- curve_labels(rows, keys, bare)
  factor(text, levels = unique(text))
}

# `bare`: text says by itself what it is.
curve_labels <- function(rows, keys, bare = FALSE) {
  if (length(keys) == 0) return(rep("", nrow(rows)))
  do.call(paste, c(lapply(keys, function(k) {
    if (bare && k != "class" && (is.character(rows[[k]]) || is.factor(rows[[k]]))) return(as.character(rows[[k]]))
    # "class bus", but "g = a" for a group
    switch(k, model = as.character(rows[[k]]), class = paste(k, rows[[k]]), paste(k, "=", rows[[k]]))
  }), sep = ", "))
}
