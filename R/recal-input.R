# The input of a recalibration map, `recal data`, a list:
#   given   n x K numbers, or n of the second of two classes: probabilities, or logits where `logits`
#   floor   smallest probability whose logarithm is taken; truth 1..K, NULL for new data
#   rows    which rows of the input were kept; design: their weights and clusters (R/design.R)
#
# and `layout`, the shape of the input, for reading new data and writing results in the same way: frame, columns (names
# or NULL), order (internal <- input), levels, event. All maps act on log-probabilities, so each is a function of the
# predicted distribution. Logits enter after subtracting log(sum(exp)), which does not change the probabilities.

recal_data <- function(x, input) {
  read <- predictions_of(x, input, logits = input$logits)
  layout <- list(frame = is.data.frame(x), columns = read$columns, order = read$order, levels = read$levels,
                 event = read$event, logits = input$logits, floor = input$floor)
  data <- given_rows(read$probs %||% read$prob, layout)
  data$truth <- read$truth %||% (as.integer(read$outcome) + 1L)
  data[c("rows", "n_rows", "design")] <- read[c("rows", "n_input", "design")]
  list(data = data, layout = layout, predictions = read)
}

given_rows <- function(given, layout) list(given = given, logits = layout$logits, floor = layout$floor)

is_scalar <- function(data) !is.matrix(data$given)

class_count <- function(data) if (is_scalar(data)) 2L else ncol(data$given)

# A function of the core that reads them (inst/include/calibrisk/recal/class_scores.h).
of_given <- function(core, data, ...) core(data$given, data$logits, data$floor, ..., thread_count())

# Probabilities of the classes, n x K, and their floored logarithms.
given_probs <- function(data) {
  if (data$logits) return(of_given(cpp_class_rows, data, FALSE))
  if (is_scalar(data)) cpp_event_columns(data$given) else data$given
}

given_logs <- function(data) of_given(cpp_class_rows, data, TRUE)

# New data in the layout of the fit -> list(data, keep, n, logits), rows with missing values left out. A map of logits
# takes probabilities too, whose logarithms are logits up to a constant. `fitted`: the logits of the fit.
read_new_probs <- function(new, layout, fitted = NULL) {
  x <- if (is.data.frame(new)) layout_columns(new, layout) else new
  x <- layout_order(x, new, layout)
  if (layout$logits) layout$logits <- !are_probabilities(x, fitted)
  complete <- complete_rows(x, TRUE, TRUE, if (layout$logits) "Logits" else "Probabilities", empty = TRUE)
  keep <- complete$rows
  if (!is.matrix(x)) x <- as_numbers(x)
  if (!complete$whole) x <- rows_of_part(x, keep)
  x <- if (layout$logits) check_logits(x, keep) else check_probs(x, keep, complete$unit)
  list(data = given_rows(x, layout), keep = keep, n = NROW(new), logits = layout$logits)
}

# Rows that sum to 1, or numbers from 0 to 1 where chance would put so many of the fitted logits with probability 1e-4.
are_probabilities <- function(x, fitted) {
  x <- as.matrix(x)
  if (anyNA(x)) x <- x[stats::complete.cases(x), , drop = FALSE]
  if (nrow(x) == 0 || min(x) < 0 || max(x) > 1) return(FALSE)
  share <- mean(fitted >= 0 & fitted <= 1)
  sure <- if (ncol(x) > 1) all(abs(rowSums(x) - 1) < sum_tolerance$float) else share^nrow(x) < 1e-4
  taken <- if (sure) "probabilities" else "logits"
  tell("i" = "The map was fitted to logits. The values lie between 0 and 1 and are taken as {taken}.", class = "logits",
       taken = taken)
  sure
}

# `new` with the probabilities that its logits stand for, if it has logits.
without_logits <- function(new, map) {
  if (!isTRUE(map$layout$logits)) return(new)
  read <- unsaid(read_new_probs(new, map$layout, map$fingerprint), "calibrisk_message_logits")
  if (!read$logits) return(new)
  tell("i" = "The predictions are taken as logits, to which the map was fitted.", class = "logits", taken = "logits")
  probs <- write_like(given_probs(read$data), map$layout, read$keep, read$n)
  if (!is.data.frame(new)) return(probs)
  new[names(probs)] <- probs
  new
}

# Data frame -> matrix or vector of the columns that the fit saw.
layout_columns <- function(new, layout) {
  seen <- if (is.null(layout$order)) "vector" else "matrix without column names"
  stop_if(!layout$frame && is.null(layout$columns),
          "{.arg new} must have the shape of the data that the map was fitted to.",
          "x" = "It is a data frame; the fit saw a {seen}.", class = "columns", arg = "new")
  check_fitted_columns(new, layout)
  check_narrow(new, match(layout$columns, names(new)), "new")
  values <- number_columns(ungroup_frame(new)[layout$columns], "new")
  if (is.null(layout$order)) values[[1]] else do.call(cbind, values)
}

check_fitted_columns <- function(new, layout) {
  absent <- setdiff(layout$columns, names(new))
  stop_if(length(absent) > 0, "{.arg new} must have the columns that the map was fitted to.",
          "x" = "{.field {absent}} {?is/are} missing.", "i" = "Its columns are {.field {names(new)}}.",
          class = "columns", arg = "new")
}

# Classes in the order of the fit: by the names of the columns where they are the fit's or the classes', else by place.
layout_order <- function(x, new, layout) {
  scalar <- is.null(layout$order)
  if (scalar && is_lone_column(x)) x <- x[, 1]
  seen <- if (scalar) "a vector of probabilities" else paste(length(layout$order), "columns")
  stop_if(!is.numeric(x) || scalar != is.null(dim(x)) || (!scalar && ncol(x) != length(layout$order)),
          "{.arg new} must have the shape of the data that the map was fitted to.",
          "x" = "The fit saw {seen}; {.arg new} is {describe_shape(new)}.", "i" = "Give {seen}.",
          class = "columns", arg = "new")
  if (scalar) x else fitted_columns(x, layout)
}

fitted_columns <- function(x, layout) {
  columns <- layout$columns
  names <- colnames(x)
  named <- !is.null(columns) && all(nzchar(columns)) && !anyDuplicated(columns)
  order <- if (named && setequal(columns, names)) {
    match(columns, names)[layout$order]
  } else {
    column_order(names, layout$levels, "new", "classes of the fit", layout$order)
  }
  unname(in_order(x, order))
}

describe_shape <- function(x) {
  if (is.null(dim(x))) paste("a vector of length", length(x)) else paste0("[", nrow(x), " x ", ncol(x), "]")
}

# Internal n x K probabilities -> the shape of the input.
write_like <- function(probs, layout, keep, n) {
  if (length(keep) != n || is.unsorted(keep, strictly = TRUE)) {
    out <- matrix(NA_real_, n, ncol(probs))
    out[keep, ] <- probs
    probs <- out
  }
  if (is.null(layout$order)) {
    return(if (layout$frame) columns_frame(!!layout$columns := probs[, 2]) else probs[, 2])
  }
  probs <- in_order(probs, order(layout$order))
  if (!is.null(layout$columns)) colnames(probs) <- layout$columns
  if (layout$frame) tibble::as_tibble(probs) else probs
}

# One number per row that identical rows share and others practically never do: the same
# additions in the same order for any number of rows, so that equal rows give equal digits.
fingerprint <- function(x) {
  if (!is.matrix(x)) return(as.numeric(x))
  out <- numeric(nrow(x))
  for (k in seq_len(ncol(x))) out <- out + x[, k] * (1.5 + cos(k^2))
  out
}

# Warns of rows of `new` that the map was fitted to. Predictions that repeat match by chance: not if matches are not
# clearly more frequent than repeats within either set (then only the same rows in the same order count).
warn_fitted_rows <- function(new, fitted) {
  if (length(new) < 2 || length(fitted) < 2) return(invisible())
  if (identical(new, fitted)) return(warn_same_rows(length(new), length(new)))
  repeats <- function(v) mean(duplicated(v) | duplicated(v, fromLast = TRUE))
  same <- as.integer(cpp_count_common(new, fitted))
  if (same > 0 && same > 2 * max(repeats(new), repeats(fitted)) * length(new)) warn_same_rows(same, length(new))
}
