# Selects rows of data of any kind: predictions, distributions, problems, input of recalibration maps. Parts with a
# value per row have the same name in all of them; other parts are kept.

row_parts <- c("probs", "logp", "prob", "law", "roots", "features", "residuals", "y", "truth", "outcome", "labels",
               "variances", "missed", "excess", "scale", "fold", "rows", "upper")

take_rows <- function(data, rows, threads = 1L) {
  cut <- function(names, fn) {
    # what is NULL has no rows, and stays
    for (name in names[names %in% names(data)]) if (!is.null(data[[name]])) data[[name]] <<- fn(data[[name]])
  }
  cut(row_parts, function(part) rows_of_part(part, rows, threads))
  # a kernel between rows, or probabilities or logits as they were given
  cut("source", function(source) {
    if (is.list(source)) source_rows(source, rows) else rows_of_part(source, rows, threads)
  })
  cut("group", function(group) {
    replace(group, c("id", "features"), list(group$id[rows], rows_of_part(group$features, rows)))
  })
  cut("design", function(design) design_rows(design, rows))
  cut("n", function(n) if (is.logical(rows)) sum(rows) else length(rows))
  data
}

# `rows`: of many, in place of R's checks of each.
rows_of_part <- function(part, rows, threads = 1L) {
  if (!is.matrix(part)) return(part[rows])
  plain <- is.double(part) && is.integer(rows) && identical(names(attributes(part)), "dim")
  if (plain && length(rows) > 1000 && cpp_all_whole(rows, 1, nrow(part))) return(cpp_matrix_rows(part, rows, threads))
  part[rows, , drop = FALSE]
}

# A kernel between the rows.
source_rows <- function(spec, rows) {
  if (spec$form == "features") spec$features <- spec$features[rows, , drop = FALSE]
  if (spec$form == "matrix") spec$values <- spec$values[rows, rows, drop = FALSE]
  if (!is.null(spec$parts)) spec$parts <- lapply(spec$parts, source_rows, rows)
  spec
}

# Selects rows of a target of `n` rows. Its parts have no fixed names: a part with `n` rows has a value per row. No
# other part can have that size, and `support`, `form` and `kernel` are left out.
target_rows <- function(spec, rows, n) {
  for (part in setdiff(names(spec), c("form", "support", "kernel"))) {
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
