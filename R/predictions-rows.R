# Which rows are used, and that their probabilities are ones.

# `censored`: number of rows left out as censored before the horizon.
stop_empty <- function(dropped, raw = list(), censored = NULL) {
  stop_input("There must be at least one observation.",
             "x" = if (dropped > 0) "All {dropped} row{?s} {?was/were} incomplete and dropped." else
               if (is.null(raw$weights)) "{.arg x} has zero rows." else "No row has a positive weight.",
             class = "empty", arg = "x", n = 0L, dropped = dropped, censored = censored %||% 0)
}

# The rows that are used, whether these are all as they are, and whether others are to give NA (na_rm = FALSE). NaN is
# an error, not a missing value: it comes from a computation that failed. `x`: a matrix or a vector; `known`: rows whose
# outcome is, or TRUE; `empty`: whether there may be none.
complete_rows <- function(x, known, na_rm, what = "Probabilities", raw = list(), empty = FALSE) {
  # read once where they are as they must be
  unit <- is_unit(x, what)
  missing <- has_missing(x, unit)
  n <- NROW(x)
  if (missing) x <- as.matrix(x)
  nan <- if (missing) which(rowSums(is.nan(x)) > 0)
  stop_if(length(nan) > 0, "{what} must not be NaN.", "x" = "Row {nan[1]} has one; {length(nan)} of {n} rows do.",
          class = "probs", arg = "x", row = nan[1], value = NaN)
  # the usual case, without a pass over all rows for each condition
  every <- !missing && is.null(raw$weights) && is.null(raw$cluster) && all(known)
  complete <- if (every) {
    seq_len(n)
  } else {
    present <- function(v) if (is.null(v)) TRUE else !is.na(v)
    which(known & present(raw$weights) & present(raw$cluster) & (if (missing) rowSums(is.na(x)) == 0 else TRUE))
  }
  kept <- design_kept(raw, complete)
  rows <- kept$rows
  dropped <- n - length(complete)
  na <- !na_rm && dropped > 0
  if (length(rows) == 0 && !na && !empty) stop_empty(dropped, raw, kept$censored)
  list(rows = rows, whole = is.null(raw$weights) && length(rows) == n, na = na, dropped = dropped, n_input = n,
       censored = kept$censored, unit = unit)
}

is_unit <- function(x, what) is.null(dim(x)) && what == "Probabilities" && all_within(x, 0, 1)

# `unit`: whether single ones are known to be between 0 and 1.
check_probs <- function(x, rows, unit) if (is.matrix(x)) check_simplex(x, rows) else check_unit(x, rows, unit)

# -Inf says probability 0 and is floored later; +Inf, and rows without a finite value, say nothing.
check_logits <- function(x, rows) {
  m <- as.matrix(x)
  bad <- if (all_finite(m)) integer() else which(rowSums(m == Inf) > 0 | (ncol(m) > 1 & rowSums(is.finite(m)) == 0))
  stop_if(
    length(bad) > 0, "Logits must be below infinity, with at least one finite value per row.",
    "x" = "Row {rows[bad[1]]} is {.val {m[bad[1], ][is.infinite(m[bad[1], ])][1]}}; {length(bad)} of \\
           {nrow(m)} rows are affected.",
    "i" = "A logit of {.val {-Inf}} is a probability of 0 and is floored; replace {.val {Inf}} by a finite number.",
    class = "logits", arg = "x", row = rows[bad[1]]
  )
  warn_if(ncol(m) > 1 && min(m, 0) >= 0 && all(abs(rowSums(m) - 1) < sum_tolerance$float),
          "With {.code logits = TRUE}, {.arg x} is read as logits.",
          "x" = "All rows are on the simplex: these look like probabilities.", class = "logits")
  invisible(x)
}

# Between 0 and 1 as they are; beyond by rounding, as sums of probabilities may be, taken as 0 or 1, with a note.
check_unit <- function(x, rows, unit) {
  if (unit || all_within(x, 0, 1)) return(x)
  off <- pmax(-x, x - 1)
  bad <- which(!(off <= sum_tolerance$float))
  stop_if(length(bad) > 0, "Probabilities must lie between 0 and 1.",
          "x" = "Row {rows[bad[1]]} is {.val {signif(x[bad[1]], 4)}}; outside: {length(bad)} of {length(x)} rows.",
          "x" = "{seen_values(x)}", class = "probs", arg = "x", row = rows[bad[1]], value = x[bad[1]])
  if (any(off > sum_tolerance$exact)) {
    tell("i" = "{sum(off > 0)} of {length(x)} probabilities outside of 0 to 1 by at most {.val {signif(max(off), 2)}} \\
                were moved to 0 or 1 (single precision?).", class = "renormalised")
  }
  pmin(pmax(x, 0), 1)
}
