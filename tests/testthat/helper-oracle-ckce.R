# The definitions of the conditional kernel calibration error, written down naively.

oracle_gram <- function(probs, bandwidth) probs %*% t(probs) + exp(-as.matrix(dist(probs))^2 / (2 * bandwidth^2))

oracle_residuals <- function(probs, truth) probs - diag(ncol(probs))[truth, , drop = FALSE]

# tr(A^-1 G A^-1 K) with explicit inverses; M_ii G_ii beside it.
oracle_ckce <- function(gram, residual_gram, ridge) {
  n <- nrow(gram)
  inverse <- solve(gram + n * ridge * diag(n))
  m <- inverse %*% gram %*% inverse
  list(estimate = sum(diag(inverse %*% residual_gram %*% inverse %*% gram)), weights = diag(m),
       off_diagonal = sum(m * residual_gram) - sum(diag(m) * diag(residual_gram)))
}

oracle_jkce <- function(gram, residual_gram) {
  n <- nrow(gram)
  h <- gram * residual_gram
  list(biased = sum(h) / n^2, unbiased = (sum(h) - sum(diag(h))) / (n * (n - 1)))
}

# Refits without row i, n ridge held fixed.
oracle_loo <- function(gram, targets, ridge) {
  n <- nrow(gram)
  mean(vapply(seq_len(n), function(i) {
    weights <- solve(gram[-i, -i] + n * ridge * diag(n - 1), gram[-i, i])
    sum((targets[i, ] - weights %*% targets[-i, , drop = FALSE])^2)
  }, 0))
}

oracle_canonical_ece <- function(probs, truth, n_bins, type) {
  edges <- seq_len(n_bins) / n_bins
  cell <- apply(probs, 1, function(q) paste(vapply(q, function(v) which(v <= edges)[1], 0), collapse = " "))
  outcome <- diag(ncol(probs))[truth, , drop = FALSE]
  total <- 0
  for (b in unique(cell)) {
    rows <- cell == b
    bin_outcome <- colMeans(outcome[rows, , drop = FALSE])
    total <- total + if (type == "binmean") {
      sum(rows) * sum(abs(bin_outcome - colMeans(probs[rows, , drop = FALSE])))
    } else {
      sum(abs(t(probs[rows, , drop = FALSE]) - bin_outcome))
    }
  }
  total / nrow(probs)
}

# Six predictions over three classes with published values of every quantity.
toy_probs <- function() {
  rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4), c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
}
toy_truth <- function() c(1L, 2L, 3L, 2L, 3L, 1L)
toy_kernel <- function() kernel_linear() + kernel_gaussian(.5)

softmax <- function(z) exp(z - apply(z, 1, max)) / rowSums(exp(z - apply(z, 1, max)))

# n draws of a symmetric Dirichlet in logs: small concentrations underflow otherwise.
draw_dirichlet <- function(n, m, alpha) {
  log_gamma <- matrix(log(stats::rgamma(n * m, alpha + 1)) + log(stats::runif(n * m)) / alpha, n)
  softmax(log_gamma)
}
draw_labels <- function(probs) {
  as.integer(1L + rowSums(stats::runif(nrow(probs)) > t(apply(probs, 1, cumsum))[, -ncol(probs), drop = FALSE]))
}
temper <- function(probs, t) softmax(log(pmax(probs, 1e-300)) / t)

# The estimates behind the columns of metrics.
estimates_of <- function(value) {
  kept <- NULL
  own <- result_frame
  local_stand_ins(list(result_frame = function(metric, estimator, values, ...) {
    kept <<- values$.estimates
    own(metric, estimator, values, ...)
  }))
  force(value)
  kept
}

# Standard errors of the influence alone, without the variance at calibration.
influence_errors <- function(call) {
  vapply(estimates_of(call), function(one) cpp_row_std_error(one$influence, one$design), 0)
}

# The leave-one-out errors of ckce(ridge = "loo").
loo_errors <- function(..., ridge = NULL, target = "outcome") ckce(..., ridge = ridge_loo(ridge, target))$path[[1]]

# The joint error as a function beside skce() and ckce().
joint_error <- function(x, truth, ..., kernel = "ckce") skce(x, {{ truth }}, ..., kernel = kernel)

# The problem of ckce() for classes.
ckce_problem <- function(predictions, target_kernel = kernel_white()) {
  laws <- class_laws(predictions)
  law_problem(laws, list(target = bind_target(target_kernel, laws), prediction = bind_prediction(kernel_white(), laws)),
              NULL, FALSE)
}
