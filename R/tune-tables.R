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
      for (s in seq_along(paths)) {
        path <- paths[[s]]
        k <- ncol(path$risk)
        n <- nrow(grid) * k
        v <- rep(seq_len(nrow(grid)), each = k)
        at <- cbind(v, rep(seq_len(k), nrow(grid)))
        row <- list(
          method = rep(m, n),
          parameter = rep(methods[[m]]$parameter %||% NA_character_, n),
          value = grid$value[v],
          fold = at[, 2],
          risk = path$risk[at],
          squared_error = path$squared_error[at],
          squared_error_test = path$squared_error_test[at]
        )
        if (length(paths) > 1) row$split <- rep(s, n)
        if (!is.null(grid[["kernel"]])) row$kernel <- vapply(grid[["kernel"]], format, "")[v]
        if (!is.null(problems[[j]]$class)) row$class <- rep(problems[[j]]$class, n)
        rows <- c(rows, list(tibble::new_tibble(row, nrow = n)))
      }
    }
  }
  vctrs::vec_rbind(!!!rows)
}

tune_glance <- function(results, methods, grids, headline) {
  mean_risk <- vapply(results, function(r) mean_over_folds(fold_values(r, "risk")), 0)
  best <- which.min(mean_risk)[1]
  # without a best one every difference is NA
  best_result <- results[[if (is.na(best)) 1 else best]]
  won <- won_splits(results)
  rows <- lapply(names(methods), function(m) {
    result <- results[[m]]
    value <- unique(grids[[m]]$value[result$v])
    holdout <- holdout_estimate(result$squared)
    to_best <- split_difference(result, best_result)
    skill <- 1 - mean_risk[[m]] / mean_over_folds(fold_values(result, "zero_risk"))
    row <- columns_frame(
      method = m,
      parameter = methods[[m]]$parameter %||% NA_character_,
      value = if (length(value) == 1) value else NA_real_,
      root_risk = mean_root(fold_values(result, "risk")),
      risk_std.error = root_mean_square(vapply(result$risks, function(risks) {
        mean_std_error(fold_roots(vapply(risks, `[[`, 0, "risk")))
      }, 0)),
      estimate_holdout = holdout$estimate,
      std.error_holdout = holdout$std.error,
      estimate = headline$estimate,
      std.error = headline$std.error,
      conf.low = headline$conf.low,
      conf.high = headline$conf.high,
      selected = identical(m, names(methods)[best]),
      won = won[[m]],
      risk = mean_risk[[m]],
      difference = to_best$difference,
      difference_std.error = to_best$std.error,
      skill = if (is.finite(skill)) skill else NA_real_,
      lower_bound = headline$lower_bound,
      p.value = headline$p.value,
      resolution = headline$resolution,
      upper_bound = headline$upper_bound,
      squared_holdout = holdout$squared
    )
    if (!is.null(grids[[m]][["kernel"]])) {
      row$kernel <- paste(unique(vapply(grids[[m]][["kernel"]][result$v], format, "")), collapse = " | ")
    }
    row
  })
  vctrs::vec_rbind(!!!rows)
}

# Share of the splits in which each method has the smallest mean risk.
won_splits <- function(results) {
  risks <- vapply(results, function(result) {
    vapply(result$risks, function(risks) mean_over_folds(vapply(risks, `[[`, 0, "risk")), 0)
  }, numeric(length(results[[1]]$risks)))
  risks <- matrix(risks, ncol = length(results))
  first <- apply(risks, 1, function(row) which.min(row)[1])
  setNames(tabulate(first, length(results)) / nrow(risks), names(results))
}

# Mean h(p, p) on the test rows (estimates), over the splits; the splits share rows, so that their variances are
# averaged.
holdout_estimate <- function(squared) {
  mean <- mean(vapply(squared, `[[`, 0, "value"))
  std_error <- root_mean_square(vapply(squared, estimate_std_error, 0))
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

fold_values <- function(result, field) {
  unlist(lapply(result$risks, function(risks) vapply(risks, `[[`, 0, field)))
}

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
