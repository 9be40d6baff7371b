# From predictions to numbers: what cpp_ckce() needs, which computation to use, and how
# the terms of groups add up.
#   problem  list(features, or source where no kernel on one matrix of features will do; residuals, variances, scale):
#            n rows each; for redrawn classes probs, embedding; see law_problem()
#   group    NULL, or list(type = "delta" | "shared" | "kernel", id, features, kernel)
#   options  see ckce_options()

# For the second moments of outcomes drawn from the predictions (inst/include/calibrisk/pairs/outcome_moments.h).
problem_moments <- function(problem) {
  probs <- problem$probs
  if (is.null(probs)) return(list())
  gram <- tcrossprod(problem$embedding)
  unit <- identical(gram, diag(ncol(probs)))
  right <- if (unit) probs else probs %*% gram
  weight <- problem$weight %||% problem$scale^2
  drop_null(list(probs = probs, probs_right = right, squares = if (unit) probs else probs %*% gram^2,
                 own = matrix(problem$variances / if (length(weight) > 0) weight else 1),
                 weight = if (length(weight) > 0) matrix(weight)))
}

# A row of weight w is one with features of the kernel and residuals times sqrt(w), w scaled to the mean 1, so that
# n ridge stays W1 ridge on the scale of the weights.
weighted_problem <- function(problem, design) {
  if (is.null(design$w)) return(problem)
  w <- design$w * design$n / sum(design$w)
  problem$scale <- sqrt(w)
  for (part in intersect(c("residuals", "outcome"), names(problem))) problem[[part]] <- problem$scale * problem[[part]]
  for (part in intersect(c("variances", "missed", "excess"), names(problem))) problem[[part]] <- w * problem[[part]]
  problem
}

matrix_root <- function(gram) {
  eigen <- eigen(gram, symmetric = TRUE)
  eigen$vectors %*% (sqrt(pmax(eigen$values, 0)) * t(eigen$vectors))
}

# The numbers of all ridges: list(values = tibble, loo, null_estimate, null_diagonal, rank, trace_remainder,
# computation, groups, influence: per row, see inst/include/calibrisk/ckce/influence.h; blocks: of M).
ckce_numbers <- function(problem, kernel, ridge, options, group = NULL) {
  if (identical(group$type, "delta")) return(delta_numbers(problem, kernel, ridge, options, group))
  n <- nrow(problem$residuals)
  options$computation <- choose_computation(options, problem, ridge, kernel)
  if (options$computation == "rff") check_random_features(problem, group)
  out <- computed(
    options$computation, ckce_source(problem, kernel, group, options),
    list(
      residuals = problem$residuals, variances = problem$variances, ridge = ridge,
      diagonals = options$errors,
      targets = ckce_targets(problem, options$targets),
      probs = problem$probs %||% matrix(0, 0, 0), embedding = problem$embedding %||% matrix(0, 0, 0),
      keep = options$keep, excess = problem$excess %||% numeric(),
      moments = if (options$errors) problem_moments(problem) else list(),
      times = options$times, seed = options$seed, influence = options$errors,
      noise_rows = if (!options$errors) 0 else if (options$computation == "dual") 500 else 1000
    ), options$progress
  )
  out$values <- stats::setNames(
    as.data.frame(out$values),
    c("estimate", "diagonal", "null_mean", "cce2", "residual_mse", "error_bound", "squares", "known")
  )
  out$values$trace <- out$values[[if (is.null(problem$probs)) "diagonal" else "null_mean"]]
  out$computation <- options$computation
  # |M| is at most 1 / (4 n ridge)
  if (!is.null(problem$missed)) out$values$error_bound <- out$values$error_bound + sum(problem$missed) / (4 * n * ridge)
  # the inverse of a very small ridge overflows: the error is then unbounded
  out$values$error_bound[is.nan(out$values$error_bound)] <- Inf
  if (options$computation == "rff") out$values$error_bound <- rep(NA_real_, length(ridge))
  # M = P diag(filter^2) P', a column of filters per ridge
  if (options$keep) {
    out$blocks <- list(list(rows = seq_len(n), factor = out$factor, filters = 1 / outer(out$spectrum, n * ridge, `+`)))
  }
  out
}

check_random_features <- function(problem, group) {
  unfit <- c("importance weights" = !is.null(problem$scale), "a kernel on groups" = !is.null(group),
             "a kernel that compares predictive distributions as such" = !is.null(problem$source))
  stop_if(any(unfit), "Random features are not available with {names(unfit)[unfit][1]}.",
          "i" = "Use {.code computation = \"low_rank\"}.", class = "computation", arg = "computation")
}

# A ridge that is lost beside the kernel leaves no Cholesky factor.
computed <- function(computation, source, job, progress) {
  rlang::try_fetch(
    cpp_ckce(computation, source, job, thread_count(), progress),
    calibrisk_error_core = function(cnd) {
      if (computation != "dual" || cnd$exception != "std::runtime_error") return(rlang::zap())
      stop_input("The dual form needs a ridge that is not lost beside the kernel matrix.",
                 "x" = "The smallest {.arg ridge} is {.val {signif(min(job$ridge), 3)}}.",
                 "i" = "Use {.code computation = \"eigen\"} or a larger ridge.", class = "computation", arg = "ridge")
    }
  )
}

ckce_source <- function(problem, kernel, group, options) {
  source <- if (is.null(problem$source)) {
    feature_source(problem, kernel, group)
  } else {
    list(spec = product_source(c(
      list(problem$source),
      if (!is.null(group)) list(feature_spec(kernel_one() + group$kernel, group$features)),
      if (!is.null(problem$scale)) list(feature_spec(kernel_linear(), matrix(problem$scale)))
    )))
  }
  c(source, list(terms = options$terms, tolerance = options$tolerance,
                 max_rank = options$max_rank %||% default_max_rank(nrow(problem$residuals))))
}

# One kernel on columns side by side.
feature_source <- function(problem, kernel, group) {
  features <- problem$features
  if (!is.null(group)) {
    # k_P(q, q') (1 + k_A(a, a')), both read from one matrix; white on no columns is 1
    q <- ncol(features)
    kernel <- on_columns(kernel, 0, q) * on_columns(kernel_one() + group$kernel, q, ncol(group$features))
    features <- cbind(features, group$features)
  }
  if (!is.null(problem$scale)) {
    q <- ncol(features)
    # the kernel of two numbers that is their product
    kernel <- on_columns(kernel, 0, q) * on_columns(kernel_linear(), q, 1)
    features <- cbind(features, problem$scale)
  }
  list(features = features, kernel = kernel)
}

kernel_one <- function() on_columns(kernel_white(), 0, 0)

on_columns <- function(kernel, first, size) {
  kernel$columns <- as.integer(c(first, size))
  kernel
}

ckce_targets <- function(problem, targets) {
  switch(targets %||% "none",
    none = matrix(0, 0, 0),
    outcome = problem$outcome %||%
      ((problem$probs %*% problem$embedding) * (problem$scale %||% 1) - problem$residuals),
    gap = problem$residuals
  )
}

default_max_rank <- function(n) as.integer(max(50, min(n, 1000, 1e8 / n)))

# Dense where it is small and well conditioned, the whole spectrum where several ridges, leave-one-out errors or null
# draws share it or the ridge is tiny; else low rank.
choose_computation <- function(options, problem, ridge, kernel) {
  computation <- options$computation
  factored <- options$times > 0 || options$keep || !is.null(problem$excess)
  if (computation == "dual" && factored) return("eigen")
  if (computation != "auto") return(computation)
  if (nrow(problem$residuals) > exact_rows) return("low_rank")
  tiny <- length(ridge) > 0 && ridge_share(ridge, problem, kernel) < eigen_share
  if (tiny || length(ridge) > 6 || factored) "eigen" else "dual"
}

exact_rows <- 2000L

# n ridge over the trace of K, of the smallest ridge. The dual form's relative error is about eps / share^2 where K has
# few large eigenvalues.
ridge_share <- function(ridge, problem, kernel) {
  own <- cpp_source_diagonal(problem$source %||% feature_spec(kernel, problem$features))
  min(ridge) * length(own) / sum(own)
}
eigen_share <- 1e-4

# Kernel times delta on groups: K is block diagonal, every group keeps its own factor and c = n ridge is common, so
# group g runs at ridge n / n_g and the terms add up.
delta_numbers <- function(problem, kernel, ridge, options, group) {
  n <- nrow(problem$residuals)
  rows <- split(seq_len(n), group$id)
  terms <- lapply(seq_along(rows), function(g) {
    at <- rows[[g]]
    options$seed <- options$seed + g - 1
    ckce_numbers(take_rows(problem, at), kernel, ridge * n / length(at), options)
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
  list(
    values = values,
    loo = if (is.null(options$targets)) numeric() else total("loo", size / n),
    # q_i holds no n but c = n ridge, which all groups share
    influence = if (options$errors) {
      do.call(rbind, lapply(terms, `[[`, "influence"))[order(unlist(rows)), , drop = FALSE]
    },
    null_estimate = total("null_estimate"), null_diagonal = total("null_diagonal"),
    rank = sum(vapply(terms, `[[`, 0, "rank")),
    trace_remainder = sum(vapply(terms, `[[`, 0, "trace_remainder")),
    computation = if (length(computation) == 1) computation else "mixed",
    blocks = if (options$keep) {
      Map(function(term, at) c(list(rows = at), term$blocks[[1]][c("factor", "filters")]), terms, rows)
    },
    groups = lapply(seq_along(ridge), function(v) {
      own_ridge <- ridge[v] * n / size
      of_groups <- do.call(rbind, lapply(terms, function(term) term$values[v, ]))
      list(labels = columns_frame(group = group$labels, n = size, ridge = own_ridge), values = of_groups)
    })
  )
}
