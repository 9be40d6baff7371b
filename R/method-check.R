# The generics of a method are exported and their arguments reach the core, which trusts values: the one place where
# sizes and codes are compared.

check_problem <- function(problem) {
  is_rows <- function(x) is.matrix(x) && is.numeric(x)
  if (!is.list(problem)) problem <- list()
  x <- problem$features
  e <- problem$residuals
  labels <- problem$labels
  sizes <- c(NROW(x), NROW(e), length(labels))
  k <- NCOL(e)
  fact <- if (!is_rows(x) || !is_rows(e) || !is.numeric(labels)) {
    "it lacks one of them, or one is not numeric"
  } else if (any(sizes != sizes[1])) {
    paste("they have", paste(sizes, collapse = ", "), "rows")
  } else if (ncol(x) == 0 || k == 0) {
    "a matrix has no column"
  } else if (!all_finite(x) || !all_finite(e)) {
    "values are missing or not finite"
  } else if (!cpp_all_whole(labels, k > 1, k)) {
    paste("labels are not among", if (k == 1) "0 and 1" else paste0("1, ..., ", k))
  }
  stop_if(!is.null(fact), "{.arg problem} must be a list of {.field features} (n x q), {.field residuals} (n x d) and \\
                           {.field labels} (n).", "x" = "Here {fact}.",
          "i" = "Labels are 0 or 1 where d is 1, otherwise 1, ..., d.", class = "problem", arg = "problem")
}

check_fold <- function(fold, n) {
  ok <- is.numeric(fold) && length(fold) == n && cpp_all_whole(fold, 0, n + 1)
  stop_if(
    !ok || max(0, fold) < 1 || max(fold) > n + 1,
    "{.arg fold} must have one whole number per row: 0 for test rows, 1, 2, ... for the fold that holds a row out.",
    "x" = "It is {describe(fold)}{if (is.numeric(fold)) paste(', for', n, 'rows')}.",
    class = "folds", arg = "fold"
  )
}

check_grid <- function(grid) {
  stop_if(!is.data.frame(grid) || nrow(grid) == 0 || !is.numeric(grid[["value"]]),
          "{.arg grid} must be a data frame with a numeric column {.field value} and one row per hyperparameter.",
          "x" = "It is {describe(grid)}.", arg = "grid")
}

check_point <- function(point, method) {
  is_one <- is.list(point) && is.numeric(point$value) && length(point$value) == 1
  stop_if(!is_one && !(is.list(point) && is.null(method$parameter)),
          "{.arg point} must be a list with one number, the hyperparameter {.field value}.",
          "x" = "It is {describe(point)}.", arg = "point")
}

check_context <- function(context) {
  stop_if(!is.list(context) || !is.environment(context$cache),
          "{.arg context} must be a list of {.field progress} and {.field cache}.",
          "x" = "It is {describe(context)}.", "i" = "{.code list(progress = NULL, cache = new.env())}.",
          arg = "context")
}
