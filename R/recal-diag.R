# The order-preserving map softmax(m(l_1), ..., m(l_K)) of Rahimi et al. (2020): m increasing, the integral of a
# positive ReLU network. Core: inst/include/calibrisk/recal/monotone_network.h.

network_cells <- 8192L

#' @rdname ce_maps
#' @export
map_diag <- function(loss = c("log", "brier"), hidden = c(10, 10), penalty = 0.001, range = c(0.01, 100)) {
  loss <- check_choice(loss, c("log", "brier"))
  check_counts(hidden)
  # weights and biases of a network of one input and one output (SlopeNetwork of the core)
  size <- sum(as.numeric(hidden) * (c(1, hidden[-length(hidden)]) + 1)) + hidden[length(hidden)] + 1
  stop_if(size > most_parameters,
          "The layers in {.arg hidden} must have at most {count_text(most_parameters)} weights in total.",
          "x" = "Layers of {.val {hidden}} units have {count_text(size)}.",
          class = c("argument", "size"), arg = "hidden", value = hidden)
  check_number(penalty, lower = 0)
  check_range(range)
  new_choice("map", "diag", loss = loss, hidden = hidden, penalty = penalty, range = range)
}

# Limit on the weights of a network: it is a function of one number, and the optimiser stores forty times as many.
most_parameters <- 1e5

#' @export
fit_map.map_diag <- function(method, data) {
  hidden <- as.integer(method$hidden)
  start <- best_temperature(data, method)
  fit <- of_given(cpp_network_fit, data, data$truth, core_weights(data), data$design$copies %||% numeric(), hidden,
                  network_cells, start$b, method$loss, method$penalty)
  # a plateau of a non-convex objective counts as an optimum where the loss has stopped moving
  converged <- fit$converged && start$converged
  new_map_fit(
    new_map("network", parameters = fit$parameters, hidden = hidden, range = fit$range),
    network_terms(fit$parameters, hidden), converged, fit$evaluations,
    if (!start$converged) start$message else if (converged) "" else {
      paste0("L-BFGS stopped after ", fit$evaluations, " evaluations; the largest gradient entry is ",
             format(fit$steepest, digits = 2), ".")
    },
    injectivity(TRUE, "one increasing function of every log-probability is one to one on the simplex")
  )
}

network_terms <- function(theta, hidden) {
  inputs <- c(1, hidden)
  outputs <- c(hidden, 1)
  layer <- rep(seq_along(outputs), outputs * (inputs + 1))
  kind <- unlist(Map(function(i, o) rep(c("weight", "bias"), c(i * o, o)), inputs, outputs))
  map_terms(paste0(kind, "_", layer), theta)
}

#' @export
map_probs.ce_map_network <- function(map, data) {
  logs <- given_logs(data)
  scores <- cpp_network_map(map$parameters, map$hidden, map$range, network_cells, logs)
  given_probs(list(given = replace(logs, TRUE, scores), logits = TRUE, floor = 0))
}
