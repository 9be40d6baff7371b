# softmax(W l + b): vector scaling (W diagonal), matrix scaling and Dirichlet calibration (Guo et al. 2017; Kull et al.
# 2019), by L-BFGS with analytic gradients from C++ and, for the log loss, by Newton's method to the last digits.

map_vector <- function(loss = c("log", "brier"), penalty = 0) linear_choice("vector", loss, penalty)

#' @rdname ce_maps
#' @export
map_matrix <- function(loss = c("log", "brier"), penalty = 0, diagonal = FALSE) {
  check_flag(diagonal)
  linear_choice(if (diagonal) "vector" else "matrix", loss, penalty)
}

map_dirichlet <- function(loss = c("log", "brier"), penalty = 0.01) linear_choice("dirichlet", loss, penalty)

linear_choice <- function(name, loss, penalty) {
  loss <- check_choice(loss, c("log", "brier"))
  new_choice("map", name, loss = loss, penalty = check_penalty(penalty))
}

# For weights and of intercepts, one number for both.
check_penalty <- function(penalty) {
  check_numbers(penalty, "penalty", lower = 0, size = if (length(penalty) != 2) 1L)
}

#' @export
fit_map.map_matrix <- function(method, data) {
  diagonal <- method$name == "vector"
  logs <- given_logs(data)
  penalty <- rep_len(method$penalty, 2)
  absent <- if (penalty[2] == 0) setdiff(seq_len(ncol(logs)), data$truth)
  fit <- cpp_linear_fit(logs, data$truth, core_weights(data), method$loss, penalty, diagonal, length(absent) == 0,
                        thread_count())
  message <- if (length(absent) > 0) {
    paste0("Class ", absent[1], " never occurs: its intercept has no finite optimum without a penalty.")
  } else if (fit$steepest >= 1e-4 || fit$stopped) {
    paste0("The gradient is still ", format(fit$steepest, digits = 2), " after ", fit$evaluations, " evaluations.")
  } else if (fit$separates) {
    paste("The map separates the classes of the fitted rows: there is",
          if (diagonal || all(penalty == 0)) "no finite optimum without a penalty." else {
            "no finite optimum, because the penalty leaves the diagonal free."
          })
  } else {
    ""
  }
  new_map_fit(new_map("linear", w = fit$w, b = fit$b), linear_terms(fit, diagonal), message == "", fit$evaluations,
              message, linear_injective(fit$w))
}

#' @export
fit_map.map_vector <- fit_map.map_matrix

#' @export
fit_map.map_dirichlet <- fit_map.map_matrix

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
  if (sum(null) > 1) return(injectivity(FALSE, "the weights are singular: distinct predictions share one image"))
  v <- decomposition$v[, k]
  injectivity(min(v) >= -1e-10 || max(v) <= 1e-10,
              "no two log-probability vectors differ by a vector that the weights turn constant",
              "the weights send some pairs of distinct predictions to one image")
}

#' @export
map_probs.ce_map_linear <- function(map, data) {
  diagonal <- all(map$w[row(map$w) != col(map$w)] == 0)
  cpp_linear_map(c(if (diagonal) diag(map$w) else map$w, map$b), given_logs(data), diagonal, thread_count())
}
