#' @section Your own function:
#' `method_function()` takes any \eqn{h}: `f(P, Q)` gets two feature matrices (one row per
#' observation; one column for scalar types of calibration) and returns the matrix \eqn{h(p_i, q_j)}, one row per row of
#' `P`. It is called for tiles of at most 1024 by 1024 pairs, on the main thread. It need not be symmetric: the risk is
#' the mean over ordered pairs. Values may depend on nothing but the two rows. `NaN` makes the risk `NA`, with a warning
#' and a count; with `na_rm = TRUE` these pairs are left out.
#' @param f A function of two feature matrices that returns the matrix \eqn{h(p_i, q_j)}.
#' @param na_rm Leave out pairs where `f` is `NaN`?
#' @rdname ce_methods
#' @export
#' @examples
#' method_function(function(P, Q) tcrossprod(P - 1 / ncol(P), Q - 1 / ncol(Q)))
method_function <- function(f, na_rm = FALSE) {
  stop_if(!is.function(f), "{.arg f} must be a function of two feature matrices.", "x" = "It is {.cls {class(f)[1]}}.",
          arg = "f", value = f)
  check_flag(na_rm)
  new_method("function", NULL, NULL, f = f, na_rm = na_rm)
}

#' @export
fit_form.ce_method_function <- function(method, problem, point, context) {
  new_form("function", f = method$f, na_rm = method$na_rm)
}

# f(x, y) as a double matrix, or a classed error that says what came instead.
evaluate_pairs <- function(form, x, y) {
  h <- rlang::try_fetch(form$f(x, y), error = function(cnd) {
    stop_input("The function of {.fn method_function} must work for any two feature matrices.",
               "x" = "For matrices of {nrow(x)} and {nrow(y)} rows and {ncol(x)} column{?s} it failed.",
               class = "function", arg = "f", parent = cnd)
  })
  size <- as.numeric(nrow(x)) * nrow(y)
  is_right <- is.numeric(h) || is.logical(h) && all(is.na(h))
  is_right <- is_right && length(h) == size && (!is.matrix(h) || nrow(h) == nrow(x))
  got <- if (is.null(dim(h))) paste("length", length(h)) else paste(dim(h), collapse = " x ")
  stop_if(!is_right, "The function of {.fn method_function} must return a numeric matrix with one row per row of its \\
                      first argument and one column per row of its second.",
          "x" = "For {nrow(x)} and {nrow(y)} rows it returned {.cls {class(h)[1]}} of size {got}.", class = "function",
          arg = "f")
  h <- as.numeric(h)
  stop_if(any(is.infinite(h)), "The function of {.fn method_function} must return finite values, or {.val {NA}}.",
          "x" = "{sum(is.infinite(h))} of {length(h)} are infinite.", class = "function", arg = "f")
  h[is.nan(h)] <- NA_real_
  matrix(h, nrow(x), nrow(y))
}

#' @export
form_risk.ce_form_function <- function(form, features, residuals, design = NULL) {
  tile <- function(i, j) evaluate_pairs(form, features[i, , drop = FALSE], features[j, , drop = FALSE])
  risk <- cpp_pair_risk_function(residuals, tile, form$na_rm, thread_count(), design)
  stop_if(!is_plain(design) && risk$n_missing > 0 && form$na_rm,
          "Pairs without a value cannot be left out where rows are weighted or clustered.",
          "i" = "Let the function of {.fn method_function} return a number for every pair.", class = "function",
          arg = "f")
  risk <- finish_risk(risk)
  warn_missing_pairs(risk, nrow(features), form$na_rm)
  risk$na_rm <- form$na_rm
  risk
}

# h(p_i, p_i): blocks of a few rows, so that the work stays nearly linear.
#' @export
form_squared.ce_form_function <- function(form, features) {
  starts <- seq(1, by = 32, length.out = ceiling(nrow(features) / 32))
  unlist(lapply(starts, function(start) {
    x <- features[start:min(start + 31, nrow(features)), , drop = FALSE]
    diag(evaluate_pairs(form, x, x))
  })) %||% numeric()
}

#' @export
form_pairs.ce_form_function <- function(form, x, y) evaluate_pairs(form, x, y)

# The same function in every fold.
#' @export
merge_forms.ce_form_function <- function(form, forms) form
