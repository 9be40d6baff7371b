# The curves of ce_curve(), as values.

#' Curves as values
#'
#' A curve with its options, for the argument `type` of [ce_curve()], which defines them. The name of a curve is
#' shorthand for the curve with its defaults: `type = "smooth"` is `type = curve_smooth()`.
#'
#' @param n_bins Number of bins, by default 15; of PIT histograms of ensembles of less than 30 members, a bin per rank.
#' @param bins Bins of equal `"width"` or equal `"mass"`.
#' @param times Number of simulated curves behind isotonic intervals, the bands of smooth curves, and those of
#'   predictions whose distribution function jumps.
#' @param bandwidth Bandwidth of the smooth curve, on the logit scale, at least 1e-6; by default chosen from the data.
#' @return A `ce_choice`, which holds options and no data.
#' @section Errors:
#' `calibrisk_error_argument` where an option is out of range.
#' @name ce_curves
#' @examples
#' set.seed(1)
#' p <- runif(300)
#' y <- rbinom(300, 1, p^2)
#' curve_binned(n_bins = 8, bins = "mass")
#' ce_curve(p, y, type = curve_binned(n_bins = 8, bins = "mass"))
#' ce_curve(p, y, type = curve_smooth(times = 200))
NULL

#' @rdname ce_curves
#' @export
curve_binned <- function(n_bins = 15, bins = c("width", "mass")) {
  check_bins(n_bins)
  new_choice("curve", "binned", n_bins = n_bins, bins = check_choice(bins, c("width", "mass")))
}

curve_isotonic <- function(times = 1000) {
  check_count(times, lower = 20)
  new_choice("curve", "isotonic", times = times)
}

#' @rdname ce_curves
#' @export
curve_smooth <- function(bandwidth = NULL, times = 1000) {
  check_number(bandwidth, lower = 1e-6, null = TRUE)
  check_count(times, lower = 20)
  new_choice("curve", "smooth", bandwidth = bandwidth, times = times)
}

curve_quantile <- function(times = 1000) {
  check_count(times, lower = 20)
  new_choice("curve", "quantile", times = times)
}

curve_pit <- function(n_bins = NULL, times = 1000) {
  check_bins(n_bins, lower = 2, null = TRUE)
  check_count(times, lower = 20)
  new_choice("curve", "pit", n_bins = n_bins, times = times)
}

# A tibble with a row per place (curve_frame()). `values`: predictions, or PIT values. `control`: the options of the
# curve and level. `counts`: what each row counts (R/curve-design.R), NULL for independent, unweighted rows.
curve_points <- function(curve, problem, values, control, counts) UseMethod("curve_points")
