# The rows of data of any kind: predictions, laws, problems, what is recalibrated. What has a value per row has the same
# name in all of them; the rest stays.

row_parts <- c("probs", "logp", "prob", "law", "roots", "features", "residuals", "y", "truth", "outcome", "labels",
               "variances", "missed", "excess", "scale", "fold", "rows")

take_rows <- function(data, rows) {
  cut <- function(names, fn) {
    # what is NULL has no rows, and stays
    for (name in intersect(names, names(data))) if (!is.null(data[[name]])) data[[name]] <<- fn(data[[name]])
  }
  cut(row_parts, function(part) rows_of_part(part, rows))
  # a kernel between rows, or probabilities or logits as they were given
  cut("source", function(source) if (is.list(source)) source_rows(source, rows) else rows_of_part(source, rows))
  cut("group", function(group) replace(group, "id", list(group$id[rows])))
  cut("design", function(design) design_rows(design, rows))
  cut("n", function(n) if (is.logical(rows)) sum(rows) else length(rows))
  data
}

rows_of_part <- function(part, rows) if (is.matrix(part)) part[rows, , drop = FALSE] else part[rows]

# A kernel between the rows.
source_rows <- function(spec, rows) {
  if (spec$form == "features") spec$features <- spec$features[rows, , drop = FALSE]
  if (spec$form == "matrix") spec$values <- spec$values[rows, rows, drop = FALSE]
  if (!is.null(spec$parts)) spec$parts <- lapply(spec$parts, source_rows, rows)
  spec
}
