#' Coverage of prediction intervals
#'
#' Checks whether intervals of 90% contain 90% of the outcomes. Returns coverage with confidence limits, misses on
#' either side, width, and the interval and weighted interval scores, by model and group.
#'
#' @inheritParams ce_args
#' @param x Predictions of a number: a data frame, a vector of distributions ([pred]), a matrix with the columns lower
#'   and upper, or a list of those, one per model.
#' @param ... Columns of a data frame. Either two numeric ones, the ends of the intervals, `low, high` or with their
#'   names, `upper = high, lower = low`; or distributions, also as expressions such as `pred_normal(mu, sigma)`, one per
#'   model.
#' @param level Levels of central intervals. The default is .5 and .9 for distributions, and all pairs of quantiles for
#'   [pred_quantiles()]. Two columns of ends need the level of their intervals.
#' @param conf_level Confidence level of the limits.
#' @param over The axis of the curve of coverage: a column, or a vector. By default the middle of each interval.
#' @return A `ce_coverage`. `tidy()` has a row per model, group and level:
#' * `nominal`, the coverage if the model is right, and `coverage` with `conf.low` and `conf.high`;
#' * `p.value` of the hypothesis that both are the same, and `p.adjusted` by Holm's rule for all rows of the table;
#' * `below` and `above`, the shares of outcomes below and above the interval;
#' * mean `width` and `interval_score`, and the number of rows `n`.
#'
#' `glance()` has a row per model and group: `n`, the weighted interval score `wis` and its three parts, which sum to
#' it: `overprediction`, `underprediction` and `dispersion`. `x$quantiles` has the `quantile_level`, the share of
#' outcomes at or below the quantile, `coverage`, and the `quantile_score`. `plot()` draws coverage against nominal
#' coverage. `tidy(type = "curve")` and `plot(type = "curve")` have coverage as a function of the prediction, see below.
#' @section Definition:
#' The central interval of level \eqn{1 - \alpha} is closed: \eqn{[l, u]}, from the quantile at \eqn{\alpha / 2} to that
#' at \eqn{1 - \alpha / 2}. A distribution of counts has more than \eqn{1 - \alpha} in it; `nominal` is the mean of
#' \eqn{P(l \le Y \le u)}. Quantiles of S draws are those of type 6 of [quantile()]. Their `nominal` is the share of the
#' S + 1 values, draws and outcome, that are in the interval of the other S. It is right for draws that are
#' exchangeable with the outcome. With few draws it can be less than the level: nine draws reach .8 at most.
#'
#' Interval score \eqn{(u - l) + 2 (l - y)_+ / \alpha + 2 (y - u)_+ / \alpha}, quantile score
#' \eqn{2 (1\{y \le q\} - \tau) (q - y)}. The weighted interval score is the mean quantile score of all ends, and
#' of the median where there is one (Bracher et al. 2021, Eq. 3).
#' @section Limits and tests:
#' Limits are Wilson's. The p-value is that of the exact binomial test, twice the smaller tail; it is conservative if
#' the nominal coverage differs between rows (Hoeffding 1956). If given quantiles or ends and all outcomes are whole
#' numbers, a correct model may cover more than the level, and the test is for too low a coverage only. Both use the
#' effective number of rows if there are weights or clusters. In simulations of 5 to 30 clusters of up to 20 dependent
#' rows, correct models were rejected at 5% in 0 to 7% of samples. Forecasts of successive times are often dependent:
#' then give the `cluster`.
#' @section Curve of coverage:
#' Intervals may cover often enough on average, and too seldom where predictions are large. The curve is that of
#' [ce_curve()] (`"smooth"`), of whether the interval holds the outcome, over the ranks of its middle (or of `over`),
#' with limits at one `place` (`conf`) and for the whole curve (`band`). `nominal` has the same smoothing. Curves end at
#' the fifth smallest and largest place (of 20 rows or more). In simulations of 100 to 2,000 rows the band held the
#' whole true curve in 92 to 99% of 100 samples. Where the true coverage jumps, as that of counts does, it may not hold.
#' @section Errors:
#' `calibrisk_error_level` for a level that is missing or that the given quantiles do not have,
#' `calibrisk_error_columns` for columns that are neither distributions nor two ends.
#' @references Bracher, Ray, Gneiting and Reich (2021) Evaluating epidemic forecasts in an interval format. PLOS
#'   Computational Biology 17(2). \doi{10.1371/journal.pcbi.1008618}.
#'   Hoeffding (1956) On the distribution of the number of successes in independent trials. Annals of Mathematical
#'   Statistics 27(3).
#' @seealso The vignette *Do my forecasts cover?*. [ce_curve()] with `type = "pit"` shows where outcomes fall;
#'   [ce_score()] has the CRPS.
#' @concept prediction interval
#' @concept coverage
#' @concept weighted interval score
#' @concept interval score
#' @concept quantile score
#' @concept forecast
#' @export
#' @examples
#' set.seed(1)
#' d <- data.frame(mu = rexp(200, 0.1), region = c("north", "south"))
#' d$y <- rnbinom(200, mu = d$mu, size = 3)
#' ce_coverage(d, y, pred_poisson(mu), pred_negbin(mu, 3), .by = region)
#' # intervals from elsewhere
#' d$low <- qpois(0.05, d$mu)
#' d$high <- qpois(0.95, d$mu)
#' intervals <- ce_coverage(d, y, low, high, level = 0.9)
#' intervals
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(intervals, type = "curve")
ce_coverage <- function(x, truth, ..., level = NULL, conf_level = 0.95, over = NULL, .by = NULL, weights = NULL,
                        cluster = NULL) {
  if (missing(x)) stop_no_predictions()
  check_nominal(level)
  check_number(conf_level, lower = 0, upper = 1, open = TRUE)
  input <- evaluate_input_once(rows_input(interval_dots, copies = TRUE), x)
  over <- enquo(over)
  input$over <- evaluate_once(over, x)
  found <- read_curves(x, input$by, function(part) read_forecasts(part, input, level))
  keys <- vctrs::vec_rbind(!!!found$keys)
  parts <- lapply(found$problems, coverage_parts, level, conf_level)
  bind <- function(what) bind_parts(keys, lapply(parts, `[[`, what))
  table <- bind("levels")
  table$p.adjusted <- stats::p.adjust(table$p.value, "holm")
  structure(
    list(levels = table, scores = bind("scores"), quantiles = bind("quantiles"), keys = names(keys), row_keys = keys,
         rows = lapply(parts, `[[`, "rows"), over = if (is_given(over)) rlang::as_label(over),
         conf_level = conf_level, at_least = any(vapply(parts, `[[`, NA, "at_least")),
         counted = design_sentence(lapply(found$problems, `[[`, "design")),
         # of the same rows for each model
         dropped = max(rowsum(vapply(found$problems, `[[`, 0, "dropped"), keys[["model"]] %||% rep("", nrow(keys))))),
    class = c("ce_coverage", "ce_result")
  )
}

interval_dots <- function(..., .frame = caller_env()) {
  dots <- enquos(...)
  ends <- c("lower", "upper")
  if (setequal(names(dots), ends)) unname(dots[ends]) else check_column_names(dots, .frame)
}

check_nominal <- function(level) {
  within <- is.numeric(level) && length(level) > 0 && all(level > 0 & level < 1) && anyDuplicated(level) == 0
  stop_if(!is.null(level) && !isTRUE(within), "{.arg level} must be different numbers between 0 and 1.",
          "x" = "It is {.val {level}}.", class = c("level", "argument"), arg = "level", value = level)
}

# The models of a part. Each is a list of its distributions `law`, with y, design, dropped and model.
read_forecasts <- function(x, input, level) {
  models <- law_models(x, input) %||% list(
    if (!is_read(x) && is.null(law_given(x, input$dots))) read_interval(x, input, level) else
      read_laws(x, input$truth, input$dots, design = input$design)
  )
  lapply(seq_along(models), function(m) {
    law <- models[[m]]$law
    stop_if(is.null(law) || dimension_of(law) > 1, "Prediction intervals are of one number.",
            "x" = if (is.null(law)) "{.arg x} holds class probabilities." else
              "{.arg x} holds distributions of {dimension_of(law)} numbers.", class = "distribution", arg = "x")
    at <- design_column(input$over, x, models[[m]]$n_input %||% NROW(x), "over")
    c(models[[m]][c("law", "y", "design", "dropped")],
      list(model = names(models)[m], at = as_places(at)[models[[m]]$rows]))
  })
}

# Two columns, the ends of intervals of one level: a forecast of two quantiles.
read_interval <- function(x, input, level) {
  frame <- if (is.data.frame(x)) ungroup_frame(x)
  if (is.null(frame)) check_no_columns(x, input$dots)
  ends <- if (is.null(frame)) x else frame[select_columns(rlang::quo(c(!!!unname(input$dots))), frame, "...")]
  numeric <- if (is.data.frame(ends)) all(vapply(ends, is.numeric, NA)) else is.numeric(ends)
  moments <- tolower(sub("^[.]pred_", "", colnames(ends))) %in% unlist(moment_names)
  stop_if(length(dim(ends)) != 2 || ncol(ends) != 2 || !numeric || any(moments),
          "Intervals are two columns of numbers, lower and upper, or predictive distributions.",
          "x" = if (is.null(frame)) "{.arg x} is {describe_shape(x)}." else
            if (ncol(ends) == 0) "{.arg ...} selects no column." else "{.arg ...} selects {.field {names(ends)}}.",
          "i" = if (any(moments)) "{.code pred_normal(mean, sd)} is the distribution with these moments." else
            "See {.code ?pred} for distributions.", class = "columns", arg = if (is.null(frame)) "x" else "...")
  stop_if(length(level) != 1, "{.arg level} must be the level of the intervals whose ends are given.",
          "x" = if (is.null(level)) "It is not given." else "It is {.val {level}}.", class = c("level", "argument"),
          arg = "level")
  ends <- unname(as.matrix(ends))
  y <- if (is.null(frame)) outcome_vector(input$truth) else frame[[truth_column(input$truth, frame)]]
  y <- numeric_outcomes(y, nrow(ends))
  raw <- read_design(input$design, frame, length(y))
  complete <- complete_rows(cbind(ends, y), TRUE, TRUE, "Intervals and outcomes", raw)
  keep <- complete$rows
  ends <- ends[keep, , drop = FALSE]
  bad <- which(ends[, 1] > ends[, 2])
  stop_if(length(bad) > 0, "The lower end of an interval must not be above the upper one.",
          "x" = "Row {keep[bad[1]]} is {.val {ends[bad[1], ]}}; {length(bad)} of {length(keep)} are.",
          class = "columns", arg = if (is.null(frame)) "x" else "...", row = keep[bad[1]])
  law <- in_argument(pred_quantiles(ends, (1 + c(-1, 1) * level) / 2), if (is.null(frame)) "x" else "...", "values")
  list(law = law, y = y[keep, , drop = FALSE],
       design = bind_design(raw, keep), dropped = complete$dropped, rows = keep)
}

as_places <- function(at) {
  stop_if(!is.null(at) && !is.numeric(at), "{.arg over} must be numbers.", "x" = "It is {describe(at)}.",
          class = c("columns", "argument"), arg = "over")
  far <- which(is.infinite(at))[1]
  stop_if(!is.na(far), "{.arg over} must be finite.", "x" = "Row {far} is {at[far]}.",
          class = c("columns", "argument"), arg = "over", row = far)
  if (!is.null(at)) as.numeric(at)
}

# Levels of central intervals, in ascending order.
central_levels <- function(law, level) {
  if (family_of(law) != "quantiles") return(sort(level %||% c(0.5, 0.9)))
  given <- common_levels(par_of(law, "levels")) %||% numeric()
  has <- function(u) vapply(u, function(one) any(same_level(given, one)), NA)
  low <- given[given < 0.5 - 1e-9 & has(1 - given)]
  missing <- level[!has((1 - level) / 2) | !has((1 + level) / 2)]
  known <- rev(round(1 - 2 * low, 9))
  stop_if(length(low) == 0 || length(missing) > 0, "Quantile forecasts must have both quantiles of a central interval.",
          "x" = if (length(missing) > 0) "The interval of level {.val {missing[1]}} is from {(1 - missing[1]) / 2} to \\
                                         {(1 + missing[1]) / 2}.",
          "x" = "The forecasts share the levels {.val {given}}.", class = c("level", "argument"), arg = "level")
  if (is.null(level)) known else sort(level)
}

# The tables of one model in one group: levels, scores, quantiles.
coverage_parts <- function(data, level, conf_level) {
  law <- data$law
  y <- data$y[, 1]
  design <- data$design
  levels <- central_levels(law, level)
  tails <- sort((1 - levels) / 2)
  quantiles <- family_of(law) == "quantiles"
  middle <- if (!quantiles || any(same_level(common_levels(par_of(law, "levels")), 0.5))) 0.5
  at <- c(tails, middle, rev(1 - tails))
  q <- law_quantiles(law, at)
  at_least <- quantiles && all_whole(y, q)
  # a column for each level; the widest interval has the outermost quantiles
  low <- q[, rev(seq_along(levels)), drop = FALSE]
  high <- q[, length(at) - length(levels) + seq_along(levels), drop = FALSE]
  expected <- do.call(cbind, lapply(seq_along(levels), function(k) {
    if (at_least) rep(levels[k], length(y)) else interval_probability(law, y, low[, k], high[, k], levels[k])
  }))
  nominal <- if (at_least) levels else apply(expected, 2, row_mean, design)
  found <- cpp_coverage_tables(y, q, at, levels, design$w %||% numeric())
  size <- as.numeric(apply(found$hit, 2, trials_of, design, conf_level))
  limits <- cpp_wilson_limits(found$share, size, conf_level)
  table <- columns_frame(
    level = levels, nominal = nominal, coverage = found$share, conf.low = limits$low, conf.high = limits$high,
    p.value = cpp_share_p_values(found$share, size, nominal, at_least), p.adjusted = NA_real_, !!!found$levels,
    n = copy_count(design)
  )
  list(
    levels = table, at_least = at_least,
    rows = list(levels = levels, at = if (is.null(data$at)) (low + high) / 2 else replace(low, TRUE, data$at),
                hit = found$hit, nominal = expected, design = design),
    scores = columns_frame(n = copy_count(design), !!!found$scores),
    quantiles = columns_frame(quantile_level = at, !!!found$quantiles)
  )
}

# Effective number of rows of a share: Kish's number, over the design effect of clusters.
trials_of <- function(inside, design, level) {
  counts <- if (!is_unweighted(design)) row_counts(inside, NULL, NULL, design, level)
  if (is.null(counts)) copy_count(design) else sum(counts$v)
}

#' @export
tidy.ce_coverage <- function(x, type = c("levels", "curve"), ...) {
  if (check_choice(type, c("levels", "curve")) == "curve") coverage_curves(x) else x$levels
}

#' @export
glance.ce_coverage <- function(x, ...) x$scores
