# Differences of net benefit between models on the same rows: what acting on the one brings beyond acting on the other.

# A row per pair of models, group and threshold; NULL where there is no pair. `found`: the parts of the curves.
decision_differences <- function(found, keys, settings) {
  if (!"model" %in% names(keys)) return(NULL)
  groups <- keys[setdiff(names(keys), "model")]
  id <- if (length(groups) == 0) rep(1L, nrow(keys)) else vctrs::vec_group_id(groups)
  pairs <- unlist(lapply(split(seq_along(id), id), function(at) {
    if (length(at) > 1) Filter(function(pair) on_same_rows(found[[pair[1]]], found[[pair[2]]]),
                               utils::combn(at, 2, simplify = FALSE))
  }), recursive = FALSE)
  if (length(pairs) == 0) return(NULL)
  model <- function(k) as.character(keys$model[vapply(pairs, `[`, 0L, k)])
  bind_parts(
    vctrs::vec_cbind(columns_frame(a = model(1), b = model(2)), vctrs::vec_slice(groups, vapply(pairs, `[`, 0L, 1))),
    lapply(pairs, function(pair) {
      a <- found[[pair[1]]]$problem
      b <- found[[pair[2]]]$problem
      # NB(a) - NB(b) is the loss of b with a as its recalibration: both sum over the rows whose decision changes
      # other predictions may decide otherwise on other rows
      limits <- decision_limits(b$features[, 1], a$features[, 1], as.numeric(a$labels), a$design, settings,
                                few = !identical(a$features, b$features))$sums[[1]]
      columns_frame(threshold = settings$thresholds, difference = limits$estimate, !!!limits[2:6])
    })
  )
}

# Models of a list may have different outcomes, or other rows that are complete.
on_same_rows <- function(a, b) {
  same <- function(field) identical(a[[field]], b[[field]])
  same("rows") && identical(as.numeric(a$problem$labels), as.numeric(b$problem$labels)) &&
    identical(a$problem$design, b$problem$design)
}
