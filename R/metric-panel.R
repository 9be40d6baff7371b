# The rows of ce_panel() (R/verb-panel.R): classical errors of one problem, or metrics of the user.

panel_numbers <- c(".estimate", "std.error", "conf.low", "conf.high", "p.value")
panel_columns <- c(".metric", panel_numbers, "detail")

# The scalar metrics of panels, in the order of their rows: of rows, or of the cells of a state with these `bins`.
#   metric   its name (of several from one function)
#   detail   what to say; numbers may have another one
#   numbers  function(problem) -> an estimate, or columns
#   of       what a problem must be made of
#   over     what all classes of a state together have, NULL for none
scalar_metrics <- function(of, level, n_bins, smoother = "loess", floor = NULL, bins = NULL) {
  interval <- list(type = "analytic", level = level)
  entry <- function(metric, detail, numbers, of = c("rows", "cells"), over = NULL) {
    list(metric = metric, detail = detail, numbers = numbers, of = of, over = over)
  }
  binned <- function(detail, type, p, debias = FALSE, of = "rows") {
    scheme <- plain_scheme(n_bins, type, p, debias, "top_label")
    if (!is.null(bins)) scheme <- scheme_of_breaks(scheme, bins[-1])
    entry("ece", paste0(detail, ", p = ", p, if (debias) ", debiased"),
          function(problem) scalar_ece(list(problem), scheme)$estimates[[1]], of, "mean")
  }
  rows_of <- function(names) paste(n_bins, "bins of equal", names)
  equal <- is.null(bins) || all(abs(bins - (0:n_bins) / n_bins) < 1e-12)
  width <- if (equal) rows_of("width") else paste(n_bins, "bins between given breaks")
  all <- list(
    entry("rbs", "scalar", function(problem) problem_brier(problem, power = 2), over = "sum"),
    binned(width, "width", 1, of = c("rows", "cells")), binned(rows_of("mass"), "mass", 1),
    binned("monotone sweep", "sweep", 1), binned(width, "width", 2, of = c("rows", "cells")),
    binned(rows_of("mass"), "mass", 2, TRUE), binned(width, "width", 2, TRUE, "cells"),
    entry("ks_error", "ties together", function(problem) {
      columns <- ks_columns(list(problem), interval)
      c(columns, detail = if (!is.null(problem$between)) problem$between(columns$.estimate))
    }),
    entry("brier", "squared error of the probability", problem_brier, "cells", "sum"),
    entry("log_loss", "logarithmic score", function(problem) problem$log, "cells"),
    entry("oe_ratio", "events observed over expected", function(problem) oe_columns(problem, level), "cells"),
    entry("mmce", "Laplace kernel, bandwidth 0.4, biased", function(problem) mmce_estimate(problem, 0.4, "biased"),
          "rows"),
    entry("kde_error", "triweight kernel, p = 2", function(problem) {
      value <- triweight_error(problem, 2, NULL)
      new_estimate(value$power, value$rows, problem$design, 2, value$bound, largest = 1)
    }, "rows"),
    entry("smooth_ece", "reflected Gaussian kernel, bandwidth = error",
          function(problem) smooth_columns(list(problem), NULL, interval), "rows"),
    entry(smooth_terms[1:4], paste0(smoother, "; for an interval see ici(times = 200)"),
          function(problem) {
            list(.estimate = gap_distances(problem_frequency(problem, smoother, 0.75) - problem$features[, 1], problem))
          }, "rows"),
    entry(paste0("cox_", cox_terms), "logistic regression on the logit",
          function(problem) cox_columns(problem, floor, level)),
    entry("spiegelhalter", "z statistic",
          function(problem) spiegelhalter_columns(problem$features[, 1], problem$labels, problem$design)),
    entry("hosmer_lemeshow", "10 groups", function(problem) hosmer_columns(problem, 10, FALSE), "rows")
  )
  Filter(function(metric) of %in% metric$of, all)
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
    list(metric = name, detail = detail, numbers = function(predictions) {
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

# Columns that a metric does not have are NA, and so is what is not defined (a ratio to no expected events).
panel_part <- function(metric, data, level) {
  reasons <- NULL
  value <- with_reasons(metric$numbers(data), function(reason) reasons <<- c(reasons, reason),
                        list(.estimate = rep(NA_real_, length(metric$metric))))
  if (!is.null(value$value)) value <- summarise_estimates(list(value), level)
  size <- length(value$.estimate)
  out <- lapply(stats::setNames(nm = panel_numbers), function(name) {
    nan_to_na(as.numeric(value[[name]] %||% rep(NA_real_, size)))
  })
  detail <- c(value$detail %||% metric$detail, reasons, cell_error_text(value$error))
  c(list(.metric = as.character(value[[".metric"]] %||% metric$metric)), out,
    list(detail = rep(paste(detail[nzchar(detail)], collapse = "; "), size), notion = value[["notion"]]))
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
