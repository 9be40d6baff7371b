#' Tables of a tuning result
#'
#' @param x A `ce_tune`.
#' @param ... Not used.
#' @return `tidy()`: one row per method, value and fold with `method, parameter, value, fold, risk`
#'   (on the fold's held-out rows), `squared_error` (mean \eqn{h(p,p)} there) and
#'   `squared_error_test` (on the test rows); class-wise also `class`, with a grid of kernels also
#'   `kernel`.
#'
#'   `glance()`: one row per method with `method, parameter, value` (`NA` where classes chose
#'   differently), `root_risk` (mean over folds of the root risk) and its `std.error` over
#'   folds, `estimate` (root calibration error on the test rows) with `estimate_std.error`,
#'   `conf.low`, `conf.high`, and `selected`; then the mean `risk`, its paired `difference` to the
#'   selected method with `difference_std.error`, `skill` against \eqn{h = 0}, the one-sided
#'   `lower_bound` for the calibration error and the `squared_estimate`, which may be negative.
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
      path <- results[[m]]$paths[[j]]
      k <- ncol(path$risk)
      v <- rep(seq_len(nrow(grid)), each = k)
      at <- cbind(v, rep(seq_len(k), nrow(grid)))
      row <- tibble::tibble(
        method = m,
        parameter = methods[[m]]$parameter %||% NA_character_,
        value = grid$value[v],
        fold = at[, 2],
        risk = path$risk[at],
        squared_error = path$squared_error[at],
        squared_error_test = path$squared_error_test[at]
      )
      if (!is.null(grid[["kernel"]])) row$kernel <- vapply(grid[["kernel"]], format, "")[v]
      if (!is.null(problems[[j]]$class)) row$class <- problems[[j]]$class
      rows <- c(rows, list(row))
    }
  }
  vctrs::vec_rbind(!!!rows)
}

tune_glance <- function(results, methods, grids, split, linear, level) {
  mean_risk <- vapply(results, function(r) mean_over_folds(fold_values(r, "risk")), 0)
  best <- which.min(mean_risk)[1]
  # without a best one every difference is NA
  best_projections <- fold_projections(results[[if (is.na(best)) 1 else best]])
  rows <- lapply(names(methods), function(m) {
    result <- results[[m]]
    roots <- fold_roots(fold_values(result, "risk"))
    value <- unique(grids[[m]]$value[result$v])
    interval <- calibration_interval(result$squared, result$gaps, sum(split$fold > 0), linear, level)
    to_best <- paired_difference(fold_projections(result), best_projections)
    to_zero <- paired_difference(fold_projections(result, "zero_projections"), fold_projections(result))
    skill <- 1 - mean_over_folds(fold_values(result, "risk")) /
      mean_over_folds(fold_values(result, "zero_risk"))
    row <- tibble::tibble(
      method = m,
      parameter = methods[[m]]$parameter %||% NA_character_,
      value = if (length(value) == 1) value else NA_real_,
      root_risk = mean_root(fold_values(result, "risk")),
      std.error = mean_std_error(roots),
      estimate = interval$estimate,
      estimate_std.error = interval$std.error,
      conf.low = interval$conf.low,
      conf.high = interval$conf.high,
      selected = identical(m, names(methods)[best]),
      risk = mean_over_folds(fold_values(result, "risk")),
      difference = to_best$difference,
      difference_std.error = to_best$std.error,
      skill = if (is.finite(skill)) skill else NA_real_,
      lower_bound = ce_lower_bound(to_zero, level),
      squared_estimate = mean(result$squared)
    )
    if (!is.null(grids[[m]][["kernel"]])) {
      row$kernel <- paste(unique(vapply(grids[[m]][["kernel"]][result$v], format, "")), collapse = " | ")
    }
    row
  })
  vctrs::vec_rbind(!!!rows)
}

fold_values <- function(result, field) vapply(result$risks, `[[`, 0, field)

fold_projections <- function(result, field = "projections") lapply(result$risks, `[[`, field)

fold_roots <- function(risk) sqrt(pmax(risk[!is.na(risk)], 0))

mean_root <- function(risk) if (all(is.na(risk))) NA_real_ else mean(fold_roots(risk))

mean_over_folds <- function(x) if (all(is.na(x))) NA_real_ else mean(x, na.rm = TRUE)

# CE^2 is a mean of |E(e | p)|^2: no estimate that makes sense exceeds every residual.
warn_impossible <- function(glance, problems) {
  row <- glance[glance$selected, ]
  largest <- sqrt(max(Reduce(`+`, lapply(problems, function(problem) rowSums(problem$residuals^2)))))
  if (!isTRUE(row$estimate > largest * (1 + 1e-8))) return(invisible())
  warn_result(c(
    "The estimate of {.val {row$method}} is larger than every residual, which no calibration error is.",
    "x" = "It is {signif(row$estimate, 3)}; the largest residual of {nrow(problems[[1]]$residuals)} rows is \\
           {signif(largest, 3)}.",
    "i" = "Its fits followed the noise of few rows: use more, or another method."
  ), "impossible_estimate")
}
