# The kernel density ratio: Beta kernel in near-linear time, Dirichlet kernel over all pairs,
# against the paper's formula written out in R.
library(calibrisk)
source("bench/setup.R")

core <- asNamespace("calibrisk")
grid <- tibble::tibble(value = core$kde_bandwidths())
one <- tibble::tibble(value = 0.1)

# Five held-out folds of 16 % each, 20 % test rows.
folds <- function(n) rep(c(1:5, 0L), round(n * c(rep(0.16, 5), 0.2)))

confidences <- function(n) {
  set.seed(1)
  z <- pmin(rbeta(n, 6, 0.4), 1)
  y <- as.integer(runif(n) < z^1.3)
  list(features = matrix(z), residuals = matrix(z - y), labels = y)
}

simplex <- function(n, k) {
  set.seed(2)
  P <- matrix(rgamma(n * k, 0.1), n) + 1e-12
  P <- P / rowSums(P)
  y <- max.col(log(P) - log(-log(matrix(runif(n * k), n))))
  E <- P
  E[cbind(seq_len(n), y)] <- E[cbind(seq_len(n), y)] - 1
  list(features = P, residuals = E, labels = y)
}

path <- function(problem, grid, threads = 2L) {
  on_threads(threads, core$tune_path(method_kde(), problem, folds(nrow(problem$features)), grid, core$new_context()))
}

# One ratio of n x n densities per fold and bandwidth, then the risk as a sum over pairs.
literal <- function(problem, h, weights) {
  fold <- folds(nrow(problem$features))
  outcome <- problem$features - problem$residuals
  vapply(1:5, function(f) {
    train <- fold != 0 & fold != f
    rows <- c(which(fold == f), which(fold == 0))
    w <- weights(problem$features[rows, , drop = FALSE], problem$features[train, , drop = FALSE], h)
    gap <- problem$features[rows, , drop = FALSE] - w %*% outcome[train, , drop = FALSE] / rowSums(w)
    held_out <- seq_len(sum(fold == f))
    E <- problem$residuals[rows[held_out], , drop = FALSE]
    G <- gap[held_out, , drop = FALSE]
    loss <- (E %*% t(E) - G %*% t(G))^2
    diag(loss) <- 0
    sum(loss) / (nrow(E) * (nrow(E) - 1))
  }, 0)
}

beta_weights <- function(x, p, h) {
  w <- vapply(p, function(c) dbeta(x, c / h + 1, (1 - c) / h + 1, log = TRUE), x[, 1])
  exp(w - apply(w, 1, max))
}

dirichlet_weights <- function(x, p, h) {
  w <- log(x) %*% t(p) / h
  w <- sweep(w, 2, lgamma(1 / h + ncol(p)) - rowSums(lgamma(p / h + 1)), "+")
  exp(w - apply(w, 1, max))
}

side_by_side <- function(problem, weights) {
  ours <- seconds(risk <- path(problem, one)$risk)
  whole <- seconds(path(problem, grid))
  formula <- seconds(value <- literal(problem, one$value, weights), 1)
  stopifnot(max(abs(risk / value - 1)) < 1e-8)
  data.frame(
    `R formula, one bandwidth, s` = formula, `one bandwidth, s` = ours,
    ratio = formula / ours, `20 bandwidths, s` = whole, check.names = FALSE
  )
}

# Processor time of one run: not disturbed by other work on the machine.
cpu <- function(expr) sum(system.time(expr)[c("user.self", "sys.self")])

beta <- do.call(rbind, lapply(c(1e4, 1e5, 1e6), function(n) {
  problem <- confidences(n)
  data.frame(
    n = n,
    `one thread, s` = seconds(path(problem, grid, 1L), if (n > 1e5) 2 else 5),
    `two threads, s` = seconds(path(problem, grid, 2L), if (n > 1e5) 2 else 5),
    `CPU, s` = cpu(path(problem, grid, 1L)),
    check.names = FALSE
  )
}))
beta$growth <- c(NA, beta$`CPU, s`[-1] / beta$`CPU, s`[-3])

dirichlet <- do.call(rbind, lapply(list(c(2500, 10), c(5000, 10), c(10000, 10), c(10000, 100)), function(size) {
  problem <- simplex(size[1], size[2])
  data.frame(
    n = size[1], classes = size[2],
    `one thread, s` = seconds(path(problem, grid, 1L), 2),
    `two threads, s` = seconds(path(problem, grid, 2L), 2),
    `CPU, s` = cpu(path(problem, grid, 1L)),
    check.names = FALSE
  )
}))

literal_beta <- side_by_side(confidences(1e4), beta_weights)
literal_dirichlet <- side_by_side(simplex(1e4, 10), dirichlet_weights)

# Elapsed times mean little where other work ran at the same time.
load_note <- function() {
  load <- tryCatch(as.numeric(strsplit(readLines("/proc/loadavg"), " ")[[1]][2]), error = function(e) 0)
  if (load <= parallel::detectCores() + 1) return(character())
  c(paste0("Other work ran on the machine (load average ", round(load), "): elapsed times are ",
           "upper bounds and say nothing about threads; CPU times are not disturbed."), "")
}

writeLines(c(
  bench_header("Kernel density ratio"),
  load_note(),
  "Five folds, 16 % of the rows each, and 20 % test rows; all risks and squared errors.", "",
  "Top-label confidences (Beta kernel), 20 bandwidths; `growth` is the CPU time over that of the row above:", "",
  markdown_table(beta),
  "Probability vectors (Dirichlet kernel), 20 bandwidths:", "",
  markdown_table(dirichlet),
  "Against the formula written out in R with matrices of densities, n = 10,000, two threads; the risks agree to 1e-8.", "",
  "Top-label:", "",
  markdown_table(literal_beta),
  "10 classes:", "",
  markdown_table(literal_dirichlet)
), "bench/kde.md")
