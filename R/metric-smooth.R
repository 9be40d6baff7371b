#' Smooth calibration error
#'
#' The ECE with a kernel instead of bins, at the one bandwidth that equals the error itself: no tuning.
#'
#' # Definition
#' `smECE_s = int_0^1 | (1/N) sum_i (conf_i - outcome_i) K_s(t, conf_i) | dt` with the
#' Gaussian kernel of standard deviation `s` reflected at 0 and 1; the smooth calibration
#' error is the value at the unique `s` with `smECE_s = s` (Blasiok and Nakkiran 2023). It is a
#' consistent calibration measure: within constant factors of the distance to the nearest calibrated
#' predictor, and continuous in the predictions, which binned errors are not.
#'
#' Residuals are shared between their two neighbours on a grid of 2^13 intervals, where the
#' reflected kernel acts by the fast Fourier transform. Class-wise errors are added.
#'
#' # Intervals
#' `"analytic"`: the influence of each row, also through the bandwidth. The lower limit is at most the cross-fitted
#' limit of [ece()], with the sign of the smoothed residuals of the other folds instead of the bins' signs. It is a
#' lower bound of the smooth error at any bandwidth. The bootstrap: with the standard error of the samples.
#'
#' # Cost
#' Linear in `n`.
#' @inheritSection ce_args Choosing a model
#' @inheritParams ks_error
#' @param bandwidth `NULL` for the fixed point, or a number.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power`,
#' `bandwidth`, `n`, `notion`, `interval`, `level`.
#' @references Blasiok and Nakkiran (2023) \doi{10.48550/arXiv.2309.12236}.
#' @examples
#' smooth_ece(c(0.7, 0.75, 0.8, 0.5, 0.55, 0.6, 0.9), c(1, 1, 0, 1, 0, 1, 1))
#' @export
smooth_ece <- new_metric(function(x, truth, ..., bandwidth = NULL, notion = NULL,
                                  level = 0.95, times = NULL, .by = NULL, event_level = "first",
                                  na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  check_number(bandwidth, lower = 0, open = TRUE, null = TRUE)
  notion <- check_scalar_notion(notion)
  call <- current_env()
  interval <- check_interval(level, times, call)
  metric_frame(x, rows_input(quote_dots), "smooth_ece", function(predictions) {
    c(smooth_columns(notion_problems(predictions, notion, call), bandwidth, interval),
      list(n = n_obs(predictions)))
  }, choices = list(notion = notion, interval = interval$type, level = level))
}, "minimize", c(0, Inf))

smooth_columns <- function(problems, bandwidth, interval) {
  parts <- lapply(problems, smooth_value, bandwidth = bandwidth)
  estimates <- Map(function(problem, part) {
    honest <- mean_estimate(crossfit_smooth(problem, part$bandwidth), problem$design)
    new_estimate(part$value, part$influence, problem$design, honest = honest)
  }, problems, parts)
  columns <- error_columns(
    list(combine_estimates(unname(estimates))), interval, problems,
    function(part) sum(vapply(part, function(q) smooth_value(q, bandwidth, FALSE)$value, 0))
  )
  c(columns, list(bandwidth = if (length(parts) == 1) parts[[1]]$bandwidth else NA_real_))
}

smooth_cells <- 2^13

smooth_value <- function(problem, bandwidth = NULL, influence = TRUE) {
  x <- problem$features[, 1]
  d <- problem$residuals[, 1]
  mass <- cpp_grid_mass(x, d * row_shares(problem$design), smooth_cells)
  spectrum <- mass_spectrum(mass)
  s <- bandwidth %||% smooth_fixed_point(spectrum)
  r <- if (s > 0) blurred(spectrum, s) else mass * smooth_cells
  value <- sum(abs(r) * trapezoid_weights)
  out <- list(value = value, bandwidth = s)
  if (influence) {
    # derivative of the integral by a row's residual: its kernel against the sign
    sign_near <- blurred(cpp_cosine_sums(sign(r)), s) / smooth_cells
    rows <- grid_value(x, sign_near) * d
    if (is.null(bandwidth) && s > 0) {
      # s itself moves: s = F(s) gives ds = dF / (1 - F'), F decreasing
      slope <- (error_at(spectrum, 1.01 * s) - error_at(spectrum, 0.99 * s)) / (0.02 * s)
      rows <- value + (rows - row_mean(rows, problem$design)) / (1 - min(slope, 0))
    }
    out$influence <- rows
  }
  out
}

# Per row, the residual times the smoothed sign of the other folds' residuals. At any bandwidth its mean is at most the
# smooth error, and the fixed point s is at least the smaller of s and F(s).
crossfit_smooth <- function(problem, s) {
  x <- problem$features[, 1]
  d <- problem$residuals[, 1]
  fold <- problem_folds(problem)
  share <- row_shares(problem$design)
  masses <- lapply(seq_len(crossfit_folds), function(f) {
    cpp_grid_mass(x[fold == f], share[fold == f] * d[fold == f], smooth_cells)
  })
  all <- Reduce(`+`, masses)
  others <- lapply(masses, function(own) all - own)
  if (s > 0) others <- lapply(others, function(mass) blurred(mass_spectrum(mass), s))
  signs <- lapply(others, sign)
  if (s > 0) signs <- lapply(signs, function(sign) blurred(cpp_cosine_sums(sign), s) / smooth_cells)
  rows <- numeric(length(x))
  for (f in seq_len(crossfit_folds)) {
    own <- which(fold == f)
    rows[own] <- grid_value(x[own], signs[[f]]) * d[own]
  }
  rows
}

# F(s) decreases from the sum of cell residuals; F(s) - s has one zero, between 0 and F(0). Newton's steps from the
# middle, or halves of what is left where one would leave it.
smooth_fixed_point <- function(spectrum) {
  at_0 <- error_and_slope(spectrum, 0)[1]
  if (at_0 == 0) return(0)
  if (at_0 >= 1 && error_and_slope(spectrum, 1)[1] >= 1) return(1)
  low <- 0
  high <- min(at_0, 1)
  s <- high / 2
  repeat {
    at <- error_and_slope(spectrum, s)
    if (at[1] > s) low <- s else high <- s
    last <- s
    s <- s + (at[1] - s) / (1 - at[2])
    if (s < low || s > high) s <- (low + high) / 2
    if (abs(s - last) <= 1e-13) return(s)
  }
}

# F(s) and F'(s).
error_and_slope <- function(spectrum, s) {
  square <- (pi * 0:smooth_cells)^2
  factor <- exp(-s^2 * square / 2)
  density <- cpp_cosine_sums(spectrum * factor) / 2
  slope <- cpp_cosine_sums(spectrum * factor * (-s * square)) / 2
  c(sum(abs(density) * trapezoid_weights), sum(sign(density) * slope * trapezoid_weights))
}

error_at <- function(spectrum, s) sum(abs(blurred(spectrum, s)) * trapezoid_weights)

trapezoid_weights <- c(0.5, rep(1, smooth_cells - 1), 0.5) / smooth_cells

grid_value <- function(x, v) {
  place <- x * smooth_cells
  below <- pmin(floor(place), smooth_cells - 1)
  right <- place - below
  v[below + 1] * (1 - right) + v[below + 2] * right
}

# The Fourier transform of masses on the grid and of their reflections at 0 and 1, which is real and even. A mass on the
# boundary meets its own image.
mass_spectrum <- function(mass) {
  mass[c(1, length(mass))] <- 2 * mass[c(1, length(mass))]
  cpp_cosine_sums(mass)
}

# Density on the grid of a spectrum blurred by the reflected Gaussian: the heat kernel.
blurred <- function(spectrum, s) cpp_cosine_sums(spectrum * exp(-s^2 * (pi * 0:smooth_cells)^2 / 2)) / 2
