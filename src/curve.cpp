// SPDX-License-Identifier: GPL-3.0-or-later
// Calibration curves with their bands, and decision curves.
#include "r_engine.h"
#include <calibrisk/classical/bin_counts.h>
#include <calibrisk/classical/decision_curve.h>
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/classical/smooth_curve.h>
#include <calibrisk/recal/isotonic.h>

namespace {

calibrisk::RowCounts row_counts_of(const Rcpp::List& rows) {
  return {vector_view(field(rows, "copies")), vector_view(field(rows, "v")),
          vector_view(field(rows, "u")), number_field(rows, "k")};
}

Rcpp::List limits_list(const calibrisk::Vector& low, const calibrisk::Vector& high) {
  return named_list({{"low", low}, {"high", high}});
}

}  // namespace

// The smooth curve of predictions and outcomes with its limits. `rows`: what they count, see
// draw_counts(); `bandwidth` 0: chosen from the data; a seed each for the null, the curve's own
// band, and the largest of many normal numbers.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_smooth_curve(Rcpp::NumericVector p, Rcpp::NumericVector y, Rcpp::List rows,
                            Rcpp::NumericVector noise, double bandwidth, int times, double level,
                            std::vector<double> seeds, int threads) {
  REngine engine(threads);
  const calibrisk::SmoothCurve out = calibrisk::smooth_curve(
      engine, as_vector(p), as_vector(y), row_counts_of(rows), as_vector(noise), bandwidth, times,
      level, {seeds.begin(), seeds.end()});
  return named_list({{"x", out.x},
                     {"observed", out.observed},
                     {"conf", limits_list(out.own.low, out.own.high)},
                     {"band", limits_list(out.own.band_low, out.own.band_high)},
                     {"null", limits_list(out.null.low, out.null.high)},
                     {"null_band", limits_list(out.null.band_low, out.null.band_high)},
                     {"bandwidth", out.bandwidth}});
}

// A band of curves like these draws [places x draws].
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_simulated_band(Rcpp::NumericMatrix draws, double level) {
  const calibrisk::CurveLimits out = calibrisk::simulated_band(as_matrix(draws), level);
  return named_list({{"low", out.low},
                     {"high", out.high},
                     {"band_low", out.band_low},
                     {"band_high", out.band_high}});
}

// Least and largest numbers of events per bin (from 1), at one bin and at all, [4 x bins].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_bin_count_limits(Rcpp::NumericVector prob, Rcpp::NumericVector copies,
                                         std::vector<int> bin, int n_bins, double level) {
  for (int& own : bin) --own;
  return wrap_matrix(
      calibrisk::bin_count_limits(as_vector(prob), as_vector(copies), bin, n_bins, level));
}

// The isotonic curve of rows in ascending order of p, with the limits of its likelihood ratio
// (`critical`: at places of one row and of several), those of outcomes drawn from `prob`, and a
// column for each of the knots of honest_band().
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_isotonic_curve(Rcpp::NumericVector p, Rcpp::NumericVector y,
                              Rcpp::NumericVector prob, Rcpp::List rows,
                              std::vector<double> critical, int times, double level, double seed,
                              int threads) {
  REngine engine(threads);
  const calibrisk::IsotonicCurve out = calibrisk::isotonic_curve(
      engine, as_vector(p), as_vector(y), as_vector(prob), row_counts_of(rows), critical, times,
      level, static_cast<std::uint64_t>(seed));
  return named_list({{"x", out.x},
                     {"rows", out.rows},
                     {"observed", out.observed},
                     {"conf", limits_list(out.limits.col(0), out.limits.col(1))},
                     {"null", limits_list(out.null.low, out.null.high)},
                     {"null_band", limits_list(out.null.band_low, out.null.band_high)},
                     {"knots", out.knots}});
}

// Per threshold the net benefit, that of the first better predictions (both where `curve`), and
// what each of the better predictions adds: their values and standard errors in columns, and by how
// many of these a band for all thresholds is wide. With the rows that the first ones change, and
// the shares of treated rows with and without an event.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_decision_curve(Rcpp::NumericVector p, Rcpp::NumericMatrix better,
                              Rcpp::NumericVector y, Rcpp::NumericVector w, Rcpp::NumericVector w2,
                              Rcpp::NumericVector copies, std::vector<int> cluster,
                              Rcpp::NumericVector thresholds, bool curve, int times, double level,
                              double pointwise, double df, int threads) {
  using calibrisk::Benefit;
  using calibrisk::Vector;
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto reached = as_vector(thresholds);
  const calibrisk::NormalDraws draws(engine, reached.size(), times, df);
  const auto more = as_matrix(better);
  const calibrisk::Index first = curve ? 2 : 0;
  calibrisk::Matrix value(reached.size(), first + more.cols()), std_error = value;
  std::vector<double> factor;
  Vector changed, events, others;
  for (calibrisk::Index j = 0; j < more.cols(); ++j) {
    const calibrisk::DecisionCurve own(engine,
                                       {as_vector(p), more.col(j), as_vector(y), as_vector(w),
                                        as_vector(w2), as_vector(copies), cluster},
                                       reached);
    const auto add = [&](Benefit which, const Vector& least) {
      const auto of = own.moments(which, least);
      value.col(static_cast<calibrisk::Index>(factor.size())) = of.value;
      std_error.col(static_cast<calibrisk::Index>(factor.size())) = of.std_error;
      factor.push_back(own.band_factor(of, draws, level, pointwise));
    };
    if (j == 0) {
      changed = own.changed();
      events = own.treated(1.0);
      others = own.treated(0.0);
      const Vector none = Vector::Zero(reached.size());
      if (curve) add(Benefit::own, none);
      if (curve) add(Benefit::better, none);
    }
    add(Benefit::difference, own.noise());
  }
  return named_list({{"value", value},
                     {"std_error", std_error},
                     {"factor", factor},
                     {"changed", changed},
                     {"true", events},
                     {"false", others}});
}
