#' Calibration curves
#'
#' Estimates the frequency of the event (of a correct top label, of each class) as a function of the predicted
#' probability, with intervals, bands and the distribution of the predictions. Draw the curve with
#' [autoplot()][autoplot.ce_curve] or [plot()][autoplot.ce_curve].
#'
#' @section Definition:
#' \describe{
#'   \item{`"binned"`}{Mean outcome over mean prediction per bin. Intervals: Wilson. Band: Clopper-Pearson at
#'     the level that makes all bins cover at once. Under calibration: the exact distribution of each bin's count, a sum
#'     of independent Bernoulli trials with the predicted probabilities (Broecker & Smith 2007). For all bins at once,
#'     their tail probability is the largest one that the level allows.}
#'   \item{`"isotonic"`}{Isotonic regression, CORP (Dimitriadis, Gneiting & Jordan 2021). Intervals: smoothed bootstrap.
#'     Band: honest at any n if the true curve increases, from Clopper-Pearson limits over
#'     intervals of predictions (after Dimitriadis et al. 2023). Under calibration: outcomes simulated from the
#'     predictions, at places that do not depend on the outcomes.}
#'   \item{`"smooth"`}{The prediction plus the local linear regression of the residual on the prediction's logit,
#'     Gaussian kernel, bandwidth by leave-one-out cross-validation. Intervals and band: centred at the local
#'     quadratic fit, which corrects the bias. The band is wider by the step from there to a fit with at most half the
#'     bandwidth, and by the part of that step's noise that may hide a bend. Under calibration: a band of a number of
#'     standard errors around the diagonal, so wide that curves of outcomes simulated from the predictions stay within
#'     it. The standard errors are those of calibrated curves or of the curve itself, with its own bandwidth.}
#'   \item{`"quantile"`}{Regression: share of outcomes below the predicted quantile, by its level. Band:
#'     Dvoretzky-Kiefer-Wolfowitz.}
#'   \item{`"pit"`}{Regression: histogram of the probability integral transform \eqn{F_i(y_i)}, uniform (density 1)
#'     under calibration.}
#'   \item{Quantile forecasts}{For [pred_quantiles()] both curves show the given levels only, since such a
#'     forecast has no values between them: `"quantile"` has a point per level, and the bars of `"pit"` end at levels.}
#'   \item{Counts and ensembles}{A predicted distribution function that jumps has no uniform transform. An outcome
#'     whose jump is \eqn{(F_i(y_i-), F_i(y_i)]} is spread evenly over it (Czado, Gneiting & Held 2009), in both
#'     curves: their expectation is that of uniform values, without randomisation. For an ensemble of S draws
#'     ([pred_draws()]) the jump is that of the outcome's rank among the S + 1 values, ties sharing theirs:
#'     uniform if members and outcome are draws of one distribution. Under calibration: outcomes simulated from the
#'     predictions (ensembles: from the S + 1 values of each row), of 20,000 rows where there are more.}
#' }
#'
#' @section Weights and clusters:
#' Means, regressions and histograms are weighted. Limits and bands use the effective sample size: the squared sum of
#' the weights over the sum of their squares (per bin; of all rows for the other curves). Clusters divide it by the
#' design effect of the mean outcome, for isotonic curves by that of the noise around the regression, at least 1. They
#' also divide it by the squared ratio of Student's quantile to the normal one (Korn & Graubard 1998).
#'
#' Weights may depend on the outcome given the prediction (`horizon`, samples drawn by outcome). Let k be the ratio of
#' the weights of rows with and without an event, as in [hosmer_lemeshow()]. Binned and isotonic curves use the weights
#' \eqn{w_i / k^{y_i}}, which lower the odds of an event by the factor k. The odds of the curve and its limits are then
#' multiplied by k. Smooth curves have the variance that such weights give. `"pit"` and `"quantile"` treat weights as
#' unrelated to the outcome. If outcomes far above their prediction were drawn four times as often as others, PIT
#' histograms of calibrated predictions left their band in 9 to 13% of samples. Bands that come from simulated outcomes
#' weight these in the same way.
#'
#' @section Test and bands:
#' `rejected`, `null_band` and `band` are one decision. The curve leaves `null_band` with probability 1 - `level` if the
#' model is calibrated. If it stays within, `band` is widened to hold the diagonal. If it leaves and `band` would hold
#' the diagonal, `band` and `conf` end at the diagonal where it leaves, since the frequency there is on the other side.
#' Outcomes are simulated with a fixed seed: the same rows give the same limits in every call, and your random numbers
#' stay as they were.
#'
#' In simulations of miscalibrated models (500 uniform predictions, slopes 0.75 and 1.5, \eqn{p^2}, a sine wave; 100
#' samples each) `band` held the whole true curve in 99 to 100% of samples (isotonic). The smooth one held it in 94
#' to 96% (80 samples of slope 0.75 and of a sine wave), for rare events and tied values in 97 to 100%. It did so in 92%
#' at a kink and in 90% at a narrow bump of 400 rows, which it smooths away (400 samples each), and in 81% of 150
#' samples of a sine wave of two periods and amplitude 0.1 in as many rows.
#' `conf` held the true frequency at 93 to 94% of the places. At the worst place, where the true curve bends or near
#' the ends, it did so in 87% of samples (isotonic) and in 83% (smooth).
#'
#' @section Cost:
#' Binned and smooth curves cost \eqn{O(n)} after a sort, isotonic ones \eqn{O(n \cdot times)}: about two seconds for
#' 100,000 predictions and 1,000 draws on two cores.
#'
#' @inheritParams ece
#' @inheritParams ce_recalibrate
#' @param x A data frame, matrix or vector of probabilities as for [ece()], or a list of
#'   those, one per model. For `"pit"` and `"quantile"`: predictive distributions ([pred]), or the two columns `mean`
#'   and `variance` (or `sd`) of normal ones; see [ce_moments()].
#' @param type A curve with its options, such as `curve_binned(n_bins = 10)`, or the name of one, such as `"smooth"`
#'   for [curve_smooth()]; see [ce_curves]. By default `"smooth"`, and `"isotonic"` where there are less than 20
#'   different predictions.
#' @param notion `"top_label"`, `"binary"` or `"class_wise"`; by default `"binary"` for a single probability and
#'   for two classes, else `"top_label"`.
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
#' @export
#' @examples
#' set.seed(1)
#' p <- runif(1000)
#' y <- rbinom(1000, 1, plogis(0.6 * qlogis(p)))
#' curve <- ce_curve(p, y)
#' curve
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(curve)
ce_curve <- function(x, truth, ..., type = NULL, notion = NULL, level = 0.95, event_level = "first", na_rm = TRUE,
                     .by = NULL, threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  call <- current_env()
  if (missing(x)) stop_no_predictions(call)
  # several models or groups are known when the data are read
  if (rlang::is_string(type) && is_law(x) && !type %in% choice_names("curve")) stop_law_curve(type, call)
  curve <- if (!is.null(type)) as_choice(type, "curve")
  check_notion(notion)
  stop_if(identical(notion, "canonical"),
          "A calibration curve shows one probability: of the event, of the predicted class, or of each class.",
          "x" = "{.arg notion} is {.val canonical}: all classes at once.",
          "i" = "Use {.val top_label}, {.val binary} or {.val class_wise}.", class = "notion", arg = "notion")
  check_level(level)
  threads <- resolve_threads(threads)
  input <- evaluate_input_once(rows_input(copies = TRUE), x)
  read <- function(part) {
    if (isTRUE(curve$name %in% c("quantile", "pit"))) return(list(read_pit(part, input, call)))
    stop_curve_of_laws(part, input, curve$name, call)
    predictions <- predictions_of(part, input, call)
    if (predictions$na) stop_missing_curve(call)
    notion <<- notion %||% default_notion(predictions)
    axis <<- probability_of(predictions)
    event <<- event_label(predictions, notion, input$design$horizon)
    notion_problems(predictions, notion, call)
  }
  axis <- event <- NULL
  curves <- read_curves(x, input$by, read, call)
  keys <- vctrs::vec_rbind(!!!curves$keys)
  if (is.null(curve)) curve <- as_choice(default_curve(curves$problems), "curve", "type", call = call)
  bind_curves(curves, keys, curve, level, threads, notion, axis, event, call)
}

# `read`: what read_curves() returns; `axis`: what the predictions are called.
bind_curves <- function(read, keys, curve, level, threads, notion, axis, event, call) {
  control <- c(choice_options(curve), list(level = level, threads = threads))
  parts <- lapply(read$problems, one_curve, curve = curve, control = control, call = call)
  bind <- function(what) bind_parts(keys, lapply(parts, `[[`, what))
  structure(
    list(curve = bind("curve"), histogram = bind("histogram"), summary = bind("summary"), ends = bind("ends"),
         keys = names(keys),
         counted = design_sentence(lapply(read$problems, `[[`, "design")),
         type = curve$name, notion = notion, axis = axis, event = list(label = event),
         control = control),
    class = "ce_curve"
  )
}

# A smooth curve needs more than a few predictions.
default_curve <- function(problems) {
  few <- vapply(problems, function(problem) !is.null(distinct_values(problem$features[, 1], 19)), NA)
  if (any(few)) "isotonic" else "smooth"
}

# Reliability of predictive distributions of numbers is another curve. Those of classes are probabilities, as a matrix
# or a vector.
stop_curve_of_laws <- function(part, input, type, call) {
  law <- law_given(part, input$dots, call)
  if (is.null(law)) return(invisible())
  if (is_distribution(law)) check_object(law, "x", call)
  if (!is.data.frame(part)) check_length(length(law), NROW(read_outcomes(input$truth, part, NULL, call)$values), call)
  stop_law_curve(type, call)
}

stop_law_curve <- function(type, call) {
  classes <- type %in% choice_names("curve")
  stop_input("Predictive distributions take {.code type = \"quantile\"} or {.code type = \"pit\"}.",
             "x" = if (is.null(type)) "{.arg type} is not given." else if (classes)
               "{.arg type} is {.val {type}}, for probabilities of classes." else "{.arg type} is {.val {type}}.",
             arg = "type", value = type, call = call)
}

# The input as problems with a one-row tibble of keys each: model, groups, class.
read_curves <- function(x, by, read, call) {
  models <- if (rlang::is_bare_list(x)) x else list(x)
  if (length(models) == 0) stop_input("{.arg x} must hold at least one model.", arg = "x", call = call)
  several <- rlang::is_bare_list(x)
  names <- if (several) model_names(models)
  problems <- keys <- list()
  for (m in seq_along(models)) {
    models[m] <- list(read_results(models[[m]], call))  # NULL too
    groups <- find_groups(models[[m]], by, call)
    part <- function() if (is.null(groups)) list(read(models[[m]])) else read_groups(models[[m]], groups, read, call)
    parts <- if (several) in_model(part(), names[m], call) else part()
    for (g in seq_along(parts)) {
      for (problem in parts[[g]]) {
        key <- if (is.null(groups)) tibble::new_tibble(list(), nrow = 1L) else vctrs::vec_slice(groups$keys, g)
        model <- if (several) names[m] else problem$model
        if (!is.null(model)) key <- vctrs::vec_cbind(columns_frame(model = model), key)
        if (!is.null(problem$class)) key$class <- as.character(problem$class)
        problems <- c(problems, list(problem))
        keys <- c(keys, list(key))
      }
    }
  }
  list(problems = problems, keys = keys)
}

# Groups whose data do not suffice have no curve.
read_groups <- function(x, groups, read, call) {
  x <- ungroup_frame(x)
  parts <- run_groups(groups, function(rows) read(vctrs::vec_slice(x, rows)), call)
  parts[vapply(parts, rlang::is_error, NA)] <- list(list())
  parts
}

model_names <- function(models) {
  names <- names(models) %||% rep("", length(models))
  names[!nzchar(names)] <- paste0("model_", seq_along(models))[!nzchar(names)]
  make.unique(names)
}

one_curve <- function(problem, curve, control, call = caller_env()) {
  # so few that outcomes of each are simulated
  if (is.null(problem$pit) && !is_unweighted(problem$design)) problem <- repeat_copies(problem, many_rows)
  values <- if (is.null(problem$pit)) problem$features[, 1] else pit_middle(problem$pit)
  design <- problem$design
  check_interrupt()
  # plain rows need no fit
  rows <- row_counts(values, problem$labels, if (is.null(problem$pit)) {
    cpp_isotonic_rows(values, problem$labels, design$w)$rows
  }, design, control$level, call)
  # simulated outcomes are the same in every call
  points <- with_seed_kept(1, curve_points(curve, problem, values, control, rows))
  target <- if (curve$name == "pit") 1 else points$confidence
  points <- agreeing_band(points, target)
  # a figure of rare events shows the tenth of them that it needs
  cells <- 500L
  counts <- function(used = TRUE) {
    check_interrupt()
    cell <- findInterval(values[used], seq_len(cells - 1) / cells, left.open = TRUE) + 1L
    if (is.null(design$w)) return(tabulate(cell, cells))
    sum_by_cluster(design$w[used] * (copy_count(design) / sum(design$w)), cell, cells)
  }
  list(
    curve = points, ends = drawn_ends(values, design$copies),
    histogram = columns_frame(left = (seq_len(cells) - 1) / cells, right = seq_len(cells) / cells, n = counts(),
                              events = counts(problem$labels == 1)),
    summary = columns_frame(
      n = entered_rows(design),
      event_rate = if (is.null(problem$labels)) NA_real_ else row_mean(problem$labels, design),
      mean_confidence = row_mean(values, design),
      outside = mean(off_band(points, target)),
      rejected = any(leaves_null_band(points) > band_rounding),
      bandwidth = attr(points, "bandwidth") %||% NA_real_, !!!curve_numbers(problem)
    )
  )
}

# A figure draws a curve between the fifth smallest and the fifth largest prediction: beyond, a few rows bend it.
drawn_ends <- function(values, copies = NULL, few = 5) {
  n <- total_copies(length(values), copies)
  at <- if (n < 4 * few) c(1, n) else c(few, n + 1 - few)
  ends <- if (is.null(copies)) sort(values, partial = at)[at] else weighted_quantile(values, at / n, copies, type = 1)
  columns_frame(from = ends[1], to = ends[2])
}

# Text in the corner of a figure on request: slope of Cox's regression and the error that ce_estimate() reports.
curve_numbers <- function(problem) {
  if (is.null(problem$labels)) return(list(slope = NA_real_, error = NA_real_))
  check_interrupt()
  z <- smooth_scale(problem$features[, 1])
  fit <- logistic_fit(cbind(1, z, deparse.level = 0), as.numeric(problem$labels), c(0, 1),
                      relative_weights(problem$design))
  error <- binary_ladder(problem, 0.95, 1L)$estimate
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
  cat("<ce_curve> ", what[[x$type]],
      if (!regression) paste0(", ", gsub("_", "-", x$notion)),
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

# Says whether the curve's own band holds the diagonal. That agrees with the test: see agreeing_band().
place_of_diagonal <- function(outside, what) {
  if (isTRUE(outside == 0)) return(paste("its simultaneous band contains", what))
  paste0("its simultaneous band excludes ", what, " at ", percent_text(signif(outside, 2)), " of the points")
}

labels_factor <- function(rows, keys) {
  text <- curve_labels(rows, keys)
  factor(text, levels = unique(text))
}

curve_labels <- function(rows, keys) {
  if (length(keys) == 0) return(rep("", nrow(rows)))
  do.call(paste, c(lapply(keys, function(k) {
    # "class bus", but "g = a" for a group
    switch(k, model = as.character(rows[[k]]), class = paste(k, rows[[k]]), paste(k, "=", rows[[k]]))
  }), sep = ", "))
}
