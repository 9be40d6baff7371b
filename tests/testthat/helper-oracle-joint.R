# The joint test and its interval, formula by formula, with n x k matrices: rows are single draws of weight w, and the
# redrawn statistics are given.

oracle_joint_rungs <- function(p, w) {
  v <- p * (1 - p)
  logit <- pmin(pmax(qlogis(p), -12), 12)
  bases <- list(one = matrix(1, length(p)), tangent = if (diff(range(logit)) > 1e-9) cbind(v, v * logit),
                eight = oracle_hats(p, 8, w), fine = oracle_hats(p, min(100, ceiling(sqrt(length(p)))), w))
  bases <- bases[!vapply(bases, is.null, NA)]
  if (length(unique(p)) <= 8) bases$fine <- NULL  # the same columns
  lapply(bases[vapply(names(bases), function(m) m == "one" || ncol(bases[[m]]) > 1, NA)], function(B) {
    r <- list(B = oracle_orthonormal(B, w))
    r$h <- w * rowSums(r$B^2)
    r$a <- ifelse(r$h > 0.95, 0, 1 / (1 - r$h))
    c(r, list(null = oracle_joint_moments(r, v, w)))
  })
}

oracle_joint_moments <- function(r, s, w) {
  sums <- function(f) crossprod(r$B, w^2 * f * s * r$B)
  T1 <- sums(r$a)
  list(k2 = (sum(sums(r$a^2) * sums(1)) + sum(T1^2) - 2 * sum((r$a * r$h * w * s)^2)) / sum(w)^2,
       k3 = 8 * sum((T1 %*% T1) * T1) / sum(w)^3)
}

oracle_joint_scores <- function(p, w) {
  v <- p * (1 - p)
  logit <- pmin(pmax(qlogis(p), -12), 12)
  U <- matrix(1, length(p))
  if (diff(range(logit)) > 1e-9) U <- cbind(1, logit - sum(w^2 * v * logit) / sum(w^2 * v))
  info <- colSums(w^2 * v * U^2)
  list(U = U, info = info, skew = -colSums(w^3 * v * (1 - 2 * p) * U^3) / info^1.5,
       W = sum(w) * solve(crossprod(U, w * U)))
}

# cox, up, down, then the rungs but `one` and `tangent`.
oracle_joint_statistics <- function(p, e, w = rep(1, length(p))) oracle_joint_statistics_of(p, w)(e)

# The same as a function of the residuals, for many outcomes of the same rows.
oracle_joint_statistics_of <- function(p, w = rep(1, length(p))) {
  s <- oracle_joint_scores(p, w)
  tensors <- oracle_joint_tensors(p, w, s)
  rungs <- oracle_joint_rungs(p, w)
  rungs <- rungs[!names(rungs) %in% c("one", "tangent")]
  function(e) {
    raw <- drop(crossprod(s$U, w * e)) / sqrt(s$info)
    z <- raw - s$skew / 6 * (raw^2 - 1) + s$skew^2 / 108 * raw^3
    psi <- vapply(rungs, function(r) oracle_joint_psi(r, e, w) / sqrt(r$null$k2), 0)
    c(cox = (sum(z^2) + oracle_joint_ratio(tensors, raw)) / 2, up = z[1], down = -z[1], psi)
  }
}

# Whole tensors of the cumulants of the scores.
oracle_joint_tensors <- function(p, w, s) {
  q <- ncol(s$U)
  v <- p * (1 - p)
  third <- array(0, rep(q, 3))
  fourth <- array(0, rep(q, 4))
  for (i in seq_along(p)) {
    phi <- w[i] * s$U[i, ] / sqrt(s$info)
    third <- third - v[i] * (1 - 2 * p[i]) * (phi %o% phi %o% phi)
    fourth <- fourth + v[i] * (1 - 6 * v[i]) * (phi %o% phi %o% phi %o% phi)
  }
  list(third = third, fourth = fourth)
}

# The likelihood ratio of intercept and slope as a function of their scores.
oracle_joint_ratio <- function(tensors, z) {
  own <- apply(tensors$third, 1, function(t) sum(t * (z %o% z)))
  size <- sum(z^2)
  a <- -sum(own * z) / 3 / size
  b <- (sum(own^2) / 4 - sum(tensors$fourth * (z %o% z %o% z %o% z)) / 12) / size
  size / max(1 - a + a^2 - b, 0.2)
}

oracle_joint_psi <- function(r, e, w) {
  (sum(crossprod(r$B, w * e) * crossprod(r$B, w * r$a * e)) - sum(w * r$a * r$h * e^2)) / sum(w)
}

# Survival function of a statistic from its redraws; `own` of these themselves, each without itself.
oracle_joint_survival <- function(t, x, own = 0) {
  t <- sort(t)
  R <- length(t)
  m <- max(5, floor(0.02 * R))
  from <- t[R - m]
  beta <- mean(t[(R - m + 1):R]) - from
  s <- (1 - own + vapply(x, function(one) sum(t >= one), 0)) / (R + 1)
  if (beta <= 0) return(s)
  ifelse(x > from, ((m + 1) / (R + 1) - own / (R + 1)) * exp(-pmax(x - from, 0) / beta), s)
}

oracle_joint_p <- function(redrawn, share, observed) {
  R <- nrow(redrawn)
  weighted <- function(x, own) {
    parts <- lapply(seq_along(share), function(m) oracle_joint_survival(redrawn[, m], x[, m], own) / share[m])
    do.call(pmin, parts)
  }
  smallest <- sort(weighted(redrawn, 1))
  t <- weighted(matrix(observed, 1), 0)
  count <- sum(smallest <= t)
  max(1e-16, if (count < 10) 11 / (R + 1) * min(1, t / smallest[10]) else (1 + count) / (R + 1))
}

oracle_joint_pearson3 <- function(z, skew) {
  if (skew < 1e-3) return(z)
  k <- 4 / min(skew, 2.8)^2
  (qgamma(pnorm(z), k) - k) / sqrt(k)
}

oracle_joint_observed <- function(r, p, e, w) {
  V <- sum(w)
  n <- length(p)
  off <- drop(r$B %*% crossprod(r$B, w * e)) - r$h * e
  off_a <- drop(r$B %*% crossprod(r$B, w * r$a * e)) - r$h * r$a * e
  f <- (r$a * off + off_a) / 2
  psi <- sum(w * e * r$a * off) / V
  slope <- function(linear, scatter, k2) (max(0, linear) + scatter * 2 * sqrt(k2)) / (max(psi, 0) + 2 * sqrt(k2))
  here <- oracle_joint_moments(r, e^2, w)
  v <- p * (1 - p)
  null <- r$null
  here$slope <- slope(4 * n / (n - 1) * sum(w^2 * (e * f - psi)^2) / V^2 - 2 * here$k2, 4 * sum(w^2 * e^2) / V^2,
                      here$k2)
  null$slope <- slope(4 * sum(w^2 * v * f^2) / V^2 - 2 * null$k2, 4 * sum(w^2 * v) / V^2, null$k2)
  list(psi = psi, gap = r$a * off, half = e * f, here = here, null = null)
}

oracle_joint_high_rung <- function(o, tail, normal) {
  unit <- 2 * sqrt(o$here$k2)
  grown <- function(name, x) {
    beyond <- sqrt((x + unit) / (max(o$psi, 0) + unit)) - 1
    o$here[[name]] + beyond * max(o$here[[name]] - o$null[[name]], 0)
  }
  f <- function(x) {
    slope <- grown("slope", x)
    var <- grown("k2", x) + slope * x
    skew <- min(2.8, (o$here$k3 + 1.5 * slope^2 * x) / var^1.5)
    max(o$psi, 0) - x - oracle_joint_pearson3(-qnorm(1 - tail), normal * skew) * sqrt(var)
  }
  uniroot(f, c(max(o$psi, 0), 1), tol = 1e-13)$root
}

# The groups of sorted predictions, at most 1,024, by plain loops: first and last row, and the statistic.
oracle_groups <- function(p, y) {
  cells <- list()
  for (rows in split(seq_along(p), match(p, unique(p)))) {
    k <- length(cells)
    apart <- k == 0 || length(rows) >= 4 || length(cells[[k]]) >= 4
    if (apart) cells[[k + 1]] <- rows else cells[[k]] <- c(cells[[k]], rows)
  }
  tie <- vapply(cells, function(rows) length(rows) >= 4 && length(unique(p[rows])) == 1, NA)
  width <- 1
  sizes <- list()
  while (width == 1 || 4 * width <= length(cells)) {
    first <- union(seq(1, length(cells) - width + 1, by = max(width / 2, 1)), length(cells) - width + 1)
    own <- lapply(first, function(c) range(unlist(cells[c:(c + width - 1)])))
    own <- if (width == 1) list(own[tie], own[!tie]) else list(own)
    sizes <- c(sizes, lapply(own, function(rows) Filter(function(one) diff(one) >= 3, rows)))
    width <- 2 * width
  }
  sizes <- Filter(length, sizes)
  of_group <- function(rows, others) {
    m <- diff(rows) + 1
    q <- mean(p[rows[1]:rows[2]])
    k <- sum(y[rows[1]:rows[2]])
    tail <- sum(dbinom(if (k > m * q) k:m else 0:k, m, q))
    c(rows, max(0, -log(2 * length(sizes) * others * tail)))
  }
  do.call(rbind, lapply(sizes, function(own) t(vapply(own, of_group, numeric(3), length(own)))))
}

# The statistics of the seven parts, by plain loops; rows without ties of the most probable class.
oracle_class_statistics <- function(p, y) oracle_class_statistics_of(p)(y)

# The same as a function of the labels, for many outcomes of the same rows.
oracle_class_statistics_of <- function(p) {
  n <- nrow(p)
  K <- ncol(p)
  logs <- log(pmax(p, exp(-12)))
  variance <- cube <- 0
  means <- numeric(n)
  covariance <- diag(K)
  for (i in seq_len(n)) {
    means[i] <- sum(p[i, ] * logs[i, ])
    variance <- variance + sum(p[i, ] * (logs[i, ] - means[i])^2)
    cube <- cube - sum(p[i, ] * (logs[i, ] - means[i])^3)
    covariance <- covariance + diag(p[i, ]) - tcrossprod(p[i, ])
  }
  event_of <- function(q) {
    at <- order(q)
    statistics <- oracle_joint_statistics_of(q[at])
    info <- oracle_joint_scores(q[at], rep(1, n))$info[1]
    function(y) {
      found <- statistics((q - y)[at])
      c(found[["cox"]], found[["eight"]], info / (1 + info))
    }
  }
  events <- lapply(seq_len(K), function(k) event_of(p[, k]))
  top <- event_of(apply(p, 1, max))
  favourite <- max.col(p)
  function(y) {
    hit <- outer(y, seq_len(K), "==") + 0
    total <- 0
    for (i in seq_len(n)) total <- total + means[i] - logs[i, y[i]]
    z <- total / sqrt(variance)
    s <- cube / variance^1.5
    z <- z - s / 6 * (z^2 - 1) + s^2 / 108 * z^3
    bias <- colSums(p - hit)
    classes <- vapply(seq_len(K), function(k) events[[k]](hit[, k]), numeric(3))
    confident <- top(hit[cbind(seq_len(n), favourite)])
    c(temperature = z^2, biases = sum(bias * solve(covariance, bias)), bias = max(bias^2 / diag(covariance)),
      slope = max(classes[1, ] * classes[3, ]), gap = max(classes[2, ] * classes[3, ]), confidence = confident[1],
      steps = confident[2])
  }
}

oracle_class_shares <- c(3, 6, 2, 2, 1, 1, 1) / 16
