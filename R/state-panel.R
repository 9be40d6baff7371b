# The panels of states: the metrics of the rows that stand for theirs, and scores of their own sums.

# `given`: names of the options that were given; `n_bins`: of a table's state; `input`: see by_predictions().
panel_of_sums <- function(x, given, n_bins, level, input) UseMethod("panel_of_sums")

#' @export
panel_of_sums.ce_state <- function(x, given, n_bins, level, input) {
  check_sums_options(x, given)
  check_state_input(input, x$about$notion)
  state_panel(x, level)
}

state_panel <- function(x, level) {
  check_state(x)
  check_state_rows(x)
  check_state_scalar(x)
  check_level(level)
  parts <- lapply(seq_along(x$sums), function(j) {
    part <- sums_panel(state_predictions(x, j), x$spec, level)
    if (x$about$blocked) part$detail <- block_detail(x, part$detail)
    part
  })
  if (x$about$notion == "class_wise") {
    whole <- vctrs::vec_cbind(all_classes(x, level), parts[[1]][1, c(".estimator", "n", "notion", "level")])
    parts <- Map(function(part, class) tibble::add_column(part, class = class, .before = 1), c(parts, list(whole)),
                 c(x$about$levels, NA))
  }
  out <- all_rows(metric_table(as_result(vctrs::vec_rbind(!!!parts))), x$follow_up[["censored"]])
  out <- name_event(out, event_label(x$about, horizon = x$about$horizon))
  attr(out, "design") <- followed_sentence(x)
  out
}

#' @rdname ce_state
#' @export
tidy.ce_state <- function(x, ..., level = 0.95) {
  check_empty(...)
  tidy(state_panel(x, level))
}

# `whole`: the rows of all parts together, since what fewer of them lose is then no rounding of parts with few rows.
panel_cells <- function(state, j, blocks = state$about$blocked) {
  edges <- state$spec$edges
  problem <- sorted_cells(state_problem(state, j, blocks), edges[-1])
  problem$extreme <- state_scores(state, j)[["extreme"]] > 0
  problem$whole <- if (!blocks) {
    function(fewer = FALSE) {
      moments <- over_parts(state_moments(state, j))
      rows <- cells_problem(edges, array(moments, c(dim(moments), 1)), moments_of_cell %/% 2 - fewer)
      replace(rows, "extreme", problem$extreme)
    }
  }
  problem
}

# Sorted once. The cumulated residual is known at the upper edges of cells.
sorted_cells <- function(problem, upper) {
  sorted <- sort_problem(problem)
  ends <- findInterval(upper, sorted$x)
  sorted$ties <- unique(ends[ends > 0])
  sorted$prefixes <- fold_prefixes(sorted, problem$fold)
  problem[c("sorted", "cells")] <- list(sorted, TRUE)
  problem
}

block_detail <- function(state, detail) paste0(detail, "; errors from ", count_of(used_blocks(state), "block"))

# The errors that are means over rows.
mean_errors <- function(problem, spec) {
  of_bins <- function(p, debias) {
    scheme <- scheme_of_breaks(plain_scheme(spec$n_bins, "width", p, debias, "binary"), spec$bins[-1])
    scalar_ece(list(problem), scheme)$estimates[[1]]
  }
  squared <- problem$residuals[, 1]^2
  list(mean_estimate(squared, problem$design, power = 2), of_bins(1, FALSE), of_bins(2, FALSE), of_bins(2, TRUE),
       mean_estimate(squared, problem$design))
}

mean_metrics <- c("rbs", "ece", "ece", "ece", "brier")

mean_details <- function(spec) {
  c("scalar", paste0(bin_words(spec), ", p = ", c("1", "2", "2, debiased")), "squared error of the probability")
}

# The rows of one problem, sorted, with bins between edges of its cells.
sums_panel <- function(predictions, spec, level) {
  problem <- predictions$problem
  class_frame(NULL, predictions, function() {
    ks <- ks_columns(list(problem), list(type = "analytic", level = level))
    between <- if (is.null(predictions$between)) "ties together" else predictions$between(ks$.estimate)
    means <- panel_frame(mean_metrics, summarise_estimates(mean_errors(problem, spec), level), mean_details(spec))
    score <- score_rows(predictions, list(score_log()))[[1]]
    log <- predictions$log %||%
      new_estimate(row_mean(score, problem$design), if (all_finite(score)) score, problem$design)
    cox <- reasoned_cox(problem, level)
    z <- suppressWarnings(spiegelhalter_columns(problem), classes = "calibrisk_warning_convergence")
    rows <- vctrs::vec_rbind(
      means[1:4, ], panel_frame("ks_error", ks, between), means[5, ],
      panel_frame("log_loss", summarise_estimates(list(log), level), "logarithmic score"),
      panel_frame("oe_ratio", oe_columns(problem, level), "events observed over expected"),
      panel_frame(c("cox_intercept", "cox_slope", "cox_in_the_large", "cox_joint"), cox,
                  paste0("logistic regression on the logit", cox$reason)),
      panel_frame("spiegelhalter", z, "z statistic")
    )
    c(rows, n = predictions$n)
  }, list(notion = predictions$notion, level = level))
}

panel_frame <- function(metric, columns, detail) {
  missing <- rep(NA_real_, length(metric))
  # what is not defined (a ratio to no expected events, a statistic without a variance) is missing
  out <- lapply(setNames(nm = panel_numbers), function(name) {
    nan_to_na(unname(columns[[name]] %||% missing))
  })
  tibble::new_tibble(c(list(.metric = metric), out, list(detail = rep_len(detail, length(metric)))),
                     nrow = length(metric))
}

bin_words <- function(spec) {
  equal <- all(abs(spec$bins - (0:spec$n_bins) / spec$n_bins) < 1e-12)
  paste(spec$n_bins, if (equal) "bins of equal width" else "bins between given breaks")
}

# Over the classes, as for rows in memory: Brier scores are summed, binned errors averaged. A block has all classes of
# its rows.
all_classes <- function(state, level) {
  errors <- lapply(seq_along(state$sums), function(j) {
    lapply(mean_errors(panel_cells(state, j, TRUE), state$spec), over_blocks)
  })
  averaged <- mean_metrics == "ece"
  values <- lapply(seq_along(mean_metrics), function(m) {
    (if (averaged[m]) class_mean else combine_estimates)(lapply(errors, `[[`, m))
  })
  details <- paste0(mean_details(state$spec), ifelse(averaged, "; mean", "; sum"), " over the classes")
  panel_frame(mean_metrics, summarise_estimates(values, level), block_detail(state, details))
}

# An estimate with an influence for every block instead of its rows.
over_blocks <- function(estimate) {
  design <- estimate$design
  blocks <- block_means(design_weights(design), design$cluster, cluster_count(design))
  estimate$influence <- blocks$mean(influence_rows(estimate))
  estimate$design <- blocks$design
  if (!is.null(estimate$honest)) estimate$honest <- over_blocks(estimate$honest)
  estimate
}

between_text <- function(problem, edges, value) {
  paste0("at the edges of ", length(edges) - 1, " cells, at most ",
         format(more_between(problem, edges, value), digits = 1), " more in between")
}

# By how much the cumulated residual within the cells may exceed this error.
more_between <- function(problem, edges, value) {
  cell <- pmax(findInterval(problem$features, edges, left.open = TRUE), 1)
  d <- design_weights(problem$design) * problem$residuals[, 1]
  sums <- rowsum(cbind(d, pmax(d, 0), pmin(d, 0)), cell)
  before <- cumsum(sums[, 1]) - sums[, 1]
  max(0, max(abs(before + sums[, 2:3])) / total_weight(problem$design) - value)
}

log_estimate <- function(state, j) {
  scores <- state_scores(state, j)
  design <- new_design(state$n)
  if (scores[["infinite"]] > 0) return(new_estimate(Inf, NULL, design))
  if (!state$about$blocked) {
    mean <- scores[["log"]] / state$n
    return(new_estimate(mean, no_rows, design, squares = scores[["log_square"]] - state$n * mean^2))
  }
  weight <- block_weights(block_moments(state, j))
  used <- which(weight > 0)
  sums <- sum_array(state$sums[[j]]$scores, c(length(score_sums), length(weight)))[1, used]
  mean_estimate(sums / weight[used], new_design(length(used), weight[used], seq_along(used)))
}

# The ratio of observed to expected events, its interval on the log scale. Few events have the binomial limits of their
# number (Clopper and Pearson 1934), which hold for the sum of events of any risks, and the test that agrees with them.
oe_columns <- function(problem, level) {
  y <- as.numeric(problem$labels)
  p <- problem$features[, 1]
  observed <- row_mean(y, problem$design)
  expected <- row_mean(p, problem$design)
  ratio <- observed / expected
  out <- scaled_columns(ratio, ratio * (y / observed - p / expected), problem$design, level, log_scale, null = 1)
  design <- problem$design
  # of weights and clusters where none has an event
  alike <- is_unweighted(design)
  n <- if (alike) copy_count(design) else min(1 / weight_concentration(design), cluster_count(design))
  events <- observed * n
  if (!isTRUE(expected > 0 && (observed %in% c(0, 1) || alike && events < 20))) return(out)
  if (alike) events <- round(events)
  out[c("conf.low", "conf.high")] <- lapply(clopper_pearson(events, n, (1 - level) / 2), `/`, expected)
  chance <- stats::pbeta(expected, events + 0:1, n - events + 1:0)
  out$p.value <- min(1, 2 * chance[1], 2 * (1 - chance[2]))
  out
}

# With the reason where there is none, or the error of cells.
reasoned_cox <- function(problem, level) {
  reason <- NULL
  columns <- with_reasons(cox_columns(problem, NULL, level), function(why) reason <<- why,
                          list(.estimate = rep(NA_real_, 4)))
  c(columns, reason = paste0("; ", c(reason, cell_error_text(columns$error)), collapse = ""))
}
