# The effect of clusters on a planned validation. Predictions are independent. Outcomes of a cluster are dependent: with
# probability sqrt(icc) a row takes the cluster's uniform number U instead of its own, y = 1{U < eta}. Every row then
# has the probability eta, and two rows of a cluster have the covariance icc (min(eta, eta') - eta eta'), a correlation
# of icc if their risks are equal.

# NULL without clusters. `per_draw`: of a random row's cluster, the mean number of other rows.
new_power_clusters <- function(cluster_size, icc) {
  if (is.null(cluster_size) && is.null(icc)) return(NULL)
  stop_if(is.null(cluster_size) || is.null(icc), "Clusters need both {.arg cluster_size} and {.arg icc}.",
          "x" = "There is no {.arg {if (is.null(icc)) 'icc' else 'cluster_size'}}.",
          arg = if (is.null(icc)) "icc" else "cluster_size")
  check_counts(cluster_size, lower = 1)
  check_number(icc, lower = 0, upper = 1)
  if (max(cluster_size) == 1) return(NULL)
  list(sizes = as.numeric(cluster_size), icc = icc, others = sum(cluster_size^2) / sum(cluster_size) - 1)
}

# Variances of sums over rows are larger by this, for a statistic whose rows correlate as the outcomes do.
design_effect <- function(clusters) if (is.null(clusters)) 1 else 1 + clusters$others * clusters$icc

clusters_label <- function(clusters) {
  if (is.null(clusters)) return(NULL)
  paste0("of ", format(mean(clusters$sizes), digits = 3), " rows",
         if (length(unique(clusters$sizes)) > 1) " in the mean",
         ", intra-cluster correlation ", format(clusters$icc), " (design effect ",
         format(design_effect(clusters), digits = 3), ")")
}

# Cluster of every row, of sizes that are drawn; outcomes whose luck is shared.
draw_clusters <- function(n, clusters) {
  sizes <- clusters$sizes
  drawn <- sizes[sample.int(length(sizes), ceiling(n / min(sizes)), replace = TRUE)]
  rep(seq_along(drawn), drawn)[seq_len(n)]
}

draw_shared <- function(eta, cluster, icc) {
  own <- stats::runif(length(eta))
  shared <- stats::runif(max(cluster))[cluster]
  as.integer(ifelse(stats::runif(length(eta)) < sqrt(icc), shared, own) < eta)
}
