# The test of sign flips, one flip after another with n x k matrices: all of few clusters. Returns the p-value and the
# lower limit of the error.
oracle_flips <- function(p, y, cluster, w = rep(1, length(p)), alpha = .05, outer_knots = c(8, ceiling(sqrt(length(p))))) {
  e <- p - y
  v <- p * (1 - p)
  logit <- pmin(pmax(qlogis(p), -12), 12)
  bases <- list(matrix(1, length(p)), matrix(logit - sum(w * v * logit) / sum(w * v)),
                oracle_hats(p, outer_knots[1], w), oracle_hats(p, outer_knots[2], w))
  shares <- c(5, 4, 1, 1) / 11
  # weights of events and of others have a mean each
  mean_weight <- tapply(w^2, y, sum) / tapply(w, y, sum)
  known <- w * v * ((1 - p) * mean_weight[["1"]] + p * mean_weight[["0"]])
  seen <- w * as.vector(mean_weight[as.character(y)]) * e^2
  null <- vapply(bases[1:2], function(b) sqrt(max(1, sum(known * b^2) / sum(seen * b^2))), 0)[c(1, 2, 1, 1)]
  clusters <- unique(cluster)
  signs <- as.matrix(expand.grid(rep(list(c(1, -1)), length(clusters))))
  norms <- vapply(bases, function(b) {
    inverse <- solve(crossprod(b, w * b))
    apply(signs, 1, function(s) {
      sums <- colSums(s[match(cluster, clusters)] * w * e * b)
      sqrt(drop(sums %*% inverse %*% sums) / sum(w))
    })
  }, numeric(nrow(signs)))
  # rounded: flips of the same size are ties
  norms <- signif(norms, 8)
  observed <- signif(norms[1, ] / sqrt(null), 8)
  survival <- function(x, m) round(mean(norms[, m] >= x) / shares[m], 9)
  t <- apply(norms, 1, function(q) min(vapply(1:4, function(m) survival(q[m], m), 0)))
  own <- vapply(1:4, function(m) survival(observed[m], m), 0)
  p_value <- function(x) max(mean(t <= x), 2 / nrow(signs))
  threshold <- min(t[vapply(t, p_value, 0) >= alpha])
  low <- vapply(1:4, function(m) {
    if (p_value(min(own)) >= alpha || own[m] >= threshold) return(0)
    q <- max(norms[vapply(norms[, m], survival, 0, m) >= threshold, m])
    size <- norms[1, m]
    uniroot(function(x) size - x - q * sqrt(null[m] + (1 - null[m]) * x / size), c(0, size), tol = 1e-12)$root
  }, 0)
  list(p.value = p_value(min(own)), low = max(low))
}
