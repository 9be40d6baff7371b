#' Risk of any function of two predictions
#'
#' The risk of a matrix of values \eqn{h(p_i, p_j)} that you computed yourself, as an estimate
#' of the inner products of calibration gaps. [ce_risk()] does the same for fits, in linear time
#' where it can.
#'
#' @param h The m x m matrix of \eqn{h(p_i, p_j)}; it need not be symmetric. Or a function of two
#'   vectors of row numbers that returns the values for these rows and columns, for an m too large
#'   for a matrix: it is called for tiles of at most 1024 by 1024.
#' @param residuals Matrix (m x d) of residuals, prediction minus outcome; a vector is one column.
#'   For canonical calibration row i is \eqn{p_i - onehot(y_i)}.
#' @param na_rm Leave out pairs where `h` is missing? Rows without any pair are then dropped.
#'   Otherwise a missing value gives `NA`, with a warning.
#' @return One row with `risk`, `root_risk`, `std.error` (of `risk`), `n` (rows that count),
#'   `zero_risk` (of \eqn{h = 0}), `squared_error` (the mean of \eqn{h(p_i, p_i)}) and `n_missing`
#'   (ordered pairs, diagonal included, where `h` is missing).
#'
#' @section Definition:
#' \deqn{R = \frac{1}{m(m-1)} \sum_{i \ne j} (\langle e_i, e_j \rangle - h_{ij})^2}
#' (Gruber & Bach 2025, Eq. 20), with the standard error of its Hájek projections \eqn{r_i},
#' \eqn{se^2 = 4/(m(m-1)) \sum_i (r_i - R)^2}.
#'
#' @section Invariants:
#' The risk does not depend on the diagonal of `h`, the squared error on nothing else. An
#' orthogonal transformation of the residuals changes nothing.
#'
#' @section Cost:
#' Quadratic in \eqn{m}, in parallel tiles; with a function, no m x m matrix is held.
#' @references `r ref_gruber_bach`
#' @seealso [method_function()] to compare your function with the package's methods.
#' @export
#' @examples
#' set.seed(1)
#' confidence <- runif(200)
#' correct <- runif(200) < confidence^2
#' gap <- confidence - confidence^2 # the true one
#' pair_risk(outer(gap, gap), confidence - correct)
#' pair_risk(matrix(0, 200, 200), confidence - correct)
pair_risk <- function(h, residuals, na_rm = FALSE) {
  check_flag(na_rm)
  residuals <- as_features(residuals)
  m <- nrow(residuals)
  if (m == 0) stop_empty(0)
  result <- finish_risk(if (is.function(h)) {
    cpp_pair_risk_function(residuals, function(rows, cols) index_tile(h, rows, cols), na_rm, thread_count())
  } else {
    cpp_pair_risk_matrix(residuals, check_pair_matrix(h, m), na_rm, thread_count())
  })
  std_error <- risk_std_error(result$projections)
  check_pair_range(result, std_error)
  warn_missing_pairs(result, m, na_rm)
  columns_frame(
    risk = result$risk,
    root_risk = sqrt(result$risk),
    std.error = std_error,
    n = as.integer(result$n),
    zero_risk = result$zero_risk,
    squared_error = mean_squared(result$squared, list(na_rm = na_rm)),
    n_missing = result$n_missing
  )
}

# Squares of squares are taken.
check_pair_range <- function(result, std_error) {
  numbers <- c(result$risk, std_error, result$zero_risk)
  stop_if(any(is.infinite(numbers)) || is.na(result$risk) && result$n_missing == 0 && result$n > 1,
          "{.arg h} and {.arg residuals} must be small enough for the squares of their products.",
          "x" = "The risk or its standard error is beyond double precision.",
          "i" = "Use other units: the risk of {.code h / c^2} and {.code residuals / c} is {.code 1 / c^4} of it.",
          class = "function", arg = "h")
}

check_pair_matrix <- function(h, m) {
  missing_only <- is.logical(h) && all(is.na(h))
  if (!is.matrix(h) || !(is.numeric(h) || missing_only) || any(dim(h) != m)) {
    got <- if (is.matrix(h)) paste(dim(h), collapse = " x ") else describe(h)
    stop_input("{.arg h} must be a function or a numeric matrix with a row and a column per row of \\
                {.arg residuals}.", "x" = "{.arg residuals} has {m} row{?s}, {.arg h} is {got}.", class = "function",
               arg = "h")
  }
  storage.mode(h) <- "double"
  h
}

index_tile <- function(h, rows, cols) {
  values <- user_value(h(rows, cols), "h", paste("For", length(rows), "rows and", length(cols), "columns it failed."),
                       "function")
  stop_if(!is.numeric(values) || length(values) != length(rows) * length(cols),
          "The function {.arg h} must return a numeric matrix with one row per row number and one \\
           column per column number.",
          "x" = "For {length(rows)} rows and {length(cols)} columns it returned {describe(values)}.",
          class = "function", arg = "h")
  matrix(as.numeric(values), length(rows), length(cols))
}

warn_missing_pairs <- function(risk, m, na_rm) {
  warn_if(risk$n_missing > 0 && !na_rm,
          "h is NaN for {risk$n_missing} of {as.numeric(m)^2} pairs of rows; the risk is NA.",
          "i" = "{.code na_rm = TRUE} leaves these pairs out.", class = "missing_pairs")
}
