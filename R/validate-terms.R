# The numbers of ce_validate() for one problem: every one an estimate with influence rows (R/influence.R), except for
# the regression, the ladder and the bootstrap.

# `columns`: as scaled_columns() has them.
validation_row <- function(level, term, columns) {
  validation_term(level, term, columns$.estimate, columns$std.error, columns$conf.low, columns$conf.high,
                  columns$p.value)
}

validation_term <- function(level, term, estimate, std_error = NULL, low = NULL, high = NULL, p = NULL) {
  # 0 / 0 is missing
  estimate[is.nan(estimate)] <- NA
  columns_frame(level = level, term = term, estimate = estimate, std.error = std_error %||% NA_real_,
                conf.low = low %||% NA_real_, conf.high = high %||% NA_real_, p.value = p %||% NA_real_)
}

# list(table, notes, resolution, least)
validate_problem <- function(problem, options) {
  # one that cannot be computed is a note
  attempt <- function(terms, level, value) {
    with_reasons(value, function(reason) notes <<- c(notes, reason), validation_term(level, terms, NA_real_))
  }
  y <- as.numeric(problem$labels)
  ladder <- problem$ladder %||% binary_ladder(problem, options$level)
  notes <- as.character(ladder$reason)
  cox <- attempt(cox_terms, "weak", validation_row("weak", cox_terms,
                                                   cox_columns(problem, options$floor, options$level)))
  large <- cox$term == "in_the_large"
  cox$level[large] <- "mean"
  table <- vctrs::vec_rbind(
    oe_row(problem, options), cox[large, ], cox[!large, ],
    attempt(smooth_terms, "moderate", moderate_terms(problem, options)),
    ladder_term(ladder),
    if (!is.null(options$delta) && !is.null(ladder$upper)) {
      below <- equivalence(ladder, options$delta, options$level)
      validation_term("moderate", paste0("equivalence(", format(options$delta), ")"), NA_real_, low = 0,
                      high = below$high, p = below$p.value)
    },
    strong_terms(problem, options),
    validation_row("discrimination", "auroc", auroc_columns(problem, options$level, logit = TRUE)),
    overall_rows(problem, options),
    utility_rows(problem, options)
  )
  if (all(y == y[1])) notes <- c("All outcomes are equal.", notes)
  if (any(table$term %in% smooth_terms & table$estimate > table$conf.high, na.rm = TRUE)) {
    notes <- c(notes, paste("Distances to a smooth curve are too large by its noise; their intervals account for it",
                            "and may end below the estimate."))
  }
  if (options$times > 0 && too_few_events(problem)) {
    notes <- c(notes, paste0("Intervals of distances to a smooth curve: ", few_events_text, "."))
  }
  if (any(is.infinite(table$estimate))) {
    notes <- c(notes, "The log loss is infinite: an outcome was predicted to be impossible.")
  }
  list(table = table, notes = unique(notes), resolution = if (is.na(ladder$p.value)) NA_real_ else ladder$resolution,
       least = ladder$least)
}

oe_row <- function(problem, options, level = "mean", term = "oe_ratio") {
  validation_row(level, term, oe_columns(problem, options$level))
}

# Standard errors of Cox's regressions from the outcomes, for whichever rates they have: NA where there are none.
outcome_errors <- function(problem, options) {
  error <- with_reasons(cox_columns(problem, options$floor, options$level, robust = TRUE)$std.error, identity, NA_real_)
  c(in_the_large = error[3], slope = error[2])
}

ladder_term <- function(ladder, level = "moderate", term = "calibration_error") {
  validation_term(level, term, ladder$estimate, ladder$std.error, ladder$low, ladder$high, ladder$p.value)
}

# Distances of the predictions from their smooth curve, with their limits (R/smooth-limits.R).
moderate_terms <- function(problem, options) {
  frequency <- cells <- NULL
  # so few that samples draw each of them
  if (!isTRUE(problem$cells)) problem <- repeat_copies(problem, many_rows)
  if (isTRUE(problem$cells)) {
    cells <- moderate_cells(problem, options)
    value <- cells$value
    # weights of the rows of a cell are not known
    if (!cpp_equal_copies(problem$design) && is.null(problem$design$cluster)) options$times <- 0
  } else {
    frequency <- problem_frequency(problem, options$smoother, options$span)
    value <- curve_distances(frequency - problem$features[, 1], problem)
  }
  if (options$times == 0 || too_few_events(problem)) return(validation_term("moderate", smooth_terms, value))
  limits <- with_seed_kept(1, smooth_limits(value, if (!is.null(cells) || copy_count(problem$design) > 5000) {
    cell_draws(problem, cells %||% moderate_cells(problem, options), frequency, value, options)
  } else {
    smooth_draws(problem, frequency, options$smoother, options$span, options$times)
  }, options$level, problem$design, c(1, 1, 1, 1, 2)))
  validation_term("moderate", smooth_terms, value, limits$std.error, limits$low, pmin(limits$high, c(1, 1, 1, 1, Inf)))
}

curve_distances <- function(gap, problem) {
  design <- problem$design
  x <- problem$features[, 1]
  spread <- row_mean((x - row_mean(as.numeric(problem$labels), design))^2, design)
  relative <- if (spread > 0) row_mean(gap^2, design) / spread else NA_real_
  c(gap_distances(gap, problem), relative)
}

# Rows as cells of equal weight, and the smooth curve of these.
moderate_cells <- function(problem, options, n_cells = 1000) {
  sorted <- sort_problem(problem)
  ends <- mass_ends(sorted, n_cells)
  sums <- list(sorted$sum_w %||% seq_along(sorted$order), sorted$sum_d + sorted$sum_y, sorted$sum_y)
  rows <- do.call(cbind, lapply(sums, function(prefix) diff(c(0, prefix[ends]))))
  at <- rows[, 2] / rows[, 1]
  part <- list(features = matrix(at), labels = rows[, 3] / rows[, 1], design = new_design(nrow(rows), rows[, 1]))
  gap <- problem_frequency(part, options$smoother, options$span) - at
  list(sorted = sorted, ends = ends, rows = rows, gap = gap, value = curve_distances(gap, part))
}

# Many rows are drawn as what they add to cells: a sample moves the cells' values as it moves those of the rows.
# `frequency`: of the rows, NULL where they have the gap of their cell.
cell_draws <- function(problem, cells, frequency, value, options) {
  design <- problem$design
  sorted <- cells$sorted
  ends <- cells$ends
  w <- sorted$w %||% numeric()
  frequency <- if (is.null(frequency)) {
    pmin(pmax(sorted$x + rep(cells$gap, diff(c(0, ends))), 0), 1)
  } else {
    frequency[sorted$order]
  }
  clusters <- design$cluster[sorted$order] %||% integer()
  plain <- is_unweighted(design) && (isTRUE(problem$cells) || copy_count(design) >= many_rows)
  copies <- design$copies[sorted$order] %||% numeric()
  drawn <- cpp_sampled_cells(sorted$x, sorted$y, w, copies, ends, clusters, options$times, plain, thread_count())
  distances <- function(sums, gap, own = TRUE) {
    cpp_cell_distances(sums, gap, own, options$smoother == "loess", options$span,
                       sampled_curve(options$smoother, options$span), thread_count())
  }
  clustered <- !is.null(design$cluster)
  samples <- distances(drawn, if (clustered) cells$gap else numeric())
  # of outcomes simulated from the curve, or from the predictions
  redrawn <- function(frequency, ...) {
    distances(cpp_redrawn_cells(cells$rows, frequency, w, copies, ends, options$times, plain, thread_count()), ...)
  }
  # the cells' value is near that of the rows
  list(samples = samples[1:5, ] + (value - cells$value),
       noise = if (clustered) samples[6:10, ] else redrawn(frequency, cells$gap, FALSE),
       null = function() redrawn(sorted$x, numeric()))
}

# The rows of a group. Nobody of one may be followed to the horizon: its weights are NA.
group_part <- function(problem, groups, g) {
  rows <- groups$rows[[g]]
  part <- take_rows(problem, rows)
  if (!is.null(groups$weights)) part$design <- reweighted(part$design, groups$weights[rows])
  part
}

# Strong calibration: what holds for all rows, in every pattern of covariates.
strong_terms <- function(problem, options) {
  groups <- problem$group
  if (is.null(groups)) return(NULL)
  parts <- lapply(seq_along(groups$rows), function(g) {
    part <- group_part(problem, groups, g)
    named <- function(term) paste0(term, "(", groups$labels[g], ")")
    if (anyNA(part$design$w)) return(validation_term("strong", named(c("oe_ratio", "calibration_error")), NA_real_))
    vctrs::vec_rbind(oe_row(part, options, "strong", named("oe_ratio")),
                     ladder_term(binary_ladder(part, options$level), "strong", named("calibration_error")))
  })
  p <- vapply(parts, function(part) part$p.value[2], 0)
  known <- !is.na(p)
  joint <- validation_term("strong", "all_groups", NA_real_, p = if (any(known)) min(1, sum(known) * min(p[known])))
  vctrs::vec_rbind(!!!parts, joint)
}

overall_rows <- function(problem, options) {
  p <- problem$features[, 1]
  y <- as.numeric(problem$labels)
  design <- problem$design
  few <- cpp_few_events(y, design)
  row <- function(term, value, influence, smallest = 0) {
    scale <- pool_scale(term)
    columns <- scaled_columns(value, influence, design, options$level, scale, smallest = smallest, few_events = few)
    # the prevalence of few events is skewed, and so is what is divided by its variance
    if (term == "scaled_brier" && isTRUE(few > 0)) {
      quantile <- design_quantile((1 + options$level) / 2, design)
      limits <- cpp_skewed_limits(columns$.estimate, columns$std.error %||% NA_real_, influence, design, quantile)
      columns[c("conf.low", "conf.high")] <- lapply(limits, scale$back)
    }
    validation_row("overall", term, columns)
  }
  squared <- (y - p)^2
  brier <- row_mean(squared, design)
  prevalence <- row_mean(y, design)
  spread <- prevalence * (1 - prevalence)
  log_loss <- -ifelse(y == 1, log(p), log1p(-p))
  vctrs::vec_rbind(
    row("brier", brier, squared),
    row("scaled_brier", if (spread > 0) 1 - brier / spread else NA_real_,
        brier / spread^2 * (1 - 2 * prevalence) * (y - prevalence) - (squared - brier) / spread, -Inf),
    if (is.null(problem$log)) row("log_loss", row_mean(log_loss, design), log_loss) else
      validation_row("overall", "log_loss", summarise_estimates(list(problem$log), options$level))
  )
}

# As in ce_decision().
utility_rows <- function(problem, options) {
  if (length(options$thresholds) == 0) return(NULL)
  at <- sort(options$thresholds)
  p <- problem$features[, 1]
  own <- decision_limits(p, p, as.numeric(problem$labels), problem$design,
                         list(thresholds = at, times = 1, level = options$level), curve = TRUE)$sums[[1]]
  vctrs::vec_rbind(!!!lapply(match(options$thresholds, at), function(k) {
    validation_term("utility", paste0("net_benefit(", format(at[k]), ")"), own$estimate[k],
                    if (isTRUE(own$std.error[k] > 0)) own$std.error[k] else NA_real_, own$conf.low[k], own$conf.high[k])
  }))
}
