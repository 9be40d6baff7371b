// SPDX-License-Identifier: GPL-3.0-or-later
// Variances s2 -> w s2 + b, w, b >= 0, that minimise the mean Dawid-Sebastiani score r / v + log v
// of squared residuals r. In units of mean(r) and mean(s2) the best w and b of a ratio e^z = w / b
// are mean(r / (e^z s2 + 1)) times e^z and 1. The score of z alone may have several minima:
// candidates are all roots of its slope between the points of a grid, and the two edges w = 0 and b
// = 0.
#ifndef CALIBRISK_RECAL_VARIANCE_SCALING_H
#define CALIBRISK_RECAL_VARIANCE_SCALING_H

#include <calibrisk/math/roots.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace calibrisk {

struct VarianceScaling {
  double w = 0.0, b = 0.0;
  bool falls = false;  // variances of 0 of exact means: the score falls without end as b goes to 0
  int candidates = 0;
};

// `share` of the rows: they sum to 1.
inline VarianceScaling fit_variance_scaling(const ConstVectorRef& variance, const ConstVectorRef& r,
                                            const ConstVectorRef& share) {
  require(variance.size() > 0 && r.size() == variance.size() && share.size() == r.size(),
          "Variance scaling has a residual and a share per variance.");
  using Values = Eigen::ArrayXd;
  const auto mean = [&](const Values& rows) { return (share.array() * rows).sum(); };
  const double unit = mean(r.array()), scale = mean(variance.array());
  require(unit > 0.0, "Variance scaling needs a residual that is not 0.");
  const Values s = variance.array() / (scale > 0.0 ? scale : 1.0), u = r.array() / unit;
  const double largest = s.maxCoeff();
  const bool positive = s.minCoeff() > 0.0;
  std::vector<std::pair<double, double>> candidates = {{0.0, 1.0}};
  if (positive) candidates.emplace_back(mean(u / s), 0.0);
  if (largest - s.minCoeff() > 1e-10 * largest) {
    const double smallest = (s > 0.0).select(s, largest).minCoeff();
    const auto falls = [&](double z) {
      const Values v = std::exp(z) * s + 1.0;
      return mean(u * (v - 1.0) / v.square()) / mean(u / v) - mean((v - 1.0) / v);
    };
    const double from = -std::log(largest) - 18.0, to = 18.0 - std::log(smallest);
    const double n = 2.0 * std::ceil(to - from) - 1.0;
    double before = falls(from);
    for (double i = 1.0; i <= n; ++i) {
      const double lo = from + (i - 1.0) / n * (to - from), hi = from + i / n * (to - from);
      const double here = falls(hi);
      if (before > 0.0 && here <= 0.0) {
        const double ratio = std::exp(bracketed_root(falls, lo, hi, 1e-14));
        const double b = mean(u / (ratio * s + 1.0));
        candidates.emplace_back(ratio * b, b);
      }
      before = here;
    }
    // a variance of 0 needs b > 0 for a finite score
    if (!positive && before > 0.0) {
      const double some = mean((s > 0.0).cast<double>());
      candidates.emplace_back(mean((s > 0.0).select(u / s, 0.0)) / some, 1e-8);
    }
  }
  std::vector<double> score;
  for (const auto& [w, b] : candidates) {
    const Values v = w * s + b;
    score.push_back(mean(u / v + v.log()));
  }
  // an edge unless an inner point is better
  const double least = *std::min_element(score.begin(), score.end()) + 1e-12;
  const auto best = std::find_if(score.begin(), score.end(), [&](double v) { return v <= least; });
  const auto [w, b] = candidates[static_cast<std::size_t>(best - score.begin())];
  return {scale > 0.0 ? w * unit / scale : 0.0, b * unit, !positive && b <= 1e-8,
          static_cast<int>(candidates.size())};
}

}  // namespace calibrisk

#endif
