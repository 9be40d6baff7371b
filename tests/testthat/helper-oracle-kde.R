# The kernel density ratio as naive loops: log weights by the formula, log-sum-exp, the
# boundary rules of Gruber & Bach (2025) as documented in ?method_kde.

# log k_h(x; p): density of the Dirichlet distribution with parameters p / h + 1, at x
oracle_kde_log_weight <- function(x, p, h, clamp) {
  if (clamp) x <- pmax(x, 2^-53)
  terms <- ifelse(p == 0, 0, p / h * log(x))
  sum(terms) + lgamma(1 / h + length(p)) - sum(lgamma(p / h + 1))
}

# Log weights of all training rows at x, after the fallback where all of them vanish.
oracle_kde_log_weights <- function(x, P, h) {
  w <- apply(P, 1, function(p) oracle_kde_log_weight(x, p, h, FALSE))
  if (all(w == -Inf)) w <- apply(P, 1, function(p) oracle_kde_log_weight(x, p, h, TRUE))
  w
}

# Of the core, for every bandwidth.
kde_loo_loglik <- function(x, h) colSums(cpp_kde_loo_density(x, seq_len(nrow(x)), h, 2L, NULL))

# r(x) for every row of X; scalars are points (1 - z, z) with labels 0/1.
oracle_kde_means <- function(P, y, X, h, n_classes = ncol(P), leave_one_out = FALSE) {
  scalar <- ncol(P) == 1
  if (scalar) {
    P <- cbind(1 - P, P)
    X <- cbind(1 - X, X)
    y <- y + 1
    n_classes <- 2
  }
  out <- matrix(0, nrow(X), n_classes)
  for (j in seq_len(nrow(X))) {
    rows <- if (leave_one_out) seq_len(nrow(P))[-j] else seq_len(nrow(P))
    w <- oracle_kde_log_weights(X[j, ], P[rows, , drop = FALSE], h)
    w <- exp(w - max(w))
    for (k in seq_len(n_classes)) out[j, k] <- sum(w[y[rows] == k]) / sum(w)
  }
  if (scalar) out[, 2, drop = FALSE] else out
}

oracle_kde_loglik <- function(P, h) {
  if (ncol(P) == 1) P <- cbind(1 - P, P)
  n <- nrow(P)
  total <- 0
  for (j in seq_len(n)) {
    w <- oracle_kde_log_weights(P[j, ], P[-j, , drop = FALSE], h)
    total <- total + max(w) + log(sum(exp(w - max(w))) / (n - 1))
  }
  total
}
