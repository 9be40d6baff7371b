# The smooth curve (inst/include/calibrisk/classical/smooth_curve.h).
#' @export
curve_points.curve_smooth <- function(curve, problem, values, control, counts) {
  found <- cpp_smooth_curve(values, as.numeric(problem$labels), counts, as.numeric(problem$design$copies),
                            control$bandwidth %||% 0, control$times, control$level,
                            c(draw_seed(), draw_seed(), draw_seed()), thread_count())
  structure(curve_frame(found), bandwidth = found$bandwidth)
}

# Probabilities nearer to 0 or 1 than 1e-5 count as that near.
smooth_scale <- function(p) stats::qlogis(pmin(pmax(p, 1e-5), 1 - 1e-5))
