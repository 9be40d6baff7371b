# The plain way through folds and grid: one fit each. Any method works with it; methods that
# can share work between folds or grid values have their own tune_path() and must agree.

#' @export
tune_path.default <- function(method, problem, fold, grid, context) {
  n_folds <- max(fold)
  path <- new_path(nrow(grid), n_folds)
  forms <- vector("list", nrow(grid) * n_folds)
  # of a single value what the risk needs of the rows is kept
  unseen <- if (nrow(grid) == 1) vector("list", n_folds)
  rows <- unseen_parts(problem, fold, context$cache, context$threads)
  test <- rows$test
  for (f in seq_len(n_folds)) {
    train <- take_rows(problem, training_rows(fold, f, context$threads), context$threads)
    held_out <- rows$held_out[[f]]
    for (v in seq_len(nrow(grid))) {
      form <- fit_form(method, train, grid_point(grid, v), context)
      risk <- form_risk(form, held_out$features, held_out$residuals, context$threads, held_out$design)
      path$risk[v, f] <- risk$risk
      path$squared_error[v, f] <- mean_squared(risk$squared, form, held_out$design)
      if (!is.null(test)) {
        squared <- form_squared(form, test, context$threads)
        path$squared_error_test[v, f] <- mean_squared(squared, form, rows$design)
      }
      if (!is.null(unseen)) {
        unseen[[f]] <- list(risk = risk, test_squared = if (!is.null(test)) squared)
      }
      forms[[(f - 1) * nrow(grid) + v]] <- form
      advance(context, ((f - 1) * nrow(grid) + v) / length(forms))
    }
  }
  path$form <- function(v, f) forms[[(f - 1) * nrow(grid) + v]]
  if (!is.null(unseen)) path$unseen <- function(v) unseen
  path
}

new_path <- function(n_values, n_folds) {
  empty <- matrix(NA_real_, n_values, n_folds)
  list(risk = empty, squared_error = empty, squared_error_test = empty)
}

# Rows of a fold (0: test rows), and those that are fitted on where it is held out.
rows_of_fold <- function(fold, f, threads = 1L) cpp_fold_rows(fold, f, TRUE, threads)

training_rows <- function(fold, f, threads = 1L) cpp_fold_rows(fold, f, FALSE, threads)

# Mean of h(p_i, p_i): an estimate of the squared error. NA without rows.
mean_squared <- function(squared, form = NULL, design = NULL) {
  design <- design %||% new_design(length(squared))
  if (anyNA(squared) && isTRUE(form$na_rm)) {
    kept <- !is.na(squared)
    squared <- squared[kept]
    design <- design_rows(design, kept)
  }
  if (length(squared) == 0 || anyNA(squared)) NA_real_ else row_mean(squared, design)
}

# Missing values of a user's function are left out where it says so (a form or its risk).
kept_squared <- function(squared, form) {
  if (isTRUE(form$na_rm)) squared[!is.na(squared)] else squared
}

advance <- function(context, fraction) {
  if (!is.null(context$progress)) context$progress(fraction)
}
