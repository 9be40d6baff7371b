#' Tables of a tuning result
#'
#' @param x A `ce_tune`.
#' @param ... Not used.
#' @return `tidy()`: one row per method, value and fold with `method, parameter, value, fold, risk`
#'   (on the fold's held-out rows), `squared_error` (mean \eqn{h(p,p)} there) and
#'   `squared_error_test` (on the test rows); with several splits also `split`, class-wise also `class`, with a grid of
#'   kernels also `kernel`.
#'
#'   `glance()`: one row per method with `method, parameter, value` (`NA` where classes chose
#'   differently), `root_risk` (mean over folds of the root risk) and its `risk_std.error` over folds. Then follow
#'   `estimate_holdout` (root calibration error on the test rows) with `std.error_holdout`, which accounts for the test
#'   rows alone and not for the noise of the fits. The main estimate of all rows, `estimate, std.error, conf.low,
#'   conf.high`, is the same for every method (see [ce_estimate()]). `selected` marks the chosen method, and `won` is
#'   the share of the splits in which a method had the smallest risk. `risk` is the mean that selects, `difference` its
#'   paired difference from the selected method with `difference_std.error`, and `skill` compares it with assuming
#'   perfect calibration (\eqn{h = 0}). The last columns are `lower_bound`, `p.value`, `resolution` and `upper_bound` of
#'   the main estimate, and `squared_holdout`, the square of `estimate_holdout`, which may be negative.
#' @name ce_tune_tables
#' @export
tidy.ce_tune <- function(x, ...) x$tidy

#' @rdname ce_tune_tables
#' @export
glance.ce_tune <- function(x, ...) x$glance

tune_tidy <- function(results, methods, grids, problems) {
  rows <- list()
  for (m in names(methods)) {
    grid <- grids[[m]]
    for (j in seq_along(problems)) {
      paths <- results[[m]]$paths[[j]]
      k <- ncol(paths[[1]]$risk)
      n <- nrow(grid) * k * length(paths)
      by_fold <- function(name) unlist(lapply(paths, function(path) t(path[[name]])))
      value <- rep(rep(seq_len(nrow(grid)), each = k), length(paths))
      row <- columns_frame(
        method = m, parameter = methods[[m]]$parameter %||% NA_character_, value = grid$value[value],
        fold = rep_len(seq_len(k), n), risk = by_fold("risk"), squared_error = by_fold("squared_error"),
        squared_error_test = by_fold("squared_error_test")
      )
      if (length(paths) > 1) row$split <- rep(seq_along(paths), each = n / length(paths))
      if (!is.null(grid[["kernel"]])) row$kernel <- vapply(grid[["kernel"]], format, "")[value]
      if (!is.null(problems[[j]]$class)) row$class <- problems[[j]]$class
      rows <- c(rows, list(row))
    }
  }
  vctrs::vec_rbind(!!!rows)
}

tune_glance <- function(results, methods, grids, headline) {
  mean_risk <- number_of(results, function(r) mean_over_folds(fold_values(r, "risk")))
  best <- which.min(mean_risk)[1]
  # without a best one every difference is NA
  best_result <- results[[if (is.na(best)) 1 else best]]
  values <- Map(function(grid, result) unique(grid$value[result$v]), grids, results)
  holdout <- lapply(results, function(result) holdout_estimate(result$squared))
  to_best <- lapply(results, split_difference, best_result)
  skill <- 1 - mean_risk / number_of(results, function(r) mean_over_folds(fold_values(r, "zero_risk")))
  out <- columns_frame(
    method = names(methods),
    parameter = vapply(methods, function(method) method$parameter %||% NA_character_, "", USE.NAMES = FALSE),
    value = number_of(values, function(value) if (length(value) == 1) value else NA_real_),
    root_risk = number_of(results, function(r) mean_root(fold_values(r, "risk"))),
    risk_std.error = number_of(results, function(r) {
      root_mean_square(number_of(r$risks, function(risks) mean_std_error(fold_roots(number_of(risks, "risk")))))
    }),
    estimate_holdout = number_of(holdout, "estimate"),
    std.error_holdout = number_of(holdout, "std.error"),
    !!!headline[c("estimate", "std.error", "conf.low", "conf.high")],
    selected = seq_along(methods) %in% best,
    won = won_splits(results),
    risk = mean_risk,
    difference = number_of(to_best, "difference"),
    difference_std.error = number_of(to_best, "std.error"),
    skill = replace(skill, !is.finite(skill), NA_real_),
    !!!headline[c("lower_bound", "p.value", "resolution", "upper_bound")],
    squared_holdout = number_of(holdout, "squared")
  )
  kernels <- Map(function(grid, result) grid[["kernel"]][result$v], grids, results)
  names <- vapply(kernels, function(chosen) {
    if (is.null(chosen)) NA_character_ else paste(unique(vapply(chosen, format, "")), collapse = " | ")
  }, "", USE.NAMES = FALSE)
  if (!all(is.na(names))) out$kernel <- names
  out
}

# A number of each part of a list: its field, or a function of it.
number_of <- function(parts, what) {
  if (is.function(what)) vapply(parts, what, 0, USE.NAMES = FALSE) else vapply(parts, `[[`, 0, what, USE.NAMES = FALSE)
}

# Share of the splits in which each method has the smallest mean risk.
won_splits <- function(results) {
  risks <- do.call(cbind, lapply(results, function(result) {
    number_of(result$risks, function(risks) mean_over_folds(number_of(risks, "risk")))
  }))
  tabulate(apply(risks, 1, function(row) which.min(row)[1]), length(results)) / nrow(risks)
}

# Mean h(p, p) on the test rows (estimates), over the splits; the splits share rows, so that their variances are
# averaged.
holdout_estimate <- function(squared) {
  mean <- mean(vapply(squared, `[[`, 0, "value"))
  std_error <- root_mean_square(vapply(squared, cpp_estimate_std_error, 0))
  root <- sqrt(max(mean, 0))
  list(estimate = root, std.error = if (isTRUE(root > 0)) std_error / (2 * root) else NA_real_, squared = mean)
}

# Mean paired difference of two methods' risks over splits and folds.
split_difference <- function(a, b) {
  projections <- function(risks) lapply(risks, `[[`, "projections")
  parts <- Map(function(x, y) paired_difference(projections(x), projections(y), lapply(x, `[[`, "design")),
               a$risks, b$risks)
  list(difference = mean_over_folds(vapply(parts, `[[`, 0, "difference")),
       std.error = root_mean_square(vapply(parts, `[[`, 0, "std.error")))
}

root_mean_square <- function(x) sqrt(mean_over_folds(x^2))

fold_values <- function(result, field) unlist(lapply(result$risks, number_of, field))

fold_roots <- function(risk) sqrt(pmax(risk[!is.na(risk)], 0))

mean_root <- function(risk) if (all(is.na(risk))) NA_real_ else mean(fold_roots(risk))

mean_over_folds <- function(x) if (all(is.na(x))) NA_real_ else mean(x, na.rm = TRUE)

# CE^2 is a mean of |E(e | p)|^2: no estimate that makes sense exceeds every residual.
warn_impossible <- function(glance, problems) {
  row <- glance[glance$selected, ]
  largest <- if (length(problems) == 1 && ncol(problems[[1]]$residuals) == 1) {
    max(abs(range(problems[[1]]$residuals)))
  } else {
    sqrt(max(Reduce(`+`, lapply(problems, function(problem) rowSums(problem$residuals^2)))))
  }
  if (!isTRUE(row$estimate_holdout > largest * (1 + 1e-8))) return(invisible())
  warn_result(
    "No calibration error exceeds the largest residual, but the estimate of {.val {row$method}} does.",
    "x" = "It is {signif(row$estimate_holdout, 3)}; the largest residual of {nrow(problems[[1]]$residuals)} rows is \\
           {signif(largest, 3)}.", "i" = "Its fits followed the noise of few rows: use more, or another method.",
    class = "impossible_estimate"
  )
}
