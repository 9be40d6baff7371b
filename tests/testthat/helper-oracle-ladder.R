# The leave-one-out ladder, formula by formula, with n x k matrices.

oracle_hats <- function(x, m, v) {
  order <- order(x)
  cumulated <- cumsum(v[order])
  # type 2: the mean of two values where a whole number of rows is reached
  knots <- unique(vapply(seq(0, 1, length.out = m), function(q) {
    reached <- function(slack) x[order][c(which(cumulated >= (q + slack) * sum(v)), length(x))[1]]
    mean(c(reached(-1e-12), reached(1e-12)))
  }, 0))
  if (length(unique(x)) <= m) return(1 * outer(x, sort(unique(x)), "=="))
  B <- vapply(seq_along(knots), function(k) stats::approx(knots, 1 * (seq_along(knots) == k), x)$y, x)
  B
}

oracle_orthonormal <- function(B, v) {
  q <- qr(sqrt(v) * B, tol = 1e-9)
  qr.Q(q)[, seq_len(q$rank), drop = FALSE] / sqrt(v)
}

# basis: a matrix for all coordinates, or a list of one per coordinate.
oracle_rung <- function(e, basis, v = rep(1, nrow(e))) {
  n <- nrow(e)
  V <- sum(v)
  Bs <- lapply(seq_len(ncol(e)), function(j) oracle_orthonormal(if (is.list(basis)) basis[[j]] else basis, v))
  # leave-one-out smoothers, one n x n matrix per coordinate; a row's own outcome has weight 0
  smoothers <- lapply(Bs, function(B) {
    A <- tcrossprod(B) * rep(v, each = n)
    h <- rowSums(B^2) * v
    diag(A) <- 0
    a <- ifelse(h > .95, 0, 1 / (1 - h))
    list(A = A, a = a)
  })
  gap <- vapply(seq_len(ncol(e)), function(j) smoothers[[j]]$a * drop(smoothers[[j]]$A %*% e[, j]), e[, 1])
  back <- vapply(seq_len(ncol(e)), function(j) drop(smoothers[[j]]$A %*% (smoothers[[j]]$a * e[, j])), e[, 1])
  psi <- sum(v * e * gap) / V
  half <- rowSums(e * (gap + back)) / 2
  X <- do.call(cbind, Map(function(B, j) e[, j] * B, Bs, seq_along(Bs)))
  a <- do.call(cbind, Map(function(B, s) matrix(s$a, n, ncol(B)), Bs, smoothers))
  u <- v^2
  sums <- function(left, right) crossprod(left, u * right)
  own <- sum(v^4 * rowSums(a * X^2)^2)
  noise <- (sum(sums(a * X, a * X) * sums(X, X)) + sum(sums(a * X, X) * t(sums(a * X, X))) - 2 * own) / V^2
  S <- sums(sqrt(a) * X, sqrt(a) * X)
  variance <- sum(u * (half - psi)^2) * 4 * n / (n - 1) / V^2
  list(psi = psi, gap = gap, half = half, noise = noise, linear = max(0, variance - 2 * noise),
       skew = min(2.8, 8 * sum((S %*% S) * S) / (2 * sum(S^2))^1.5),
       scatter = 4 * max(eigen(crossprod(e, u * e), TRUE, TRUE)$values) / V^2)
}

# Clusters left out: gaps by least squares on all other clusters, sums over pairs of clusters one by one.
oracle_cluster_rung <- function(e, basis, v, cluster) {
  n <- nrow(e)
  V <- sum(v)
  C <- max(cluster)
  bases <- if (is.list(basis)) basis else rep(list(basis), ncol(e))
  Bs <- lapply(bases, oracle_orthonormal, v)
  gap <- 0 * e
  for (j in seq_len(ncol(e))) {
    for (c in seq_len(C)) {
      at <- cluster == c
      B <- Bs[[j]]
      beta <- solve(crossprod(B[!at, ], v[!at] * B[!at, ]), crossprod(B[!at, ], v[!at] * e[!at, j]))
      gap[at, j] <- B[at, ] %*% beta
    }
  }
  # a pair of clusters: what the fit of one says to the residuals of the other
  inverse <- lapply(seq_len(ncol(e)), function(j) {
    lapply(seq_len(C), function(c) {
      rows <- Bs[[j]][cluster == c, , drop = FALSE]
      solve(diag(ncol(rows)) - crossprod(rows, v[cluster == c] * rows))
    })
  })
  x <- lapply(seq_len(ncol(e)), function(j) rowsum(v * e[, j] * Bs[[j]], cluster))
  pair <- function(c, k) {
    sum(vapply(seq_len(ncol(e)), function(j) sum(x[[j]][c, ] * (inverse[[j]][[c]] %*% x[[j]][k, ])), 0))
  }
  M <- outer(seq_len(C), seq_len(C), Vectorize(pair))
  diag(M) <- 0
  noise <- sum((M + t(M))^2) / 2 / V^2
  z <- rowsum(v * rowSums(e * gap), cluster)[, 1]
  psi <- sum(z) / V
  own <- rowsum(v, cluster)[, 1]
  variance <- 4 * C / (C - 1) * sum(((rowSums(M) + colSums(M)) / 2 - own * psi)^2) / V^2
  largest <- function(parts) 4 * max(eigen(crossprod(parts), TRUE, TRUE)$values) / V^2
  list(psi = psi, gap = gap, noise = noise, linear = max(0, variance - 2 * noise),
       pairs = (rowSums(M) + colSums(M)) / 2,
       scatter = max(largest(v * e), largest(rowsum(v * e, cluster))))
}

oracle_canonical_bases <- function(p, v = rep(1, nrow(p)), rows = nrow(p)) {
  K <- ncol(p)
  l <- log(pmax(p, 1e-300))
  H <- rowSums(p * l)
  top <- max.col(p, "first")
  c <- p[cbind(seq_len(nrow(p)), top)]
  m <- max(4, ceiling(rows^(1 / 3)))
  fine <- oracle_hats(c, m, v)
  coarse <- oracle_hats(c, min(m, 8), v)
  each <- function(f) lapply(seq_len(K), f)
  list(
    each(function(j) {
      maps <- vapply(c(.5, 2, 4), function(t) p[, j]^(1 / t) / rowSums(p^(1 / t)), numeric(nrow(p)))
      cbind(1, p[, j], p[, j] * l[, j], p[, j] * H, maps)
    }),
    each(function(j) cbind(oracle_hats(p[, j], m, v), p[, j] * l[, j], p[, j] * H, (top == j) * fine)),
    each(function(j) cbind(oracle_hats(p[, j], min(m, 8), v), p[, j] * coarse, (top == j) * fine)),
    do.call(cbind, lapply(seq_len(K), function(k) (top == k) * cbind(1, p[, -1])))
  )
}

ladder_data <- function(n, K, seed, power = .7) {
  withr::with_seed(seed, {
    z <- matrix(rnorm(n * K, sd = 1.5), n)
    p <- exp(z) / rowSums(exp(z))
    q <- p^power / rowSums(p^power)
    y <- max.col(t(apply(q, 1, cumsum)) >= runif(n), "first")
  })
  e <- p
  e[cbind(seq_len(n), y)] <- e[cbind(seq_len(n), y)] - 1
  list(p = p, y = y, features = p, residuals = e, design = new_design(n))
}

rungs_of <- function(features, residuals, bases, v = NULL, cluster = NULL) {
  cpp_ladder(features, residuals, list(w = v, cluster = cluster), bases, TRUE, thread_count())
}

numbers_of <- function(rung) unlist(rung[c("psi", "noise", "skew", "linear", "scatter")])
