# Differences of net benefit between models on the same rows: what acting on the one brings beyond acting on the other.

# A row per pair of models, group and threshold; NULL where there is no pair. `found`: the parts of the curves.
decision_differences <- function(found, keys, settings) {
  if (!"model" %in% names(keys)) return(NULL)
  groups <- keys[setdiff(names(keys), "model")]
  id <- if (length(groups) == 0) rep(1L, nrow(keys)) else vctrs::vec_group_id(groups)
  parts <- lapply(split(seq_along(id), id), function(at) {
    if (length(at) < 2) return(NULL)
    pairs <- utils::combn(at, 2)
    lapply(seq_len(ncol(pairs)), function(k) {
      a <- found[[pairs[1, k]]]
      b <- found[[pairs[2, k]]]
      if (!on_same_rows(a, b)) return(NULL)
      table <- decision_difference(a$problem, b$problem, settings)
      names <- columns_frame(a = as.character(keys$model[pairs[1, k]]), b = as.character(keys$model[pairs[2, k]]))
      vctrs::vec_cbind(vctrs::vec_rep(vctrs::vec_cbind(names, vctrs::vec_slice(groups, at[1])), nrow(table)), table)
    })
  })
  tables <- drop_null(unlist(parts, recursive = FALSE))
  if (length(tables) > 0) vctrs::vec_rbind(!!!tables)
}

# Models of a list may have different outcomes, or other rows that are complete.
on_same_rows <- function(a, b) {
  same <- function(field) identical(a[[field]], b[[field]])
  same("rows") && identical(as.numeric(a$problem$labels), as.numeric(b$problem$labels)) &&
    identical(a$problem$design, b$problem$design)
}

# NB(a) - NB(b) is the loss of b with a as its recalibration: both sum over the rows whose decision changes.
decision_difference <- function(a, b, settings) {
  limits <- decision_limits(b$features[, 1], a$features[, 1], as.numeric(a$labels), a$design, settings)$sums[[1]]
  columns_frame(threshold = settings$thresholds, difference = limits$estimate, !!!limits[2:6])
}

stop_no_differences <- function() {
  stop_input("Differences are those of several models on the same rows.",
             "i" = "As in {.code ce_decision(data, truth, a, b)}.", arg = "type")
}
