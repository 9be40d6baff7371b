# The exact risk in linear time, and the bins' tuning path, against the formulas written out in R.
library(calibrisk)
source("bench/setup.R")

literal_risk <- function(E, Phi, M) {
  loss <- (E %*% t(E) - Phi %*% M %*% t(Phi))^2
  diag(loss) <- 0
  sum(loss) / (nrow(E) * (nrow(E) - 1))
}

rank10 <- function(m, d = 10, r = 10) {
  set.seed(1)
  M <- crossprod(matrix(rnorm(r * r), r))
  list(E = matrix(runif(m * d), m), Phi = matrix(runif(m * r), m), M = M)
}

core <- asNamespace("calibrisk")
growth <- do.call(rbind, lapply(c(1e3, 4e3, 1e4, 1e5, 1e6), function(m) {
  data <- rank10(m)
  literal <- if (m <= 4e3) seconds(value <- literal_risk(data$E, data$Phi, data$M)) else NA
  ours <- seconds(risk <- core$cpp_pair_risk(data$E, data$Phi, data$M, 2L))
  if (m <= 4e3) stopifnot(abs(risk$risk / value - 1) < 1e-10)
  data.frame(m = m, `R formula, s` = literal, `two threads, s` = ours, check.names = FALSE)
}))
growth$ratio <- growth$`R formula, s` / growth$`two threads, s`

million <- '
  set.seed(1)
  E <- matrix(runif(1e7), 1e6)
  Phi <- matrix(runif(1e7), 1e6)
  M <- crossprod(matrix(rnorm(100), 10))
  seconds(asNamespace("calibrisk")$cpp_pair_risk(E, Phi, M, threads))
'
threads <- data.frame(threads = 1:2, seconds = c(with_threads(1, million), with_threads(2, million)))

# One fit, one prediction, one quadratic risk per number of bins and fold, as the paper has it.
literal_bins <- function(z, y, fold, n_bins) {
  e <- z - y
  vapply(n_bins, function(B) {
    bin <- cut(z, (0:B) / B, include.lowest = TRUE, labels = FALSE)
    mean(vapply(seq_len(max(fold)), function(f) {
      b <- tapply(e[fold != f], factor(bin[fold != f], seq_len(B)), mean)
      b[is.na(b)] <- mean(e[fold != f])
      gap <- b[bin[fold == f]]
      literal_risk(matrix(e[fold == f]), matrix(gap), diag(1))
    }, 0))
  }, 0)
}

bins <- do.call(rbind, lapply(c(2e3, 1e4, 1e5, 1e6), function(n) {
  set.seed(3)
  z <- rbeta(n, 4, 1.5)
  y <- as.integer(runif(n) < z^1.5)
  fold <- sort(rep_len(1:5, n))
  problem <- list(features = matrix(z), residuals = matrix(z - y), labels = y)
  grid <- tibble::tibble(value = seq(5, 100, by = 5))
  # a context keeps sorted rows for the methods of one call
  ours <- seconds(path <- core$tune_path(method_bins(NULL), problem, fold, grid, core$new_context()))
  literal <- if (n <= 1e4) seconds(risk <- literal_bins(z, y, fold, grid$value), 1) else NA
  if (n <= 1e4) stopifnot(max(abs(rowMeans(path$risk) / risk - 1)) < 1e-10)
  data.frame(n = n, `R formula, s` = literal, `tune_path(), s` = ours, check.names = FALSE)
}))
bins$ratio <- bins$`R formula, s` / bins$`tune_path(), s`

writeLines(c(
  bench_header("Exact risks in linear time"),
  "Risk, projections and baseline of a rank-10 function with 10 classes, m rows:", "",
  markdown_table(growth),
  "The same at m = 1,000,000:", "",
  markdown_table(threads),
  "Bins: 20 numbers of bins (5, 10, ..., 100), 5 folds, all risks and squared errors:", "",
  markdown_table(bins)
), "bench/risk.md")
