# The kernel calibration error and its tests against the formulas written out in R.
library(calibrisk)
source("bench/setup.R")
options(calibrisk.threads = 2)

# ---- written-out R -----------------------------------------------------------------------

# H of normal predictions, exp(-W2) exp(-(y - y')^2 / 2), pair by pair.
loop_normal <- function(mu, sd, y) {
  e <- function(m, v) exp(-m^2 / (2 * (1 + v))) / sqrt(1 + v)
  n <- length(mu)
  total <- 0
  for (i in seq_len(n)) {
    for (j in seq_len(n)) {
      if (i == j) next
      k <- exp(-sqrt((mu[i] - mu[j])^2 + (sd[i] - sd[j])^2))
      total <- total + k * (e(y[i] - y[j], 0) - e(mu[i] - y[j], sd[i]^2) - e(mu[j] - y[i], sd[j]^2) +
                              e(mu[i] - mu[j], sd[i]^2 + sd[j]^2))
    }
  }
  total / (n * (n - 1))
}

matrix_classes <- function(p, y, kernel) {
  residuals <- p
  residuals[cbind(seq_along(y), y)] <- residuals[cbind(seq_along(y), y)] - 1
  h <- kernel(p) * tcrossprod(residuals)
  (sum(h) - sum(diag(h))) / (nrow(p) * (nrow(p) - 1))
}
tv_matrix <- function(b) function(p) exp(-as.matrix(dist(p, "manhattan")) / (2 * b))
gaussian_matrix <- function(b) function(p) exp(-as.matrix(dist(p))^2 / (2 * b^2))

loop_bootstrap <- function(h, times) {
  n <- nrow(h)
  rows <- rowSums(h)
  vapply(seq_len(times), function(r) {
    i <- sample.int(n, replace = TRUE)
    g <- h[i, i]
    (sum(g) - sum(diag(g))) / (n * (n - 1)) - 2 * sum(rows[i]) / n^2
  }, 0)
}

# ---- data --------------------------------------------------------------------------------

classes <- function(n, m = 10) {
  set.seed(1)
  p <- matrix(rgamma(n * m, .1 + .2 * runif(n)), n) + 1e-12
  p <- p / rowSums(p)
  list(p = p, y = max.col(log(p) - log(rexp(n * m))))
}
normals <- function(n) {
  set.seed(1)
  mu <- runif(n)
  list(law = pred_normal(mu, .1), mu = mu, sd = rep(.1, n), y = rnorm(n, mu, .1))
}
shared <- Sys.getenv("CALIBRISK_SHARED")
network <- function() {
  file <- file.path(shared, "data", "cifar10", "widmann-resnet18.rds")
  if (!nzchar(shared) || !file.exists(file)) return(NULL)
  x <- readRDS(file)
  list(p = x$probs / rowSums(x$probs), y = x$label)
}

# ---- speed -------------------------------------------------------------------------------

# Elapsed and processor time (over both threads), the smallest of a few: on a machine with
# other work the second is the steadier.
times <- function(expr, times = 3, repeats = 1) {
  expr <- substitute(expr)
  frame <- parent.frame()
  all <- vapply(seq_len(times), function(i) {
    gc(FALSE)
    t <- system.time(for (k in seq_len(repeats)) eval(expr, frame))
    c(t[["elapsed"]], t[["user.self"]] + t[["sys.self"]]) / repeats
  }, numeric(2))
  apply(all, 1, min)
}

row <- function(task, literal, ours) {
  if (length(literal) == 1) literal <- c(NA, NA)
  data.frame(task = task, `R, elapsed s` = literal[1], `R, cpu s` = literal[2], `calibrisk, elapsed s` = ours[1],
             `calibrisk, cpu s` = ours[2], `cpu ratio` = literal[2] / ours[2], check.names = FALSE)
}
unbiased <- function(...) skce(...)$.estimate
w1 <- kernel_wasserstein(1)
g1 <- kernel_gaussian(1)

small <- classes(4000)
large <- classes(10000)
normal <- normals(1024)
stopifnot(
  abs(unbiased(small$p, small$y, kernel = kernel_tv(.8)) / matrix_classes(small$p, small$y, tv_matrix(.8)) - 1) < 1e-8,
  abs(unbiased(normal$law, normal$y, kernel = w1, target_kernel = g1) /
        loop_normal(normal$mu, normal$sd, normal$y) - 1) < 1e-8
)
speed <- rbind(
  row("U-statistic, 4,000 x 10, total variation", times(matrix_classes(small$p, small$y, tv_matrix(.8)), 1),
      times(unbiased(small$p, small$y, kernel = kernel_tv(.8)))),
  row("U-statistic, 4,000 x 10, Gaussian", times(matrix_classes(small$p, small$y, gaussian_matrix(.5)), 1),
      times(unbiased(small$p, small$y, kernel = kernel_gaussian(.5)))),
  row("U-statistic, 10,000 x 10, total variation", NA, times(unbiased(large$p, large$y, kernel = kernel_tv(.8)), 5)),
  row("the same, median bandwidth", NA, times(unbiased(large$p, large$y))),
  row("U-statistic, 10,000 x 10, Gaussian", NA, times(unbiased(large$p, large$y, kernel = kernel_gaussian(.5)), 5)),
  row("blocks of 2, 10,000 x 10", NA,
      times(skce(large$p, large$y, kernel = kernel_tv(.8), type = "block", block = 2))),
  row("U-statistic, 1,024 normal predictions", times(loop_normal(normal$mu, normal$sd, normal$y), 1),
      times(unbiased(normal$law, normal$y, kernel = w1, target_kernel = g1), 5, 20))
)

problem <- {
  core <- asNamespace("calibrisk")
  laws <- core$read_laws(normal$law, rlang::quo(normal$y))
  on_threads(2L, core$kernel_problem(laws, w1, g1))
}
h <- core$cpp_pair_matrix(problem$prediction, problem$target, 2L)
big_normal <- normals(10000)
speed <- rbind(
  speed,
  row("bootstrap test, 1,024 normal predictions, 1,000 draws", times(loop_bootstrap(h, 100), 1) * 10,
      times(ce_test(normal$law, normal$y, test = "bootstrap", kernel = w1, target_kernel = g1), 5)),
  row("bootstrap test, 10,000 normal predictions, 1,000 draws", NA,
      times(ce_test(big_normal$law, big_normal$y, test = "bootstrap", kernel = w1, target_kernel = g1), 1)),
  row("conditional test, 10,000 x 10, Gaussian, 1,000 redraws", NA,
      times(ce_test(large$p, large$y, test = "conditional", kernel = kernel_gaussian(.5)), 1)),
  row("conditional test, 200 normal predictions, 1,000 redraws", NA,
      times(ce_test(normal$law[1:200], normal$y[1:200], test = "conditional", kernel = w1, target_kernel = g1), 1)),
  row("conditional test, 1,024 normal predictions, 1,000 redraws", NA,
      times(ce_test(normal$law, normal$y, test = "conditional", kernel = w1, target_kernel = g1), 1))
)

# ---- predictions given by draws ----------------------------------------------------------

draws_of <- function(n, s) {
  set.seed(1)
  centre <- rnorm(n)
  list(draws = matrix(rnorm(n * s, centre), n), y = rnorm(n, centre), centre = centre)
}
laplace_matrix <- function(x, k) {
  n <- nrow(x$draws)
  s <- ncol(x$draws)
  value <- function(a, b) exp(-abs(outer(a, b, `-`)))
  own <- rep(seq_len(n), s)
  single <- rowsum(value(as.vector(x$draws), x$y), own) / s
  both <- rowsum(t(rowsum(value(as.vector(x$draws), as.vector(x$draws)), own)), own) / s^2
  h <- k * (value(x$y, x$y) - single - t(single) + both)
  (sum(h) - sum(diag(h))) / (n * (n - 1))
}
few <- draws_of(60, 100)
many <- draws_of(1000, 500)
by_draws <- function(x, target) unbiased(pred_draws(x$draws), x$y, kernel = g1, target_kernel = target)
few_kernel <- core$cpp_prediction_matrix(
  on_threads(2L, core$kernel_problem(core$read_laws(pred_draws(few$draws), rlang::quo(few$y)), g1, kernel_laplace(1)))$prediction,
  2L
)
stopifnot(abs(by_draws(few, kernel_laplace(1)) / laplace_matrix(few, few_kernel) - 1) < 1e-8)
speed <- rbind(
  speed,
  row("60 predictions of 100 draws, Laplace target kernel", times(laplace_matrix(few, few_kernel), 1),
      times(by_draws(few, kernel_laplace(1)), 3, 10)),
  row("1,000 predictions of 500 draws, Laplace target kernel", NA, times(by_draws(many, kernel_laplace(1)), 1)),
  row("the same, Gaussian target kernel", NA, times(by_draws(many, g1), 1))
)

# ---- low-rank factors --------------------------------------------------------------------

data <- network()
rank_rows <- if (!is.null(data)) {
  do.call(rbind, lapply(c(1e-4, 1e-5, 1e-6), function(tolerance) {
    exact <- unbiased(data$p, data$y, kernel = kernel_gaussian(.5))
    low <- skce(data$p, data$y, kernel = kernel_gaussian(.5), tolerance = tolerance)
    data.frame(
      tolerance = format(tolerance), rank = low$rank,
      `cpu s` = times(skce(data$p, data$y, kernel = kernel_gaussian(.5), tolerance = tolerance))[2],
      `exact, cpu s` = times(unbiased(data$p, data$y, kernel = kernel_gaussian(.5)))[2],
      `relative error` = format(abs(low$.estimate / exact - 1), digits = 2),
      `certified` = format(low$error_bound / exact, digits = 2), check.names = FALSE
    )
  }))
}

writeLines(c(
  bench_header("Kernel calibration errors and tests"),
  "Smallest of several times, two threads; processor time is summed over the threads. The Julia packages of the paper's",
  "authors, one thread, on their machine: 0.047 s for the U-statistic of 1,024 normal predictions, 1.05 s for its bootstrap test.", "",
  markdown_table(speed),
  if (!is.null(rank_rows)) {
    c("Gaussian kernel of bandwidth 0.5 on the 10,000 x 10 predictions of a CIFAR-10 network, by a low-rank factor:", "",
      markdown_table(rank_rows))
  }
), "bench/skce.md")
