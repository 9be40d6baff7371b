# Local linear regression of the residual y - p on logit(p) with a Gaussian kernel, its bandwidth by
# leave-one-out cross-validation; the curve is p plus that. On the logit scale confidences that crowd near
# 1 spread out, and a calibrated model's curve is the diagonal without smoothing bias.
#
# Bands: outcomes are simulated from the predictions (null) and from the fitted curve (confidence), and each
# draw chooses its bandwidth anew. Null limits belong to the bandwidth of the curve itself: limits common to all
# bandwidths would be as wide as the few draws that chose a narrow one. Confidence limits are centred at the local
# quadratic fit with the same bandwidth, which removes the leading bias (Calonico, Cattaneo & Farrell 2018), and
# studentised. The data enter as sums over at most 200 cells, so that all draws are a few matrix products.
#' @export
curve_points.curve_smooth <- function(curve, problem, values, control, counts) {
  p <- values
  y <- problem$labels
  copies <- problem$design$copies
  smoother <- new_smoother(p, control$bandwidth, counts$v %||% copies, if (!is.null(counts)) counts_noise(counts))
  observed <- smooth_all(smoother, matrix(smooth_sums(smoother, y)))
  x <- smoother$x
  truth <- pmin(pmax(observed$estimate[, 1], 0), 1)
  rate <- interpolate(x, truth, p)
  # between few values the curve of draws does not know it
  if (smoother$few) truth <- interpolate(smoother$p, interpolate(x, truth, smoother$p), x)
  redraw <- function(prob, ...) {
    smooth_all(smoother, if (is.null(counts)) {
      cpp_count_draws(prob[smoother$order], copies[smoother$order] %||% numeric(), smoother$end, control$times,
                      draw_seed(), thread_count())
    } else {
      weighted_draws(prob, counts, smoother$cell, control$times)
    }, ...)
  }
  null <- smooth_null(smoother, redraw(p, limits = FALSE), observed$chosen, control$level)
  boot <- redraw(rate)
  t <- simulated_band((boot$centre - truth) / boot$std.error, control$level)
  centre <- observed$centre[, 1]
  se <- observed$std.error[, 1]
  # where the fitted curve touches 0 or 1 its draws do not vary: no limit is nearer than the normal one
  z <- qnorm((1 + control$level) / 2)
  rates <- shrunken_rate(observed$estimate[, 1], smoother$weights[[observed$chosen]]$n_eff)
  at_cells <- interpolate(x, rates, smoother$p)
  spread <- smoother$n * smoother$noise * at_cells * (1 - at_cells)
  many <- max_quantile(smoother$weights[[observed$chosen]]$quadratic, spread, control)
  # what is left of the bias at a bend: the step to a finer fit, and as much as its noise may hide
  h <- smoother$grid[observed$chosen]
  finer <- local_polynomials(smooth_scale(x), smoother, min(h / 2, diff(range(smoother$t)) / 25))$quadratic
  finer <- finer - smoother$weights[[observed$chosen]]$quadratic
  step <- drop(finer %*% (smooth_sums(smoother, y) - smoother$n * smoother$p))
  noise <- sqrt(drop(finer^2 %*% spread))
  step <- step + z * pmin(pmax(step, -noise), noise)
  out <- curve_frame(
    x, observed$estimate[, 1],
    conf = list(low = centre - pmax(t$high, z) * se, high = centre + pmax(-t$low, z) * se),
    band = list(low = centre - pmax(t$band_high, many) * se + pmin(step, 0),
                high = centre + pmax(-t$band_low, many) * se + pmax(step, 0)),
    null = null, null_band = list(low = null$band_low, high = null$band_high)
  )
  attr(out, "bandwidth") <- h
  out
}

# The range of calibrated models' curves of this bandwidth. The distance from the diagonal counts in standard errors at
# the diagonal or at the curve, whichever limit it exceeds. The former are smaller for curves nearer to the middle, the
# latter for curves nearer to 0 and 1. Three tenths of the error probability are for the former, which simulated curves
# leave less often by chance.
smooth_null <- function(smoother, draws, chosen, level) {
  times <- ncol(draws$estimate)
  score <- wald <- draws$estimate
  for (h in unique(draws$chosen)) {
    at <- which(draws$chosen == h)
    error <- null_error(smoother, h)
    curves <- pmin(pmax(draws$estimate[, at, drop = FALSE], 0), 1)
    distance <- abs(curves - smoother$x)
    rate <- shrunken_rate(curves, error$n_eff)
    score[, at] <- distance / error$at_diagonal
    wald[, at] <- distance / sqrt(rate * (1 - rate) / error$n_eff)
  }
  upper <- function(values, level) sort(cpp_column_maxima(values))[min(ceiling((times + 1) * level), times)]
  share <- 0.3
  unit <- c(upper(score, 1 - share * (1 - level)), upper(wald, 1 - (1 - share) * (1 - level)))
  unit <- pmax(unit, 1e-12) # curves of predictions of 0 and 1 do not vary
  ratio <- pmax(score / unit[1], wald / unit[2])
  one <- row_quantiles(ratio, level)[, 1]
  all <- upper(ratio, level)
  limits <- function(factor) null_limits(smoother$x, null_error(smoother, chosen), factor * unit[1], factor * unit[2])
  band <- limits(all)
  c(limits(one), list(band_low = band$low, band_high = band$high))
}

# Standard error under calibration of the curve with this bandwidth, at least that of `n_eff` rows whose rate is
# pulled to 1/2, and n_eff.
null_error <- function(smoother, chosen) {
  square <- smoother$weights[[chosen]]$linear^2
  n_eff <- 1 / as.vector(square %*% (smoother$n * smoother$noise))
  rate <- shrunken_rate(smoother$x, n_eff)
  exact <- as.vector(square %*% (smoother$n * smoother$noise * (smoother$p - smoother$p2)))
  list(n_eff = n_eff, at_diagonal = sqrt(pmax(rate * (1 - rate) / n_eff, exact)))
}

# Curves at most `score` standard errors at the diagonal and `wald` of their own from it: roots of a quadratic.
null_limits <- function(x, error, score, wald) {
  n <- error$n_eff
  a <- n * (n + 4)^2 + (wald * n)^2
  half_b <- -x * n * (n + 4)^2 - (wald * n)^2 / 2
  root <- sqrt(pmax(half_b^2 - a * (x^2 * n * (n + 4)^2 - wald^2 * (2 * n + 4)), 0))
  list(low = pmax(x - score * error$at_diagonal, (-half_b - root) / a),
       high = pmin(x + score * error$at_diagonal, (-half_b + root) / a))
}

interpolate <- function(x, y, at) {
  if (length(unique(x)) == 1) return(rep(y[1], length(at)))
  stats::approx(x, y, at, rule = 2, ties = mean)$y
}

# Event rates pulled a little to 1/2, as if 2 successes and 2 failures had been seen there as well.
shrunken_rate <- function(estimate, n_eff) (n_eff * pmin(pmax(estimate, 0), 1) + 2) / (n_eff + 4)

# The level-quantile of max_g |sum_c l_gc e_c| / sd_g for independent normal e_c.
max_quantile <- function(weights, variance, control) {
  process <- weights * rep(sqrt(variance), each = nrow(weights))
  scale <- sqrt(rowSums(process^2))
  process <- process / ifelse(scale > 0, scale, 1)
  draws <- process %*% matrix(stats::rnorm(ncol(process) * control$times), ncol(process))
  quantile(cpp_column_maxima(abs(draws)), control$level, names = FALSE)
}

# Probabilities nearer to 0 or 1 than 1e-5 count as that near.
smooth_scale <- function(p) stats::qlogis(pmin(pmax(p, 1e-5), 1 - 1e-5))

# Everything that depends on the predictions alone: cells (stretches of equal width of logit(p), or its distinct
# values), places (half evenly spaced in p, half in logit(p)) and, per bandwidth, the weights. `v`: what each row counts
# (NULL: 1); `noise`: the variance of its noise, as a multiple of that of so many independent rows (NULL: 1).
new_smoother <- function(p, bandwidth, v = NULL, noise = NULL, most = 200L, n_places = 160L, n_grid = 12L) {
  t <- smooth_scale(p)
  distinct <- distinct_values(t, most)
  cell <- if (is.null(distinct)) {
    integer_cells(pmin(as.integer((t - min(t)) / (max(t) - min(t)) * most), most - 1L))
  } else {
    match(t, distinct)
  }
  n <- if (is.null(v)) tabulate(cell) else sum_by_cluster(v, cell)
  total <- function(values) sum_by_cluster(if (is.null(v)) values else v * values, cell)
  mean_of <- function(values) total(values) / n
  out <- list(total = total, order = order(cell), cell = cell, end = cumsum(tabulate(cell)), n = n, t = mean_of(t),
              p = mean_of(p), p2 = mean_of(p^2))
  out$noise <- if (is.null(noise)) 1 else mean_of(noise)
  out$few <- !is.null(distinct)
  out$x <- smooth_places(range(p), n_places)
  span <- max(out$t) - min(out$t)
  out$grid <- bandwidth %||% if (span > 0) span * exp(seq(log(0.04), log(1), length.out = n_grid)) else 1
  # fewer cells choose the bandwidth as well
  out$coarse <- ceiling(seq_along(n) / ceiling(length(n) / 120))
  sums <- rowsum(cbind(n, n * out$t), out$coarse)
  out$loo <- list(n = sums[, 1], t = sums[, 2] / sums[, 1])
  at <- smooth_scale(out$x)
  out$weights <- lapply(out$grid, function(h) place_weights(out, at, h))
  out
}

# The values of x in increasing order; NULL if there are more than `most`. Reads as many rows as it takes.
distinct_values <- function(x, most, block = 1e5) {
  found <- NULL
  for (from in seq(1, length(x), by = block)) {
    check_interrupt()
    found <- unique(c(found, x[from:min(from + block - 1, length(x))]))
    if (length(found) > most) return(NULL)
  }
  sort(found)
}

# 1, 2, ... in the order of codes 0, 1, ..., of which some are not used.
integer_cells <- function(code) {
  used <- tabulate(code + 1L) > 0
  cumsum(used)[code + 1L]
}

# The weights at the places `at` when they are asked for: most bandwidths are never chosen. `both` is a promise.
place_weights <- function(smoother, at, h, both = local_polynomials(at, smoother, h)) {
  out <- new.env(parent = emptyenv())
  delayedAssign("linear", both$linear, assign.env = out)
  delayedAssign("quadratic", both$quadratic, assign.env = out)
  delayedAssign("n_eff", 1 / rowSums(both$quadratic^2 * rep(smoother$n * smoother$noise, each = length(at))),
                assign.env = out)
  if (length(smoother$grid) > 1) {
    out$loo <- loo_form(local_polynomials(smoother$loo$t, smoother$loo, h, FALSE)$linear, smoother$loo$n)
  }
  out
}

smooth_places <- function(range, n_places) {
  if (range[2] == range[1]) return(range[1])
  even <- seq(0, 1, length.out = n_places / 2)
  t <- smooth_scale(range)
  inner <- stats::plogis(t[1] + even * diff(t))
  sort(unique(c(range[1] + even * diff(range), inner[inner > range[1] & inner < range[2]])))
}

smooth_sums <- function(smoother, y) smoother$total(as.numeric(y))

# Counts of events per cell [cells x draws] -> curves at the places [places x draws]; with the centres and standard
# errors of their limits where these are asked for.
smooth_all <- function(smoother, counts, limits = TRUE) {
  residual <- counts - smoother$n * smoother$p
  chosen <- choose_bandwidths(smoother, counts, residual)
  empty <- matrix(0, length(smoother$x), ncol(counts))
  out <- list(estimate = empty, chosen = chosen)
  if (limits) out$centre <- out$std.error <- empty
  for (h in unique(chosen)) {
    w <- smoother$weights[[h]]
    at <- which(chosen == h)
    out$estimate[, at] <- smoother$x + w$linear %*% residual[, at, drop = FALSE]
    if (!limits) next
    out$centre[, at] <- smoother$x + w$quadratic %*% residual[, at, drop = FALSE]
    # never 0: a share of successes of 0 or 1 keeps an error
    rate <- shrunken_rate(out$estimate[, at], w$n_eff)
    out$std.error[, at] <- sqrt(rate * (1 - rate) / w$n_eff)
  }
  out
}

# Leave-one-out squared error: sum over the rows of a cell of (residual - fit)^2 / (1 - own weight)^2, which is a
# quadratic form in the residuals of the cells.
choose_bandwidths <- function(smoother, counts, residual) {
  if (length(smoother$grid) == 1) return(rep(1L, ncol(counts)))
  # sum of (y - p)^2 = y (1 - 2 p) + p^2 over the rows of a cell
  square <- rowsum(counts * (1 - 2 * smoother$p) + smoother$n * smoother$p2, smoother$coarse)
  residual <- rowsum(residual, smoother$coarse)
  score <- vapply(smoother$weights, function(w) {
    drop(w$loo$squares %*% square) + colSums(residual * (w$loo$pairs %*% residual))
  }, numeric(ncol(counts)))
  max.col(-matrix(score, ncol(counts)), ties.method = "last")
}

# The weights of squares and pairs of residuals in that error; `l`: the weights of the fits at the cells.
loo_form <- function(l, n) {
  each <- 1 / (1 - pmin(diag(l), 1 - 1e-6))^2
  list(squares = each, pairs = crossprod(l, each * n * l) - 2 * each * l)
}

# Weights l_gc of one observation of cell c in the local polynomial fits at t_g
# (inst/include/calibrisk/classical/local_polynomials.h).
local_polynomials <- function(t, cells, h, quadratic = TRUE) cpp_local_polynomials(t, cells$t, cells$n, h, quadratic)
