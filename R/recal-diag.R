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
  data <- in_own_order(data)
  # log-probabilities lie in [log(floor), 0] for any data: one grid for fit and prediction
  range <- c(min(data$logp, log(.Machine$double.eps)), 0)
  # the penalty pulls there: without it slopes run away where tiny probabilities never met their label
  theta_start <- start_network(hidden, start$b, data$logp, data$design$copies)
  fit <- cpp_network_fit(theta_start, hidden, range, network_cells, data$logp, data$truth, core_weights(data),
                         method$loss, method$penalty, thread_count())
  # a plateau of a non-convex objective counts as an optimum where the loss has stopped moving
  converged <- fit$converged && start$converged
  new_map_fit(
    new_map("network", parameters = fit$parameters, hidden = hidden, range = range),
    network_terms(fit$parameters, hidden), converged, fit$evaluations,
    if (!start$converged) start$message else if (converged) "" else {
      paste0("L-BFGS stopped after ", fit$evaluations, " evaluations; the largest gradient entry is ",
             format(fit$steepest, digits = 2), ".")
    },
    injectivity(TRUE, "one increasing function of every log-probability is one to one on the simplex")
  )
}

# Rows and classes in an order that their values alone give. The path of an optimiser through a surface with many
# minima depends on the last digits of its sums, which depend on the order of their terms.
in_own_order <- function(data) {
  logp <- given_logs(data)
  own <- logp[cbind(seq_along(data$truth), data$truth)]
  columns <- split_columns(logp)
  rows <- order(own, do.call(pmax, columns), do.call(pmin, columns), design_weights(data$design))
  classes <- order(colSums(logp[rows, , drop = FALSE] * (data$design$copies[rows] %||% 1)))
  list(logp = logp[rows, classes, drop = FALSE], truth = match(data$truth[rows], classes),
       design = design_rows(data$design, rows))
}

# The parameters of a start without chance.
start_network <- function(hidden, b, logp, copies = NULL) {
  copies <- if (!is.null(copies)) rep(copies, ncol(logp))
  spread <- if (is.null(copies)) stats::sd(logp) else {
    sqrt(sum((logp - sum(logp * copies) / sum(copies))^2 * copies) / (sum(copies) - 1))
  }
  bends <- weighted_quantile(c(logp), (seq_len(hidden[1]) - 0.5) / hidden[1], copies, copies = copies)
  cpp_network_start(hidden, b, max(spread, 1e-3), bends)
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
