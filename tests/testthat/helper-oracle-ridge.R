# Kernel ridge by dense solves, as the formulas are written.

# h(x_i, y_j) of Kronecker ridge by the n^2 x n^2 system; n <= 12 or so.
dense_kkr <- function(gram, residuals, ridge, kx, ky = kx) {
  n <- nrow(gram)
  weights <- solve(kronecker(gram, gram) + ridge * n^2 * diag(n^2), c(tcrossprod(residuals)))
  kx %*% matrix(weights, n, n) %*% t(ky)
}

# The same by the eigenvectors of K, for any n.
spectral_kkr <- function(gram, residuals, ridge, kx, ky = kx) {
  n <- nrow(gram)
  e <- eigen(gram, symmetric = TRUE)
  s <- pmax(e$values, 0)
  a <- crossprod(e$vectors, residuals)
  core <- tcrossprod(a) / (outer(s, s) + ridge * n^2)
  kx %*% e$vectors %*% core %*% t(ky %*% e$vectors)
}

# Gaps of the two-step ridge, m x d.
dense_ukkr_gap <- function(gram, residuals, ridge, kx) {
  n <- nrow(gram)
  kx %*% solve(gram + ridge * n * diag(n), residuals)
}

gamma_kernel <- function(gamma) kernel_gaussian(1 / sqrt(2 * gamma))

fit_method <- function(method, problem, value, kernel = NULL) {
  fit_form(method, problem, list(value = value, kernel = kernel), new_context())
}

# Vector predictions with outcomes.
ridge_problem <- function(n, k, seed = 1) {
  withr::with_seed(seed, {
    P <- to_simplex(matrix(rgamma(n * k, 0.4), n))
    y <- apply(P, 1, function(p) sample(k, 1, prob = p^0.5 + 0.01))
  })
  oracle_problem(P, y, "canonical")
}
