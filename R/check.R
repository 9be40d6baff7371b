# Argument checks. Each names the argument, the value and the remedy, and raises a calibrisk_error_argument with the
# caller's call.

# Describes a value in words: a number, a text in quotes, or its class and length.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.atomic(x)) return(describe_atomic(x))
  if (is.function(x)) return("a function")
  if (is.data.frame(x)) return("a data frame")
  if (rlang::is_bare_list(x)) return(paste("a list of length", length(x)))
  paste("an object of class", class(x)[1])
}

describe_atomic <- function(x) {
  if (length(x) != 1) return(paste0(vector_words(x), " of length ", length(x)))
  if (!is.null(dim(x))) return(paste("an array of dimension", paste(dim(x), collapse = " x ")))
  if (is.numeric(x) && !is.object(x)) return(paste(signif(x, 7)))
  if (rlang::is_string(x)) return(encodeString(substr(x, 1, 200), quote = "\""))
  format(x)
}

vector_words <- function(x) {
  class <- class(x)[1]
  if (!is.object(x) && is.null(dim(x))) class <- paste(class, "vector")
  paste(if (grepl("^[aeiou]", class)) "an" else "a", class)
}

# The value of a user's function `arg`, or a classed error that says where it failed; `where` is evaluated in the
# caller.
user_value <- function(value, arg, where, class, call = NULL, .envir = caller_env()) {
  rlang::try_fetch(value, error = function(cnd) {
    stop_input("The function {.arg {arg}} failed.", "x" = cli::format_inline(where, .envir = .envir),
               "i" = "Its own message is below.", class = class, arg = arg, parent = cnd, call = call)
  })
}

check_number <- function(x, arg = rlang::caller_arg(x), lower = -Inf, upper = Inf,
                         open = FALSE, null = FALSE, call = caller_env()) {
  check_numbers(x, arg, lower, upper, open, null, size = 1L, call = call)
}

# In (0, 1].
check_share <- function(x, arg = rlang::caller_arg(x), call = caller_env()) {
  check_number(x, arg, lower = 0, open = TRUE, call = call)
  check_number(x, arg, upper = 1, call = call)
}

# A vector of finite numbers in [lower, upper] (or ]lower, upper[ where open).
check_numbers <- function(x, arg = rlang::caller_arg(x), lower = -Inf, upper = Inf,
                          open = FALSE, null = FALSE, size = NULL, call = caller_env()) {
  if (null && is.null(x)) return(invisible(x))
  # most are one number, for which the functions after this would take several times as long
  if (is_number_between(x, lower, upper, size) && !open) return(invisible(x))
  if (has_numbers(x, size) && all(are_inside(x, lower, upper, open))) return(invisible(x))
  stop_numbers(x, arg, lower, upper, open, size, call)
}

is_number_between <- function(x, lower, upper, size = NULL) {
  one <- is.numeric(x) && length(x) == 1 && is.null(dim(x)) && is.finite(x)
  one && x >= lower && x <= upper && (is.null(size) || size == 1)
}

stop_numbers <- function(x, arg, lower, upper, open, size, call) {
  fits <- function(value) has_numbers(value, size) && all(are_inside(value, lower, upper, open))
  range <- range_text(lower, upper, open)
  what <- if (identical(size, 1L)) "a single number" else "a vector of numbers"
  bad <- if (has_numbers(x, size)) x[!are_inside(x, lower, upper, open)][1] else x
  stop_input("{.arg {arg}} must be {what}{range}.", "x" = "It is {describe(bad)}.",
             number_remedy(x, arg, upper, call) %||% default_remedy(arg, fits, call), arg = arg, value = x,
             call = call)
}

# Arrays of length one do not recycle.
is_sized <- function(x, size) is.null(size) || length(x) == size && is.null(dim(x))

has_numbers <- function(x, size = NULL) {
  is.numeric(x) && length(x) > 0 && is_sized(x, size) && all(is.finite(x))
}

are_inside <- function(x, lower, upper, open) if (open) x > lower & x < upper else x >= lower & x <= upper

# The typed line with the default of an argument (1 if it has none), if that is a valid number, or without the argument.
default_remedy <- function(arg, is_valid, call) {
  made <- maker_remedy(call)
  if (!is.null(made)) return(made)
  formals <- formals(frame_function(call))
  # a survival outcome and a planned study cannot do without these
  if (!arg %in% names(formals) || arg %in% c("horizon", "n") && is.null(formals[[arg]])) return(NULL)
  default <- if (rlang::is_missing(formals[[arg]])) Find(is_valid, c(1, 2, 10, 0.5)) %||% 1 else formals[[arg]]
  shown <- is.numeric(default) && is_valid(default)
  line <- if (shown) mended_line(call, setNames(list(default), arg)) else mended_line(call, drop = arg)
  if (is.null(line) || rlang::is_missing(formals[[arg]]) && !shown) return(NULL)
  remedy(if (shown) "For example" else "Leave it out for the default", line)
}

# The error of a required argument that is missing; `example` is a call with it.
stop_missing <- function(arg, what, example, call) {
  stop_input(paste0("{.arg {arg}} must be given: ", what, "."), "x" = "It is missing.",
             "i" = "For example {.code {example}}.", arg = arg, call = call)
}

# Numbers as text, and percentages.
number_remedy <- function(x, arg, upper, call) {
  number <- if (is.character(x) && length(x) > 0) suppressWarnings(as.numeric(x))
  if (!is.null(number) && !anyNA(number)) {
    return(remedy("Give numbers without quotes", mended_line(call, setNames(list(short_value(number)), arg))))
  }
  percent <- upper == 1 && is.numeric(x) && length(x) > 0 && all(is.finite(x) & x > 1 & x <= 100)
  if (!percent) return(NULL)
  remedy("If these are percentages, divide by 100", mended_line(call, setNames(list(short_value(x / 100)), arg)))
}

# c(1, 2) as it is typed.
short_value <- function(x) if (length(x) == 1) x else as.call(c(quote(c), as.list(x)))

range_text <- function(lower, upper, open) {
  # the largest integer is not named as a limit
  if (is.finite(lower) && upper < 2^31 - 1) {
    paste0(if (open) " strictly", " between ", lower, " and ", upper)
  } else if (is.finite(lower)) {
    paste0(if (open) " greater than " else " of at least ", lower)
  } else if (is.finite(upper)) {
    paste0(if (open) " less than " else " of at most ", upper)
  } else {
    ""
  }
}

check_counts <- function(x, arg = rlang::caller_arg(x), lower = 1, null = FALSE, size = NULL,
                         call = caller_env(), upper = 2^31 - 1) {
  if (null && is.null(x)) return(invisible(x))
  check_numbers(x, arg, lower = lower, upper = upper, size = size, call = call)
  if (all(x == round(x))) return(invisible(x))
  stop_input("{.arg {arg}} must be whole.", "x" = "It has the value {.val {x[x != round(x)][1]}}.",
             remedy("Round it", mended_line(call, setNames(list(short_value(pmax(round(x), lower))), arg))), arg = arg,
             value = x, call = call)
}

check_count <- function(x, arg = rlang::caller_arg(x), lower = 1, null = FALSE,
                        call = caller_env()) {
  check_counts(x, arg, lower, null, size = 1L, call = call)
}

# Tables of bins are held in memory, empty ones too.
check_bins <- function(n_bins, lower = 1, size = 1L, null = FALSE, arg = "n_bins", call = caller_env()) {
  check_counts(n_bins, arg, lower, null, size, call, upper = 1e6)
}

# p-th powers of gaps of 1e-9 are still numbers.
check_exponent <- function(p, call = caller_env()) check_number(p, "p", lower = 1, upper = 32, call = call)

check_flag <- function(x, arg = rlang::caller_arg(x), call = caller_env()) {
  if (rlang::is_bool(x)) return(invisible(x))
  stop_input("{.arg {arg}} must be {.val {TRUE}} or {.val {FALSE}}.", "x" = "It is {describe(x)}.",
             flag_remedy(x, arg, call), arg = arg, value = x, call = call)
}

flag_remedy <- function(x, arg, call) {
  flag <- if (rlang::is_string(x) || is.numeric(x) && length(x) == 1) as.logical(x) else NA
  if (is.na(flag)) return(default_remedy(arg, function(value) FALSE, call))
  remedy("Give a logical value", mended_line(call, setNames(list(flag), arg)))
}

# The value of a choice argument: its first choice where the default is untouched.
check_choice <- function(x, choices, arg = rlang::caller_arg(x), call = caller_env()) {
  if (identical(x, choices)) return(choices[1])
  if (rlang::is_string(x) && x %in% choices) return(x)
  stop_input("{.arg {arg}} must be one of {.or {.val {choices}}}.", "x" = "It is {describe(x)}.",
             choice_remedy(x, choices, arg, call), arg = arg, value = x, call = call)
}

# The choice that is meant, or the function.
choice_remedy <- function(x, choices, arg, call) {
  if (is.numeric(x) && length(x) == 1) x <- as.character(x)
  # a word without quotes that is the name of a function
  typed <- if (is.function(x)) typed_argument(typed_call(call), arg)
  if (rlang::is_symbol(typed)) x <- as.character(typed)
  meant <- meant_word(x, choices)
  if (!is.null(meant)) {
    return(remedy(paste0("Did you mean \"", meant, "\"?"), mended_line(call, setNames(list(meant), arg))))
  }
  verb <- if ("truth" %in% names(formals(frame_function(call)))) meant_verb(x)
  if (!is.null(verb)) verb_remedy(verb, call) else default_remedy(arg, function(value) FALSE, call)
}

verb_remedy <- function(verb, call, only = c("x", "truth", "")) {
  remedy(paste0("{.fn ", verb, "} does this"), mended_line(call, only = only, verb = verb))
}

check_level <- function(level, call = caller_env()) {
  check_number(level, "level", lower = 0, upper = 1, open = TRUE, call = call)
}

check_rows <- function(n, least, what, call = caller_env()) {
  stop_if(n < least, "{what} needs at least {least} observations.", "x" = "There {cli::qty(n)}{?is/are} {n}.",
          class = "rows", n = n, call = call)
}

stop_few_rows <- function(needed, n, call) {
  stop_input("At least {needed} observations are needed.", "x" = "There {cli::qty(n)}{?is/are} {n}.",
             class = c("rows", "argument"), arg = "x", n = n, call = call)
}

check_string <- function(x, arg, call) {
  if (rlang::is_string(x) && nzchar(x)) return(invisible(x))
  stop_input("{.arg {arg}} must be a text.", "x" = "It is {describe(x)}.", arg = arg, value = x, call = call)
}

# `what`: as in "A report needs".
check_package <- function(package, what, call = caller_env()) {
  stop_if(!rlang::is_installed(package), "{what} the package {.pkg {package}}.",
          "i" = "{.code install.packages(\"{package}\")}", class = "package", package = package, call = call)
}

# Names that choose some of a result's classes, methods or metrics. `of`: what they must be of.
check_among <- function(x, known, of, arg = rlang::caller_arg(x), call = caller_env()) {
  unknown <- setdiff(as.character(x), known)
  stop_if(length(unknown) > 0, "{.arg {arg}} must name {arg} of the {of}.",
          "x" = "{.val {unknown}} {?is/are} not among {.val {known}}.", arg = arg, call = call)
}

# `size`: of the values of `group`.
check_group_size <- function(size, n, call) {
  stop_if(size != n, "{.arg group} must have one value per observation.",
          "x" = "There are {n} observations and {size} value{?s} of {.arg group}.", class = "length", arg = "group",
          call = call)
}

all_finite <- function(x) if (is.double(x)) cpp_all_within(x, -Inf, Inf) else all(is.finite(x))

# Whether these are doubles, finite and in the range: one pass in the core, before others look for what is not. FALSE of
# other types, which may be in the range.
all_within <- function(x, lower, upper) is.double(x) && cpp_all_within(x, lower, upper)

sum_tolerance <- list(exact = 1e-12, float = 1e-6)

# Rows on the simplex: within 1e-12 as they are, within 1e-6 renormalised with a note.
check_simplex <- function(x, rows, call) {
  n <- nrow(x)
  # nearly always none: no matrix is made then
  plain <- all_finite(x) && min(x, 0) >= 0
  bad <- if (plain) integer() else which(rowSums(!is.finite(x) | x < 0) > 0)
  sums <- rowSums(x)
  off <- abs(sums - 1)
  if (length(bad) > 0) {
    value <- x[bad[1], !is.finite(x[bad[1], ]) | x[bad[1], ] < 0][1]
    stop_input(
      "Probabilities must be finite and not negative.",
      "x" = "Row {rows[bad[1]]} has the value {.val {signif(value, 4)}}; {length(bad)} of {n} rows are affected.",
      logit_remedy(call), class = "probs", arg = "x", row = rows[bad[1]], value = value, call = call
    )
  }
  bad <- which(off > sum_tolerance$float)
  stop_if(length(bad) > 0, "Rows of {.arg x} must sum to 1.",
          "x" = "Row {rows[bad[1]]} sums to {.val {signif(sums[bad[1]], 7)}}; {length(bad)} of {n} rows are off by \\
                 more than {.val {sum_tolerance$float}}.", sum_remedy(x, sums, call), class = "probs", arg = "x",
          row = rows[bad[1]], value = sums[bad[1]], call = call)
  inexact <- off > sum_tolerance$exact
  if (any(inexact)) {
    tell("i" = "Renormalised {sum(inexact)} of {n} rows that summed to 1 only within {.val {signif(max(off), 2)}} \\
                (single precision?).", class = "renormalised")
    x[inexact, ] <- x[inexact, , drop = FALSE] / sums[inexact]
  }
  x
}
