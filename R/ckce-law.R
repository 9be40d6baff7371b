# Predictive distributions of numbers as ckce_numbers() takes them: the Gram matrix G of l(y_i, .) - E l(Z_i, .) is
# factored once, G = D D', and the rows of D are the residuals.

# One set of rows: the problem, and its kernel, groups and options; of predictive distributions also `target`, by which
# outcomes are redrawn. Those that are classes are redrawn in the core.
ckce_inputs <- function(laws, choices, group, progress) {
  classes <- is.null(laws$law)
  if (classes) check_feature_kernel(choices$kernel, "kernel")
  bound <- bind_ckce(laws, choices)
  regressed <- is_choice(choices$ridge, "ridge") && choices$ridge$target == "outcome"
  problem <- law_problem(laws, bound, choices, regressed)
  kernel <- if (is.null(problem$source)) bound$prediction$spec$kernel
  group <- ckce_group(group, choices$group_kernel, laws)
  options <- asked_options(problem, kernel, choices, progress)
  options$keep <- choices$times > 0 && !classes
  if (choices$times > 0 && classes) options[c("times", "seed")] <- list(choices$times, draw_seed())
  list(problem = problem, kernel = kernel, shown = bound$prediction$kernel, group = group, options = options,
       laws = laws, target = if (!classes) bound$target)
}

# Both kernels on the data.
bind_ckce <- function(laws, choices) {
  target <- choices$target_kernel %||% default_target_kernel(laws)
  # outcomes that are redrawn must not have chosen the kernels
  if (choices$times > 0) target <- outcome_kernel(target, laws)
  target <- bind_target(target, laws, choices$draws)
  kernel <- if (choices$default_kernel && is_real(laws)) default_ckce_kernel(laws, target$kernel) else choices$kernel
  list(target = target, prediction = bind_prediction(kernel, laws, choices$draws))
}

default_ckce_kernel <- function(laws, target_kernel) {
  kernel <- default_prediction_kernel(laws)
  if (kernel$type == "laplace") kernel <- kernel_gaussian("median")
  if (!is.null(kernel$power)) kernel$power <- 2
  kernel_embedding(target_kernel) + kernel
}

# Returns a list of features or source, residuals and variances. `missed` is the diagonal of G - D D'. `excess` is that
# of D D' - G, if the diagonal of G uses pairs of different draws and G is not a Gram matrix. `outcome` is the
# regression target of leave-one-out errors, if requested.
law_problem <- function(laws, bound, choices, outcome) {
  target <- bound$target
  residuals <- if (is.null(laws$law) || target$spec$kind == "finite" && is_label_matrix_small(target$spec, laws$n)) {
    spec <- target$spec
    white <- target$kernel$type == "white" && target$kernel$scale == 1
    support <- matrix(as.numeric(spec$support))
    gram <- if (!white) cpp_gram(target$kernel, support, support, thread_count())
    # labels; the rows of `embedding` are the classes in the space of the target kernel
    embedding <- if (white) diag(ncol(spec$probs)) else matrix_root(gram)
    # E(|d_i|^2 | q_i) under calibration
    variances <- as.numeric(spec$probs %*% rowSums(embedding^2)) - rowSums((spec$probs %*% embedding)^2)
    list(residuals = spec$residuals %*% embedding, variances = variances, probs = spec$probs, embedding = embedding)
  } else {
    numeric_residuals(target, laws, choices, outcome)
  }
  spec <- bound$prediction$spec
  problem <- c(if (spec$kind == "features") list(features = spec$features) else list(source = spec), residuals)
  check_computable(c(sum(cpp_source_diagonal(spec)), problem$residuals))
  weighted_problem(problem, laws$design)
}

numeric_residuals <- function(target, laws, choices, outcome) {
  n <- laws$n
  own <- draws_diagonal(target$spec, n)
  factor <- with_bar("Residuals", function(progress) {
    cpp_residual_factor(target$spec, own, matrix_rows, default_max_rank(n), thread_count(), progress)
  })
  different <- identical(choices$draws_diagonal, "different") && any(own != 0)
  out <- c(factor, list(variances = numeric(n)))
  if (choices$debias == "null_mean") out$variances <- law_variances(target, laws, choices$draws, own, different)
  if (different) out$excess <- own
  if (outcome) {
    tolerance <- 1e-14 * mean(cpp_gram_diagonal(target$kernel, laws$y))
    rank <- if (n <= matrix_rows) n else default_max_rank(n)
    out$outcome <- cpp_pivoted_cholesky(target$kernel, laws$y, tolerance, rank, thread_count())$L
  }
  out
}

# E G_ii for outcomes drawn from the predictions: E l(Z, Z) - 2 E m_i(Z) + |m_i|^2, with m_i(t) the target's mean of
# l(Z_i, t). Where draws stand for a distribution, m_i is their mean; an outcome is one more draw, or one of the same
# where these are the prediction.
law_variances <- function(target, laws, draws, own, different) {
  inner <- cpp_target_inner(target$spec, thread_count())
  same <- !is.null(record_of(laws$law)$points) || has_quantiles(laws$law)
  square <- if (target$spec$kind == "finite") {
    drop(target$spec$probs %*% cpp_gram_diagonal(target$kernel, matrix(as.numeric(target$spec$support))))
  } else {
    expected_square(target$kernel, laws, draws)
  }
  square - 2 * (inner + if (same) own else 0) + inner + if (different) 0 else own
}

# E l(Z_i, Z_i), the same outcome twice.
expected_square <- function(kernel, laws, draws) {
  kernel$scale * switch(kernel$type,
    sum = Reduce(`+`, lapply(kernel$parts, expected_square, laws, draws)),
    # E |Z_i|^2
    linear = {
      moments <- law_moments(laws$law)
      own <- seq(1, ncol(moments$mean)^2, by = ncol(moments$mean) + 1)
      rowSums(moments$mean^2) + rowSums(moments$cov[, own, drop = FALSE])
    },
    product = {
      points <- points_of(laws$law, draws)
      d <- ncol(laws$y)
      kernel$scale <- 1
      rowMeans(vapply(seq_len(ncol(points) / d), function(s) {
        cpp_gram_diagonal(kernel, points[, (s - 1) * d + seq_len(d), drop = FALSE])
      }, numeric(laws$n)))
    },
    rep(1, laws$n)
  )
}

# Outcomes redrawn from the predictions: the draws of the statistic, as debiased() takes them. The same outcomes
# for all ridges.
with_law_null <- function(numbers, inputs, choices, most = exact_rows) {
  laws <- inputs$laws
  target <- inputs$target
  off_diagonal <- choices$debias == "off_diagonal"
  outcomes <- cbind(draw_outcomes(laws, choices$times), laws$y)
  # for more rows than an n x n matrix takes
  factor <- if (laws$n > most) {
    outcome_factor(list(n = laws$n, laws = laws, target = target$spec, target_kernel = target$kernel))
  }
  shifts <- cpp_law_null(numbers$blocks, target$spec, target$kernel, outcomes, target_points(target$spec, outcomes),
                         choices$times + 1, off_diagonal, factor, thread_count())
  observed <- numbers$values$estimate - if (off_diagonal) numbers$values$diagonal else 0
  numbers$null_estimate <- sweep(shifts, 2, observed, `+`)
  numbers$null_diagonal <- 0 * shifts
  numbers
}
