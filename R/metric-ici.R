#' Integrated calibration index and its companions
#'
#' Distances between predictions and a smooth calibration curve, as used for clinical
#' prediction models.
#'
#' # Definition
#' With the smoothed frequency `c(p)` of the outcome at the prediction p: ICI is the mean of
#' `|p_i - c(p_i)|`, E50 its median, E90 its 90% quantile and Emax its largest value
#' (Austin and Steyerberg 2019; E50, E90 and Emax after Harrell). The smoother is a `"loess"` of
#' the outcome on the prediction with `span` 0.75 and degree 2, as published, or
#' `"isotonic"`: pooled adjacent violators. A loess that leaves `[0, 1]` is cut to it. Below ten distinct predictions,
#' where a loess is not defined, the frequency of each distinct prediction is used. If so many predictions are tied that
#' a local fit is singular, the loess uses the distinct predictions, weighted by their rows. If these are too close
#' together as well, isotonic regression is used.
#'
#' Importance weights enter the loess's local fits (its neighbourhoods are shares of the predictions, not of their
#' weight) or the isotonic regression, and the mean and quantiles of the distances.
#'
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ks_error
#' @param notion `"top_label"` or `"binary"`; see [ce_args].
#' @param smoother `"loess"` or `"isotonic"`.
#' @param span For the loess: the share of the predictions in a neighbourhood, above 0 and at most 1.
#' @param times `NULL` for no interval, or the number of bootstrap samples for one, such as 200.
#' @return A tibble with four rows: `.metric` (`"ici"`, `"e50"`, `"e90"`, `"emax"`), `.estimator`, `.estimate`,
#' `std.error`, `conf.low`, `conf.high`, `n`, and the choices `notion`, `smoother`, `interval`, `level`.
#' There is no cheap analytic interval, because every outcome moves the whole curve: the bootstrap gives one at the cost
#' of `times` further curves. The default is none, and the printed table says so.
#' @section Interval:
#' The distances are biased upwards by the noise of the curve, all the more the smaller they are. The lower limit is
#' therefore the estimate minus an upper quantile of the distances that noise alone gives (a triangle inequality for ICI
#' and Emax, for any miscalibration). These are the distances between the curve and the curves of outcomes simulated
#' from it; with clusters, those between the curves of bootstrap samples and of all rows. An upper quantile of the
#' distances for outcomes simulated from the predictions, those of a calibrated model, is subtracted if it is larger.
#' With fewer than 20 rows, 5 events or 5 non-events there is no interval. The upper limit, at most 1, adds normal (with
#' clusters, Student's) quantiles times the samples' standard deviation; for E50, which noise may also lower, at least
#' the quantile of the noise. It is not lowered, since large differences of one sign have no bias. Both are of the curve
#' as the smoother sees it. A quantile that lies where the distances jump has no such limits: E50 was held in 30% of
#' samples if half of the rows had no distance and half one of 0.15.
#' @references Austin and Steyerberg (2019) \doi{10.1002/sim.8281}.
#' @concept integrated calibration index
#' @concept ICI
#' @concept E50
#' @concept E90
#' @concept Emax
#' @concept loess
#' @examples
#' p <- seq(0.05, 0.95, length.out = 60)
#' ici(p, p > 0.4)
#' @export
ici <- new_metric("ici", function(x, truth, ..., smoother = c("loess", "isotonic"), span = 0.75,
                           notion = NULL, level = 0.95, times = NULL, .by = NULL,
                           event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  smoother <- check_choice(smoother, c("loess", "isotonic"))
  check_share(span)
  notion <- check_one_problem(notion)
  check_level(level)
  check_count(times, lower = 20, null = TRUE)
  names <- smooth_terms[1:4]
  said <- if (is.null(times)) "none computed; times = 200 gives one"
  out <- metric_frame(x, rows_input(quote_dots, copies = TRUE), names, function(predictions) {
    problem <- notion_problems(predictions, notion)[[1]]
    frequency <- problem_frequency(problem, smoother, span)
    value <- gap_distances(frequency - problem$features[, 1], problem)
    columns <- list(.estimate = value, std.error = NA_real_, conf.low = NA_real_, conf.high = NA_real_)
    if (!is.null(times) && too_few_events(problem)) {
      said <<- few_events_text
    } else if (!is.null(times)) {
      draws <- smooth_draws(problem, frequency, smoother, span, times)
      limits <- smooth_limits(value, draws, level, problem$design)
      columns[-1] <- list(limits$std.error, limits$low, pmin(limits$high, 1))
    }
    c(columns, list(n = n_obs(predictions)))
  }, choices = list(notion = notion, smoother = smoother, interval = if (is.null(times)) "none" else "bootstrap",
                    level = level))
  if (is.null(said)) out else new_table(out, c(Interval = said), c("ce_ici", "ce_metrics"))
}, "minimize", c(0, Inf))

check_one_problem <- function(notion) {
  check_notion(notion)
  stop_if(!all(notion %in% c("top_label", "binary")),
          "{.arg notion} must be {.or {.val {c('top_label', 'binary')}}} here.", "x" = "It is {.val {notion}}.",
          class = "notion", arg = "notion", value = notion)
  notion
}

# Mean, median, 90% quantile and maximum of the gaps' sizes.
gap_distances <- function(gap, problem) {
  gap <- abs(gap)
  design <- problem$design
  c(row_mean(gap, design), weighted_quantile(gap, c(0.5, 0.9, 1), design$w, copies = design$copies))
}

problem_frequency <- function(problem, smoother, span) {
  smooth_frequency(problem$features[, 1], problem$labels, smoother, span, problem$design)
}

smooth_frequency <- function(x, y, smoother, span, design) {
  if (smoother == "isotonic") return(cpp_isotonic_rows(x, y, design$w)$rows)
  w <- relative_weights(design) %||% rep(1, length(x))
  if (length(unique(utils::head(x, 100))) >= 10 || length(unique(x)) >= 10) {
    check_span(span, copy_count(design))
    curve <- loess_fit(x, y, w, span, design$copies)
    if (!is.null(curve)) return(curve)
  }
  distinct <- unique(x)
  at <- match(x, distinct)
  size <- rowsum(w, at, reorder = TRUE)[, 1]
  frequency <- rowsum(w * y, at, reorder = TRUE)[, 1] / size
  if (length(distinct) < 10) return(unname(frequency[at]))
  # where all neighbours are ties there is no slope: each distinct prediction as one row, with the weight of its rows
  curve <- loess_fit(distinct, frequency, size, max(span, 4 / length(distinct)))
  if (is.null(curve)) cpp_isotonic_rows(x, y, design$w)$rows else curve[at]
}

# A quadratic has three coefficients.
check_span <- function(span, n) {
  stop_if(floor(n * span + 1e-5) < 3, "{.arg span} must be at least {.val {signif(3 / n, 3)}} for {n} predictions.",
          "x" = "It is {.val {span}}: a local fit would see fewer than three of them.",
          "i" = "Take a wider {.arg span}, or {.code smoother = \"isotonic\"}.", class = c("rows", "argument"),
          arg = "span", value = span, n = n)
}

# A frequency, within [0, 1]: that of loess(). NULL where a local fit is singular. `copies`: how many equal rows each
# stands for, of the weight `weights` in all; NULL: one.
loess_fit <- function(x, y, weights, span, copies = NULL) {
  # rows between knots: the share that loess() takes
  leaf <- 0.2 * span
  curve <- cpp_loess(x, y, weights, copies %||% numeric(), span, leaf)
  if (length(curve) == 0) curve <- singular_loess(x, y, weights, span, copies)
  if (!is.null(curve) && all(is.finite(curve))) pmin(pmax(curve, 0), 1)
}

# Near singularities loess() itself, which warns where it is singular or gives NaN, and takes no copies.
singular_loess <- function(x, y, weights, span, copies) {
  if (!is.null(copies)) {
    if (sum(copies) > most_repeated_rows) return(NULL)
    at <- rep(seq_along(x), copies)
    return(singular_loess(x[at], y[at], (weights / copies)[at], span, NULL)[cumsum(copies)])
  }
  # only the fit: its standard errors would cost far more than itself
  control <- stats::loess.control(statistics = "none", trace.hat = "approximate")
  tryCatch(
    stats::fitted(stats::loess(y ~ x, data.frame(x = x, y = y), weights, span = span, degree = 2, control = control)),
    warning = function(condition) NULL
  )
}
