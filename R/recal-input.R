# The input of a recalibration map, `recal data`, a list:
#   kind    "matrix" (probs n x K) or "scalar" (read as the two columns (1 - p, p))
#   probs   n x K; logp its logarithm, floored (from logits: exact); truth 1..K, NULL for new data
#   rows    which rows of the input were kept; design: their weights and clusters (R/design.R)
#
# and `layout`, the shape of the input, for reading new data and writing results in the same way: frame, columns (names
# or NULL), order (internal <- input), levels, event. All maps act on log-probabilities, so each is a function of the
# predicted distribution. Logits enter after subtracting log(sum(exp)), which does not change the probabilities.

recal_data <- function(x, truth, dots, logits, floor, event_level, na_rm, threads, call, design = NULL) {
  frame <- is.data.frame(x)
  if (!frame) {
    check_rows_here(x, "x", call)
    if (!is_law(x)) check_kind(x, call)
    check_no_columns(x, dots, call)
  }
  raw <- read_design(design, x, NROW(x), call)
  outcomes <- read_outcomes(truth, x, design$horizon, call, raw$weights)
  raw$censoring <- outcomes$censoring
  input <- list(x = if (frame) read_probs(x, dots, outcomes$values, outcomes$column, call) else x,
                truth = outcomes$values)
  if (logits) {
    read <- read_logits(input$x, input$truth, event_level, na_rm, call, raw)
  } else {
    p <- new_predictions(input$x, input$truth, event_level, na_rm, call, raw = raw)
    read <- list(x = p$probs %||% p$prob, truth = p$truth %||% p$outcome, levels = p$levels,
                 event = p$event, rows = p$rows, na = p$na, design = p$design)
  }
  if (read$na) stop_incomplete_map(call)
  columns <- colnames(input$x)
  order <- if (NCOL(input$x) > 1) {
    # what their names say was said above
    told_before(code_truth(input$truth, input$x[0, , drop = FALSE], call)$order)
  }
  layout <- list(frame = frame, columns = columns, order = order, levels = read$levels,
                 event = read$event, logits = logits, floor = floor)
  data <- expand_probs(read$x, layout, threads)
  data$truth <- if (data$kind == "scalar") as.integer(read$truth) + 1L else read$truth
  data$rows <- read$rows
  data$design <- read$design
  data$n_rows <- NROW(input$x)
  list(data = data, layout = layout)
}

read_logits <- function(x, truth, event_level, na_rm, call, raw = list()) {
  if (!is.numeric(x) || length(dim(x)) > 2) {
    stop_input(c(
      "With {.code logits = TRUE}, {.arg x} must be a numeric matrix, data frame or vector of logits.",
      "x" = "It is {.cls {class(x)[1]}}."
    ), "logits", arg = "x", value = x, call = call)
  }
  check_no_survival(truth, call)
  check_length(NROW(x), length(truth), call)
  scalar <- is.null(dim(x)) || is_lone_column(x)
  coded <- if (scalar) code_outcome(truth, event_level, call, colnames(x)) else code_truth(truth, x, call)
  x <- if (scalar) as.numeric(x) else unname(coded$x)
  outcome <- if (scalar) coded$outcome else coded$truth
  complete <- complete_rows(as.matrix(x), !is.na(outcome), na_rm, call, "Logits", raw)
  keep <- complete$rows
  if (length(keep) == 0 && !complete$na) stop_empty(complete$dropped, call, raw)
  x <- if (scalar) x[keep] else x[keep, , drop = FALSE]
  check_logits(x, keep, call)
  event <- if (scalar) coded$event else if (event_level == "first") 1L else 2L
  list(x = x, truth = outcome[keep], levels = coded$levels, event = event, rows = keep, na = complete$na,
       design = bind_design(raw, keep, complete$censored))
}

# -Inf says probability 0 and is floored later; +Inf, and rows without a finite value, say nothing.
check_logits <- function(x, rows, call) {
  m <- as.matrix(x)
  bad <- which(rowSums(m == Inf) > 0 | (ncol(m) > 1 & rowSums(is.finite(m)) == 0))
  if (length(bad) > 0) {
    stop_input(c(
      "Logits must be below infinity, with at least one finite value per row.",
      "x" = "Row {rows[bad[1]]} is {.val {m[bad[1], ][is.infinite(m[bad[1], ])][1]}}; {length(bad)} of \\
             {nrow(m)} rows are affected.",
      "i" = "A logit of {.val {-Inf}} is a probability of 0 and is floored; replace {.val {Inf}} by a finite number."
    ), "logits", arg = "x", row = rows[bad[1]], call = call)
  }
  if (ncol(m) > 1 && all(m >= 0) && all(abs(rowSums(m) - 1) < sum_tolerance$float)) {
    warn_result(c(
      "With {.code logits = TRUE}, {.arg x} is read as logits.",
      "x" = "All rows are on the simplex: these look like probabilities."
    ), "logits")
  }
  invisible(x)
}

# Probabilities or logits as read -> probs and floored log-probabilities.
expand_probs <- function(x, layout, threads) {
  floor <- log(layout$floor)
  scalar <- !is.matrix(x)
  if (layout$logits) {
    logp <- if (scalar) {
      pmax(cbind(stats::plogis(x, lower.tail = FALSE, log.p = TRUE), stats::plogis(x, log.p = TRUE)), floor)
    } else {
      top <- do.call(pmax, split_columns(x))
      cpp_softmax(pmax(x, top + floor), TRUE, threads)
    }
    probs <- exp(logp)
  } else {
    probs <- if (scalar) cbind(1 - x, x, deparse.level = 0) else x
    logp <- log(pmax(probs, layout$floor))
  }
  # pmax() keeps the shape of its first argument only where that is the longest
  dim(logp) <- dim(probs)
  list(kind = if (scalar) "scalar" else "matrix", probs = probs, logp = logp, source = x)
}

split_columns <- function(x) lapply(seq_len(ncol(x)), function(k) x[, k])

# New data in the layout of the fit -> list(data, keep), rows with missing values left out.
read_new_probs <- function(new, layout, threads, call = caller_env()) {
  x <- if (is.data.frame(new)) layout_columns(new, layout, call) else new
  x <- layout_order(x, new, layout, call)
  keep <- complete_rows(as.matrix(x), TRUE, TRUE, call,
                        if (layout$logits) "Logits" else "Probabilities")$rows
  x <- if (is.matrix(x)) x[keep, , drop = FALSE] else as.numeric(x)[keep]
  if (layout$logits) {
    check_logits(x, keep, call)
  } else if (is.matrix(x)) {
    x <- check_simplex(x, keep, call)
  } else {
    check_unit(x, keep, call)
  }
  list(data = expand_probs(x, layout, threads), keep = keep, n = NROW(new))
}

# Data frame -> matrix or vector of the columns that the fit saw.
layout_columns <- function(new, layout, call) {
  if (!layout$frame && is.null(layout$columns)) {
    seen <- if (is.null(layout$order)) "vector" else "matrix without column names"
    stop_input(c(
      "{.arg new} must have the shape of the data that the map was fitted to.",
      "x" = "It is a data frame; the fit saw a {seen}.",
      new_remedy(new, layout, call)
    ), "columns", arg = "new", call = call)
  }
  absent <- setdiff(layout$columns, names(new))
  if (length(absent) > 0) {
    stop_input(c(
      "{.arg new} must have the columns that the map was fitted to.",
      "x" = "{.field {absent}} {?is/are} missing.",
      "i" = "Its columns are {.field {names(new)}}.",
      renamed_remedy(new, absent, layout, call)
    ), "columns", arg = "new", call = call)
  }
  values <- lapply(layout$columns, function(name) as.numeric(new[[name]]))
  if (is.null(layout$order)) values[[1]] else do.call(cbind, values)
}

# The columns of probabilities, as a vector or a matrix.
new_remedy <- function(new, layout, call) {
  typed <- typed_argument(typed_call(call), "new")
  columns <- grep("^[.]pred", candidate_columns(new), value = TRUE)
  if (length(columns) == 0) columns <- candidate_columns(new)
  if (!is.null(layout$order)) {
    fits <- length(columns) == length(layout$order)
    taken <- call("as.matrix", call("[", typed, as.call(c(quote(c), as.list(columns)))))
    return(remedy("Give its columns of probabilities", if (fits) mended_line(call, list(new = taken))))
  }
  events <- c(tolower(layout$levels[layout$event]), event_words)
  at <- match(events, tolower(sub("^[.]pred_", "", columns)))
  column <- columns[c(at[!is.na(at)], 1)[1]]
  remedy("Give its column of probabilities",
         if (!is.na(column)) mended_line(call, list(new = call("$", typed, as.name(column)))))
}

# The columns under the names of the fit, if they only lack `.pred_` or have it.
renamed_remedy <- function(new, absent, layout, call) {
  other <- function(name) c(paste0(".pred_", name), sub("^[.]pred_", "", name))
  there <- vapply(layout$columns, function(name) c(intersect(c(name, other(name)), names(new)), NA)[1], "")
  typed <- typed_argument(typed_call(call), "new")
  if (anyNA(there) || is.null(typed)) return(NULL)
  listed <- function(names) as.call(c(quote(c), as.list(unname(names))))
  named <- call("setNames", call("[", typed, listed(there)), listed(layout$columns))
  remedy("Name them as in the fit", mended_line(call, list(new = named)))
}

# Classes in the order of the fit: by the names of the columns where they are the fit's or the classes', else by place.
layout_order <- function(x, new, layout, call) {
  scalar <- is.null(layout$order)
  if (scalar && is_lone_column(x)) x <- x[, 1]
  if (!is.numeric(x) || scalar != is.null(dim(x)) || (!scalar && ncol(x) != length(layout$order))) {
    seen <- if (scalar) "a vector of probabilities" else paste(length(layout$order), "columns")
    stop_input(c(
      "{.arg new} must have the shape of the data that the map was fitted to.",
      "x" = "The fit saw {seen}; {.arg new} is {describe_shape(new)}.",
      "i" = "Give {seen}."
    ), "columns", arg = "new", call = call)
  }
  if (scalar) x else fitted_columns(x, layout, call)
}

fitted_columns <- function(x, layout, call) {
  columns <- layout$columns
  names <- colnames(x)
  named <- !is.null(columns) && all(nzchar(columns)) && !anyDuplicated(columns)
  if (named && setequal(columns, names)) return(unname(x[, match(columns, names)[layout$order], drop = FALSE]))
  unname(x[, column_order(names, layout$levels, call, "new", "classes of the fit", layout$order), drop = FALSE])
}

describe_shape <- function(x) {
  if (is.null(dim(x))) paste("a vector of length", length(x)) else paste0("[", nrow(x), " x ", ncol(x), "]")
}

# Internal n x K probabilities -> the shape of the input.
write_like <- function(probs, layout, keep, n) {
  if (is.null(layout$order)) {
    out <- rep(NA_real_, n)
    out[keep] <- probs[, 2]
    if (layout$frame) out <- columns_frame(!!layout$columns := out)
    return(out)
  }
  out <- matrix(NA_real_, n, ncol(probs))
  out[keep, layout$order] <- probs
  if (layout$frame) {
    colnames(out) <- layout$columns
    return(tibble::as_tibble(out))
  }
  if (!is.null(layout$columns)) colnames(out) <- layout$columns
  out
}

# One number per row that identical rows share and others practically never do: the same
# additions in the same order for any number of rows, so that equal rows give equal digits.
fingerprint <- function(x) {
  if (!is.matrix(x)) return(as.numeric(x))
  out <- numeric(nrow(x))
  for (k in seq_len(ncol(x))) out <- out + x[, k] * (1.5 + cos(k^2))
  out
}

# How many rows of `new` the map was fitted to. Predictions that repeat match by chance: 0 where matches
# are not clearly more frequent than repeats within either set (then only the same rows in the same order count).
fitted_rows <- function(new, fitted) {
  if (length(new) < 2 || length(fitted) < 2) return(0L)
  if (identical(new, fitted)) return(length(new))
  repeats <- function(v) mean(duplicated(v) | duplicated(v, fromLast = TRUE))
  same <- sum(new %in% fitted)
  if (same <= 2 * max(repeats(new), repeats(fitted)) * length(new)) return(0L)
  same
}
