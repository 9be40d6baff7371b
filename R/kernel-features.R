# Kernels that compare mean embeddings, for more rows than an n x n matrix takes: D^2 = |m_i - m_j|^2 with the features
# m_i = T^-1 E l(t, Z_i) of a factor of the target kernel (R/ce-test-laws.R).

matrix_rows <- 10000L
embedding_rank <- 128L

# `target`: the bound target kernel. Pivots are outcomes drawn from predictions.
embedding_features <- function(target, laws) {
  problem <- list(n = laws$n, laws = laws, target = target$spec, target_kernel = target$kernel)
  outcome <- outcome_factor(problem, embedding_rank)
  t(forwardsolve(outcome$triangle, t(outcome$expected)))
}
