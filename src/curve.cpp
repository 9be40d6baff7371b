// SPDX-License-Identifier: GPL-3.0-or-later
// The isotonic calibration curve with its bands.
#include "curve_counts.h"
#include "r_engine.h"
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/recal/isotonic.h>

#include <Rmath.h>

#include <algorithm>
#include <numeric>

namespace {

// Honest simultaneous band of an increasing event frequency (Yang & Barber 2019; Dimitriadis et al.
// 2023, here over the intervals between G knots instead of all). For rows j..k the number of events
// lies above Binomial(n_jk, pi_j) and below Binomial(n_jk, pi_k). So Clopper-Pearson limits hold
// for every row left of j and right of k. No asymptotics. The knots have a column for each block of
// rows: first and last value, rows up to its end and their events. The limits of single places
// widen the band, which is built differently: the whole curve's is never the narrower one.
Rcpp::List honest_band(const calibrisk::IsotonicCurve& curve, double level) {
  using calibrisk::Index;
  const calibrisk::Matrix& knots = curve.knots;
  const Index g = knots.cols();
  const double tail = (1.0 - level) / static_cast<double>(g * (g + 1));
  calibrisk::Vector lower = calibrisk::Vector::Zero(g + 1), upper = lower.array() + 1.0;
  // after the block of the first index, and before that of the second
  for (Index j = 0; j < g; ++j) {
    for (Index k = j; k < g; ++k) {
      const double n = knots(2, k) - (j > 0 ? knots(2, j - 1) : 0.0);
      const double events = std::min(knots(3, k) - (j > 0 ? knots(3, j - 1) : 0.0), n);
      if (events > 0.0) {
        lower(k + 1) = std::max(lower(k + 1), R::qbeta(tail, events, n - events + 1.0, 1, 0));
      }
      if (events < n) {
        upper(j) = std::min(upper(j), R::qbeta(tail, events + 1.0, n - events, 0, 0));
      }
    }
  }
  for (Index k = 1; k <= g; ++k) lower(k) = std::max(lower(k), lower(k - 1));
  for (Index k = g; k-- > 0;) upper(k) = std::min(upper(k), upper(k + 1));
  const auto size = static_cast<Index>(curve.x.size());
  calibrisk::Vector low(size), high(size);
  for (Index i = 0; i < size; ++i) {
    const double at = curve.x[static_cast<std::size_t>(i)];
    // blocks that end at or left of it, and that begin left of it
    const Index before = (knots.row(1).array() <= at).count();
    const Index after = (knots.row(0).array() < at).count();
    low(i) = std::min(lower(before), curve.limits(i, 0));
    high(i) = std::max(upper(after), curve.limits(i, 1));
  }
  return limits_list(low, high);
}

}  // namespace

// The isotonic curve with the limits of its likelihood ratio (`critical`: at places of one row and
// of several), its honest_band(), and the limits of outcomes drawn from the predictions. Of weights
// u k^y it is that of the weights u: a monotone map of outcomes' means is one of their isotonic
// fit.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_isotonic_curve(Rcpp::NumericVector p, Rcpp::NumericVector y,
                              Rcpp::Nullable<Rcpp::List> counts, Rcpp::NumericVector copies,
                              std::vector<double> critical, int times, double level, double seed,
                              int threads) {
  REngine engine(threads);
  std::vector<int> order(static_cast<std::size_t>(p.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return p[a] < p[b]; });
  const CurveCounts of(counts, copies, y);
  calibrisk::Vector at(p.size()), outcome(p.size()), prob(p.size());
  for (calibrisk::Index i = 0; i < at.size(); ++i) {
    const int row = order[static_cast<std::size_t>(i)];
    at(i) = p[row];
    outcome(i) = y[row];
    prob(i) = of.even_prob(p[row]);
  }
  const CurveCounts::Drawn drawn(of, true, order);
  const calibrisk::IsotonicCurve out =
      calibrisk::isotonic_curve(engine, at, outcome, prob, drawn.rows(), critical, times, level,
                                static_cast<std::uint64_t>(seed));
  return named_list({{"x", out.x},
                     {"rows", out.rows},
                     {"observed", out.observed},
                     {"conf", limits_list(out.limits.col(0), out.limits.col(1))},
                     {"band", honest_band(out, level)},
                     {"null", limits_list(out.null.low, out.null.high)},
                     {"null_band", limits_list(out.null.band_low, out.null.band_high)}});
}
