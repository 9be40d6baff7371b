# Argument checks. Each names the argument, its rule and its value, and raises a calibrisk_error_argument with the
# caller's call.

# Describes a value in words: a number, a text in quotes, or its class and length.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.data.frame(x)) return("a data frame")
  if (is_bare_list(x)) return(paste("a list of length", length(x)))
  if (is.atomic(x)) describe_atomic(x) else paste("an object of class", class(x)[1])
}

describe_atomic <- function(x) {
  if (length(x) != 1) {
    kind <- paste0(class(x)[1], if (!is.object(x) && is.null(dim(x))) " vector")
    return(paste(if (grepl("^[aeiou]", kind)) "an" else "a", kind, "of length", length(x)))
  }
  if (!is.null(dim(x))) return(paste("an array of dimension", paste(dim(x), collapse = " x ")))
  if (is.numeric(x) && !is.object(x)) return(paste(signif(x, 7)))
  if (rlang::is_string(x)) return(encodeString(substr(x, 1, 200), quote = "\""))
  format(x)
}

# Text of the encoding "bytes" can be neither compared nor printed.
check_text <- function(x, arg) {
  text <- if (is.character(x)) x else attr(x, "levels")
  if (!is.character(text) || !any(Encoding(text) == "bytes")) return(invisible())
  bad <- encodeString(text[Encoding(text) == "bytes"])
  stop_if(length(bad) > 0, "Names and labels must be text of a known encoding.",
          "x" = "{.arg {arg}} has {bad[1]}, which is marked as bytes.", class = c("text", "argument"), arg = arg)
}

# The value of a user's function `arg`, or a classed error that says where it failed: `where`, a text.
user_value <- function(value, arg, where, class) {
  rlang::try_fetch(value, error = function(cnd) {
    stop_input("The function {.arg {arg}} failed.", "x" = "{where}", "i" = "Its own message is below.", class = class,
               arg = arg, parent = cnd)
  })
}

check_number <- function(x, arg = rlang::caller_arg(x), lower = -Inf, upper = Inf, open = FALSE, null = FALSE) {
  check_numbers(x, arg, lower, upper, open, null, size = 1L)
}

# In (0, upper].
check_share <- function(x, arg = rlang::caller_arg(x), upper = 1) {
  check_number(x, arg, lower = 0, open = TRUE)
  check_number(x, arg, upper = upper)
}

# A vector of finite numbers in [lower, upper] (or ]lower, upper[ where open).
check_numbers <- function(x, arg = rlang::caller_arg(x), lower = -Inf, upper = Inf, open = FALSE, null = FALSE,
                          size = NULL, whole = FALSE) {
  if (cpp_is_number(x, lower, upper, open, whole, null, size)) return(invisible(x))
  numbers <- is.numeric(x) && length(x) > 0 && is_sized(x, size) && all(is.finite(x))
  right <- if (numbers) are_inside(x, lower, upper, open) & (!whole | x == round(x))
  if (numbers && all(right)) return(invisible(x))
  kind <- paste0(if (whole) "whole ", "number", if (!identical(size, 1L)) "s")
  what <- paste(if (is.null(size)) "a vector of" else if (size == 1) "a single" else size, kind)
  stop_input("{.arg {arg}} must be {what}{range_text(lower, upper, open)}.",
             "x" = "It is {describe(if (numbers) x[!right][1] else x)}.", arg = arg, value = x)
}

are_inside <- function(x, lower, upper, open) if (open) x > lower & x < upper else x >= lower & x <= upper

# Arrays of length one do not recycle.
is_sized <- function(x, size) is.null(size) || length(x) == size && is.null(dim(x))

range_text <- function(lower, upper, open) {
  # the largest integer is not named as a limit
  if (is.finite(lower) && upper < 2^31 - 1) return(paste0(if (open) " strictly", " between ", lower, " and ", upper))
  if (is.finite(lower)) return(paste0(if (open) " greater than " else " of at least ", lower))
  if (is.finite(upper)) paste0(if (open) " less than " else " of at most ", upper) else ""
}

check_counts <- function(x, arg = rlang::caller_arg(x), lower = 1, null = FALSE, size = NULL, upper = 2^31 - 1) {
  check_numbers(x, arg, lower, upper, null = null, size = size, whole = TRUE)
}

check_count <- function(x, arg = rlang::caller_arg(x), lower = 1, null = FALSE) {
  check_counts(x, arg, lower, null, size = 1L)
}

# Tables of bins are held in memory, empty ones too.
check_bins <- function(n_bins, lower = 1, size = 1L, null = FALSE, arg = "n_bins") {
  check_counts(n_bins, arg, lower, null, size, upper = 1e6)
}

# Own edges of bins, sorted, without 0 and 1, which are edges of any bins. `given`: whether the arguments are given that
# they take the place of, by name.
check_breaks <- function(breaks, given) {
  if (is.null(breaks)) return(NULL)
  stop_if(any(given), "{.arg breaks} takes the place of {.arg {names(given)[given]}}.",
          "i" = "Give one or the other.", arg = "breaks")
  check_numbers(breaks, "breaks", lower = 0, upper = 1)
  inner <- setdiff(breaks, 0:1)
  stop_if(length(inner) == 0, "{.arg breaks} must have an edge of bins above 0 and below 1.",
          "x" = if (length(breaks) == 0) "There are none." else "They are {.val {breaks}}.", arg = "breaks",
          value = breaks)
  check_many_edges(inner, "breaks")
}

# Every knot, or break, is an edge of cells, of which each block has its sums.
most_edges <- 1000

# Sorted, as they are one choice in any order.
check_many_edges <- function(values, arg) {
  if (is.null(values)) return(NULL)
  values <- sort(unique(as.numeric(values)))
  stop_if(length(values) > most_edges, "{.arg {arg}} must be at most {count_text(most_edges)}.",
          "x" = "They are {count_text(length(values))} different numbers.",
          "i" = "Give quantiles, {.code quantile({arg}, 1:99 / 100)}.", class = c("argument", "size"), arg = arg,
          value = length(values))
  values
}

# p-th powers of gaps of 1e-9 are still numbers.
check_exponent <- function(p) check_number(p, "p", lower = 1, upper = 32)

check_flag <- function(x, arg = rlang::caller_arg(x)) {
  if (rlang::is_bool(x)) return(invisible(x))
  stop_input("{.arg {arg}} must be {.val {TRUE}} or {.val {FALSE}}.", "x" = "It is {describe(x)}.", arg = arg,
             value = x)
}

# The value of a choice argument: its first choice where the default is untouched.
check_choice <- function(x, choices, arg = rlang::caller_arg(x)) {
  if (identical(x, choices)) return(choices[1])
  if (rlang::is_string(x) && x %in% choices) return(x)
  meant <- meant_word(x, choices)
  stop_input("{.arg {arg}} must be one of {.or {.val {choices}}}.", "x" = "It is {describe(x)}.",
             "i" = if (!is.null(meant)) "Did you mean {.val {meant}}?", arg = arg, value = x)
}

check_level <- function(level) check_number(level, "level", lower = 0, upper = 1, open = TRUE)

# `what`: the name of what needs them.
check_rows <- function(n, least, what = NULL) {
  stop_if(n < least, if (is.null(what)) "At least {least} observations are needed." else
    "{what} needs at least {least} observations.", "x" = "There {cli::qty(n)}{?is/are} {n}.",
          class = c("rows", "argument"), arg = "x", n = n)
}

check_string <- function(x, arg) {
  if (rlang::is_string(x) && nzchar(x)) return(invisible(x))
  stop_input("{.arg {arg}} must be a text.", "x" = "It is {describe(x)}.", arg = arg, value = x)
}

# `what`: as in "A report needs".
check_package <- function(package, what) {
  stop_if(!rlang::is_installed(package), "{what} the package {.pkg {package}}.",
          "i" = "{.code install.packages(\"{package}\")}", class = "package", package = package)
}

# Names that choose some of a result's classes, methods or metrics. `of`: what they must be of.
check_among <- function(x, known, of, arg = rlang::caller_arg(x)) {
  unknown <- setdiff(as.character(x), known)
  stop_if(length(unknown) > 0, "{.arg {arg}} must name {arg} of the {of}.",
          "x" = "{.val {unknown}} {?is/are} not among {.val {known}}.", arg = arg)
}

# `size`: of the values of `group`.
check_group_size <- function(size, n) {
  stop_if(size != n, "{.arg group} must have one value per observation.",
          "x" = "There are {n} observations and {size} value{?s} of {.arg group}.", class = "length", arg = "group")
}

all_finite <- function(x) if (is.double(x)) cpp_all_within(x, -Inf, Inf) else all(is.finite(x))

# In a pass of the core where all are finite, as nearly always, and in none where they are known to be.
has_missing <- function(x, finite = FALSE) !(finite || is.double(x) && all_finite(x)) && anyNA(x)

# Whether these are doubles, finite and in the range: one pass in the core, before others look for what is not. FALSE of
# other types, which may be in the range.
all_within <- function(x, lower, upper) is.double(x) && cpp_all_within(x, lower, upper)

sum_tolerance <- list(exact = 1e-12, float = 1e-6)

# Rows on the simplex: within 1e-12 as they are, within 1e-6, or the rounding of all values, renormalised with a note.
check_simplex <- function(x, rows) {
  n <- nrow(x)
  # nearly always none: no matrix is made then
  plain <- all_finite(x) && min(x, 0) >= 0
  bad <- if (plain) integer() else which(rowSums(!is.finite(x) | x < -sum_tolerance$float) > 0)
  if (length(bad) > 0) {
    value <- x[bad[1], !(x[bad[1], ] >= -sum_tolerance$float & is.finite(x[bad[1], ]))][1]
    stop_input(
      "Probabilities must be finite and not negative.",
      "x" = "Row {rows[bad[1]]} has the value {.val {signif(value, 4)}}; affected: {length(bad)} of {n} rows.",
      "x" = "{seen_values(x)}", class = "probs", arg = "x", row = rows[bad[1]], value = value
    )
  }
  if (!plain) x <- pmax(x, 0)
  sums <- rowSums(x)
  off <- abs(sums - 1)
  bad <- which(off > sum_tolerance$float)
  if (length(bad) > 0) bad <- which(off > max(sum_tolerance$float, rounding_of_sums(x)))
  stop_if(length(bad) > 0, "Rows of {.arg x} must sum to 1.",
          "x" = "Row {rows[bad[1]]} sums to {.val {signif(sums[bad[1]], 7)}}; {sum(off > sum_tolerance$float)} of {n} \\
                 rows are off by more than {.val {sum_tolerance$float}}.",
          "x" = "Rows sum to between {signif(min(sums), 4)} and {signif(max(sums), 4)}.", class = "probs", arg = "x",
          row = rows[bad[1]], value = sums[bad[1]])
  inexact <- off > sum_tolerance$exact
  if (any(inexact)) {
    tell("i" = "Renormalised {sum(inexact)} of {n} rows that summed to 1 only within {.val {signif(max(off), 2)}} \\
                (single precision, or rounded?).", class = "renormalised")
    x[inexact, ] <- x[inexact, , drop = FALSE] / sums[inexact]
  }
  x
}

# The most by which rows of values with two to six decimals may differ from 1 because of them.
rounding_of_sums <- function(x) {
  for (digits in 2:6) if (all(abs(x - round(x, digits)) < 1e-9)) return(min(ncol(x) / 2 * 10^-digits + 1e-9, 0.02))
  0
}

# A text: what values have in common that should be probabilities.
seen_values <- function(x) {
  range <- signif(range(x[is.finite(x)], 0[!any(is.finite(x))]), 4)
  if (all(x <= 0, na.rm = TRUE)) {
    return(paste0("All values are at most 0, as log-probabilities are, for `pred_confidence(scale = \"logprob\")`; ",
                  "logits may be too", if (is.matrix(x)) ", with the same softmax." else ", for `plogis()`."))
  }
  percent <- range[1] >= 0 && range[2] > 10 && range[2] <= 100
  logits <- min(mean(x < 0, na.rm = TRUE), mean(x > 1, na.rm = TRUE)) > 0 && mean(x < 0 | x > 1, na.rm = TRUE) > 0.5
  paste0(if (all(is.finite(x) | is.na(x))) "Values" else "Finite values", " range from ", range[1], " to ", range[2],
         if (percent) ", as percentages do, for `pred_confidence(scale = \"percent\")`",
         if (logits) ", most of them outside, as logits are (the input of `plogis()`)", ".")
}

# `k`: columns of a matrix, which may lie on its side; `x`: a vector, which may hold several classes.
check_length <- function(n, n_truth, k = 0, x = NULL) {
  classes <- if (!is.null(x) && n_truth > 1 && n > n_truth && n %% n_truth == 0) n %/% n_truth
  summed <- if (!is.null(classes)) all(abs(rowSums(matrix(x, n_truth, byrow = TRUE)) - 1) < 1e-3)
  stop_if(n != n_truth, "There must be one outcome for each prediction.",
          "x" = "There {cli::qty(n)}{?is/are} {n} prediction{?s} and {n_truth} outcome{?s}.",
          "i" = if (k == n_truth && k > 0) "{.arg x} has {k} columns; observations are rows.",
          "x" = if (!is.null(classes)) "That is {classes} for each outcome.",
          "x" = if (isTRUE(summed)) "Each {classes} in succession sum to 1, as the rows of a matrix do that is filled \
                 with {.code byrow = TRUE}.", class = "length", arg = "truth")
}
