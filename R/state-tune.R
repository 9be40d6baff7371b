# Algorithm 1 on the sums of a state: bins from sums of residuals, kernel ridges from the rows with counts of each fold.

# What ce_tune(state) returns.
state_tune <- function(state, level, threads, call) {
  check_state(state, call)
  check_state_rows(state, call)
  if (state$about$blocked) {
    stop_input(c(
      "Algorithm 1 on a state is for independent rows that count the same.",
      "x" = "The state has weights or clusters, of which it keeps blocks.",
      "i" = "{.fn ce_estimate} and {.fn estimate} of the state take them into account."
    ), c("state", "weights"), call = call)
  }
  problems <- lapply(seq_along(state$sums), function(j) tune_sums(state, j))
  check_fold_rows(problems[[1]], call)
  methods <- list("15 bins" = method_bins(15), bins = method_bins(state$spec$grid), kkr = method_kkr(),
                  ukkr = method_ukkr())
  names(methods)[1] <- if (15 %in% state$spec$grid) "15 bins" else ""
  methods <- methods[nzchar(names(methods))]
  train <- sum(problems[[1]]$size[-1]) * (state$spec$folds - 1) / state$spec$folds
  grids <- lapply(methods, method_grid, notion = state$about$notion, n = train)
  contexts <- lapply(problems, function(problem) new_context(threads))
  results <- Map(function(method, grid) {
    Map(function(problem, context) tune_sums_path(method, problem, grid, context), problems, contexts)
  }, methods, grids)
  tables <- tuned_tables(results, methods, grids, problems, state)
  if (length(problems) == 1) {
    headline <- state_headline(state, level, threads)
    tables$glance[c("estimate", "std.error", "conf.low", "conf.high")] <-
      headline[rep(1, nrow(tables$glance)), c("estimate", "std.error", "conf.low", "conf.high")]
  }
  out <- new_table(tables$glance, c(
    "Methods" = paste0(state$about$notion, ", ", count_text(state$n), " rows"),
    "Folds" = paste0(state$spec$folds, " and test rows, by the hash of the rows")
  ), "ce_state_tune")
  attr(out, "path") <- tables$tidy
  out
}

# Of one problem: rows with counts and their fold (0 tests), and what bins need.
tune_sums <- function(state, j) {
  moments <- state_moments(state, j)
  folds <- lapply(seq_len(dim(moments)[4]), function(f) cell_rows(state$spec$edges, moments[, , , f]))
  collect <- function(name) unlist(lapply(folds, `[[`, name))
  x <- collect("x")
  y <- collect("y")
  e <- x - y
  count <- collect("count")
  fold <- rep(seq_along(folds) - 1L, lengths(lapply(folds, `[[`, "x")))
  by_fold <- function(v) as.vector(rowsum_all(matrix(count * v), factor(fold, seq_along(folds) - 1L)))
  edges <- state$spec$bins
  list(features = matrix(x), residuals = matrix(e), labels = as.integer(y), counts = count, fold = fold,
       edges = edges[-1],
       size = by_fold(rep(1, length(x))), squares = by_fold(e^2), fourth = by_fold(e^4),
       cells = sum_array(state$sums[[j]]$bins, c(3, length(edges) - 1, length(folds))))
}

check_fold_rows <- function(problem, call) {
  few <- which(problem$size < c(1, rep(2, length(problem$size) - 1)))
  if (length(few) == 0) return(invisible())
  stop_input(c(
    "Every fold must have two rows, the test rows one.",
    "x" = if (few[1] == 1) "There are no test rows." else "Fold {few[1] - 1} has {problem$size[few[1]]} row{?s}.",
    "i" = "Rows with the same values are in the same fold; give {.arg id} in {.fn update} to tell them apart."
  ), c("state", "folds"), call = call)
}

# Risks of folds and grid, the selected value, and what the folds' mean function says on test rows.
tune_sums_path <- function(method, problem, grid, context) {
  path <- if (inherits(method, "ce_method_bins")) {
    bins_sums_path(problem, grid$value)
  } else {
    ridge_sums_path(method, problem, grid, context)
  }
  path$risk <- pmax(path$risk, 0)
  v <- select_value(path$risk, grid$value)
  test <- path$test(v)
  mean <- sum(test$size * test$squared) / sum(test$size)
  squares <- sum(test$size * (test$squared - mean)^2)
  n <- sum(test$size)
  list(path = path, v = v, squared = mean, variance = if (n > 1) squares / (n * (n - 1)) else NA_real_,
       zero = (problem$squares[-1]^2 - problem$fourth[-1]) / (problem$size[-1] * (problem$size[-1] - 1)))
}

ridge_sums_path <- function(method, problem, grid, context) {
  folds <- max(problem$fold)
  path <- tune_path(method, problem, problem$fold, grid, context)
  at <- problem$fold == 0
  path$test <- function(v) {
    squared <- lapply(seq_len(folds), function(f) {
      form_squared(path$form(v, f), problem$features[at, , drop = FALSE], context$threads)
    })
    list(size = problem$counts[at], squared = Reduce(`+`, squared) / folds)
  }
  path
}

# Bins from the sums over the cells between all their edges (R/tune-cells.R).
bins_sums_path <- function(problem, counts) {
  folds <- length(problem$size) - 1
  path <- new_path(length(counts), folds)
  gaps <- lapply(counts, function(b) matrix(0, b, folds))
  tables <- lapply(counts, function(b) {
    bin <- factor(findInterval(problem$edges, seq_len(b - 1) / b, left.open = TRUE), 0:(b - 1))
    lapply(seq_len(folds + 1), function(f) {
      out <- rowsum_all(t(problem$cells[, , f]), bin)
      colnames(out) <- c("n", "d1", "d2")
      out
    })
  })
  for (v in seq_along(counts)) {
    sums <- tables[[v]]
    for (f in seq_len(folds)) {
      own <- sums[[f + 1]]
      others <- Reduce(`+`, sums[-c(1, f + 1)])
      all <- colSums(others)
      gap <- unname(ifelse(others[, "n"] > 0, others[, "d1"] / others[, "n"], all[["d1"]] / all[["n"]]))
      gaps[[v]][, f] <- gap
      h <- list(b = gap, v = 0 * gap)
      path$risk[v, f] <- cell_risk(own, h, problem$fourth[f + 1])
      path$squared_error[v, f] <- mean_of_cells(own, h)
      path$squared_error_test[v, f] <- mean_of_cells(sums[[1]], h)
    }
  }
  path$test <- function(v) list(size = unname(tables[[v]][[1]][, "n"]), squared = rowMeans(gaps[[v]]^2))
  path
}

# As tune_tidy() and tune_glance(), class-wise sums over the classes.
tuned_tables <- function(results, methods, grids, problems, state) {
  classes <- if (length(problems) > 1) state$about$levels
  tidy <- lapply(names(methods), function(m) {
    parts <- lapply(seq_along(problems), function(j) {
      path <- results[[m]][[j]]$path
      k <- ncol(path$risk)
      out <- tibble::tibble(
        method = m, parameter = methods[[m]]$parameter, value = rep(grids[[m]]$value, each = k),
        fold = rep(seq_len(k), nrow(path$risk)), risk = c(t(path$risk)), squared_error = c(t(path$squared_error)),
        squared_error_test = c(t(path$squared_error_test))
      )
      if (!is.null(classes)) out$class <- classes[j]
      out
    })
    vctrs::vec_rbind(!!!parts)
  })
  glance <- lapply(names(methods), function(m) {
    parts <- results[[m]]
    risk <- Reduce(`+`, lapply(parts, function(part) part$path$risk[part$v, ]))
    zero <- Reduce(`+`, lapply(parts, `[[`, "zero"))
    squared <- sum(vapply(parts, `[[`, 0, "squared"))
    error <- if (length(parts) == 1) sqrt(parts[[1]]$variance) else NA_real_
    value <- unique(grids[[m]]$value[vapply(parts, `[[`, 0L, "v")])
    root <- sqrt(max(squared, 0))
    skill <- 1 - mean_over_folds(risk) / mean_over_folds(zero)
    tibble::tibble(
      method = m, parameter = methods[[m]]$parameter, value = if (length(value) == 1) value else NA_real_,
      root_risk = mean_root(risk), risk_std.error = mean_std_error(fold_roots(risk)), estimate_holdout = root,
      std.error_holdout = if (root > 0) error / (2 * root) else NA_real_, selected = FALSE,
      risk = mean_over_folds(risk), skill = if (is.finite(skill)) skill else NA_real_,
      squared_holdout = squared
    )
  })
  glance <- vctrs::vec_rbind(!!!glance)
  glance$selected[which.min(glance$risk)] <- TRUE
  list(tidy = vctrs::vec_rbind(!!!tidy), glance = glance)
}

#' @rdname ce_state
#' @export
tidy.ce_state_tune <- function(x, ...) attr(x, "path")

#' @rdname ce_state
#' @export
glance.ce_state_tune <- function(x, ...) {
  tibble::new_tibble(lapply(x, identity), nrow = nrow(x))
}
