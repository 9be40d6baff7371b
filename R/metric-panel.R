#' All classical calibration errors at once
#'
#' The panel of errors for one scalar type of calibration, from one reading and one sort of the predictions; or a panel
#' of your own metrics, one below the other.
#'
#' Without `metrics` the rows are, in this order: `rbs`; `ece` with `n_bins` bins of equal width and of equal mass, by
#' the monotone sweep, and (`p = 2`) of equal width, and of equal mass debiased; `ks_error`, `mmce`, `kde_error`
#' (triweight), `smooth_ece`; `ici`, `e50`, `e90`, `emax`; `cox_intercept`, `cox_slope`, `cox_in_the_large`,
#' `cox_joint`; `spiegelhalter`, `hosmer_lemeshow`. Each is defined on the help page of its own function. Intervals are
#' those of the functions themselves; `ici`, `e50`, `e90` and `emax` have none here, see [ici()]. Errors that cannot be
#' computed are `NA`, and `detail` says why; nothing stops the panel. With clusters that is the Hosmer-Lemeshow
#' statistic.
#'
#' # Cost
#' One sort and a few linear passes; the loess of `ici` is the slowest (about half of the time).
#' @inheritSection ce_args Choosing a model
#' @inheritParams ks_error
#' @param metrics `NULL` for the rows above, or a list of metrics: functions such as [ece] and [skce], their names,
#'   scores such as [score_log()], [ce_metric()] with options, functions of your own (see there). Names in the list are
#'   what the rows are called. `notion` and `level` are handed to the metrics that have such an argument.
#' @param n_bins Number of bins of the `ece` rows; [hosmer_lemeshow()] keeps its own 10 groups. This and the next two
#'   are options of the panel without `metrics`.
#' @param notion `"top_label"` or `"binary"`; by default `"binary"` for a single probability and
#'   for two classes, else `"top_label"`.
#' @param smoother For the ICI: `"loess"` or `"isotonic"`.
#' @param floor For Cox's regression, see [cox_calibration()].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `p.value`, `detail`
#'   (the
#' choices behind the number), `n`, `notion`, `level`.
#' @examples
#' ce_panel(vehicle_predictions, truth)
#' own <- list(ece, wide = ce_metric(ece, n_bins = 5), skce, "log")
#' ce_panel(vehicle_predictions, truth, metrics = own)
#' @export
ce_panel <- function(x, truth, ..., notion = NULL, n_bins = 15,
                     smoother = c("loess", "isotonic"), floor = NULL, level = 0.95, .by = NULL,
                     event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL,
                     metrics = NULL) {
  notion <- check_one_problem(notion)
  check_bins(n_bins)
  given <- c("n_bins", "smoother", "floor")[!c(missing(n_bins), missing(smoother), is.null(floor))]
  smoother <- check_choice(smoother, c("loess", "isotonic"))
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_level(level)
  call <- current_env()
  rows <- if (is.null(metrics)) {
    classical_rows(n_bins, smoother, floor, level, call)
  } else {
    metric_rows(metrics, notion, level, given, call)
  }
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), unlist(lapply(rows, `[[`, "metric")), function(predictions) {
    data <- if (is.null(metrics)) panel_problem(predictions, notion, call) else predictions
    parts <- lapply(rows, function(row) panel_part(row, data))
    columns <- lapply(stats::setNames(nm = panel_columns), function(name) unlist(lapply(parts, `[[`, name)))
    columns <- c(columns, list(n = n_obs(predictions)))
    if (!is.null(metrics)) {
      # that of the panel where a metric has none
      used <- notion %||% default_notion(predictions)
      columns$notion <- unlist(lapply(parts, function(part) part$notion %||% rep(used, length(part$.estimate))))
    }
    columns
  }, event_level, na_rm, choices = list(notion = notion, level = level),
  design = design_input(enquo(weights), enquo(cluster), horizon))
}

panel_numbers <- c(".estimate", "std.error", "conf.low", "conf.high", "p.value")
panel_columns <- c(".metric", panel_numbers, "detail")

# Read and sorted once, for all rows.
panel_problem <- function(predictions, notion, call) {
  problem <- notion_problems(predictions, notion, call)[[1]]
  problem$fold <- problem_folds(problem)
  problem$sorted <- sort_problem(problem)
  problem$sorted$prefixes <- fold_prefixes(problem$sorted, problem$fold)
  problem
}

# A row, or a block of rows: the names of its metrics, what to say, and the columns from a problem.
classical_rows <- function(n_bins, smoother, floor, level, call) {
  interval <- list(type = "analytic", level = level)
  row <- function(metric, detail, fn) list(metric = metric, detail = detail, fn = fn)
  binned <- function(detail, type, p, debias = FALSE) {
    scheme <- plain_scheme(n_bins, type, p, debias, "top_label", call)
    row("ece", detail, function(problem) error_columns(scalar_ece(list(problem), scheme)$estimates, interval))
  }
  bins <- paste0(n_bins, " bins of equal ")
  list(
    row("rbs", "scalar", function(problem) {
      rbs_columns(problem$residuals[, 1]^2, "scalar", interval, problem$design)
    }),
    binned(paste0(bins, "width, p = 1"), "width", 1),
    binned(paste0(bins, "mass, p = 1"), "mass", 1),
    binned("monotone sweep, p = 1", "sweep", 1),
    binned(paste0(bins, "width, p = 2"), "width", 2),
    binned(paste0(bins, "mass, p = 2, debiased"), "mass", 2, TRUE),
    row("ks_error", "ties together", function(problem) ks_columns(list(problem), interval)),
    row("mmce", "Laplace kernel, bandwidth 0.4, biased", function(problem) {
      mmce_columns(list(problem), 0.4, "biased", interval)
    }),
    row("kde_error", "triweight kernel, p = 2", function(problem) {
      value <- triweight_error(problem, 2, NULL, 1L, call)
      honest <- mean_estimate(value$bound, problem$design)
      error_columns(list(new_estimate(value$power, value$rows, problem$design, 2, honest)), interval)
    }),
    row("smooth_ece", "reflected Gaussian kernel, bandwidth = error", function(problem) {
      smooth_columns(list(problem), NULL, interval)
    }),
    row(c("ici", "e50", "e90", "emax"),
        paste0(smoother, "; for an interval see ici(interval = \"bootstrap\")"), function(problem) {
          list(.estimate = gap_distances(problem_frequency(problem, smoother, 0.75) - problem$features[, 1], problem))
        }),
    row(paste0("cox_", c("intercept", "slope", "in_the_large", "joint")), "logistic regression on the logit",
        function(problem) cox_columns(problem, floor, level, call)),
    row("spiegelhalter", "z statistic", spiegelhalter_columns),
    row("hosmer_lemeshow", "10 groups", function(problem) hosmer_columns(problem, 10, FALSE, call))
  )
}

# The rows of metrics as values, from predictions.
metric_rows <- function(metrics, notion, level, given, call) {
  if (length(given) > 0) {
    stop_input(c(
      "{.arg {given[1]}} is for the default panel, without {.arg metrics}.",
      "i" = "A metric as a value holds its own options, as in {.code ce_metric(ece, n_bins = 5)}."
    ), "argument", arg = given[1], call = call)
  }
  metrics <- as_metrics(metrics, call)
  lapply(metrics, function(metric) {
    arguments <- names(formals(metric$fn))
    if ("level" %in% arguments) metric$options$level <- metric$options$level %||% level
    if ("notion" %in% arguments) metric$options$notion <- metric$options$notion %||% notion
    shown <- metric$options[!names(metric$options) %in% c("level", "notion")]
    detail <- toString(sprintf("%s = %s", names(shown), vapply(shown, option_text, "")))
    name <- metric_text(metric)
    list(metric = name, detail = detail, fn = function(predictions) {
      value <- named_row(evaluate_metric(metric, predictions, call)$value, metric$name)
      if (!is.data.frame(value)) return(list(.metric = metric$name %||% name, .estimate = metric_number(value, call)))
      size <- nrow(value)
      # of the headline
      value$.estimate <- value[[".estimate"]] %||% value[["estimate"]]
      if (!is.numeric(value$.estimate)) metric_number(NULL, call)
      value$.metric <- if (is.null(metric$name) || size > 1) value[[".metric"]] %||% name else metric$name
      lapply(value[intersect(names(value), c(".metric", panel_numbers, "notion"))], rep_len, size)
    })
  })
}

# A list of metrics: one alone, values, names, scores and functions, whose names in the list are what they are called.
as_metrics <- function(metrics, call) {
  alone <- is.function(metrics) || inherits(metrics, c("ce_metric_value", "ce_score_rule"))
  metrics <- if (alone) list(metrics) else as.list(metrics)
  if (length(metrics) == 0) as_metric(NULL, call)
  Map(function(metric, name) {
    metric <- as_metric(metric, call)
    if (nzchar(name)) metric$name <- name
    metric
  }, unname(metrics), rlang::names2(metrics))
}

# Columns that a metric does not have are NA.
panel_part <- function(row, data) {
  detail <- row$detail
  value <- with_reasons(row$fn(data), function(reason) {
    detail <<- paste(c(if (nzchar(row$detail)) row$detail, reason), collapse = "; ")
  }, list(.estimate = rep(NA_real_, length(row$metric))))
  size <- length(value$.estimate)
  out <- lapply(stats::setNames(nm = panel_numbers), function(name) {
    as.numeric(value[[name]] %||% rep(NA_real_, size))
  })
  c(out, list(.metric = as.character(value[[".metric"]] %||% row$metric), detail = rep(detail, size),
              notion = value[["notion"]]))
}

# The value, or `otherwise` where it cannot be computed; `tell()` gets the reason, and that of a fit which has not
# converged.
with_reasons <- function(value, tell, otherwise) {
  rlang::try_fetch(
    withCallingHandlers(value, calibrisk_warning_convergence = function(cnd) {
      tell(panel_reason(cnd))
      rlang::cnd_muffle(cnd)
    }),
    calibrisk_error = function(cnd) {
      tell(panel_reason(cnd))
      otherwise
    }
  )
}

# The rule that was broken, on one line, however narrow the console.
panel_reason <- function(cnd) {
  lines <- strsplit(cli::ansi_strip(rlang::cnd_header(cnd)), "\n")[[1]]
  detail <- grep(paste0("^[", cli::symbol$info, cli::symbol$cross, "xi] "), lines)
  text <- paste(if (length(detail) > 0) lines[seq_len(detail[1] - 1)] else lines, collapse = " ")
  # a line of the source that goes on in the next one
  gsub("\\\\ +", "", text)
}
