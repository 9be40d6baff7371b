# Interval of the calibration error itself. The plug-in mean h(p, p) says nothing about the noise
# of the outcomes that h was fitted on, and is too large near calibration, where h is that noise.
# Both follow from gaps g of functions fitted without the row (Cauchy-Schwarz, any fixed g and c):
#   CE^2 = E|Delta|^2 >= 2 c E<e, g> - c^2 E|g|^2,   with equality at c g = Delta,
# a mean over all rows. Its lower confidence limit holds whatever h is; the upper limit is that of
# the larger of it and the plug-in, with the outcomes' noise in the standard error, and never below
# the upper limit of bias and slope, which holds for any h, a flat one too.

# Per row: `lower`, the term of the bound above; `noise`, 2 <e - c g, c g>, the outcomes' share of
# an estimate's influence function. NaN where g is not defined. `unseen`: the folds' gaps, of
# unseen_rows(); on test rows their mean.
cross_gaps <- function(unseen, residuals, fold) {
  gap <- matrix(NaN, length(fold), ncol(residuals))
  for (f in seq_along(unseen)) gap[fold == f, ] <- unseen[[f]]$gap
  if (any(fold == 0)) gap[fold == 0, ] <- Reduce(`+`, lapply(unseen, `[[`, "test_gap")) / length(unseen)
  product <- rowSums(residuals * gap)
  square <- rowSums(gap^2)
  known <- is.finite(product) & is.finite(square)
  best <- max(0, sum(product[known])) / sum(square[known])
  if (!is.finite(best)) best <- 0
  list(lower = 2 * best * product - best^2 * square, noise = 2 * best * product - 2 * best^2 * square)
}

# CE >= |E e u| for any u(p) with mean square 1. Per coordinate two of them, u = 1 and the standardised
# prediction (bias and slope of a calibration line): upper limits of |E e u|.
linear_limits <- function(problem, level) {
  residuals <- problem$residuals
  features <- problem$features
  n <- nrow(residuals)
  centred <- features - rep(colMeans(features), each = n)
  spread <- sqrt(colMeans(centred^2))
  spread[spread < 1e-8] <- Inf
  products <- cbind(residuals, residuals * centred / rep(spread, each = n))
  value <- colMeans(products)
  std_error <- sqrt(pmax(colMeans(products^2) - value^2, 0) / (n - 1))
  limits <- abs(value) + qnorm((1 + level) / 2) * std_error
  limits[is.finite(limits)]
}

# Class-wise: sums over the classes, row by row.
add_gaps <- function(parts) {
  list(lower = Reduce(`+`, lapply(parts, `[[`, "lower")), noise = Reduce(`+`, lapply(parts, `[[`, "noise")))
}

# A gap for any form, as a function of features: its own where it has one; otherwise the
# direction that h gives to the residuals of its training rows, mean_j h(p, p_j) e_j, which is
# proportional to Delta at h = h* (one class or two).
form_witness <- function(form, train, threads) {
  if (!isTRUE(form$gap)) return(pair_witness(form, train, threads))
  function(features) gap_features(form, features, threads)
}

pair_witness <- function(form, train, threads) UseMethod("pair_witness")

#' @export
pair_witness.ce_form <- function(form, train, threads) {
  weights <- crossprod(pair_features(form, train$features, threads), train$residuals)
  weights <- core_product(form$core, weights)
  function(features) pair_features(form, features, threads) %*% weights / nrow(train$residuals)
}

# Tiles: the matrix of pairs is never whole. Pairs without a value are left out where the form says so.
#' @export
pair_witness.ce_form_function <- function(form, train, threads) {
  function(features) {
    starts <- seq(1, by = 1024, length.out = ceiling(nrow(features) / 1024))
    do.call(rbind, lapply(starts, function(start) {
      x <- features[start:min(start + 1023, nrow(features)), , drop = FALSE]
      h <- evaluate_pairs(form, x, train$features)
      if (form$na_rm) h[is.na(h) & rowSums(!is.na(h)) > 0] <- 0
      h %*% train$residuals / nrow(train$residuals)
    }))
  }
}

# Any fixed training rows give a valid bound: at most 2,000, evenly spaced.
spread_rows <- function(rows, most = 2000L) {
  if (length(rows) <= most) return(rows)
  rows[round(seq(1, length(rows), length.out = most))]
}

# squared: h(p, p) on the rows of the estimate; n_tune: how many rows the functions were fitted on;
# linear: what bias and slope do not exclude, and no smoothing excludes (linear_limits() of all problems).
calibration_interval <- function(squared, gaps, n_tune, linear, level) {
  z <- qnorm((1 + level) / 2)
  plug_in <- mean(squared)
  lower <- gaps$lower[is.finite(gaps$lower)]
  noise <- gaps$noise[is.finite(gaps$noise)]
  bound <- mean(lower)
  std_error <- sqrt(mean_std_error(squared)^2 + var(noise) / n_tune)
  root <- sqrt(max(plug_in, 0))
  high <- sqrt(max(0, max(plug_in, bound) + z * std_error))
  list(
    estimate = root,
    std.error = if (isTRUE(root > 0)) std_error / (2 * root) else NA_real_,
    conf.low = sqrt(max(0, min(plug_in, bound - z * mean_std_error(lower)))),
    conf.high = max(high, linear)
  )
}

mean_std_error <- function(x) {
  if (length(x) < 2) NA_real_ else sd(x) / sqrt(length(x))
}
