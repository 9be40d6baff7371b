# Differences of net benefit between models on the same rows: what acting on the one brings beyond acting on the other.

# A row per pair of models, group and threshold; NULL where there is no pair. `found`: the parts of the curves.
decision_differences <- function(found, keys, settings) {
  if (!"model" %in% names(keys)) return(NULL)
  groups <- keys[setdiff(names(keys), "model")]
  id <- if (length(groups) == 0) rep(1L, nrow(keys)) else vctrs::vec_group_id(groups)
  pairs <- unlist(lapply(split(seq_along(id), id), function(at) if (length(at) > 1) utils::combn(at, 2)))
  pairs <- matrix(as.integer(pairs), 2)
  same <- as.logical(mapply(on_same_rows, found[pairs[1, ]], found[pairs[2, ]]))
  if (!any(same)) return(NULL)
  first <- pairs[1, same]
  second <- pairs[2, same]
  # NB(a) - NB(b) is the loss of b with a as its recalibration: both sum over the rows whose decision changes
  tables <- vector("list", length(first))
  for (b in unique(second)) {
    own <- found[[b]]$problem
    others <- lapply(found[first[second == b]], function(part) part$problem$features)
    # other predictions may decide otherwise on other rows
    few <- !vapply(others, identical, NA, own$features)
    tables[second == b] <- decision_limits(own$features[, 1], do.call(cbind, others), as.numeric(own$labels),
                                           own$design, settings, few = few)$sums
  }
  model <- function(at) as.character(keys$model[at])
  column <- function(name) unlist(lapply(tables, `[[`, name))
  rows <- columns_frame(threshold = rep(settings$thresholds, length(first)), difference = column("estimate"),
                        !!!lapply(setNames(nm = names(tables[[1]])[2:6]), column))
  pairs <- vctrs::vec_cbind(columns_frame(a = model(first), b = model(second)), vctrs::vec_slice(groups, first))
  check_keys_free(pairs, names(rows))
  vctrs::vec_cbind(vctrs::vec_rep_each(pairs, length(settings$thresholds)), rows)
}

# Models of a list may have different outcomes, or other rows that are complete.
on_same_rows <- function(a, b) {
  same <- function(field) identical(a[[field]], b[[field]])
  same("rows") && identical(as.numeric(a$problem$labels), as.numeric(b$problem$labels)) &&
    identical(a$problem$design, b$problem$design)
}
