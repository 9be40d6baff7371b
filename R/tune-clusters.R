# Cells of rows in clusters, see R/tune-cells.R. The sums W, Y, D and S of w, w y, w d and w d^2 of every cluster and
# cell are sent. With a and c1 of a bin as there, a cluster c has
#   T_c = sum_b (a_b W_cb + c1_b D_cb) + S S_c - O_c        its pairs with all rows without those among its own,
#   O_c = S_c^2 - 2 ((sum_b b D_cb)^2 - sum_b v_b D_cb^2) + (sum_b b^2 W_cb)^2 - sum_b (2 b^2 v - v^2) W_cb^2
# so that the risk is sum T / D with D = W^2 - sum W_c^2, and of the difference r of two risks
#   se^2 = C / (C - 1) 4 / D^2 sum_c (T_c - T'_c - r W_c (W - W_c))^2
# The noise of a bin is C_b / (C_b - 1) sum_c (Y_cb - y_b W_cb)^2 / W_b^2 over its C_b clusters, y_b its frequency.

# As many sums of a cluster and a cell as are sent.
most_cluster_sums <- 1e6

cluster_sums <- c("n", "y", "d1", "d2")

# A row per cluster and cell, clusters numbered in any order, with the fold.
cluster_cells <- function(rows, pairs, cell, call) {
  w <- if (is_weighted(rows)) "w" else row_weight(rows)
  sums <- setNames(paste(w, c("", "* y", "* d", "* d * d")), cluster_sums)
  split <- paste0("SELECT p, y, p - y AS d, ce_w AS w, ", cell, " AS cell, ce_fold AS fold, ",
                  "DENSE_RANK() OVER (ORDER BY ce_cluster) AS code FROM (", pairs, ") ce_pairs", sql_fence)
  found <- database_query(rows$db, paste0("SELECT code, fold, cell, ", sql_sums(sums), " FROM (", split,
                                          ") ce_cells GROUP BY code, fold, cell ORDER BY code, cell LIMIT ",
                                          sprintf("%.0f", most_cluster_sums + 1)), call)
  if (nrow(found) > most_cluster_sums) {
    stop_unsupported(paste0("at most ", count_text(most_cluster_sums), " sums of a cluster and a cell are sent"),
                     "There are more; fewer or smaller numbers of bins make fewer cells.", call, "cluster")
  }
  found[] <- lapply(found, as.numeric)
  found
}

# As fold_tables(); `clusters`: what was sent, by fold.
clustered_tables <- function(rows, edges, call) {
  different <- unique(edges)
  tables <- lapply(different, function(at) {
    found <- cluster_cells(rows, rows$pairs, sql_cell("p", at), call)
    size <- c(length(at) + 1, rows$k + 1)
    place <- factor(found$cell + size[1] * found$fold, seq_len(prod(size)) - 1)
    sums <- array(rowsum_all(as.matrix(found[cluster_sums]), place), c(size, 4), list(NULL, NULL, cluster_sums))
    out <- fold_table(at, sums, numeric(size[2]))
    out$clusters <- split(found, factor(found$fold, seq_len(size[2]) - 1))
    out
  })
  tables[match(edges, different)]
}

# Sums by cluster and bin, from those by cluster and cell in this order; `bin`: of every cell.
collect_clusters <- function(found, bin) {
  bin <- bin[found$cell + 1]
  n <- length(bin)
  first <- seq_len(n) == 1 | c(FALSE, found$code[-1] != found$code[-n] | bin[-1] != bin[-n])[seq_len(n)]
  sums <- if (n > 0) rowsum(as.matrix(found[cluster_sums]), cumsum(first), reorder = FALSE) else found[cluster_sums]
  c(list(code = found$code[first], bin = bin[first]), lapply(setNames(nm = cluster_sums), function(name) sums[, name]))
}

# The squared standard errors of the bins' frequencies. `train`: sums of the bins.
clustered_noise <- function(table, train, bin, f) {
  own <- collect_clusters(vctrs::vec_rbind(!!!table$clusters[-c(1, f + 1)]), bin)
  n <- train[, "n"]
  off <- own$y - (train[, "y"] / n)[own$bin] * own$n
  squares <- rowsum_all(cbind(rep(1, length(off)), off^2), factor(own$bin, seq_along(n)))
  clusters <- squares[, 1]
  ifelse(clusters >= 2, clusters / (clusters - 1) * squares[, 2] / n^2, 0)
}

# Contributions of a fold's clusters to the risk of h, to the risk of h = 0 (T_c) and to the mean of h(p, p), with their
# weights.
cluster_draws <- function(table, held, h, bin, f) {
  own <- collect_clusters(table$clusters[[f + 1]], bin)
  b <- h$b[own$bin]
  v <- h$v[own$bin]
  of <- weighted_coefficients(held, h)
  parts <- cbind(own$n, own$d2, of$a[own$bin] * own$n + of$c1[own$bin] * own$d1, b * own$d1, b^2 * own$n,
                 2 * v * own$d1^2 - (2 * b^2 * v - v^2) * own$n^2, (b^2 - v) * own$n)
  of_clusters <- if (length(b) > 0) rowsum(parts, own$code, reorder = FALSE) else parts
  squares <- of_clusters[, 2]
  zero <- sum(squares) * squares - squares^2
  list(weight = of_clusters[, 1], zero = zero, squared = of_clusters[, 7],
       sums = zero + of_clusters[, 3] + 2 * of_clusters[, 4]^2 - of_clusters[, 5]^2 - of_clusters[, 6])
}

pair_weight_of_clusters <- function(weight) sum(weight)^2 - sum(weight^2)

clustered_risk <- function(weight, sums) {
  if (length(weight) < 2) NA_real_ else max(0, sum(sums) / pair_weight_of_clusters(weight))
}

# As weighted_difference(), from the draws of two methods.
clustered_difference <- function(first, second) {
  weight <- first$weight
  clusters <- length(weight)
  if (clusters < 2) return(c(NA_real_, NA_real_))
  size <- pair_weight_of_clusters(weight)
  sums <- first$sums - second$sums
  difference <- sum(sums) / size
  if (clusters < 3) return(c(difference, NA_real_))
  off <- sums - difference * weight * (sum(weight) - weight)
  c(difference, 2 * sqrt(clusters / (clusters - 1) * sum(off^2)) / size)
}

# The mean of a number, as an estimate, from the clusters' weights and sums.
clustered_mean <- function(weight, sums, design = new_design(length(weight))) {
  mean <- sum(sums) / sum(weight)
  clusters <- length(weight)
  squares <- sum((sums - mean * weight)^2)
  variance <- if (clusters > 1) clusters / (clusters - 1) * squares / sum(weight)^2 else NA_real_
  new_estimate(mean, no_rows, design, variance = variance)
}
