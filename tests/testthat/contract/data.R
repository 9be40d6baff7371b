# Small data, the same on every machine: no random numbers, probabilities are whole numbers over a power of ten (or 20).

sequence <- function(n, start = 0.5) (start + seq_len(n) * 0.6180339887498949) %% 1

# Rows of whole numbers that sum to `total`, over `total`.
shares <- function(weights, total) {
  counts <- round(weights / rowSums(weights) * total)
  top <- cbind(seq_len(nrow(counts)), max.col(counts, "first"))
  counts[top] <- counts[top] + total - rowSums(counts)
  counts / total
}

# Classes drawn from a distorted prediction: with power < 1 the prediction is overconfident.
draw_class <- function(p, power, start, floor = 0.02) {
  q <- (p + floor)^power
  below <- t(apply(q / rowSums(q), 1, cumsum))[, -ncol(q), drop = FALSE]
  as.integer(1 + rowSums(sequence(nrow(p), start) > below))
}

weights_of <- function(n, k, sharpness) {
  exp(sharpness * outer(seq_len(n), seq_len(k), function(i, j) sin(i * (1.3 + 0.71 * j) + j)))
}

class_data <- function(n, k, sharpness, total, power, start = 0.2) {
  p <- shares(weights_of(n, k, sharpness), total)
  y <- draw_class(p, power, start)
  colnames(p) <- paste0(".pred_", letters[seq_len(k)])
  truth <- factor(letters[y], letters[seq_len(k)])
  group <- factor(c("east", "north", "west")[1 + (seq_len(n) * 7) %% 3])
  frame <- data.frame(p, truth = truth, group = group, check.names = FALSE)
  list(p = unname(p), y = y, truth = truth, group = group, frame = frame)
}

scalar_data <- function(p, q, start) {
  y <- as.numeric(sequence(length(p), start) < q)
  group <- factor(c("east", "north", "west")[1 + (seq_along(p) * 7) %% 3])
  list(p = p, y = y, group = group, frame = data.frame(prob = p, y = y, group = group))
}

# one probability in steps of 0.05, 0 and 1 among them
coarse <- local({
  p <- round(20 * sequence(120, 0.1)) / 20
  scalar_data(p, ifelse(p %in% c(0, 1), p, 0.15 + 0.75 * p), 0.77)
})
# one probability, all different, none 0 or 1
fine <- local({
  p <- round(1e4 * stats::plogis(3 * sin(1.7 * seq_len(160))) + 1e-3 * seq_len(160)) / 1e4
  p <- pmin(pmax(p, 0.001), 0.999)
  scalar_data(p, stats::plogis(0.6 * stats::qlogis(p) - 0.1), 0.31)
})
two <- class_data(120, 2, 1.5, 1e4, 0.7)
three <- class_data(150, 3, 1.8, 1e5, 0.7)
# ties, zeros and ones
five <- class_data(150, 5, 2.5, 20, 0.6)
many <- class_data(140, 26, 2.2, 1e4, 0.7)

# real outcomes of laws that are too narrow
real <- local({
  n <- 48
  mean <- round(2 * sin(1.1 * seq_len(n)), 3)
  sd <- round(0.8 + 0.3 * cos(2.3 * seq_len(n)), 3)
  list(n = n, mean = mean, sd = sd, y = round(mean + 1.4 * sd * stats::qnorm(sequence(n, 0.4)), 3),
       count = stats::qpois(sequence(n, 0.4), 1.3 * exp(mean / 2)), rate = round(exp(mean / 2), 3),
       group = factor(c("east", "north", "west")[1 + (seq_len(n) * 7) %% 3]))
})

# predictive laws of the outcomes of `real`
laws <- local({
  other <- round(real$mean + 0.5 * cos(seq_len(real$n)), 3)
  list(
    normal = pred_normal(real$mean, real$sd), laplace = pred_laplace(real$mean, real$sd),
    mixture = pred_mixture(pred_normal(real$mean, real$sd), pred_normal(other, 0.5), weights = c(0.3, 0.7)),
    mixture_laplace = pred_mixture(pred_laplace(real$mean, real$sd), pred_laplace(other, 0.5), weights = c(0.6, 0.4)),
    draws = pred_draws(round(outer(real$sd, stats::qnorm((1:12 - 0.5) / 12)) + real$mean, 3)),
    poisson = pred_poisson(real$rate)
  )
})
outcome_of <- function(name) if (name == "poisson") real$count else real$y
