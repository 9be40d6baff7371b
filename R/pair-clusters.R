# The rows of a cluster may be dependent: inst/include/calibrisk/pairs/cluster_noise.h. `pair`: list(prediction,
# target), both kernels as sources of the core.

# For few clusters their noise is a sum of few squares, so that it takes the place of that of rows (R/skce-sums.R) only
# where it is larger.
with_clusters <- function(sums, design, pair) {
  if (is.null(design$cluster)) return(sums)
  found <- cluster_noise(design, pair)
  clusters <- cluster_count(design)
  share <- found$clusters * (found$clusters - 1)
  squares <- if (share > 0) found$across * clusters * (clusters - 1) / share else 0
  if (squares <= sums$squares) return(sums)
  sums$squares <- squares
  sums$within <- found$within * clusters / found$clusters
  sums
}

# Ratio of these to the values for independent rows, at least 1: list(squares, within).
cluster_effect <- function(design, pair) {
  if (is.null(design$cluster)) return(list(squares = 1, within = 1))
  found <- cluster_noise(design, pair)
  ratio <- function(all, rows) if (rows > 0) max(all / rows, 1) else 1
  list(squares = ratio(found$across, found$squares), within = ratio(found$within, found$diagonal))
}

# Of all clusters, or of many rows evenly spaced ones, whose pairs stand for those of all; their number is `clusters`.
cluster_noise <- function(design, pair, rows = 4000, least = 20) {
  clusters <- cluster_count(design)
  kept <- min(clusters, max(least, round(clusters * rows / design$n)))
  place <- match(design$cluster, unique(round(seq(1, clusters, length.out = kept))))
  at <- order(place, na.last = NA)
  found <- with_bar("Pairs of clusters", function(progress) {
    cpp_cluster_noise(source_rows(pair$prediction, at), target_rows(pair$target, at, design$n), place[at],
                      design_weights(design)[at], thread_count(), progress)
  })
  c(found, clusters = max(place, na.rm = TRUE))
}
