# Results of functions that return an object, one per group.

# `parts`: results, and errors of groups whose data do not suffice; these are kept apart.
new_grouped <- function(keys, parts) {
  failed <- vapply(parts, rlang::is_error, NA)
  missing <- if (any(failed)) {
    list(keys = vctrs::vec_slice(keys, failed), errors = parts[failed], at = which(failed))
  }
  structure(drop_null(list(keys = vctrs::vec_slice(keys, !failed), results = parts[!failed], missing = missing)),
            class = c("ce_grouped", "ce_result"))
}

# Missing groups have a row of NA in tables with one row per group.
bind_groups <- function(x, fn, ...) {
  parts <- lapply(x$results, fn, ...)
  keys <- x$keys
  if (!is.null(x$missing) && all(vapply(parts, nrow, 0L) == 1)) {
    at <- order(c(setdiff(seq_len(length(parts) + length(x$missing$at)), x$missing$at), x$missing$at))
    parts <- c(parts, x$missing$errors)[at]
    keys <- vctrs::vec_slice(vctrs::vec_rbind(keys, x$missing$keys), at)
  }
  bind_parts(keys, parts)
}

#' Results by group
#'
#' [ce_tune()] and other functions that return an object give this for grouped data or `.by`: a list with one result per
#' group, `x$results`, and the groups, `x$keys`, in the order of their levels. `tidy()` and `glance()` bind the groups'
#' tables, groups first; `autoplot()` and `plot()` draw a panel for each group (tuning results, fits and recalibration
#' maps).
#'
#' Groups with too little data are left out. A warning of class `calibrisk_warning_group` names them and says why, and
#' `x$missing$keys` has them. Their row in a table with one row per group, such as `glance()`, is `NA`.
#'
#' @param x,object A `ce_grouped`.
#' @param ... Passed on to the method for one group.
#' @return `tidy()`, `glance()`: a tibble. `autoplot()`: a ggplot object.
#' @name ce_grouped
#' @export
tidy.ce_grouped <- function(x, ...) bind_groups(x, tidy, ...)

#' @rdname ce_grouped
#' @export
glance.ce_grouped <- function(x, ...) bind_groups(x, glance, ...)

#' @export
print.ce_grouped <- function(x, ...) {
  for (g in seq_along(x$results)) {
    cat("# Group: ", group_label(x$keys, g), "\n", sep = "")
    print(x$results[[g]], ...)
    cat("\n")
  }
  for (g in seq_along(x$missing$errors)) {
    cat("# Group: ", group_label(x$missing$keys, g), ": too little data\n", sep = "")
  }
  invisible(x)
}

# Functions that take one result at a time say how to choose it.
one_group <- function(x, what) {
  stop_input("{.fn {what}} takes the result of one group.", "x" = "{.arg x} holds {length(x$results)} of them.",
             "i" = "Use {.code x$results[[1]]}, ...; {.code x$keys} has the groups.", class = "group", arg = "x")
}

#' @export
predict.ce_grouped <- function(object, ...) one_group(object, "predict")

#' @export
coef.ce_grouped <- function(object, ...) one_group(object, "coef")

#' @export
vcov.ce_grouped <- function(object, ...) one_group(object, "vcov")

#' @export
augment.ce_grouped <- function(x, ...) one_group(x, "augment")

group_panels <- function(x) setNames(x$results, vapply(seq_along(x$results), group_label, "", keys = x$keys))
