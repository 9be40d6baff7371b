// SPDX-License-Identifier: GPL-3.0-or-later
// The walk of cumulated residuals y - p of predictions sorted by size, of outcomes drawn from them.
#ifndef CALIBRISK_CLASSICAL_CUMULATIVE_H
#define CALIBRISK_CLASSICAL_CUMULATIVE_H

#include "../engine.h"
#include "../math/counter_uniform.h"
#include "../types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace calibrisk {

// Extremes of a walk S that starts at 0, over the ends of tied predictions: its end, the largest
// |S|, max S - min S, and the largest |S - t S_end| of the bridge, where t is the share of
// variance.
struct WalkExtremes {
  double end = 0.0, largest = 0.0, range = 0.0, bridge = 0.0;
};

inline WalkExtremes walk_extremes(const std::vector<double>& walk,
                                  const std::vector<double>& time) {
  WalkExtremes out;
  if (walk.empty()) return out;
  out.end = walk.back();
  double low = 0.0, high = 0.0;
  for (std::size_t k = 0; k < walk.size(); ++k) {
    low = std::min(low, walk[k]);
    high = std::max(high, walk[k]);
    out.bridge = std::max(out.bridge, std::abs(walk[k] - time[k] * out.end));
  }
  out.largest = std::max(high, -low);
  out.range = high - low;
  return out;
}

// log P(max |B| > x) of a Brownian bridge B.
inline double log_kolmogorov_tail(double x) {
  constexpr double pi = 3.14159265358979323846;
  if (x <= 0.0) return 0.0;
  double sum = 0.0;
  if (x > 1.0) {
    for (int k = 2; k <= 20; ++k)
      sum += (k % 2 == 0 ? -1.0 : 1.0) * std::exp(-2.0 * (k * k - 1.0) * x * x);
    return std::log(2.0) - 2.0 * x * x + std::log1p(sum);
  }
  for (int k = 1; k <= 20; ++k) {
    const double odd = 2.0 * k - 1.0;
    sum += std::exp(-odd * odd * pi * pi / (8.0 * x * x));
  }
  return std::log1p(-std::sqrt(2.0 * pi) / x * sum);
}

// Extremes of `times` walks of weight (Y - p) / scale, Y ~ Bernoulli(p), [draws x 4]; p
// ascending, block_end[k] the number of rows up to the k-th tie, time[k] its share of the variance.
// Draw r depends on (seed, r) alone. Cost O(draws n), memory O(ties) per thread.
inline Matrix cumulative_draws(const Engine& engine, const ConstVectorRef& prob,
                               const ConstVectorRef& weight, const std::vector<int>& block_end,
                               const std::vector<double>& time, double scale, Index times,
                               std::uint64_t seed) {
  require(!block_end.empty() && block_end.back() == prob.size(),
          "cumulative_draws: the last block ends at n.");
  require(weight.size() == prob.size(), "cumulative_draws: one weight per row.");
  require(time.size() == block_end.size(), "cumulative_draws: one time per block.");
  Matrix out(times, 4);
  parallel_for(engine, times, [&](Index r) {
    std::vector<double> walk(block_end.size());
    double sum = 0.0;
    Index i = 0;
    for (std::size_t k = 0; k < block_end.size(); ++k) {
      for (; i < block_end[k]; ++i) {
        const bool event = counter_uniform(seed, static_cast<std::uint64_t>(r),
                                           static_cast<std::uint64_t>(i)) < prob[i];
        sum += weight[i] * ((event ? 1.0 : 0.0) - prob[i]);
      }
      walk[k] = sum / scale;
    }
    const WalkExtremes of = walk_extremes(walk, time);
    out.row(r) << of.end, of.largest, of.range, of.bridge;
  });
  return out;
}

}  // namespace calibrisk

#endif
