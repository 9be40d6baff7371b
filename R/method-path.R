# The plain way through folds and grid: one fit each. Any method works with it; methods that can share work between
# folds or grid values have their own tune_path() and must agree.

#' @export
tune_path.default <- function(method, problem, fold, grid, context) {
  n_folds <- max(fold)
  n_values <- nrow(grid)
  path <- new_path(n_values, n_folds)
  forms <- vector("list", n_values * n_folds)
  # of a single value what the risk needs of the rows is kept
  unseen <- if (n_values == 1) vector("list", n_folds)
  rows <- unseen_parts(problem, fold, context$cache)
  test <- rows$test
  for (f in seq_len(n_folds)) {
    train <- take_rows(problem, training_rows(fold, f))
    held_out <- rows$held_out[[f]]
    for (v in seq_len(n_values)) {
      form <- fit_checked(method, train, grid_point(grid, v), context)
      risk <- form_risk(form, held_out$features, held_out$residuals, held_out$design)
      path$risk[v, f] <- risk$risk
      path$squared_error[v, f] <- mean_squared(risk$squared, form, held_out$design)
      if (!is.null(test)) {
        squared <- form_squared(form, test)
        path$squared_error_test[v, f] <- mean_squared(squared, form, rows$design)
      }
      if (!is.null(unseen)) unseen[[f]] <- list(risk = risk, test_squared = if (!is.null(test)) squared)
      forms[[(f - 1) * n_values + v]] <- form
      advance(context, ((f - 1) * n_values + v) / length(forms))
    }
  }
  path$form <- function(v, f) forms[[(f - 1) * n_values + v]]
  if (!is.null(unseen)) path$unseen <- function(v) unseen
  path
}

new_path <- function(n_values, n_folds) {
  empty <- matrix(NA_real_, n_values, n_folds)
  list(risk = empty, squared_error = empty, squared_error_test = empty)
}

# Rows of a fold (0: test rows), and those that are fitted on where it is held out.
rows_of_fold <- function(fold, f) cpp_fold_rows(fold, f, TRUE, thread_count())

training_rows <- function(fold, f) cpp_fold_rows(fold, f, FALSE, thread_count())

advance <- function(context, fraction) {
  if (!is.null(context$progress)) context$progress(fraction)
}

nan_to_na <- function(x) replace(x, is.nan(x), NA_real_)

# The context with its progress confined to a stretch of the whole.
part_of <- function(context, from, to) {
  outer <- context$progress
  if (!is.null(outer)) context$progress <- function(fraction) outer(from + (to - from) * fraction)
  context
}

# Held-out rows of each fold and features of the test rows, the same for all methods. `design`: that of the test rows,
# or of all in the order of the folds.
unseen_parts <- function(problem, fold, cache) {
  of <- list(problem, fold)
  if (!identical(cache$unseen$of, of)) {
    test <- rows_of_fold(fold, 0)
    rows <- lapply(seq_len(max(fold)), rows_of_fold, fold = fold)
    cache$unseen <- list(
      of = of, rows = rows, held_out = lapply(rows, take_rows, data = problem),
      test = if (length(test) > 0) problem$features[test, , drop = FALSE],
      design = design_rows(problem$design, if (length(test) > 0) test else order(fold))
    )
  }
  cache$unseen
}

# The function fitted without fold f, evaluated on unseen rows: its risk on the fold, and h(p, p) on the test rows. The
# value of the risk is replaced by that of the path, whose sums may differ in the last digits, so that both tables show
# the same number. A path may have both already.
unseen_rows <- function(known, risk, form, held_out, test) {
  out <- known %||% list(
    risk = form_risk(form, held_out$features, held_out$residuals, held_out$design),
    test_squared = if (!is.null(test)) form_squared(form, test)
  )
  out$risk$risk <- risk
  out$risk$design <- held_out$design
  out
}

# Smallest mean risk, over the folds in which it is defined; the smallest value on ties.
select_value <- function(risk, value) {
  mean_risk <- rowMeans(risk, na.rm = TRUE)
  if (all(is.na(mean_risk))) 1L else order(mean_risk, value)[1]
}
