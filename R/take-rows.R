# Selects rows of data of any kind: predictions, distributions, problems, input of recalibration maps. Parts with a
# value per row have the same name in all of them; other parts are kept.

row_parts <- c("probs", "prob", "law", "roots", "features", "residuals", "y", "truth", "outcome", "labels",
               "given", "mean", "variance", "variances", "missed", "excess", "scale", "fold", "rows", "upper")

take_rows <- function(data, rows) {
  # what is NULL has no rows, and stays
  for (name in names(data)[!vapply(data, is.null, NA)]) {
    part <- data[[name]]
    data[[name]] <- if (name %in% row_parts) rows_of_part(part, rows) else switch(name,
      source = source_rows(part, rows),
      group = replace(part, c("id", "features"), list(part$id[rows], rows_of_part(part$features, rows))),
      design = design_rows(part, rows),
      n = if (is.logical(rows)) sum(rows) else length(rows),
      part
    )
  }
  data
}

# `rows`: of many, in place of R's checks of each.
rows_of_part <- function(part, rows) {
  if (!is.matrix(part)) return(part[rows])
  plain <- is.double(part) && is.integer(rows) && identical(names(attributes(part)), "dim")
  if (plain && length(rows) > 1000 && cpp_all_whole(rows, 1, nrow(part))) {
    return(cpp_matrix_rows(part, rows, thread_count()))
  }
  part[rows, , drop = FALSE]
}

# A kernel between the rows.
source_rows <- function(spec, rows) {
  if (spec$kind == "features") spec$features <- spec$features[rows, , drop = FALSE]
  if (spec$kind == "matrix") spec$values <- spec$values[rows, rows, drop = FALSE]
  if (!is.null(spec$parts)) spec$parts <- lapply(spec$parts, source_rows, rows)
  spec
}

# Selects rows of a target of `n` rows. Its parts have no fixed names: a part with `n` rows has a value per row. No
# other part can have that size, and `support`, `kind` and `kernel` are left out.
target_rows <- function(spec, rows, n) {
  for (part in setdiff(names(spec), c("kind", "support", "kernel"))) {
    value <- spec[[part]]
    spec[[part]] <- if (part == "parts") {
      lapply(value, target_rows, rows, n)
    } else if (is.list(value)) {
      target_rows(value, rows, n)
    } else if (NROW(value) == n) {
      rows_of_part(value, rows)
    } else {
      value
    }
  }
  spec
}

# The data with a row for each copy, for what has no formula for copies. More than `most` stay together.
repeat_copies <- function(data, most = most_repeated_rows) {
  design <- data$design
  if (is.null(design$copies) || sum(design$copies) > most) return(data)
  at <- rep(seq_len(design$n), design$copies)
  out <- take_rows(data, at)
  each <- design$w / design$copies
  out$design <- new_design(length(at), if (any(each != each[1])) each[at], design$cluster[at])
  # of the rows as they were
  out$sorted <- NULL
  out
}

# The same for functions that count no copies: too many are an error.
single_copies <- function(data) {
  if (!is.null(data$design$copies)) check_repeated(data$design$copies)
  repeat_copies(data)
}
