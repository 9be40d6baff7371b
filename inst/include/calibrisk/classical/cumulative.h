// SPDX-License-Identifier: GPL-3.0-or-later
// The walk of cumulated residuals y - p of predictions sorted by size, of outcomes drawn from them.
#ifndef CALIBRISK_CLASSICAL_CUMULATIVE_H
#define CALIBRISK_CLASSICAL_CUMULATIVE_H

#include "../engine.h"
#include "../math/counter_uniform.h"
#include "../types.h"
#include "count_draws.h"

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

// The walk S of w (y - p) at the ends of tied predictions, in standard deviations (`scale`) of its
// end under calibration; `time`: the share of the variance up to there. Predictions that are all 0
// or 1 have no variance: S is then in outcomes. `sum_d`: of w (p - y) up to each row. Rows may
// stand for `copies` (empty: 1) of the weight w together.
struct ResidualWalk {
  std::vector<double> place, walk, time;
  double scale = 1.0;
};

inline ResidualWalk residual_walk(const ConstVectorRef& prob, const ConstVectorRef& weight,
                                  const ConstVectorRef& sum_d, const std::vector<int>& ties,
                                  const ConstVectorRef& copies = Vector()) {
  require(!ties.empty() && ties.back() == prob.size() && weight.size() == prob.size() &&
              sum_d.size() == prob.size(),
          "residual_walk: the last tie ends at n.");
  ResidualWalk out;
  long double variance = 0.0L;
  Index row = 0;
  for (const int end : ties) {
    for (; row < end; ++row) {
      variance += weight(row) * weight(row) * prob(row) * (1.0 - prob(row)) /
                  (copies.size() == 0 ? 1.0 : copies(row));
    }
    out.place.push_back(prob(end - 1));
    out.walk.push_back(-sum_d(end - 1));
    out.time.push_back(static_cast<double>(variance));
  }
  const double total = out.time.back();
  if (total > 0.0) out.scale = std::sqrt(total);
  for (std::size_t k = 0; k < ties.size(); ++k) {
    out.walk[k] /= out.scale;
    out.time[k] = total > 0.0 ? out.time[k] / total
                              : static_cast<double>(k + 1) / static_cast<double>(ties.size());
  }
  return out;
}

// Where |S| and the bridge are largest, and the two ends of the range of S (0: its start).
struct WalkPlaces {
  double largest, bridge;
  std::vector<double> range;
};

inline WalkPlaces walk_places(const ResidualWalk& of) {
  const double end = of.walk.back();
  const auto place_of_largest = [&](const auto& value) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < of.walk.size(); ++k) {
      if (value(k) > value(best)) best = k;
    }
    return best;
  };
  const auto extreme = [&](double sign) {
    const std::size_t k = place_of_largest([&](std::size_t i) { return sign * of.walk[i]; });
    return sign * of.walk[k] > 0.0 ? of.place[k] : 0.0;
  };
  const auto largest = [&](std::size_t k) { return std::abs(of.walk[k]); };
  const auto bridge = [&](std::size_t k) { return std::abs(of.walk[k] - of.time[k] * end); };
  WalkPlaces out{of.place[place_of_largest(largest)],
                 of.place[place_of_largest(bridge)],
                 {extreme(1.0), extreme(-1.0)}};
  std::sort(out.range.begin(), out.range.end());
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
                               std::uint64_t seed, const ConstVectorRef& copies = Vector()) {
  require(!block_end.empty() && block_end.back() == prob.size(),
          "cumulative_draws: the last block ends at n.");
  require(weight.size() == prob.size(), "cumulative_draws: one weight per row.");
  require(time.size() == block_end.size(), "cumulative_draws: one time per block.");
  require(copies.size() == 0 || copies.size() == prob.size(),
          "cumulative_draws: one count per row.");
  const bool counted = copies.size() > 0;
  Matrix out(times, 4);
  parallel_for(engine, times, [&](Index r) {
    std::vector<double> walk(block_end.size());
    double sum = 0.0;
    Index i = 0;
    for (std::size_t k = 0; k < block_end.size(); ++k) {
      for (; counted && i < block_end[k]; ++i) {
        const double u =
            counter_uniform(seed, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(i));
        sum += weight[i] * (drawn_successes(copies[i], prob[i], u) / copies[i] - prob[i]);
      }
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
