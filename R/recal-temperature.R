# Temperature scaling and its ensemble (Gruber & Buettner 2022, section 2.2; Zhang et al. 2020).

#' @rdname ce_maps
#' @export
map_temperature <- function(loss = c("log", "brier"), range = c(0.01, 100)) {
  loss <- check_choice(loss, c("log", "brier"))
  check_range(range)
  new_choice("map", "temperature", loss = loss, range = range)
}

#' @rdname ce_maps
#' @export
map_ets <- function(loss = c("brier", "log"), range = c(0.01, 100)) {
  loss <- check_choice(loss, c("brier", "log"))
  check_range(range)
  new_choice("map", "ets", loss = loss, range = range)
}

check_range <- function(range) {
  check_numbers(range, "range", lower = 0, open = TRUE, size = 2)
  stop_if(range[1] >= range[2], "{.arg range} must give the smallest and then the largest temperature.",
          "x" = "It is {range[1]}, {range[2]}.", arg = "range", value = range)
}

# Densities if the predictions are such (R/recal-density.R), else probabilities of classes, as for every map.
#' @export
recalibrate.map_temperature <- function(method, part, input) {
  laws <- if (!input$logits && !is.null(law_given(part, input$dots))) laws_of(part, input)
  if (is.null(laws$law)) return(NextMethod())
  stop_if(method$loss != "log", "The temperature of densities is fitted by the log score.",
          "x" = "{.arg loss} is {.val {method$loss}}.", arg = "loss", value = method$loss)
  recalibrate_density(method, laws, density_layout(part), input$folds)
}

#' @export
fit_map.map_temperature <- function(method, data) {
  best <- best_temperature(data, method)
  new_map_fit(
    new_map("temperature", b = best$b),
    map_terms("temperature", 1 / best$b, std.error = best$std.error),
    best$converged, best$iterations, best$message,
    injectivity(TRUE, "p -> p^(1/T), normalised, is one to one on the simplex")
  )
}

#' @export
map_probs.ce_map_temperature <- function(map, data) {
  if (map$b == 1) return(data$probs)
  cpp_softmax(map$b * data$logp, FALSE, thread_count())
}

# The best b = 1/T in [1/range[2], 1/range[1]].
best_temperature <- function(data, method) {
  n_calls <- 0L
  loss_at <- function(b) {
    n_calls <<- n_calls + 1L
    cpp_temperature_loss(data$logp, data$truth, core_weights(data), b, method$loss, thread_count())
  }
  limits <- 1 / rev(method$range)
  start <- min(max(1, limits[1]), limits[2])
  result <- function(b, converged = TRUE, message = "") {
    curvature <- if (method$loss == "log") loss_at(b)[["curvature"]] else NA_real_
    # of log T = -log b, with se(b) = (n curvature)^(-1/2) of the log likelihood: T itself is skewed
    std.error <- if (!converged) {
      NA_real_
    } else if (is_unweighted(data$design)) {
      1 / (b * sqrt(copy_count(data$design) * curvature))
    } else {
      row_std_error(temperature_scores(b, data), data$design) / (b * curvature)
    }
    list(b = b, converged = converged, message = message, iterations = n_calls, std.error = std.error)
  }
  spread <- do.call(pmax, split_columns(data$logp)) - rowMeans(data$logp)
  if (max(spread) < 1e-12) {
    return(result(start, FALSE, "All predictions are uniform: every temperature gives the same ones."))
  }
  ends <- list(loss_at(limits[1]), loss_at(limits[2]))
  if (method$loss == "log") {
    if (ends[[1]][["slope"]] >= 0) return(result(limits[1], FALSE, at_bound(limits[1], "high", data)))
    if (ends[[2]][["slope"]] <= 0) return(result(limits[2], FALSE, at_bound(limits[2], "low", data)))
    return(result(newton_root(loss_at, start, limits)))
  }
  brier_temperature(loss_at, limits, result, data)
}

# The Brier score need not be convex in b: a grid, then the root of the slope around the best.
brier_temperature <- function(loss_at, limits, result, data) {
  grid <- exp(seq(log(limits[1]), log(limits[2]), length.out = 33))
  values <- vapply(grid, function(b) loss_at(b)[["value"]], 0)
  at <- which.min(values)
  # separable labels: the score is 0, as good as 0, from some temperature down
  if (values[length(grid)] <= values[at] + 1e-15) at <- length(grid)
  if (at == 1) return(result(limits[1], FALSE, at_bound(limits[1], "high", data)))
  if (at == length(grid)) return(result(limits[2], FALSE, at_bound(limits[2], "low", data)))
  slope <- function(b) loss_at(b)[["slope"]]
  around <- grid[at + c(-1, 1)]
  if (slope(around[1]) < 0 && slope(around[2]) > 0) {
    return(result(stats::uniroot(slope, around, tol = 1e-12)$root))
  }
  result(stats::optimize(function(b) loss_at(b)[["value"]], around, tol = 1e-10)$minimum)
}

# Weights as the core reads them.
core_weights <- function(data) data$design$w %||% numeric()

# Derivative of each row's log loss in b.
temperature_scores <- function(b, data) {
  p <- cpp_softmax(b * data$logp, FALSE, thread_count())
  rowSums(p * data$logp) - data$logp[cbind(seq_along(data$truth), data$truth)]
}

# At a bound either the range is too narrow or there is no optimum. T -> 0 is best if every label has the largest
# probability, T -> Inf if labels have, on average, at most the mean log-probability.
at_bound <- function(b, side, data) {
  own <- data$logp[cbind(seq_along(data$truth), data$truth)]
  why <- if (side == "low" && all(own >= do.call(pmax, split_columns(data$logp)))) {
    "the labels follow the predictions without exception."
  } else if (side == "high" && row_mean(own - rowMeans(data$logp), data$design) <= 0) {
    "the labels do not follow the predictions."
  } else {
    "a wider `range` may hold it."
  }
  paste0("The optimum is at the bound T = ", format(1 / b, digits = 4), " or beyond: ", why)
}

# Newton's method for the root of an increasing slope within limits that bracket it; steps that leave the bracket are
# replaced by its geometric mean.
newton_root <- function(loss_at, b, limits, max_steps = 100) {
  for (step in seq_len(max_steps)) {
    at <- loss_at(b)
    if (at[["slope"]] == 0) return(b)
    if (at[["slope"]] > 0) limits[2] <- b else limits[1] <- b
    proposal <- b - at[["slope"]] / at[["curvature"]]
    if (!is.finite(proposal) || proposal <= limits[1] || proposal >= limits[2]) {
      proposal <- sqrt(limits[1] * limits[2])
    }
    if (abs(proposal - b) <= 1e-13 * b) return(proposal)
    b <- proposal
  }
  b
}

# w1 softmax(l/T) + w2 p + w3/K, first T, then w.
#' @export
fit_map.map_ets <- function(method, data) {
  best <- best_temperature(data, method)
  parts <- ets_parts(best$b, data)
  weights <- if (method$loss == "brier") {
    list(w = simplex_qp(parts, data$truth, row_shares(data$design)), converged = TRUE, iterations = 0L, message = "")
  } else {
    simplex_em(parts, data$truth, row_shares(data$design))
  }
  w <- weights$w
  message <- c(best$message, weights$message)
  # a temperature that carries no weight need not be identified
  converged <- (best$converged || w[1] == 0) && weights$converged
  new_map_fit(
    new_map("ets", b = best$b, w = w),
    map_terms(c("temperature", "weight_tempered", "weight_raw", "weight_uniform"), c(1 / best$b, w)),
    converged, best$iterations + weights$iterations,
    paste(message[nzchar(message)], collapse = " "),
    if (w[1] + w[2] > 0) {
      injectivity(TRUE, "with w1 + w2 > 0 the map is the gradient of a strictly convex function of the logits")
    } else {
      injectivity(FALSE, "all weight is on the uniform prediction")
    }
  )
}

ets_parts <- function(b, data) {
  list(map_probs(new_map("temperature", b = b), data), data$probs,
       matrix(1 / ncol(data$probs), nrow(data$probs), ncol(data$probs)))
}

#' @export
map_probs.ce_map_ets <- function(map, data) {
  parts <- ets_parts(map$b, data)
  map$w[1] * parts[[1]] + map$w[2] * parts[[2]] + map$w[3] * parts[[3]]
}

# min over the simplex of sum_i share_i |sum_j w_j B_j,i - e_i|^2, exactly: the best stationary point of the 7 faces.
# Faces with a singular system can be left out: their minima reach a smaller face.
simplex_qp <- function(parts, truth, share) {
  at <- cbind(seq_along(truth), truth)
  h <- outer(1:3, 1:3, Vectorize(function(j, k) sum(share * parts[[j]] * parts[[k]])))
  g <- vapply(parts, function(part) sum(share * part[at]), 0)
  objective <- function(w) sum(w * (h %*% w)) - 2 * sum(g * w)
  best <- c(1, 0, 0)
  for (face in list(2, 3, 1:2, c(1, 3), 2:3, 1:3)) {
    m <- length(face)
    system <- rbind(cbind(2 * h[face, face, drop = FALSE], 1), c(rep(1, m), 0))
    if (rcond(system) < 1e-13) next
    w <- numeric(3)
    w[face] <- solve(system, c(2 * g[face], 1))[seq_len(m)]
    if (min(w) >= 0 && objective(w) < objective(best) - 1e-15) best <- w
  }
  best / sum(best)
}

# max over the simplex of sum_i share_i log(sum_j w_j B_j,i,y_i) (inst/include/calibrisk/recal/mixture_weights.h).
simplex_em <- function(parts, truth, share) {
  at <- cbind(seq_along(truth), truth)
  fit <- cpp_mixture_weights(do.call(cbind, lapply(parts, function(part) part[at])), share)
  ok <- fit$left < 1e-6
  list(w = fit$w, converged = ok, iterations = fit$steps,
       message = if (!ok) paste0("EM stopped with up to ", format(fit$left, digits = 2), " nats to gain.") else "")
}
