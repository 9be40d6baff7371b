// SPDX-License-Identifier: GPL-3.0-or-later
// Local linear regression of the residual y - p on logit(p) with a Gaussian kernel, its bandwidth
// by leave-one-out cross-validation; the curve is p plus that. On the logit scale confidences that
// crowd near 1 spread out, and a calibrated model's curve is the diagonal without smoothing bias.
//
// Bands: outcomes are simulated from the predictions (null) and from the fitted curve (confidence),
// and each draw chooses its bandwidth anew. Null limits belong to the bandwidth of the curve
// itself: limits common to all bandwidths would be as wide as the few draws that chose a narrow
// one. Confidence limits are centred at the local quadratic fit with the same bandwidth, which
// removes the leading bias (Calonico, Cattaneo & Farrell 2018), and studentised. The data enter as
// sums over at most 200 cells, so that all draws are a few matrix products.
#ifndef CALIBRISK_CLASSICAL_SMOOTH_CURVE_H
#define CALIBRISK_CLASSICAL_SMOOTH_CURVE_H

#include <calibrisk/classical/curve_smoother.h>
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/recal/knot_line.h>

namespace calibrisk {

// A line through values at ascending places.
inline Vector interpolated(const Vector& x, const Vector& y, const ConstVectorRef& at) {
  const KnotLine line({x.data(), x.data() + x.size()}, {y.data(), y.data() + y.size()});
  return at.unaryExpr([&](double v) { return line(v); });
}

// The distance of calibrated models' curves of this bandwidth from the diagonal by chance: standard
// errors, at least those of `n_eff` rows whose rate is pulled to 1/2.
struct NullError {
  Vector n_eff, at_diagonal;

  NullError(const CurveSmoother& smoother, std::size_t h) {
    const CurveCells& cells = smoother.cells;
    const Matrix square = smoother.weights(h).linear.array().square();
    const Vector noise = cells.n.cwiseProduct(cells.noise);
    n_eff = (square * noise).cwiseInverse();
    at_diagonal = square * noise.cwiseProduct(cells.p - cells.p2);
    for (Index g = 0; g < n_eff.size(); ++g) {
      const double rate = shrunken_rate(smoother.x(g), n_eff(g));
      at_diagonal(g) = std::sqrt(std::max(rate * (1.0 - rate) / n_eff(g), at_diagonal(g)));
    }
  }
};

// The range of calibrated models' curves of the bandwidth h. The distance from the diagonal counts
// in standard errors at the diagonal or at the curve, whichever limit it exceeds. The former are
// smaller for curves nearer to the middle, the latter for curves nearer to 0 and 1. Three tenths of
// the error probability are for the former, which simulated curves leave less often by chance.
inline CurveLimits smooth_null(const CurveSmoother& smoother, const Matrix& draws, std::size_t h,
                               double level) {
  const Vector& x = smoother.x;
  const Index times = draws.cols();
  Matrix score(x.size(), times), wald(x.size(), times);
  std::vector<std::unique_ptr<NullError>> errors(smoother.grid.size());
  const auto error_of = [&](std::size_t own) -> const NullError& {
    if (!errors[own]) errors[own] = std::make_unique<NullError>(smoother, own);
    return *errors[own];
  };
  smoother.fit(draws, false, [&](Index r, std::size_t own, const Vector& curve, const Vector&) {
    const NullError& error = error_of(own);
    const Vector distance = (curve.cwiseMax(0.0).cwiseMin(1.0) - x).cwiseAbs();
    score.col(r) = distance.cwiseQuotient(error.at_diagonal);
    wald.col(r) = distance.cwiseQuotient(rate_error(curve, error.n_eff));
  });
  const double share = 0.3, alpha = 1.0 - level;
  // curves of predictions of 0 and 1 do not vary
  const double by_score = std::max(upper_order(column_maxima(score), 1.0 - share * alpha), 1e-12);
  const double by_wald =
      std::max(upper_order(column_maxima(wald), 1.0 - (1.0 - share) * alpha), 1e-12);
  Matrix& ratio = score;
  ratio = (score / by_score).cwiseMax(wald / by_wald);
  const double all = upper_order(column_maxima(ratio), level);
  const NullError& error = error_of(h);
  CurveLimits out{x, x, x, x};
  std::vector<double> row(static_cast<std::size_t>(times));
  for (Index g = 0; g < x.size(); ++g) {
    for (Index r = 0; r < times; ++r) row[static_cast<std::size_t>(r)] = ratio(g, r);
    const Index at = share_rank(times, level);
    select_rank(row.data(), times, at);
    // curves at most so many standard errors at the diagonal and of their own from it: roots of a
    // quadratic
    const auto limits = [&](double factor, double& low, double& high) {
      const double n = error.n_eff(g), near = factor * by_score * error.at_diagonal(g),
                   z = factor * by_wald;
      const double size = n * (n + 4.0) * (n + 4.0), a = size + z * n * (z * n);
      const double half_b = -x(g) * size - z * n * (z * n) / 2.0;
      const double root = std::sqrt(
          std::max(half_b * half_b - a * (x(g) * x(g) * size - z * z * (2.0 * n + 4.0)), 0.0));
      low = std::max(x(g) - near, (-half_b - root) / a);
      high = std::min(x(g) + near, (-half_b + root) / a);
    };
    limits(row[static_cast<std::size_t>(at)], out.low(g), out.high(g));
    limits(all, out.band_low(g), out.band_high(g));
  }
  return out;
}

struct SmoothCurve {
  Vector x, observed;
  CurveLimits own, null;
  double bandwidth;
};

// `noise`: see CurveCells; `bandwidth`: 0 or less: chosen from the data.
inline SmoothCurve smooth_curve(const Engine& engine, const ConstVectorRef& prob,
                                const ConstVectorRef& outcome, const RowCounts& rows,
                                const ConstVectorRef& noise, double bandwidth, Index times,
                                double level, const std::vector<std::uint64_t>& seeds) {
  const CurveSmoother smoother(engine, prob, rows, noise, bandwidth);
  const CurveCells& cells = smoother.cells;
  const Vector& x = smoother.x;
  const Matrix sums = cells.sums(outcome, rows);
  SmoothCurve out;
  std::size_t chosen = 0;
  Vector centre;
  smoother.fit(sums, true, [&](Index, std::size_t h, const Vector& curve, const Vector& of_limits) {
    chosen = h;
    out.observed = curve;
    centre = of_limits;
  });
  const CurveSmoother::Weights& w = smoother.weights(chosen);
  Vector truth = out.observed.cwiseMax(0.0).cwiseMin(1.0);
  const Vector rate = interpolated(x, truth, prob);
  // between few values the curve of draws does not know it
  if (cells.few) truth = interpolated(cells.p, interpolated(x, truth, cells.p), x);
  const Vector copies = rows.copies.size() == 0 ? Vector() : cells.ordered(rows.copies);
  const Vector v = rows.plain() ? Vector() : cells.ordered(rows.v);
  const Vector u = rows.plain() ? Vector() : cells.ordered(rows.u);
  const auto redraw = [&](const ConstVectorRef& from, std::uint64_t seed) {
    const Vector ordered = cells.ordered(from);
    const RowCounts counts{copies, v, u, rows.k};
    const ConstVectorRef of_cells(ordered);
    return outcome_draws(engine, {of_cells, counts, cells.end}, times, seed);
  };
  out.x = x;
  out.bandwidth = smoother.grid[chosen];
  out.null = smooth_null(smoother, redraw(prob, seeds[0]), chosen, level);
  Matrix apart(x.size(), times);
  smoother.fit(redraw(rate, seeds[1]), true,
               [&](Index r, std::size_t h, const Vector& curve, const Vector& of_limits) {
                 // never 0: a share of successes of 0 or 1 keeps an error
                 const Vector error = rate_error(curve, smoother.weights(h).n_eff);
                 apart.col(r) = (of_limits - truth).cwiseQuotient(error);
               });
  CurveLimits& own = out.own;
  own = simulated_band(apart, level);
  const Vector se = rate_error(out.observed, w.n_eff);
  const Vector at_cells =
      interpolated(x, out.observed.binaryExpr(w.n_eff, &shrunken_rate), cells.p);
  const Vector spread = cells.n.cwiseProduct(cells.noise)
                            .cwiseProduct(at_cells.cwiseProduct((1.0 - at_cells.array()).matrix()));
  // where the fitted curve touches 0 or 1 its draws do not vary: no limit is nearer than the normal
  // one
  const double z = normal_quantile(1.0 - (1.0 + level) / 2.0);
  const double many = normal_maximum(engine, w.quadratic, spread, times, level, seeds[2]);
  // what is left of the bias at a bend: the step to a much finer fit, and as much as its noise may
  // hide; or that to a less fine one, whose noise hides less, on either side
  Vector step[2], hidden[2];
  const double finer[] = {std::min(out.bandwidth / 2.0, smoother.narrowest()), out.bandwidth / 3.0};
  for (int j = 0; j < 2; ++j) {
    const Matrix change = smoother.finer(finer[j]) - w.quadratic;
    step[j] = change * (sums.col(0) - cells.n.cwiseProduct(cells.p));
    hidden[j] = (change.array().square().matrix() * spread).cwiseSqrt();
  }
  for (Index g = 0; g < x.size(); ++g) {
    const double most = hidden[0](g),
                 bend = step[0](g) + z * std::min(std::max(step[0](g), -most), most);
    const double down = std::min({bend, step[1](g) - hidden[1](g), 0.0});
    const double up = std::max({bend, step[1](g) + hidden[1](g), 0.0});
    const double low = own.low(g), high = own.high(g), band_low = own.band_low(g),
                 band_high = own.band_high(g);
    own.low(g) = centre(g) - std::max(high, z) * se(g);
    own.high(g) = centre(g) + std::max(-low, z) * se(g);
    // of few draws the band's factor may be the smaller one
    own.band_low(g) = std::min(centre(g) - std::max(band_high, many) * se(g) + down, own.low(g));
    own.band_high(g) = std::max(centre(g) + std::max(-band_low, many) * se(g) + up, own.high(g));
  }
  return out;
}

}  // namespace calibrisk

#endif
