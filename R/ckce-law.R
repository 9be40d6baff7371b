# CKCE of predictive distributions of numbers: a Gram matrix K of the predictions, one G of
# the embedded residuals, and sum_ij M_ij G_ij with M = A^-1 K A^-1.

ckce_law_rows <- function(laws, group, choices, threads, call) {
  check_law_choices(choices, call)
  check_ckce_design(laws$design, choices, call)
  bound <- bind_ckce(laws, choices, threads, call)
  target <- bound$target
  prediction <- bound$prediction
  gram <- cpp_prediction_matrix(prediction$spec, threads)
  group <- ckce_group(group, choices$group_kernel, laws$rows, laws$n_input, threads, call)
  gram <- gram * group_gram(group, threads)
  residual_gram <- residual_gram(target$spec, laws$n, choices, threads)
  check_computable(gram + residual_gram, call)
  ridge <- choices$ridge %||% laws$n^(-1 / 4)
  warn_tiny_ridge(ridge, "eigen", min(ridge) * laws$n / sum(diag(gram)))
  # rows times the roots of their weights, as in weighted_problem()
  scale <- if (!is.null(laws$design$w)) sqrt(laws$design$w * laws$n / sum(laws$design$w))
  if (!is.null(scale)) {
    gram <- gram * outer(scale, scale)
    residual_gram <- residual_gram * outer(scale, scale)
  }
  # the same redrawn outcomes for all ridges
  redrawn <- if (choices$n_draws > 0) draw_outcomes(laws, choices$n_draws)
  values <- lapply(ridge, law_values, gram, residual_gram, group, list(target = target, y = laws$y, redrawn = redrawn),
                   choices, threads, laws$design)
  pick <- function(name) vapply(values, `[[`, 0, name)
  drop_null(c(squared_columns(lapply(values, `[[`, "estimate"), choices$level), list(
    n = laws$n, ridge = ridge, bandwidth = first_bandwidth(prediction$kernel),
    kernel = format(prediction$kernel), computation = "dual", rank = laws$n, error_bound = 0,
    certified = TRUE, target_kernel = format(target$kernel), target_form = target$form,
    p.value = if (choices$n_draws > 0) pick("p.value"),
    null_mean = if (choices$n_draws > 0) pick("null_mean"),
    groups = if (identical(group$type, "delta")) lapply(values, `[[`, "groups")
  )))
}

# Both kernels on the data.
bind_ckce <- function(laws, choices, threads, call) {
  target <- choices$target_kernel %||% default_target_kernel(laws)
  # outcomes that are redrawn must not have chosen the kernels
  if (choices$n_draws > 0) target <- pooled_kernel(target, laws)
  target <- bind_target(target, laws, choices$draws, threads, call)
  kernel <- if (choices$default_kernel) default_ckce_kernel(laws, target$kernel) else choices$kernel
  list(target = target, prediction = bind_prediction(kernel, laws, choices$draws, threads, call))
}

check_law_computation <- function(choices, call) {
  if (!choices$computation %in% c("auto", "dual")) {
    stop_input(c(
      "Predictive distributions of numbers take {.code computation = \"dual\"}.",
      "x" = "It is {.val {choices$computation}}."
    ), "computation", arg = "computation", call = call)
  }
}

check_law_choices <- function(choices, call) {
  check_law_computation(choices, call)
  if (identical(choices$ridge, "loo") || choices$debias == "null_mean") {
    stop_input(c(
      "{.code ridge = \"loo\"} and {.code debias = \"null_mean\"} are for class probabilities.",
      "i" = "Give a ridge, or use {.code debias = \"off_diagonal\"}."
    ), "argument", call = call)
  }
}

default_ckce_kernel <- function(laws, target_kernel) {
  kernel <- default_prediction_kernel(laws)
  if (kernel$type == "laplace") kernel <- kernel_gaussian("median")
  if (!is.null(kernel$power)) kernel$power <- 2
  kernel_embedding(target_kernel) + kernel
}

group_gram <- function(group, threads) {
  if (is.null(group)) return(1)
  same <- cpp_gram(group$kernel, group$features, group$features, threads)
  if (group$type == "delta") same else 1 + same
}

residual_gram <- function(spec, n, choices, threads) {
  out <- cpp_target_matrix(spec, FALSE, threads)
  if (choices$draws_diagonal == "all") diag(out) <- diag(out) + draws_diagonal(spec, n)
  out
}

law_values <- function(ridge, gram, residual_gram, group, outcomes, choices, threads, design) {
  solved <- cpp_ckce_weights(gram, ridge, threads)
  weights <- solved$weights
  # (M G A^-1)_ii = <(M D)_i, (A^-1 D)_i>: see operator_estimate()
  q <- nrow(gram) * ridge * cpp_product_diagonal(weights, residual_gram, solved$inverse, threads)
  if (choices$debias == "off_diagonal") diag(weights) <- 0
  observed <- sum(weights * residual_gram)
  value <- if (choices$debias == "none" && choices$draws_diagonal == "all") max(observed, 0) else observed
  out <- list(estimate = operator_estimate(value, q, design))
  if (!is.null(outcomes$redrawn)) {
    sums <- function(y, sets) {
      outcome_sums(weights, outcomes$target$spec, outcomes$target$kernel, y, sets, threads)
    }
    draws <- observed + sums(outcomes$redrawn, choices$n_draws) - sums(outcomes$y, 1)
    slack <- 1e-10 * max(abs(value), abs(draws))
    out$p.value <- (1 + sum(draws >= value - slack)) / (1 + length(draws))
    out$null_mean <- mean(draws)
  }
  if (identical(group$type, "delta")) {
    size <- tabulate(group$code)
    # M is block diagonal: a row's sum stays within its group
    terms <- as.vector(rowsum(rowSums(weights * residual_gram), group$code))
    own_ridge <- ridge * nrow(gram) / size
    out$groups <- tibble::tibble(group = group$labels, n = size, ridge = own_ridge, estimate = terms)
  }
  out
}
