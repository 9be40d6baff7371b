#' All classical calibration errors at once
#'
#' The panel of errors for one scalar notion, from one reading and one sort of the predictions.
#'
#' The rows are, in this order: `rbs`; `ece` with `n_bins` bins of equal width and of equal mass, by the monotone
#' sweep, and (`p = 2`) of equal width, and of equal mass debiased; `ks_error`, `mmce`, `kde_error`
#' (triweight), `smooth_ece`; `ici`, `e50`, `e90`, `emax`; `cox_intercept`, `cox_slope`,
#' `cox_in_the_large`, `cox_joint`; `spiegelhalter`, `hosmer_lemeshow`. Each is defined on the help page of its own
#' function. Intervals are those of the functions themselves; `ici`, `e50`, `e90` and `emax` have none here, see
#' [ici()]. What cannot be computed is `NA`, and `detail` says why; nothing stops the panel. With clusters that is the
#' Hosmer-Lemeshow statistic.
#'
#' # Cost
#' One sort and a few linear passes; the loess of `ici` is the slowest (about half of the time).
#' @inheritSection ce_args Choosing a model
#' @inheritParams ks_error
#' @param n_bins Number of bins of the `ece` rows; [hosmer_lemeshow()] keeps its own 10 groups.
#' @param notion `"top_label"` or `"binary"`; by default `"binary"` for a single probability and
#'   for two classes, else `"top_label"`.
#' @param smoother Of the ICI: `"loess"` or `"isotonic"`.
#' @param floor Of Cox's regression, see [cox_calibration()].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `p.value`, `detail`
#'   (the
#' choices behind the number), `n`, `notion`, `level`.
#' @examples
#' ce_panel(vehicle_predictions, truth)
#' @export
ce_panel <- function(x, truth, ..., notion = NULL, n_bins = 15,
                     smoother = c("loess", "isotonic"), floor = NULL, level = 0.95, .by = NULL,
                     event_level = "first", na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  notion <- check_one_problem(notion)
  check_bins(n_bins)
  smoother <- check_choice(smoother, c("loess", "isotonic"))
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_level(level)
  call <- current_env()
  rows <- panel_rows(n_bins, smoother, floor, level, call)
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), panel_metrics, function(predictions) {
    problem <- notion_problems(predictions, notion, call)[[1]]
    problem$fold <- problem_folds(problem)
    problem$sorted <- sort_problem(problem)
    problem$sorted$prefixes <- fold_prefixes(problem$sorted, problem$fold)
    parts <- lapply(rows, function(row) panel_part(row, problem))
    c(lapply(stats::setNames(nm = panel_columns), function(name) unlist(lapply(parts, `[[`, name))),
      list(n = n_obs(predictions)))
  }, event_level, na_rm, choices = list(notion = notion, level = level),
  design = design_input(enquo(weights), enquo(cluster), horizon))
}

panel_columns <- c(".estimate", "std.error", "conf.low", "conf.high", "p.value", "detail")
panel_metrics <- c("rbs", rep("ece", 5), "ks_error", "mmce", "kde_error", "smooth_ece",
                   "ici", "e50", "e90", "emax",
                   "cox_intercept", "cox_slope", "cox_in_the_large", "cox_joint",
                   "spiegelhalter", "hosmer_lemeshow")

# Per row (or block of rows): how many, what to say, and the columns from a problem.
panel_rows <- function(n_bins, smoother, floor, level, call) {
  interval <- list(type = "analytic", level = level)
  binned <- function(type, p, debias = FALSE) {
    scheme <- plain_scheme(n_bins, type, p, debias, "top_label", call)
    function(problem) error_columns(scalar_ece(list(problem), scheme)$estimates, interval)
  }
  row <- function(detail, fn, size = 1) list(detail = detail, fn = fn, size = size)
  bins <- paste0(n_bins, " bins of equal ")
  list(
    row("scalar", function(problem) rbs_columns(problem$residuals[, 1]^2, "scalar", interval, problem$design)),
    row(paste0(bins, "width, p = 1"), binned("width", 1)),
    row(paste0(bins, "mass, p = 1"), binned("mass", 1)),
    row("monotone sweep, p = 1", binned("sweep", 1)),
    row(paste0(bins, "width, p = 2"), binned("width", 2)),
    row(paste0(bins, "mass, p = 2, debiased"), binned("mass", 2, TRUE)),
    row("ties together", function(problem) ks_columns(list(problem), interval)),
    row("Laplace kernel, bandwidth 0.4, biased", function(problem) {
      mmce_columns(list(problem), 0.4, "biased", interval)
    }),
    row("triweight kernel, p = 2", function(problem) {
      value <- triweight_error(problem, 2, NULL, 1L, call)
      honest <- mean_estimate(value$bound, problem$design)
      error_columns(list(new_estimate(value$power, value$rows, problem$design, 2, honest)), interval)
    }),
    row("reflected Gaussian kernel, bandwidth = error", function(problem) {
      smooth_columns(list(problem), NULL, interval)
    }),
    row(paste0(smoother, "; for an interval see ici(interval = \"bootstrap\")"), function(problem) {
      list(.estimate = ici_values(problem, smoother, 0.75))
    }, 4),
    row("logistic regression on the logit", function(problem) cox_columns(problem, floor, level, call), 4),
    row("z statistic", spiegelhalter_columns),
    row("10 groups", function(problem) hosmer_columns(problem, 10, FALSE, call))
  )
}

panel_part <- function(row, problem) {
  detail <- row$detail
  value <- with_reasons(row$fn(problem), function(reason) detail <<- paste0(row$detail, "; ", reason),
                        list(.estimate = rep(NA_real_, row$size)))
  missing <- rep(NA_real_, row$size)
  out <- lapply(stats::setNames(nm = setdiff(panel_columns, "detail")), function(name) value[[name]] %||% missing)
  out$detail <- rep(detail, row$size)
  out
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
