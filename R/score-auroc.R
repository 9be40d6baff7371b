# The AUROC with its interval, of ce_score() and ce_validate().

# The area under the ROC curve, P(p > p') + P(p = p') / 2 of an event and a non-event. The influence of a row is its
# placement. The standard error is that of DeLong et al. (1988), from the variances of the placements of events and of
# others as of two samples. Few events (or others) may all have high placements by chance. Then the limits are those of
# Wilson for as many pairs without a common row: the AUROC is a mean over such sets of independent pairs (Hoeffding
# 1963).
auroc_columns <- function(problem, level, logit = FALSE) {
  design <- problem$design
  y <- as.numeric(problem$labels)
  prevalence <- row_mean(y, design)
  if (prevalence %in% c(0, 1)) return(list(.estimate = NA_real_))
  found <- if (!is.null(problem$auroc)) problem$auroc() else cpp_auroc(problem$features, problem$labels, design$w)
  value <- found$value
  sizes <- cpp_event_units(y, design)
  few <- min(sizes)
  if (few < 2) return(list(.estimate = value))
  n <- cluster_count(design) %||% copy_count(design)
  influence <- found$influence * sqrt(sizes / (sizes - 1) * (n - 1) / n)[y + 1]
  std_error <- cpp_row_std_error(influence, design)
  scale <- if (logit) logit_scale else own_scale
  df <- if (logit) min(cpp_design_df(design), few - 1) else cpp_design_df(design)
  at <- scale$to(value)
  reach <- stats::qt((1 + level) / 2, df) * std_error / scale$slope(at)
  bound <- cpp_wilson_limits(value, few, level)
  # up to 10 rows Wilson's limits alone, from 30 on those of the standard error alone
  rows <- if (is.null(design$cluster)) few else min(cpp_event_units(y, replace(design, "cluster", list(NULL))))
  share <- if (isTRUE(std_error > 0)) min(max((30 - rows) / 20, 0), 1) else 1
  limit <- function(side, of) {
    if (share == 1) of else share * of + (1 - share) * min(max(scale$back(at + side * reach), 0), 1)
  }
  list(.estimate = value, std.error = if (isTRUE(std_error > 0)) std_error else NA_real_,
       conf.low = limit(-1, bound$low), conf.high = limit(1, bound$high), influence = influence,
       df = if (few < 30) few - 1)
}

# One event against the rest: an estimate that ce_compare() takes the difference of.
auroc_frame <- function(x, input, level, bound) {
  stop_if(bound, "The AUROC has no upper bound.", "i" = "It is no proper score.", class = "score", arg = "score")
  metric_frame(x, input, "auroc", function(predictions) {
    classes <- n_classes(predictions)
    stop_if(classes > 2, "The AUROC is of one event.", "x" = "There are {classes} classes.",
            "i" = "{.fn ce_validate} has that of each class against the rest.", class = c("score", "notion"),
            arg = "score")
    problem <- notion_problems(predictions, "binary")[[1]]
    columns <- auroc_columns(problem, level)
    estimate <- new_estimate(columns$.estimate, columns$influence, problem$design, smallest = -Inf, df = columns$df)
    shown <- lapply(setNames(nm = shown_columns), function(name) columns[[name]] %||% NA_real_)
    c(shown, list(upper_bound = NA_real_, score = "auroc", n = n_obs(predictions), notion = "binary",
                  .estimates = list(estimate)))
  }, choices = list(level = level), edges = numeric())
}
