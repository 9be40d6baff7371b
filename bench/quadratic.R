# The quadratic path: the risk of h given as a matrix, or as features of large rank, against
# the rate of R's BLAS and against the formula written out in R.
library(calibrisk)
source("bench/setup.R")

measure <- '
  core <- asNamespace("calibrisk")
  set.seed(1)
  m <- 4096
  H <- matrix(rnorm(m * m), m)
  do.call(rbind, lapply(c(32, 64, 128, 256, 512), function(d) {
    E <- matrix(rnorm(m * d), m)
    half <- seq_len(d / 2)
    X <- E[, -half]
    Y <- t(E) # a product without the transpose
    gemm <- seconds(E %*% Y, 5)
    matrix <- seconds(core$cpp_pair_risk_matrix(E, H, FALSE, threads), 5)
    features <- seconds(core$cpp_pair_risk(E[, half], X, NULL, threads, 2L), 5)
    data.frame(d = d, gemm = gemm, matrix = matrix, features = features, gflop = 2e-9 * m^2 * d)
  }))
'
one <- with_threads(1, measure)
two <- with_threads(2, measure)

rates <- function(run, threads) {
  data.frame(
    threads = threads, d = run$d,
    `BLAS GFlop/s` = run$gflop / run$gemm,
    `h a matrix, GFlop/s` = run$gflop / run$matrix,
    `share of BLAS` = run$gemm / run$matrix,
    `h by features, GFlop/s` = run$gflop / run$features,
    `share of BLAS ` = run$gemm / run$features,
    check.names = FALSE
  )
}
speedup <- data.frame(
  d = one$d, BLAS = one$gemm / two$gemm, `h a matrix` = one$matrix / two$matrix,
  `h by features` = one$features / two$features, check.names = FALSE
)

# The formula as it stands: n x n matrices, then a sum off the diagonal.
literal_risk <- function(E, H) {
  loss <- (E %*% t(E) - H)^2
  diag(loss) <- 0
  sum(loss) / (nrow(E) * (nrow(E) - 1))
}
growth <- do.call(rbind, lapply(c(1000, 2000, 4000, 8000), function(m) {
  set.seed(2)
  E <- matrix(rnorm(m * 32), m)
  H <- matrix(rnorm(m * m), m)
  data.frame(
    m = m,
    `R formula, s` = seconds(literal <- literal_risk(E, H)),
    `pair_risk(), s` = seconds(risk <- pair_risk(H, E)$risk),
    `difference` = formatC(abs(risk / literal - 1), digits = 1, format = "e"),
    check.names = FALSE
  )
}))
growth$ratio <- growth$`R formula, s` / growth$`pair_risk(), s`

writeLines(c(
  bench_header("The quadratic path"),
  "Risk, projections, their standard errors and the baseline for m = 4096 rows. The rate counts the",
  "2 m^2 d operations of the full product `E %*% t(E)`, which R's BLAS is timed on in the same run. h given",
  "as a matrix of any kind: all m^2 values are read, the inner products computed once per pair of tiles. h by",
  "features (d / 2 residual and d / 2 feature columns): symmetric, so only one triangle of tiles; that is",
  "why its rate can exceed the BLAS's.", "",
  markdown_table(rates(one, 1)), markdown_table(rates(two, 2)),
  "Speedup of two threads over one, BLAS threads varied along:", "",
  markdown_table(speedup),
  "Against the formula written out in R, d = 32, h a matrix (R needs three more m x m matrices):", "",
  markdown_table(growth)
), "bench/quadratic.md")
