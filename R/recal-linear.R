# softmax(W l + b): vector scaling (W diagonal), matrix scaling and Dirichlet calibration (Guo et al. 2017; Kull et al.
# 2019), by L-BFGS with analytic gradients from C++ and, for the log loss, by Newton's method to the last digits.

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

# For weights and of intercepts, one number for both.
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
  n_weights <- if (diagonal) k else k * k
  unpack <- function(theta) list(w = weight_matrix(theta[seq_len(n_weights)], k), b = theta[n_weights + seq_len(k)])
  absent <- if (penalty[2] == 0) setdiff(seq_len(k), data$truth)
  separated <- function(theta) separates(unpack(theta), data, penalty, diagonal)
  fit <- minimise_linear(method$loss, data, penalty, diagonal, threads, function(theta) {
    length(absent) == 0 && !separated(theta)
  })
  message <- if (length(absent) > 0) {
    paste0("Class ", absent[1], " never occurs: its intercept has no finite optimum without a penalty.")
  } else if (fit$steepest >= 1e-4 || fit$stopped) {
    paste0("The gradient is still ", format(fit$steepest, digits = 2), " after ", fit$evaluations, " evaluations.")
  } else if (separated(fit$theta)) {
    paste("The map separates the classes of the fitted rows: there is",
          if (diagonal || all(penalty == 0)) "no finite optimum without a penalty." else {
            "no finite optimum, because the penalty leaves the diagonal free."
          })
  } else {
    ""
  }
  parameters <- unpack(fit$theta)
  new_map_fit(
    new_map("linear", w = parameters$w, b = parameters$b),
    linear_terms(parameters, diagonal), message == "", fit$evaluations, message,
    linear_injective(parameters$w)
  )
}

# has_optimum(theta) says whether there is a finite one, as far as it shows at theta.
minimise_linear <- function(loss, data, penalty, diagonal, threads, has_optimum) {
  k <- ncol(data$logp)
  at <- NULL # the last point with its loss and gradient: optim asks for them one after the other
  tried <- 0L
  evaluate <- function(theta) {
    if (!identical(theta, at$theta)) {
      tried <<- tried + 1L
      at <<- c(list(theta = theta), linear_loss(theta, data, loss, penalty, diagonal, threads))
    }
    at
  }
  start <- c(if (diagonal) rep(1, k) else diag(k), rep(0, k))
  # the log loss is convex: Newton's method goes on where L-BFGS is slow
  convex <- loss == "log"
  fit <- tryCatch(
    stats::optim(start, function(t) evaluate(t)$value, function(t) evaluate(t)$gradient, method = "L-BFGS-B",
                 control = list(maxit = if (convex) 30 else 2000, factr = 1e3, lmm = 10)),
    # where there is no finite optimum, parameters may leave the doubles: those before are taken
    simpleError = function(cnd) {
      if (!identical(conditionCall(cnd)[[1]], quote(stats::optim))) stop(cnd)
      list(par = at$theta, counts = tried, convergence = 1L)
    }
  )
  theta <- fit$par
  if (convex && has_optimum(theta)) {
    theta <- newton_finish(theta, evaluate, function(t) linear_curvature(t, data, penalty, diagonal, threads))
  }
  steepest <- max(abs(evaluate(theta)$gradient))
  list(theta = theta, steepest = if (is.nan(steepest)) Inf else steepest, evaluations = fit$counts[[1]],
       stopped = !convex && fit$convergence != 0)
}

# L-BFGS stops where the loss does not move in its digits, and the parameters still do in half of theirs. Newton's
# steps go on by the gradient; their systems are solved by conjugate gradients, `products` of which at most are made.
newton_finish <- function(theta, loss, curvature, steps = 40, products = 4000) {
  at <- loss(theta)
  for (step in seq_len(steps)) {
    if (products <= 0) break
    here <- curvature(theta)
    # no more exact than the step itself is
    found <- conjugate_gradients(here$times, at$gradient, here$near, min(products, 300),
                                 tolerance = min(0.05, sqrt(max(abs(at$gradient)))))
    products <- products - found$products
    length <- 1
    repeat {
      proposal <- theta - length * found$x
      ahead <- loss(proposal)
      # near the optimum the loss has no digits left to fall in
      better <- max(abs(ahead$gradient)) < max(abs(at$gradient)) / 2 ||
        ahead$value < at$value - 1e-4 * length * sum(at$gradient * found$x) - 1e-14 * abs(at$value)
      if (isTRUE(better) || length < 1e-3) break
      length <- length / 2
    }
    # the last step, of which predictions no longer move in their digits
    if (!isTRUE(better) || length * sum(at$gradient * found$x) < 1e-24) break
    theta <- proposal
    at <- ahead
  }
  theta
}

# x with times(x) = b, `times` symmetric and positive semidefinite, b in its range; near(b) is close to x.
conjugate_gradients <- function(times, b, near, max_steps, tolerance) {
  x <- 0 * b
  residual <- b
  direction <- near(b)
  size <- sum(residual * direction)
  goal <- tolerance^2 * size
  products <- 0
  # constant predictions leave directions that the loss does not know: sums overflow there
  while (products < max_steps && isTRUE(size > goal)) {
    image <- times(direction)
    products <- products + 1
    curvature <- sum(direction * image)
    if (!isTRUE(curvature > 0 && is.finite(curvature))) break
    x <- x + size / curvature * direction
    residual <- residual - size / curvature * image
    before <- size
    next_direction <- near(residual)
    size <- sum(residual * next_direction)
    direction <- next_direction + size / before * direction
  }
  list(x = x, products = products)
}

# The second derivative of the log loss, sum_i w_i (diag(p_i) - p_i p_i') x l_i l_i' with l_i closed by a 1, as a
# function of a direction; `near` solves with its blocks of one class alone.
linear_curvature <- function(theta, data, penalty, diagonal, threads) {
  k <- ncol(data$logp)
  weights <- seq_len(length(theta) - k)
  probs <- cpp_softmax(linear_scores(weight_matrix(theta[weights], k), theta[-weights], data$logp), FALSE, threads)
  share <- row_shares(data$design)
  free <- if (diagonal) rep(1, k) else 1 - as.vector(diag(k))
  size <- if (diagonal) k else max(k * (k - 1), 1)
  pull <- 2 * c(penalty[1] * free / size, rep(penalty[2] / k, k))
  times <- function(direction) {
    moved <- probs * linear_scores(weight_matrix(direction[weights], k), direction[-weights], data$logp)
    moved <- share * (moved - probs * rowSums(moved))
    c(if (diagonal) colSums(moved * data$logp) else as.vector(crossprod(moved, data$logp)), colSums(moved)) +
      pull * direction
  }
  factors <- lapply(seq_len(k), function(class) {
    rows <- sqrt(share * probs[, class] * (1 - probs[, class])) *
      cbind(if (diagonal) data$logp[, class] else data$logp, 1)
    block <- crossprod(rows)
    diag(block) <- diag(block) + pull[own_parameters(class, k, diagonal)]
    diag(block) <- diag(block) * (1 + 1e-10) + 1e-300
    chol(block)
  })
  near <- function(b) {
    for (class in seq_len(k)) {
      own <- own_parameters(class, k, diagonal)
      b[own] <- backsolve(factors[[class]], backsolve(factors[[class]], b[own], transpose = TRUE))
    }
    b
  }
  list(times = times, near = near)
}

# k weights are a diagonal.
weight_matrix <- function(w, k) if (length(w) == k) diag(w, k) else matrix(w, k)

# Where the weights and the intercept of a class stand among all parameters.
own_parameters <- function(class, k, diagonal) {
  if (diagonal) c(class, k + class) else c(class + k * (seq_len(k) - 1), k * k + class)
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
  scores <- linear_scores(weight_matrix(w, k), b, data$logp)
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

# l and l' give the same prediction where W (l - l') is a constant vector. Both are log-probabilities, so l - l' has
# entries of both signs. The map is therefore one to one unless some solution v of "W v constant" has entries of both
# signs; a single dimension of solutions with one sign is harmless.
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
