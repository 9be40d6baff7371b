# The test of sign flips, one flip after another with n x k matrices: all of few clusters. Returns the p-value and the
# lower limit of the error.
oracle_flips <- function(p, y, cluster, w = rep(1, length(p)), alpha = .05, outer_knots = c(8, ceiling(sqrt(length(p))))) {
  e <- p - y
  v <- p * (1 - p)
  logit <- pmin(pmax(qlogis(p), -12), 12)
  bases <- list(matrix(1, length(p)), matrix(logit - sum(w * v * logit) / sum(w * v)),
                oracle_hats(p, outer_knots[1], w), oracle_hats(p, outer_knots[2], w))
  shares <- c(5, 4, 1, 1) / 11
  # weights of events and of others have a mean each
  mean_weight <- tapply(w^2, y, sum) / tapply(w, y, sum)
  known <- w * v * ((1 - p) * mean_weight[["1"]] + p * mean_weight[["0"]])
  seen <- w * as.vector(mean_weight[as.character(y)]) * e^2
  null <- vapply(bases[1:2], function(b) sqrt(max(1, sum(known * b^2) / sum(seen * b^2))), 0)[c(1, 2, 1, 1)]
  clusters <- unique(cluster)
  signs <- as.matrix(expand.grid(rep(list(c(1, -1)), length(clusters))))
  norms <- vapply(bases, function(b) {
    inverse <- solve(crossprod(b, w * b))
    apply(signs, 1, function(s) {
      sums <- colSums(s[match(cluster, clusters)] * w * e * b)
      sqrt(drop(sums %*% inverse %*% sums) / sum(w))
    })
  }, numeric(nrow(signs)))
  # rounded: flips of the same size are ties
  norms <- signif(norms, 8)
  observed <- signif(norms[1, ] / sqrt(null), 8)
  survival <- function(x, m) round(mean(norms[, m] >= x) / shares[m], 9)
  t <- apply(norms, 1, function(q) min(vapply(1:4, function(m) survival(q[m], m), 0)))
  own <- vapply(1:4, function(m) survival(observed[m], m), 0)
  p_value <- function(x) max(mean(t <= x), 2 / nrow(signs))
  threshold <- min(t[vapply(t, p_value, 0) >= alpha])
  low <- vapply(1:4, function(m) {
    if (p_value(min(own)) >= alpha || own[m] >= threshold) return(0)
    q <- max(norms[vapply(norms[, m], survival, 0, m) >= threshold, m])
    size <- norms[1, m]
    uniroot(function(x) size - x - q * sqrt(null[m] + (1 - null[m]) * x / size), c(0, size), tol = 1e-12)$root
  }, 0)
  list(p.value = p_value(min(own)), low = max(low))
}

# The same of classes. A part has one norm or several, of which its statistic is the largest; a norm is that of the sums
# of w e'phi over clusters, phi with a column per class for each of its columns.
oracle_class_parts <- function(p, y, w, canonical) {
  n <- nrow(p)
  hit <- outer(y, seq_len(ncol(p)), "==") + 0
  norm_of <- function(terms, gram, null, trust = 1) list(terms = terms, inverse = solve(gram), null = null, trust = trust)
  squares <- function(p, y, phi) {
    mean_weight <- vapply(0:1, function(event) sum(w[y == event]^2) / sum(w[y == event]), 0)
    c(known = sum(w * p * (1 - p) * ((1 - p) * mean_weight[2] + p * mean_weight[1]) * phi^2),
      seen = sum(w * mean_weight[y + 1] * (p - y)^2 * phi^2))
  }
  ratio <- function(s) sqrt(max(1, s[["known"]] / s[["seen"]]))
  event <- function(p, y) {
    v <- p * (1 - p)
    logit <- pmin(pmax(qlogis(p), -12), 12)
    bases <- list(matrix(1, n), matrix(logit - sum(w * v * logit) / sum(w * v)), oracle_hats(p, 8, w))
    information <- sum(w)^2 / sum(w^2) * sum(w * v) / sum(w)
    nulls <- c(ratio(squares(p, y, 1)), ratio(squares(p, y, bases[[2]][, 1])), ratio(squares(p, y, 1)))
    Map(function(b, null) norm_of(w * (p - y) * b, crossprod(b, w * b), null, information / (1 + information)), bases,
        nulls)
  }
  classes <- lapply(seq_len(ncol(p)), function(k) event(p[, k], hit[, k]))
  all <- rowSums(vapply(seq_len(ncol(p)), function(k) squares(p[, k], hit[, k], 1), numeric(2)))
  parts <- list(biases = list(norm_of(w * (p - hit), diag(sum(w), ncol(p)), ratio(all))), bias = lapply(classes, `[[`, 1),
                slope = lapply(classes, `[[`, 2), gap = lapply(classes, `[[`, 3))
  logs <- log(pmax(p, exp(-12)))
  mean <- rowSums(p * logs)
  term <- mean - logs[cbind(seq_len(n), y)]
  s <- c(known = sum(w * p * (logs - mean)^2), seen = sum(w * term^2))
  center <- if (canonical) rowMeans(logs) else stats::weighted.mean(rowMeans(logs), w)
  parts <- c(list(temperature = list(norm_of(cbind(w * term), sum(w * (logs - center)^2), ratio(s)))), parts)
  if (canonical) {
    top <- lapply(event(apply(p, 1, max), hit[cbind(seq_len(n), max.col(p, "first"))]), function(norm) {
      norm$trust <- 1
      norm
    })
    parts <- c(parts, list(confidence = top[1:2], steps = top[3]))
  }
  parts
}

# The p-value of labels that `draw()` draws from the predictions. A square is divided by the root of the product of the
# rows' squares and of their mean among the redraws.
oracle_class_redraws <- function(p, y, w, canonical, draw, times) {
  squares <- function(norm) {
    of <- function(x) sum((x %*% norm$inverse) * x)
    c(norm$trust * of(t(colSums(norm$terms))), of(norm$terms))
  }
  all <- lapply(c(list(y), replicate(times, draw(p), simplify = FALSE)), function(y) {
    lapply(oracle_class_parts(p, y, w, canonical), vapply, squares, numeric(2))
  })
  # the largest norm of each part
  found <- vapply(names(all[[1]]), function(part) {
    both <- simplify2array(lapply(all, `[[`, part))
    own <- both[2, , , drop = FALSE]
    apply(both[1, , , drop = FALSE] / sqrt(own * c(rowMeans(own[1, , -1, drop = FALSE], dims = 2))), 3, max)
  }, numeric(times + 1))
  t <- apply(apply(-found, 2, rank) / rep(oracle_class_shares[match(colnames(found), class_parts)], each = times + 1), 1, min)
  mean(t <= t[1])
}

oracle_class_flips <- function(p, y, cluster, w = rep(1, nrow(p)), canonical = TRUE, alpha = .05) {
  parts <- oracle_class_parts(p, y, w, canonical)
  shares <- setNames(oracle_class_shares, class_parts)[names(parts)]
  shares <- shares / sum(shares)
  clusters <- unique(cluster)
  signs <- as.matrix(expand.grid(rep(list(c(1, -1)), length(clusters))))
  squared <- function(norm) {
    of_cluster <- rowsum(norm$terms, match(cluster, clusters))
    s <- signs %*% of_cluster
    square <- rowSums((s %*% norm$inverse) * s)
    list(statistic = norm$trust * square / mean(square), error = square / sum(w), null = norm$null)
  }
  found <- lapply(parts, lapply, squared)
  flips <- vapply(found, function(norms) do.call(pmax, lapply(norms, `[[`, "statistic")), numeric(nrow(signs)))
  flips <- signif(flips, 8)
  own <- vapply(found, function(norms) max(vapply(norms, function(norm) norm$statistic[1] / norm$null, 0)), 0)
  own <- signif(own, 8)
  survival <- function(x, m) round(mean(flips[, m] >= x) / shares[[m]], 9)
  m <- seq_along(parts)
  t <- apply(flips, 1, function(x) min(mapply(survival, x, m)))
  mine <- mapply(survival, own, m)
  p_value <- function(x) max(mean(t <= x), 2 / nrow(signs))
  threshold <- min(t[vapply(t, p_value, 0) >= alpha])
  lows <- vapply(m, function(k) {
    if (p_value(min(mine)) >= alpha || mine[k] >= threshold) return(0)
    edge <- max(flips[vapply(flips[, k], survival, 0, k) >= threshold, k])
    max(vapply(found[[k]], function(norm) {
      if (norm$statistic[1] / norm$null <= edge * (1 + 1e-7)) return(0)
      size <- sqrt(norm$error[1])
      q <- sqrt(edge / norm$statistic[1]) * size
      uniroot(function(x) size - x - q * sqrt(norm$null + (1 - norm$null) * x / size), c(0, size), tol = 1e-12)$root
    }, 0))
  }, 0)
  list(p.value = p_value(min(mine)), low = max(lows), lows = lows)
}
