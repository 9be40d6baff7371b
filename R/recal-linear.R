# softmax(W l + b): vector scaling (W diagonal), matrix scaling and Dirichlet calibration
# (Guo et al. 2017; Kull et al. 2019), by L-BFGS with analytic gradients from C++.

#' @rdname ce_maps
#' @export
map_vector <- function(loss = c("log", "brier"), penalty = 0) linear_choice("vector", loss, penalty)

#' @rdname ce_maps
#' @export
map_matrix <- function(loss = c("log", "brier"), penalty = 0) linear_choice("matrix", loss, penalty)

#' @rdname ce_maps
#' @export
map_dirichlet <- function(loss = c("log", "brier"), penalty = 0.01) linear_choice("dirichlet", loss, penalty)

linear_choice <- function(name, loss, penalty, call = caller_env()) {
  loss <- check_choice(loss, c("log", "brier"), call = call)
  new_choice("map", name, loss = loss, penalty = check_penalty(penalty, call))
}

# Of weights and of intercepts, one number for both.
check_penalty <- function(penalty, call = caller_env()) {
  check_numbers(penalty, "penalty", lower = 0, size = if (length(penalty) != 2) 1L, call = call)
}

#' @export
fit_map.map_vector <- function(method, data, threads) fit_linear(method, data, threads, diagonal = TRUE)

#' @export
fit_map.map_matrix <- function(method, data, threads) fit_linear(method, data, threads, diagonal = FALSE)

#' @export
fit_map.map_dirichlet <- function(method, data, threads) fit_linear(method, data, threads, diagonal = FALSE)

fit_linear <- function(method, data, threads, diagonal) {
  k <- ncol(data$logp)
  penalty <- rep_len(method$penalty, 2)
  loss <- function(theta) linear_loss(theta, data, method$loss, penalty, diagonal, threads)
  n_weights <- if (diagonal) k else k * k
  unpack <- function(theta) {
    list(w = if (diagonal) diag(theta[seq_len(k)], k) else matrix(theta[seq_len(n_weights)], k),
         b = theta[n_weights + seq_len(k)])
  }
  at <- NULL # the last point with its loss and gradient: optim asks for them one after the other
  evaluate <- function(theta) {
    if (!identical(theta, at$theta)) {
      at <<- c(list(theta = theta), loss(theta))
    }
    at
  }
  start <- c(if (diagonal) rep(1, k) else diag(k), rep(0, k))
  fit <- stats::optim(start, function(t) evaluate(t)$value, function(t) evaluate(t)$gradient,
                      method = "L-BFGS-B", control = list(maxit = 2000, factr = 1e3, lmm = 10))
  parameters <- unpack(fit$par)
  steepest <- max(abs(evaluate(fit$par)$gradient))
  absent <- if (penalty[2] == 0) setdiff(seq_len(k), data$truth)
  stationary <- fit$convergence == 0 && steepest < 1e-4
  message <- if (length(absent) > 0) {
    paste0("Class ", absent[1], " never occurs: its intercept has no finite optimum without a penalty.")
  } else if (!stationary) {
    paste0("The gradient is still ", format(steepest, digits = 2), " after ", fit$counts[[1]], " evaluations.")
  } else if (separates(parameters, data, penalty, diagonal)) {
    paste("The map separates the classes of the fitted rows: there is",
          if (diagonal || all(penalty == 0)) "no finite optimum without a penalty." else {
            "no finite optimum, because the penalty leaves the diagonal free."
          })
  } else {
    ""
  }
  new_map_fit(
    new_map("linear", w = parameters$w, b = parameters$b),
    linear_terms(parameters, diagonal), message == "", fit$counts[[1]], message,
    linear_injective(parameters$w)
  )
}

# Every row's label has the largest score already by what carries no penalty (with one on the weights, the
# diagonal): scaling that up improves the loss for ever.
separates <- function(parameters, data, penalty, diagonal) {
  w <- parameters$w
  if (penalty[1] > 0) w <- diag(if (diagonal) 0 else diag(w), ncol(w))
  b <- if (penalty[2] > 0) 0 * parameters$b else parameters$b
  scores <- linear_scores(w, b, data$logp)
  own <- scores[cbind(seq_along(data$truth), data$truth)]
  scores[cbind(seq_along(data$truth), data$truth)] <- -Inf
  all(own > do.call(pmax, split_columns(scores)))
}

linear_scores <- function(w, b, logp) {
  if (all(w[row(w) != col(w)] == 0)) {
    return(logp * rep(diag(w), each = nrow(logp)) + rep(b, each = nrow(logp)))
  }
  tcrossprod(logp, w) + rep(b, each = nrow(logp))
}

linear_loss <- function(theta, data, loss, penalty, diagonal, threads) {
  k <- ncol(data$logp)
  n_weights <- length(theta) - k
  w <- theta[seq_len(n_weights)]
  b <- theta[n_weights + seq_len(k)]
  scores <- linear_scores(if (diagonal) diag(w, k) else matrix(w, k), b, data$logp)
  fit <- cpp_softmax_loss(scores, data$truth, core_weights(data), loss, TRUE, threads)
  g_w <- if (diagonal) colSums(fit$gradient * data$logp) else as.vector(crossprod(fit$gradient, data$logp))
  # vector: deviation from 1; matrix: off-diagonal entries (ODIR)
  pull <- if (diagonal) w - 1 else w * (1 - as.vector(diag(k)))
  size <- if (diagonal) k else max(k * (k - 1), 1)
  list(
    value = fit$value + penalty[1] * sum(pull^2) / size + penalty[2] * sum(b^2) / k,
    gradient = c(g_w + 2 * penalty[1] * pull / size, colSums(fit$gradient) + 2 * penalty[2] * b / k)
  )
}

linear_terms <- function(parameters, diagonal) {
  k <- length(parameters$b)
  classes <- as.character(seq_len(k))
  if (diagonal) {
    return(map_terms(rep(c("weight", "intercept"), each = k), c(diag(parameters$w), parameters$b), rep(classes, 2)))
  }
  map_terms(c(paste0("weight_", rep(classes, each = k)), rep("intercept", k)),
            c(parameters$w, parameters$b), c(rep(classes, k), classes))
}

# l and l' give the same prediction where W (l - l') is a constant vector. Both being log-probabilities,
# l - l' has two signs; so the map is one to one unless the solutions v of "W v constant" include
# one with two signs: one dimension of them, with one sign, is harmless.
linear_injective <- function(w) {
  k <- nrow(w)
  centred <- w - rep(colMeans(w), each = k)
  decomposition <- svd(centred, nu = 0, nv = k)
  null <- decomposition$d <= 1e-10 * max(decomposition$d, 1e-300)
  if (sum(null) > 1) {
    return(injectivity(FALSE, "the weights are singular: distinct predictions share one image"))
  }
  v <- decomposition$v[, k]
  if (min(v) < -1e-10 && max(v) > 1e-10) {
    return(injectivity(FALSE, "the weights send some pairs of distinct predictions to one image"))
  }
  injectivity(TRUE, "no two log-probability vectors differ by a vector that the weights turn constant")
}

#' @export
map_probs.ce_map_linear <- function(map, data, threads) {
  cpp_softmax(linear_scores(map$w, map$b, data$logp), FALSE, threads)
}
