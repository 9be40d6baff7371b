// SPDX-License-Identifier: GPL-3.0-or-later
// The smooth calibration curve with its bands.
#include "curve_counts.h"
#include "r_engine.h"
#include <calibrisk/classical/smooth_curve.h>

// The smooth curve of predictions and outcomes with its limits. `counts`, `copies`: see
// CurveCounts; `bandwidth` 0: chosen from the data; a seed each for the null, the curve's own band,
// and the largest of many normal numbers.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_smooth_curve(Rcpp::NumericVector p, Rcpp::NumericVector y,
                            Rcpp::Nullable<Rcpp::List> counts, Rcpp::NumericVector copies,
                            double bandwidth, int times, double level, std::vector<double> seeds,
                            int threads) {
  REngine engine(threads);
  const CurveCounts of(counts, copies, y);
  const CurveCounts::Drawn drawn(of, false, {});
  const calibrisk::SmoothCurve out =
      calibrisk::smooth_curve(engine, as_vector(p), as_vector(y), drawn.rows(), of.noise(),
                              bandwidth, times, level, {seeds.begin(), seeds.end()});
  return named_list({{"x", out.x},
                     {"observed", out.observed},
                     {"conf", limits_list(out.own.low, out.own.high)},
                     {"band", limits_list(out.own.band_low, out.own.band_high)},
                     {"null", limits_list(out.null.low, out.null.high)},
                     {"null_band", limits_list(out.null.band_low, out.null.band_high)},
                     {"bandwidth", out.bandwidth}});
}
