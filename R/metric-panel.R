# The rows of ce_panel() (R/verb-panel.R): classical errors of one problem, or metrics of the user.

panel_numbers <- c(".estimate", "std.error", "conf.low", "conf.high", "p.value")
panel_columns <- c(".metric", panel_numbers, "detail")

# Read and sorted once, for all metrics.
panel_problem <- function(predictions, notion) {
  problem <- fold_copies(notion_problems(predictions, notion)[[1]])
  problem$fold <- problem_folds(problem)
  problem$sorted <- sort_problem(problem)
  problem$sorted$prefixes <- fold_prefixes(problem$sorted, problem$fold)
  problem
}

# The metrics of the default panel: their names (of several from one function), what to say, and the columns from a
# problem.
classical_metrics <- function(n_bins, smoother, floor, level) {
  interval <- list(type = "analytic", level = level)
  entry <- function(metric, detail, fn) list(metric = metric, detail = detail, fn = fn)
  binned <- function(detail, type, p, debias = FALSE) {
    scheme <- plain_scheme(n_bins, type, p, debias, "top_label")
    entry("ece", detail, function(problem) error_columns(scalar_ece(list(problem), scheme)$estimates, interval))
  }
  bins <- paste0(n_bins, " bins of equal ")
  list(
    entry("rbs", "scalar", function(problem) {
      rbs_columns(problem$residuals[, 1]^2, "scalar", interval, problem$design)
    }),
    binned(paste0(bins, "width, p = 1"), "width", 1),
    binned(paste0(bins, "mass, p = 1"), "mass", 1),
    binned("monotone sweep, p = 1", "sweep", 1),
    binned(paste0(bins, "width, p = 2"), "width", 2),
    binned(paste0(bins, "mass, p = 2, debiased"), "mass", 2, TRUE),
    entry("ks_error", "ties together", function(problem) ks_columns(list(problem), interval)),
    entry("mmce", "Laplace kernel, bandwidth 0.4, biased", function(problem) {
      mmce_columns(list(problem), 0.4, "biased", interval)
    }),
    entry("kde_error", "triweight kernel, p = 2", function(problem) {
      value <- triweight_error(problem, 2, NULL)
      error_columns(list(new_estimate(value$power, value$rows, problem$design, 2, value$bound, largest = 1)), interval)
    }),
    entry("smooth_ece", "reflected Gaussian kernel, bandwidth = error", function(problem) {
      smooth_columns(list(problem), NULL, interval)
    }),
    entry(c("ici", "e50", "e90", "emax"), paste0(smoother, "; for an interval see ici(times = 200)"),
          function(problem) {
            list(.estimate = gap_distances(problem_frequency(problem, smoother, 0.75) - problem$features[, 1], problem))
          }),
    entry(paste0("cox_", c("intercept", "slope", "in_the_large", "joint")), "logistic regression on the logit",
          function(problem) cox_columns(problem, floor, level)),
    entry("spiegelhalter", "z statistic", spiegelhalter_columns),
    entry("hosmer_lemeshow", "10 groups", function(problem) hosmer_columns(problem, 10, FALSE))
  )
}

# The metrics of the user, from predictions.
given_metrics <- function(metrics, notion, level, given) {
  stop_if(length(given) > 0, "{.arg {given[1]}} is for the default panel, without {.arg metrics}.",
          "i" = "A metric as a value holds its own options, as in {.code ce_metric(ece, n_bins = 5)}.", arg = given[1])
  metrics <- as_metrics(metrics)
  lapply(metrics, function(metric) {
    arguments <- names(formals(metric$fn))
    if ("level" %in% arguments) metric$options$level <- metric$options$level %||% level
    if ("notion" %in% arguments) metric$options$notion <- metric$options$notion %||% notion
    shown <- metric$options[!names(metric$options) %in% c("level", "notion")]
    detail <- toString(sprintf("%s = %s", names(shown), vapply(shown, option_text, "")))
    name <- metric_label(metric)
    list(metric = name, detail = detail, fn = function(predictions) {
      value <- named_row(estimate_metric(metric, predictions), metric$name)
      if (!is.data.frame(value)) return(list(.metric = metric$name %||% name, .estimate = metric_number(value)))
      size <- nrow(value)
      # of the headline
      value$.estimate <- value[[".estimate"]] %||% value[["estimate"]]
      if (!is.numeric(value$.estimate)) metric_number(NULL)
      value$.metric <- if (is.null(metric$name) || size > 1) value[[".metric"]] %||% name else metric$name
      lapply(value[intersect(names(value), c(".metric", panel_numbers, "notion"))], rep_len, size)
    })
  })
}

# Columns that a metric does not have are NA.
panel_part <- function(metric, data) {
  detail <- metric$detail
  value <- with_reasons(metric$fn(data), function(reason) {
    detail <<- paste(c(if (nzchar(metric$detail)) metric$detail, reason), collapse = "; ")
  }, list(.estimate = rep(NA_real_, length(metric$metric))))
  size <- length(value$.estimate)
  out <- lapply(stats::setNames(nm = panel_numbers), function(name) {
    as.numeric(value[[name]] %||% rep(NA_real_, size))
  })
  c(out, list(.metric = as.character(value[[".metric"]] %||% metric$metric), detail = rep(detail, size),
              notion = value[["notion"]]))
}

# The value, or `otherwise` where it cannot be computed; `note()` gets the reason, and that of a fit which has not
# converged.
with_reasons <- function(value, note, otherwise) {
  rlang::try_fetch(
    withCallingHandlers(value, calibrisk_warning_convergence = function(cnd) {
      note(panel_reason(cnd))
      rlang::cnd_muffle(cnd)
    }),
    calibrisk_error = function(cnd) {
      note(panel_reason(cnd))
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
