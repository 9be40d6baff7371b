# Maps of one probability: Platt, beta, isotonic, histogram. Several classes: one against the
# rest, divided by the sum. A scalar fit sees p (the event) and a 0/1 outcome.

#' @rdname ce_maps
#' @export
map_platt <- function(penalty = 0) new_choice("map", "platt", penalty = check_penalty(penalty))

#' @rdname ce_maps
#' @export
map_beta <- function(penalty = 0) new_choice("map", "beta", penalty = check_penalty(penalty))

#' @rdname ce_maps
#' @export
map_histogram <- function(n_bins = 15, type = c("mass", "width")) {
  check_bins(n_bins)
  new_choice("map", "histogram", n_bins = n_bins, type = check_choice(type, c("mass", "width")))
}

# A map that has no fit_map() of its own fits one probability.
#' @export
fit_map.ce_choice <- function(method, data) {
  fits <- each_class(data, function(class, p, log_p, log_q) {
    out <- fit_scalar(method, p, log_p, log_q, as.numeric(data$truth == class), data$design)
    if (class_count(data) == 2) return(out)
    out$terms$class <- paste0(class, ifelse(is.na(out$terms$class), "", paste0(": ", out$terms$class)), recycle0 = TRUE)
    if (!is.null(out$tests)) out$tests$class <- as.character(class)
    if (!out$converged) out$message <- paste0("Class ", class, ": ", out$message)
    out
  })
  bad <- Filter(function(fit) !fit$converged, fits)
  new_map_fit(
    new_map("one_vs_rest", maps = lapply(fits, `[[`, "map")), bind_rows(lapply(fits, `[[`, "terms")),
    length(bad) == 0, max(vapply(fits, `[[`, 0L, "iterations")), if (length(bad) > 0) bad[[1]]$message else "",
    if (length(fits) == 1) fits[[1]]$injective else {
      injectivity(FALSE, "one-against-rest maps are divided by their sum, which distinct predictions can share")
    },
    if (!is.null(fits[[1]]$tests)) bind_rows(lapply(fits, `[[`, "tests")),
    if (length(fits) == 1) fits[[1]]$covariance
  )
}

# of(class, p, log(p), log(1 - p)) of each class, of two classes the second. Logarithms are promises, which some maps do
# not use.
each_class <- function(data, of) {
  probs <- given_probs(data)
  delayedAssign("logs", given_logs(data))
  k <- ncol(probs)
  lapply(if (k == 2) 2L else seq_len(k), function(c) {
    of(c, probs[, c], logs[, c], if (k == 2) logs[, 1] else log(pmax(1 - probs[, c], .Machine$double.eps)))
  })
}

#' @export
map_probs.ce_map_one_vs_rest <- function(map, data) {
  maps <- map$maps
  out <- each_class(data, function(class, p, log_p, log_q) {
    map_scalar(maps[[min(class, length(maps))]], p, log_p, log_q)
  })
  if (length(out) == 1) return(cpp_event_columns(out[[1]]))
  out <- do.call(cbind, out)
  out[rowSums(out) <= 0, ] <- 1
  out / rowSums(out)
}

fit_scalar <- function(method, p, log_p, log_q, outcome, design) UseMethod("fit_scalar")

map_scalar <- function(map, p, log_p, log_q) UseMethod("map_scalar")

#' @export
fit_scalar.map_platt <- function(method, p, log_p, log_q, outcome, design) {
  fit <- logit_fit(cbind(log_p - log_q, 1), outcome, c(1, 0), method$penalty, design)
  new_map_fit(
    new_map("logit", a = fit$theta[1], b = fit$theta[1], c = fit$theta[2]),
    map_terms(c("slope", "intercept"), fit$theta, std.error = fit$std.error),
    fit$converged, fit$iterations, fit$message,
    injectivity(fit$theta[1] != 0, "the slope is not 0", "the slope is 0"), covariance = fit$covariance
  )
}

# logit(q) = a log(p) - b log(1 - p) + c with a, b >= 0: a negative coefficient is set to 0 and
# the rest refitted (Kull et al. 2017). The errors of what is left are not those of a fit that could have been at the
# bound: there are none.
#' @export
fit_scalar.map_beta <- function(method, p, log_p, log_q, outcome, design) {
  x <- cbind(log_p, -log_q, 1)
  use <- 1:3
  repeat {
    fit <- logit_fit(x[, use, drop = FALSE], outcome, c(1, 1, 0)[use], method$penalty, design)
    theta <- replace(numeric(3), use, fit$theta)
    negative <- which(theta[1:2] < 0)
    if (length(negative) == 0) break
    use <- setdiff(use, negative[which.min(theta[negative])])
  }
  new_map_fit(
    new_map("logit", a = theta[1], b = theta[2], c = theta[3]),
    map_terms(c("a", "b", "c"), theta, std.error = if (length(use) == 3) fit$std.error else NA_real_),
    fit$converged, fit$iterations, fit$message,
    injectivity(theta[1] + theta[2] > 0, "a, b >= 0 are not both 0: strictly increasing", "a = b = 0: constant"),
    covariance = if (length(use) == 3) fit$covariance
  )
}

#' @export
map_scalar.ce_map_logit <- function(map, p, log_p, log_q) {
  stats::plogis(map$a * log_p - map$b * log_q + map$c)
}

# Logistic regression with errors. The last column is the intercept; the penalty pulls the slopes towards `centre`, in
# mean log loss units. `value` is the mean loss with the penalty, `information` the covariance of unweighted rows.
logit_fit <- function(x, outcome, centre, penalty, design, offset = NULL) {
  p <- ncol(x)
  penalty <- rep_len(penalty, 2)
  ridge <- c(rep(penalty[1] / max(p - 1, 1), p - 1), penalty[2])
  free <- all(ridge == 0)
  # predictions of too few values: of all optima the one next to no change
  known <- !free || length(unique(x[seq_len(min(nrow(x), 100)), 1])) >= p || length(unique(x[, 1])) >= p
  fit <- logistic_fit(x, outcome, centre, row_shares(design), offset, if (known) ridge else rep(1e-9, p))
  converged <- fit$converged && !(free && fit$apart)
  # from the information; of weighted or clustered rows from the influences of their scores
  information <- fit$inverse / copy_count(design)
  covariance <- if (!free || !known || !converged) {
    matrix(NA_real_, p, p)
  } else if (is_unweighted(design)) {
    information
  } else {
    cpp_row_covariance(logistic_influence(fit, x, outcome, design, offset, total = 1), design)
  }
  list(theta = fit$theta, converged = converged, iterations = fit$iterations, covariance = covariance,
       information = information, std.error = sqrt(pmax(diag(covariance), 0)), value = fit$loss,
       message = if (converged) "" else logistic_failure(x[, -p, drop = FALSE], outcome, fit$apart))
}

# Increasing least squares fit; equal predictions share their mean outcome.
#' @export
fit_scalar.map_isotonic <- function(method, p, log_p, log_q, outcome, design) {
  fit <- cpp_isotonic_rows(p, outcome, design$w)
  # the two ends of every step suffice, one if they are the same
  two <- fit$low < fit$high
  times <- 1L + two
  x <- rep(fit$low, times)
  x[cumsum(times)] <- fit$high
  value <- rep(fit$values, times)
  new_map_fit(
    new_map("isotonic", x = x, value = value),
    map_terms("value", value, class = format(x, digits = 7, trim = TRUE)),
    iterations = 1L, injective = injectivity(FALSE, "constant on its steps")
  )
}

#' @export
map_scalar.ce_map_isotonic <- function(map, p, log_p, log_q) {
  cpp_knot_line(map$x, map$value, p)
}

# The mean outcome of each bin. Bins are right-closed; 0 belongs to the first.
#' @export
fit_scalar.map_histogram <- function(method, p, log_p, log_q, outcome, design) {
  w <- design_weights(design)
  edges <- bin_edges(p, method$n_bins, method$type, design$w)
  bin <- findInterval(p, edges, left.open = TRUE) + 1L
  sums <- sum_by_cluster(cbind(w, w * outcome), bin, length(edges) + 1L)
  middle <- (c(0, edges) + c(edges, 1)) / 2
  value <- ifelse(sums[, 1] > 0, sums[, 2] / sums[, 1], middle)
  new_map_fit(
    new_map("histogram", edges = edges, value = value),
    map_terms("value", value, class = format(c(edges, 1), digits = 7, trim = TRUE)),
    iterations = 1L, injective = injectivity(FALSE, "constant within bins")
  )
}

# Inner edges: k / B, or the order statistics number ceiling(n k / B), without duplicates.
bin_edges <- function(p, n_bins, type, w = NULL) {
  k <- seq_len(n_bins - 1)
  if (type == "width") return(k / n_bins)
  check_interrupt()
  unique(weighted_quantile(p, k / n_bins, w, type = 1))
}

#' @export
map_scalar.ce_map_histogram <- function(map, p, log_p, log_q) {
  map$value[findInterval(p, map$edges, left.open = TRUE) + 1L]
}
