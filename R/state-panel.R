# The panel of a state: classical errors of rows with counts, with the errors of independent rows or of blocks.

state_panel <- function(x, level, call) {
  check_state(x, call)
  check_state_rows(x, call)
  check_state_scalar(x, call)
  check_level(level, call)
  classes <- if (x$about$notion == "class_wise") x$about$levels
  parts <- lapply(seq_along(x$sums), function(j) {
    out <- if (x$about$blocked) block_panel(x, j, level) else row_panel(x, j, level)
    if (!is.null(classes)) out <- tibble::add_column(out, class = classes[j], .before = 1)
    out
  })
  if (!is.null(classes)) parts <- c(parts, list(tibble::add_column(class_sum(x, level), class = NA, .before = 1)))
  out <- vctrs::vec_rbind(!!!parts)
  out$n <- x$n
  out$notion <- x$about$notion
  out$level <- level
  attr(out, "design") <- followed_sentence(x)
  metric_table(as_result(out))
}

#' @rdname ce_state
#' @param x A `ce_state`.
#' @export
tidy.ce_state <- function(x, ..., level = 0.95) {
  check_empty(...)
  tidy(state_panel(x, level, current_env()))
}

panel_frame <- function(metric, columns, detail, estimator = "binary") {
  missing <- rep(NA_real_, length(metric))
  # what is not defined (a ratio to no expected events, a statistic without a variance) is missing
  out <- lapply(setNames(nm = panel_numbers), function(name) {
    nan_to_na(unname(columns[[name]] %||% missing))
  })
  tibble::new_tibble(c(list(.metric = metric, .estimator = rep(estimator, length(metric))), out,
                       list(detail = rep_len(detail, length(metric)))), nrow = length(metric))
}

state_estimator <- function(state) if (length(state$about$levels) == 2) "binary" else "multiclass"

# Independent rows.
row_panel <- function(state, problem, level) {
  moments <- state_moments(state, problem)
  total <- over_parts(moments)
  rows <- cell_rows(state$spec$edges, total)
  fewer <- cell_rows(state$spec$edges, total, moments_of_cell %/% 2 - 1)
  scores <- state_scores(state, problem)
  design <- new_design(state$n)
  by_fold <- part_rows(state$spec$edges, moments)
  table <- counted_table(by_fold, state$spec$bins, dim(moments)[4])
  bins <- lapply(list(c(1, 0), c(2, 0), c(2, 1)), function(choice) {
    sums_estimate(table, choice[1], choice[2] == 1, design)
  })
  ks <- counted_ks(by_fold, dim(moments)[4], state$spec$edges, design)
  estimates <- c(list(counted_mean(rows, (rows$x - rows$y)^2, design, 2)), bins, list(ks$estimate),
                 list(counted_mean(rows, (rows$x - rows$y)^2, design)), list(log_estimate(scores, state$n, design)))
  columns <- summarise_estimates(estimates, level)
  columns$p.value <- c(rep(NA, 4), largest_motion_p(ks$sigma), NA, NA)
  mean_rows <- panel_frame(c("rbs", "ece", "ece", "ece", "ks_error", "brier", "log_loss"), columns,
                           panel_details(state, ks$more), state_estimator(state))
  oe <- oe_columns(rows, level, design)
  cox <- counted_cox(rows, scores, level)
  other <- counted_cox(fewer, scores, level)
  error <- max(abs(cox$.estimate - other$.estimate), 0, na.rm = TRUE)
  z <- counted_spiegelhalter(rows)
  vctrs::vec_rbind(
    mean_rows,
    panel_frame("oe_ratio", oe, "events observed over expected", state_estimator(state)),
    panel_frame(c("cox_intercept", "cox_slope", "cox_in_the_large", "cox_joint"), cox,
                paste0("logistic regression on the logit", cox$reason, if (error > 0) {
                  paste0("; error of the cells below ", format(error, digits = 1))
                }), state_estimator(state)),
    panel_frame("spiegelhalter", list(.estimate = z, p.value = 2 * pnorm(-abs(z))), "z statistic",
                state_estimator(state))
  )
}

panel_details <- function(state, more) {
  bins <- paste0(bin_words(state$spec), ", p = ", c("1", "2", "2, debiased"))
  between <- paste0("at the edges of ", length(state$spec$edges) - 1, " cells, at most ", format(more, digits = 1),
                    " more in between")
  c("scalar", bins, between, "squared error of the probability", "logarithmic score")
}

bin_words <- function(spec) {
  equal <- all(abs(spec$bins - (0:spec$n_bins) / spec$n_bins) < 1e-12)
  paste(spec$n_bins, if (equal) "bins of equal width" else "bins between given breaks")
}

# Errors from the rows left when a block is left out.
block_panel <- function(state, problem, level) {
  moments <- block_moments(state, problem)
  scores <- array(rowSums(state$sums[[problem]]$scores), c(length(score_sums), dim(moments)[4]))
  used <- which(block_weights(moments) > 0)
  bins <- block_bins(state, problem)
  rows <- cell_rows(state$spec$edges, over_parts(moments))
  estimates <- jackknife_estimates(used, function(blocks) {
    left <- cell_rows(state$spec$edges, over_parts(moments[, , , blocks, drop = FALSE]))
    panel_values(left, setNames(rowSums(scores[, blocks, drop = FALSE]), score_sums), state$spec, bins(blocks))
  }, block_bounds(block_terms(moments, state$spec), block_weights(moments)),
  bin_noise(rows, state$spec, bins(used)))
  n <- length(used)
  all <- vapply(estimates, `[[`, 0, "value")
  columns <- summarise_estimates(estimates, level)
  at_null <- ifelse(grepl("slope|oe", names(all)), 1, 0)
  tested <- grepl("cox|spiegel|oe", names(all))
  z <- ifelse(columns$std.error > 0, (all - at_null) / columns$std.error, NA)
  columns$p.value <- ifelse(tested, 2 * stats::pt(-abs(z), n - 1), NA)
  # the statistic itself, as spiegelhalter() has it of clusters
  statistic <- names(all) == "spiegelhalter"
  columns$.estimate[statistic] <- z[statistic]
  for (name in c("std.error", "conf.low", "conf.high")) columns[[name]][statistic] <- NA
  path <- cumulated_residuals(rows, state$spec$edges)
  more <- max(0, max(path$within) / sum(rows$count) - max(abs(path$at)) / sum(rows$count))
  details <- c(panel_details(state, more), "events observed over expected", rep("logistic regression on the logit", 3),
               "z statistic")
  panel_frame(sub(" .*", "", names(all)), columns, paste0(details, "; errors from ", count_of(n, "block")),
              state_estimator(state))
}

# Estimates of value(blocks), by name, from the values of all blocks but one; some have an honest lower end, or noise.
jackknife_estimates <- function(used, value, honest, noise) {
  all <- value(used)
  left <- vapply(used, function(b) value(setdiff(used, b)), all)
  n <- length(used)
  variance <- if (n > 1) (n - 1) / n * rowSums((left - rowMeans(left))^2) else NA * all
  variance[!is.finite(variance)] <- NA
  noise <- noise[names(all)]
  Map(new_estimate, all, list(no_rows), list(new_design(n, cluster = seq_len(n))), honest = honest[names(all)],
      noise = ifelse(is.na(noise), 0, noise), power = ifelse(names(all) %in% c("rbs", "ece 2", "ece 2 debiased"), 2, 1),
      smallest = ifelse(grepl("cox|spiegel|oe", names(all)), -Inf, 0), variance = variance)
}

# The metrics that are summed over classes, as for rows in memory. Standard errors are from blocks, which have all
# classes of a row.
class_sum <- function(state, level) {
  moments <- lapply(seq_along(state$sums), function(j) block_moments(state, j))
  used <- which(block_weights(moments[[1]]) > 0)
  bins <- lapply(seq_along(moments), function(j) block_bins(state, j))
  of_classes <- function(blocks, values) {
    Reduce(`+`, lapply(seq_along(moments), function(j) {
      rows <- cell_rows(state$spec$edges, over_parts(moments[[j]][, , , blocks, drop = FALSE]))
      values(rows, state$spec, bins[[j]](blocks))
    }))
  }
  terms <- lapply(moments, block_terms, spec = state$spec)
  of_blocks <- lapply(setNames(nm = names(terms[[1]])), function(name) Reduce(`+`, lapply(terms, `[[`, name)))
  estimates <- jackknife_estimates(used, function(blocks) of_classes(blocks, binned_values),
                                   block_bounds(of_blocks, block_weights(moments[[1]])), of_classes(used, bin_noise))
  panel_frame(sub(" .*", "", names(estimates)), summarise_estimates(estimates, level),
              paste0(panel_details(state, NA)[c(1:4, 6)], "; sum over the classes; errors from ",
                     count_of(length(used), "block")), state_estimator(state))
}

binned_values <- function(rows, spec, counts) {
  square <- sum(rows$count * (rows$x - rows$y)^2) / sum(rows$count)
  bins <- counted_bins(rows, spec, counts)
  power <- function(p, debias) binned_power(bins, p, debias)$power
  c(rbs = square, "ece 1" = power(1, FALSE), "ece 2" = power(2, FALSE), "ece 2 debiased" = power(2, TRUE),
    brier = square)
}

# For rows with counts: the panel's values on the scale of their errors.
panel_values <- function(rows, scores, spec, counts) {
  e <- rows$x - rows$y
  total <- sum(rows$count)
  means <- binned_values(rows, spec, counts)
  path <- cumulated_residuals(rows, spec$edges)
  cox <- counted_cox(rows, scores, 0.95)$.estimate
  log <- log_estimate(scores, total, NULL)$value
  c(means[-5], ks_error = max(abs(path$at)) / total, means[5], log_loss = log,
    oe_ratio = sum(rows$count * rows$y) / sum(rows$count * rows$x), cox_intercept = cox[1], cox_slope = cox[2],
    cox_in_the_large = cox[3], spiegelhalter = -sum(rows$count * e * (1 - 2 * rows$x)) / total)
}
