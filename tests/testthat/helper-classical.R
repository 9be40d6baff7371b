# Fixtures of Gruber & Buettner 2022 and the definitions in plain loops.

fixture_a <- function() {
  p <- rbind(
    c(.7, .2, .1), c(.7, .2, .1), c(.7, .2, .1), c(.2, .5, .3), c(.2, .5, .3), c(.1, .3, .6),
    c(.1, .3, .6), c(.1, .3, .6), c(.05, .9, .05), c(.05, .9, .05), c(.05, .9, .05), c(.2, .3, .5)
  )
  # the three rows with top probability .5 belong to two distinct predictions
  list(p = p, y = c(1, 1, 2, 2, 3, 3, 3, 1, 2, 2, 2, 1))
}

fixture_b <- function() {
  f <- fixture_logits()
  list(z = f$z, p = softmax(f$z), y = f$y)
}

# Predictions with ties, zeros and ones.
random_classes <- function(n, k, digits = 2) {
  p <- matrix(stats::rexp(n * k), n)
  p <- round(p / rowSums(p), digits)
  p[, k] <- 1 - rowSums(p[, -k, drop = FALSE])
  p <- p[p[, k] > -1e-12, , drop = FALSE]
  p[p < 1e-12] <- 0
  p <- p / rowSums(p)
  list(p = p, y = apply(p, 1, function(q) sample.int(k, 1, prob = q + .1)))
}

top_pair <- function(p, y) {
  label <- apply(p, 1, which.max)
  list(conf = p[cbind(seq_along(y), label)], cor = as.numeric(label == y))
}

# sum over bins given by a label per row
oracle_binned <- function(bin, x, y, p, debias = FALSE) {
  total <- 0
  for (b in unique(bin)) {
    rows <- bin == b
    value <- abs(mean(x[rows]) - mean(y[rows]))^p
    if (debias) {
      acc <- mean(y[rows])
      value <- if (sum(rows) < 2) 0 else value - acc * (1 - acc) / (sum(rows) - 1)
    }
    total <- total + sum(rows) / length(x) * value
  }
  total
}

oracle_width_bin <- function(x, n_bins) oracle_bin(x, oracle_edges(x, n_bins))

oracle_mass_bin <- function(x, n_bins) oracle_bin(x, oracle_edges(x, n_bins, "mass"))

oracle_sweep <- function(x, y) {
  best <- 1
  for (n_bins in seq_along(x)[-1]) {
    bin <- oracle_mass_bin(x, n_bins)
    if (is.unsorted(tapply(y, bin, mean))) break
    best <- n_bins
  }
  best
}

oracle_mmce <- function(x, d, bandwidth, type) {
  n <- length(x)
  total <- 0
  for (i in seq_len(n)) for (j in seq_len(n)) {
    if (type == "unbiased" && i == j) next
    total <- total + d[i] * d[j] * exp(-abs(x[i] - x[j]) / bandwidth)
  }
  total / if (type == "unbiased") n * (n - 1) else n^2
}

# The jackknife knows nothing of influence functions.
jackknife_error <- function(n, statistic) {
  values <- vapply(seq_len(n), statistic, 0)
  sqrt((n - 1) / n * sum((values - mean(values))^2))
}

# The binned canonical error in L1 of ce_rank(), on all rows.
ranked_ece <- function(probs, truth, n_bins = 3, type = c("binmean", "pointwise")) {
  metric <- c(binmean = "ece_canonical", pointwise = "ece_pointwise")[[match.arg(type)]]
  core_values(list(probs = list(probs), truth = as.integer(truth)), list(kernel = kernel_linear(), n_bins = n_bins),
              metric, matrix(seq_along(truth)))[1]
}
