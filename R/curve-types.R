# Binned and isotonic curves: from predictions p and outcomes y (0/1) to a tibble with a row per place.

# From a curve of the core: its odds times k, and at most `upper`.
curve_frame <- function(found, k = 1, upper = 1) as_columns_frame(cpp_curve_columns(found, k, upper))

#' @export
curve_points.curve_binned <- function(curve, problem, values, control, counts) {
  copies <- problem$design$copies
  weighted <- !is.null(counts) && control$bins == "mass"
  edges <- if (weighted) weighted_edges(values, counts$w, control$n_bins) else
    bin_edges(values, control$n_bins, control$bins, copies)
  found <- cpp_binned_curve(values, as.numeric(problem$labels), edges, counts, as.numeric(copies), control$level)
  curve_frame(found, counts$k %||% 1)
}

# Isotonic regression at the ends of its steps and some places between. Pointwise limits: likelihood ratio; at once:
# honest_band() of src/curve.cpp. Consistency: outcomes drawn from the predictions. See
# inst/include/calibrisk/recal/isotonic.h.
#' @export
curve_points.curve_isotonic <- function(curve, problem, values, control, counts) {
  check_interrupt()
  # Critical values of twice the log likelihood ratio at one place: chi-squared where the prediction repeats; for
  # continuous predictions the distribution of Banerjee & Wellner (2001), which has no closed form. 0.59 chi-squared
  # gives its 0.95-quantile 2.27 and is within 0.01 of its simulated distribution function above 0.7.
  critical <- stats::qchisq(control$level, 1) * c(0.59, 1)
  curve_frame(cpp_isotonic_curve(values, as.numeric(problem$labels), counts, as.numeric(problem$design$copies),
                                 critical, control$times, control$level, draw_seed(), thread_count()),
              counts$k %||% 1)
}
