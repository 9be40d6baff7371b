# From predictions to numbers: what cpp_ckce() needs, which computation to use, and how
# the terms of groups add up.
#   problem  list(features, residuals, variances, probs, embedding, truth, scale): n rows each
#   group    NULL, or list(type = "delta" | "shared" | "kernel", code, features, kernel)
#   options  see ckce_options()

ckce_computations <- c("auto", "dual", "eigen", "low_rank", "rff")

# Residuals D = (Q - onehot(Y)) embedding; the embedding's rows are the classes in the
# target kernel's feature space (the identity for the Kronecker kernel).
class_problem <- function(predictions, target_kernel, call = caller_env()) {
  check_feature_kernel(target_kernel, "target_kernel", call)
  probs <- simplex_probs(predictions)
  truth <- simplex_truth(predictions)
  residuals <- canonical_residuals(probs, truth)
  if (identical(target_kernel$type, "white")) {
    embedding <- diag(sqrt(target_kernel$scale), ncol(probs))
  } else {
    classes <- matrix(as.numeric(seq_len(ncol(probs))))
    gram <- cpp_gram(resolve_kernel(target_kernel, classes, 1L, call), classes, classes, 1L)
    embedding <- matrix_root(gram)
  }
  embedded <- probs %*% embedding
  problem <- list(
    features = probs, residuals = residuals %*% embedding,
    # E(|d_i|^2 | q_i) under calibration
    variances = as.numeric(probs %*% rowSums(embedding^2)) - rowSums(embedded^2),
    probs = probs, embedding = embedding, truth = truth
  )
  if (is.null(predictions$design$w)) problem else weighted_problem(problem, predictions$design)
}

# A row of weight w is one with features of the kernel and residuals times sqrt(w), w scaled to the mean 1, so that
# n ridge stays W1 ridge on the scale of the weights.
weighted_problem <- function(problem, design) {
  w <- design$w * design$n / sum(design$w)
  problem$scale <- sqrt(w)
  problem$residuals <- problem$scale * problem$residuals
  problem$variances <- w * problem$variances
  problem
}

matrix_root <- function(gram) {
  eigen <- eigen(gram, symmetric = TRUE)
  eigen$vectors %*% (sqrt(pmax(eigen$values, 0)) * t(eigen$vectors))
}

subset_rows <- function(problem, rows) {
  for (part in c("features", "residuals", "probs")) {
    problem[[part]] <- problem[[part]][rows, , drop = FALSE]
  }
  problem$variances <- problem$variances[rows]
  problem$scale <- problem$scale[rows]
  problem$truth <- problem$truth[rows]
  problem
}

# The numbers of all ridges: list(values = tibble, loo, jkce_biased, jkce_unbiased,
# null_estimate, null_diagonal, rank, trace_remainder, computation, groups, and per row influence,
# off_diagonal, diagonal: see inst/include/calibrisk/ckce/influence.h).
ckce_numbers <- function(problem, kernel, ridge, options, group = NULL, call = caller_env()) {
  if (identical(group$type, "delta")) {
    return(delta_numbers(problem, kernel, ridge, options, group, call))
  }
  n <- nrow(problem$features)
  options$computation <- choose_computation(options, n, ridge, kernel, problem$features)
  if (options$computation == "rff" && (!is.null(group) || !is.null(problem$scale))) {
    stop_input(c(
      "Random features are not available with importance weights or a kernel on groups.",
      "i" = "Use {.code computation = \"low_rank\"}."
    ), "computation", arg = "computation", call = call)
  }
  out <- computed(
    options$computation, ckce_source(problem, kernel, group, options),
    list(
      residuals = problem$residuals, variances = problem$variances, ridge = ridge,
      diagonals = options$diagonals,
      targets = ckce_targets(problem, options$targets),
      probs = problem$probs, embedding = problem$embedding,
      n_draws = options$n_draws, seed = options$seed, influence = options$influence
    ),
    options$threads, options$progress, call
  )
  out$values <- stats::setNames(
    as.data.frame(out$values),
    c("estimate", "diagonal", "null_mean", "cce2", "residual_mse", "error_bound")
  )
  out$computation <- options$computation
  if (options$computation == "rff") out$values$error_bound <- rep(NA_real_, length(ridge))
  out
}

# A ridge that is lost beside the kernel leaves no Cholesky factor.
computed <- function(computation, source, job, threads, progress, call) {
  rlang::try_fetch(
    cpp_ckce(computation, source, job, threads, progress),
    calibrisk_error_core = function(cnd) {
      if (computation != "dual" || cnd$exception != "std::runtime_error") return(rlang::zap())
      stop_input(c(
        "The dual form needs a ridge that is not lost beside the kernel matrix.",
        "x" = "The smallest {.arg ridge} is {.val {signif(min(job$ridge), 3)}}.",
        "i" = "Use {.code computation = \"eigen\"} or a larger ridge."
      ), "computation", arg = "ridge", call = call)
    }
  )
}

ckce_source <- function(problem, kernel, group, options) {
  features <- problem$features
  n <- nrow(features)
  if (!is.null(group)) {
    # k_P(q, q') (1 + k_A(a, a')), both read from one matrix; white on no columns is 1
    q <- ncol(features)
    one <- on_columns(kernel_white(), 0, 0)
    kernel <- on_columns(kernel, 0, q) * on_columns(one + group$kernel, q, ncol(group$features))
    features <- cbind(features, group$features)
  }
  if (!is.null(problem$scale)) {
    q <- ncol(features)
    # the kernel of two numbers that is their product
    kernel <- on_columns(kernel, 0, q) * on_columns(kernel_linear(), q, 1)
    features <- cbind(features, problem$scale)
  }
  list(features = features, kernel = kernel, terms = options$terms, tolerance = options$tolerance,
       max_rank = options$max_rank %||% default_max_rank(n))
}

on_columns <- function(kernel, first, size) {
  kernel$columns <- as.integer(c(first, size))
  kernel
}

ckce_targets <- function(problem, targets) {
  switch(targets %||% "none",
    none = matrix(0, 0, 0),
    outcome = (problem$probs %*% problem$embedding) * (problem$scale %||% 1) - problem$residuals,
    gap = problem$residuals
  )
}

default_max_rank <- function(n) as.integer(max(50, min(n, 1000, 1e8 / n)))

# Dense where it is small and well conditioned, the whole spectrum where several ridges,
# leave-one-out errors or null draws share it or the ridge is tiny; else low rank.
choose_computation <- function(options, n, ridge, kernel, features) {
  computation <- options$computation
  if (computation == "dual" && options$n_draws > 0) return("eigen")
  if (computation != "auto") return(computation)
  if (n > 2000) return("low_rank")
  tiny <- length(ridge) > 0 && ridge_share(ridge, n, kernel, features) < eigen_share
  if (tiny || length(ridge) > 6 || options$n_draws > 0) "eigen" else "dual"
}

# n ridge over the trace of K, of the smallest ridge. The dual form's relative error is about
# eps / share^2 where K has few large eigenvalues.
ridge_share <- function(ridge, n, kernel, features) {
  min(ridge) * n / sum(cpp_gram_diagonal(kernel, features))
}
eigen_share <- 1e-4

# Kernel times delta on groups: K is block diagonal, every group keeps its own factor and
# c = n ridge is common, so group g runs at ridge n / n_g and the terms add up.
delta_numbers <- function(problem, kernel, ridge, options, group, call) {
  n <- nrow(problem$features)
  rows <- split(seq_len(n), group$code)
  terms <- lapply(seq_along(rows), function(g) {
    at <- rows[[g]]
    options$seed <- options$seed + g - 1
    ckce_numbers(subset_rows(problem, at), kernel, ridge * n / length(at), options, call = call)
  })
  size <- lengths(rows, use.names = FALSE)
  total <- function(what, weight = rep(1, length(terms))) {
    Reduce(`+`, Map(function(term, w) term[[what]] * w, terms, weight))
  }
  values <- Reduce(`+`, Map(function(term, m) {
    term$values[c("cce2", "residual_mse")] <- term$values[c("cce2", "residual_mse")] * m / n
    term$values
  }, terms, size))
  computation <- unique(vapply(terms, `[[`, "", "computation"))
  # per row; q_i holds no n but c = n ridge, which all groups share
  by_row <- function(what) {
    if (!options$influence) return(NULL)
    do.call(rbind, lapply(terms, function(term) as.matrix(term[[what]])))[order(unlist(rows)), , drop = FALSE]
  }
  list(
    values = values,
    loo = if (is.null(options$targets)) numeric() else total("loo", size / n),
    # the joint error's block-diagonal kernel: a sum over within-group pairs
    jkce_biased = sum(vapply(terms, `[[`, 0, "jkce_biased") * size^2) / n^2,
    jkce_unbiased = if (n < 2) NaN else {
      pairs <- vapply(terms, `[[`, 0, "jkce_unbiased") * size * (size - 1)
      sum(pairs[size > 1]) / (n * (n - 1))
    },
    influence = by_row("influence"), off_diagonal = by_row("off_diagonal"), diagonal = by_row("diagonal"),
    null_estimate = total("null_estimate"), null_diagonal = total("null_diagonal"),
    rank = sum(vapply(terms, `[[`, 0, "rank")),
    trace_remainder = sum(vapply(terms, `[[`, 0, "trace_remainder")),
    computation = if (length(computation) == 1) computation else "mixed",
    groups = lapply(seq_along(ridge), function(v) {
      own_ridge <- ridge[v] * n / size
      of_groups <- do.call(rbind, lapply(terms, function(term) term$values[v, ]))
      list(labels = tibble::tibble(group = group$labels, n = size, ridge = own_ridge), values = of_groups)
    })
  )
}
