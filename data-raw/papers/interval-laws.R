# Laws with known calibration error for data-raw/papers/how-far-to-trust-the-interval.R.

one_hot <- function(y, K) diag(K)[y, , drop = FALSE]
draw_labels <- function(q) {
  u <- runif(nrow(q))
  below <- numeric(nrow(q))
  y <- rep(1L, nrow(q))
  for (k in seq_len(ncol(q) - 1)) {
    below <- below + q[, k]
    y <- y + (u >= below)
  }
  y
}

# Scalar: how predictions are drawn, and the risk given the prediction.
uniform <- function(n) runif(n)
inner <- function(n) runif(n, .15, .85)
confident <- function(n) plogis(rnorm(n, 3, 2))
very_confident <- function(n) plogis(rnorm(n, 4, 1.5))
rare <- function(n) rbeta(n, .8, 20)
levels_of <- function(m) function(n) sample(seq_len(m), n, replace = TRUE) / (m + 1)
logistic <- function(intercept, slope) function(p) plogis(intercept + slope * qlogis(p))
zigzag <- function(cells, gap) function(p) p + gap * (-1)^floor(p * cells)

scalar_laws <- list(
  "calibrated, uniform" = list(draw = uniform, risk = identity),
  "calibrated, confident" = list(draw = confident, risk = identity),
  "calibrated, rare events" = list(draw = rare, risk = identity),
  "calibrated, ten levels" = list(draw = levels_of(10), risk = identity),
  "shift" = list(draw = confident, risk = logistic(-.4, 1)),
  "small shift" = list(draw = inner, risk = function(p) p - .02),
  "slope" = list(draw = uniform, risk = logistic(0, .7)),
  "temperature, confident" = list(draw = confident, risk = logistic(0, .6)),
  "rare events, factor 1.5" = list(draw = rare, risk = function(p) pmin(1, 1.5 * p)),
  "quadratic" = list(draw = uniform, risk = function(p) p - .4 * p * (1 - p)),
  "jump" = list(draw = inner, risk = function(p) p - .12 * (p > .6)),
  "steps" = list(draw = uniform, risk = function(p) (floor(5 * p) + .5) / 5),
  "sine, 2 periods" = list(draw = inner, risk = function(p) p + .1 * sin(4 * pi * (p - .15) / .7)),
  "sine, 6 periods" = list(draw = inner, risk = function(p) p + .1 * sin(12 * pi * (p - .15) / .7)),
  "ten levels" = list(draw = levels_of(10), risk = function(p) p + .08 * (-1)^round(11 * p)),
  "20 levels" = list(draw = levels_of(20), risk = function(p) p + .045 * cos(round(21 * p)^2)),
  "one group in 50" = list(draw = function(n) ifelse(runif(n) < .02, .5, runif(n, .05, .95)),
                           risk = function(p) p - .4 * (p == .5)),
  "narrow peak" = list(draw = inner, risk = function(p) p + .3 * pmax(0, 1 - abs(p - .5) / .01)),
  "zigzag, 10 cells" = list(draw = inner, risk = zigzag(10 / .7, .08)),
  "zigzag, 60 cells" = list(draw = inner, risk = zigzag(60 / .7, .1)),
  "zigzag, 2,000 cells" = list(draw = inner, risk = zigzag(2000 / .7, .1)),
  # half of the most confident predictions, one row in 38, are wrong
  "cliff" = list(draw = very_confident, risk = function(p) ifelse(p > .999, .5, p)),
  # one row in 100, always wrong
  "small cliff" = list(draw = function(n) ifelse(runif(n) < .01, .9998, pmin(very_confident(n), .999)),
                       risk = function(p) ifelse(p > .999, 0, p))
)

# Canonical and class-wise: predictions and q(p), the classes' probabilities given p.
scaled <- function(p, slope, offset) softmax(sweep(log(pmax(p, 1e-300)), 2, slope, `*`) + rep(offset, each = nrow(p)))
# moves probability between the first two classes
between <- function(p, share) {
  moved <- share * pmin(p[, 1], p[, 2])
  p[, 1] <- p[, 1] + moved
  p[, 2] <- p[, 2] - moved
  p
}
# the lesser classes' probabilities, each passed on to the next of them
rotated <- function(p) {
  K <- ncol(p)
  top <- max.col(p, "first")
  q <- p
  for (t in seq_len(K)) {
    lesser <- setdiff(seq_len(K), t)
    rows <- which(top == t)
    q[rows, lesser] <- p[rows, c(lesser[-1], lesser[1])]
  }
  q
}

# `spread`: of the logits; 1.7 is a mediocre model, 5 a confident one.
canonical_law <- function(map, spread = 1.7) {
  list(draw = function(n, K) softmax(matrix(rnorm(n * K, sd = spread), n)), map = map)
}
temperature <- function(t) function(p) scaled(p, rep(t, ncol(p)), rep(0, ncol(p)))
vector_scaling <- function(p) {
  K <- ncol(p)
  scaled(p, seq(.6, 1.1, length.out = K), seq(-.3, .3, length.out = K))
}

canonical_laws <- list(
  "calibrated" = canonical_law(identity),
  "calibrated, confident" = canonical_law(identity, 5),
  "temperature" = canonical_law(temperature(.7)),
  "mild temperature" = canonical_law(temperature(.9)),
  "temperature, confident" = canonical_law(temperature(.6), 5),
  "vector scaling" = canonical_law(vector_scaling),
  "label mixing" = canonical_law(function(p) .85 * p + .15 * p[, c(2:ncol(p), 1)]),
  "rotation of the lesser" = canonical_law(function(p) .5 * p + .5 * rotated(p)),
  "full rotation" = canonical_law(rotated),
  "sine in one pair" = canonical_law(function(p) between(p, .6 * sin(4 * pi * p[, 1]))),
  "pair by a third class" = canonical_law(function(p) between(p, .8 * sign(p[, 3] - .15))),
  "checkerboard" = canonical_law(function(p) between(p, .8 * (-1)^(floor(40 * p[, 1]) + floor(40 * p[, 2]))))
)

# sqrt(sum_j E E[gap_j | p_j]^2): means over many narrow cells of p_j, less their noise.
class_wise_error <- function(p, gap, cells = 2000) {
  n <- nrow(p)
  squares <- vapply(seq_len(ncol(p)), function(j) {
    cell <- ceiling(rank(p[, j], ties.method = "first") * cells / n)
    size <- tabulate(cell, cells)
    mean <- rowsum(gap[, j], cell)[, 1] / size
    spread <- rowsum((gap[, j] - mean[cell])^2, cell)[, 1] / (size - 1)
    sum(size / n * (mean^2 - spread / size))
  }, 0)
  sqrt(max(0, sum(squares)))
}

# Maps fitted to networks by maximum likelihood.
fit_scaling <- function(p, y, vector) {
  K <- ncol(p)
  log_p <- log(pmax(p, 1e-12))
  at <- cbind(seq_along(y), y)
  map <- function(theta, x) {
    if (!vector) return(softmax(theta * x))
    softmax(sweep(x, 2, theta[seq_len(K)], `*`) + rep(theta[K + seq_len(K)], each = nrow(x)))
  }
  loss <- function(theta) -mean(log(pmax(map(theta, log_p)[at], 1e-12)))
  start <- optimize(function(t) -mean(log(pmax(softmax(t * log_p)[at], 1e-12))), c(.05, 3))$minimum
  if (!vector) return(map(start, log_p))
  gradient <- function(theta) {
    e <- map(theta, log_p)
    e[at] <- e[at] - 1
    c(colMeans(e * log_p), colMeans(e))
  }
  map(stats::optim(c(rep(start, K), numeric(K)), loss, gradient, method = "BFGS")$par, log_p)
}

network_laws <- function() {
  files <- list("DenseNet-40, CIFAR-10" = c("cifar10", "nncal-densenet40"),
                "ResNet-110, long tail" = c("cifar10lt", "sctl-resnet110"), "VGG-16, CIFAR-10" = c("cifar10", "verified-vgg16"),
                "GPT-2, AG News" = c("other", "ferrer-agnews_gpt2"), "LDA, HPC" = c("other", "yardstick-hpc_cv"),
                "LeNet-5, CIFAR-10" = c("cifar10", "netcal-lenet5"))
  lapply(files, function(file) {
    set <- read_network(file[1], file[2])
    p <- pmax(set$probs, 1e-12)
    p <- p / rowSums(p)
    y <- set$truth
    top <- max.col(p, "first")
    confidence <- pmin(p[cbind(seq_along(y), top)], 1 - 1e-12)
    logistic <- stats::glm((y == top) ~ qlogis(confidence), family = stats::binomial())
    list(
      logistic = list(p = confidence, q = unname(stats::fitted(logistic))),
      calibrated = list(p = p, q = p),
      temperature = list(p = p, q = fit_scaling(p, y, FALSE)),
      "vector scaling" = list(p = p, q = fit_scaling(p, y, TRUE))
    )
  })
}
