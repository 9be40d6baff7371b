# Kernels that compare mean embeddings, for more rows than an n x n matrix takes: D^2 = |m_i - m_j|^2 with the features
# m_i = T^-1 E l(t, Z_i) of a factor of the target kernel (R/ce-test-laws.R).

matrix_rows <- 10000L
embedding_rank <- 128L

# list(features, kernel = the resolved target kernel). Pivots are outcomes drawn from predictions.
embedding_features <- function(target_kernel, laws, draws) {
  target <- bind_target(pooled_kernel(target_kernel, laws), laws, draws)
  problem <- list(n = laws$n, laws = laws, target = target$spec, target_kernel = target$kernel)
  outcome <- outcome_factor(problem, embedding_rank)
  list(features = t(forwardsolve(outcome$triangle, t(outcome$expected))), kernel = target$kernel)
}

bind_many_mmd <- function(kernel, laws, draws) {
  embedded <- embedding_features(kernel$target_kernel, laws, draws)
  kernel$target_kernel <- embedded$kernel
  bind_hilbert(kernel, embedded$features)
}

bind_many_embeddings <- function(kernel, laws, draws) {
  embedded <- embedding_features(kernel$target_kernel, laws, draws)
  kernel$target_kernel <- embedded$kernel
  plain <- kernel_linear()
  plain$scale <- kernel$scale
  list(spec = feature_spec(plain, embedded$features), kernel = kernel)
}
