# The rows of a cluster may be dependent. Let H_cc' be the sum of w_i w_j h_ij over the rows i of cluster c and j of c'.
# Under calibration a mean over the pairs of rows of different clusters has the variance 2 sum_{c != c'} H_cc'^2 over
# the squared weight of these pairs, and the trace sum_c H_cc.

# For few clusters this is a sum of few squares, so that it takes the place of that of rows (R/skce-sums.R) only where
# it is larger. pairs(rows): the matrix of their h_ij.
with_clusters <- function(sums, design, pairs) {
  if (is.null(design$cluster)) return(sums)
  found <- cluster_noise(design, pairs)
  clusters <- cluster_count(design)
  share <- found$clusters * (found$clusters - 1)
  squares <- if (share > 0) found$across * clusters * (clusters - 1) / share else 0
  if (squares <= sums$squares) return(sums)
  sums$squares <- squares
  sums$within <- found$within * clusters / found$clusters
  sums
}

# Ratio of these to the values for independent rows, at least 1: list(squares, within).
cluster_effect <- function(design, pairs) {
  if (is.null(design$cluster)) return(list(squares = 1, within = 1))
  found <- cluster_noise(design, pairs)
  ratio <- function(all, rows) if (rows > 0) max(all / rows, 1) else 1
  list(squares = ratio(found$across, found$squares), within = ratio(found$within, found$diagonal))
}

# For some clusters, whose number is `clusters`: across, sum_{c != c'} H_cc'^2; within, sum_c H_cc; squares and
# diagonal, those of their rows.
cluster_noise <- function(design, pairs) {
  some <- noise_clusters(design)
  totals <- cluster_totals(design, some, pairs)
  own <- diag(totals$clusters)
  diag(totals$clusters) <- 0
  list(clusters = length(some), across = sum(totals$clusters^2), within = sum(own), squares = totals$squares,
       diagonal = totals$diagonal)
}

# All, or of many rows evenly spaced ones, whose pairs stand for those of all.
noise_clusters <- function(design, rows = 4000, least = 20) {
  clusters <- cluster_count(design)
  kept <- min(clusters, max(least, round(clusters * rows / design$n)))
  unique(round(seq(1, clusters, length.out = kept)))
}

# clusters: H_cc' of these, from matrices between at most `most` rows; squares: the sum of the squares of their rows'
# w_i w_j h_ij across clusters, diagonal: that of w_i^2 h_ii.
cluster_totals <- function(design, some, pairs, most = 2000L) {
  place <- match(design$cluster, some)
  rows <- which(!is.na(place))
  if (length(rows) > most) rows <- rows[order(place[rows])]
  pieces <- unname(split(rows, (seq_along(rows) - 1) %/% if (length(rows) > most) most %/% 2 else most))
  w <- design_weights(design)
  totals <- matrix(0, length(some), length(some))
  squares <- diagonal <- 0
  add <- function(h, a, b) {
    h <- h * outer(w[a], w[b])
    squares <<- squares + sum((h * outer(place[a], place[b], `!=`))^2)
    part <- rowsum(t(rowsum(h, place[a])), place[b])
    at <- list(as.integer(colnames(part)), as.integer(rownames(part)))
    totals[at[[1]], at[[2]]] <<- totals[at[[1]], at[[2]]] + t(part)
  }
  with_bar("Pairs of clusters", function(progress) {
    for (k in seq_along(pieces)) {
      if (!is.null(progress)) progress((k / length(pieces))^2)
      a <- pieces[[k]]
      for (b in pieces[seq_len(k - 1)]) {
        h <- pairs(c(a, b))[seq_along(a), length(a) + seq_along(b), drop = FALSE]
        add(h, a, b)
        add(t(h), b, a)
      }
      h <- pairs(a)
      diagonal <<- diagonal + sum(w[a]^2 * diag(h))
      add(h, a, a)
    }
  })
  list(clusters = totals, squares = squares, diagonal = diagonal)
}

# For both kernels as sources of the core.
source_pairs <- function(prediction, target, n) {
  function(rows) {
    if (length(rows) == n) return(cpp_pair_matrix(prediction, target, thread_count()))
    cpp_pair_matrix(source_rows(prediction, rows), target_rows(target, rows, n), thread_count())
  }
}
