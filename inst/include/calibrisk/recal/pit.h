// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional distribution function of the probability integral transform if predicted
// distribution functions jump (Czado, Gneiting & Held 2009). An outcome whose jump is (low, high]
// is spread evenly over it, F(u | y) = (u - low) / (high - low) inside. A continuous distribution
// has low = high.
#ifndef CALIBRISK_RECAL_PIT_H
#define CALIBRISK_RECAL_PIT_H

#include <calibrisk/engine.h>
#include <calibrisk/math/counter_uniform.h>

#include <algorithm>

namespace calibrisk {

// The first k in 0..m with level k >= u: level 0 is 0, level k is levels[k - 1].
inline Index level_from(double u, const ConstVectorRef& levels) {
  if (u <= 1e-12) return 0;
  const double* const first = levels.data();
  const double* const last = first + levels.size();
  return std::min<Index>(std::lower_bound(first, last, u - 1e-12) - first + 1, levels.size());
}

inline double pit_at(double low, double high, double u) {
  if (u >= high - 1e-12) return 1.0;
  return u <= low ? 0.0 : (u - low) / (high - low);
}

// Weighted sums over the rows of F(level | y) (columns 0, 1: and of its square) and of the mass
// between that level and the one before (columns 2, 3), a row per level. Levels ascend to 1.
inline Matrix pit_sums(const ConstVectorRef& low, const ConstVectorRef& high,
                       const ConstVectorRef& levels, const ConstVectorRef& weight) {
  const Index m = levels.size();
  require(low.size() == high.size(), "pit_sums: a jump has two ends.");
  require(low.size() == weight.size(), "pit_sums: one weight per row.");
  Matrix out = Matrix::Zero(m, 4);
  for (Index i = 0; i < low.size(); ++i) {
    double before = 0.0;
    for (Index k = 1; k <= m; ++k) {
      const double value = pit_at(low[i], high[i], levels[k - 1]);
      const double mass = value - before;
      out(k - 1, 0) += weight[i] * value;
      out(k - 1, 1) += weight[i] * value * value;
      out(k - 1, 2) += weight[i] * mass;
      out(k - 1, 3) += weight[i] * mass * mass;
      before = value;
    }
  }
  return out;
}

// Jumps of each row's predicted distribution function, ascending: those of row i are start[i] to
// start[i + 1] - 1. Elsewhere it is continuous.
struct PitJumps {
  const std::vector<int>& start;
  ConstVectorRef low, high;
};

// Sums over the rows of F(level | Y) for outcomes drawn from the predictions, [levels x draws].
// A draw of row i depends on (seed, draw, first_row + i) alone. Cost O(n draws log(jumps)).
inline Matrix pit_draws(const Engine& engine, const PitJumps& jumps, const ConstVectorRef& levels,
                        Index times, std::uint64_t seed, std::uint64_t first_row) {
  const Index m = levels.size();
  require(!jumps.start.empty() && jumps.start.back() == jumps.low.size() &&
              jumps.low.size() == jumps.high.size(),
          "pit_draws: the last row's jumps are the last ones.");
  const auto n = static_cast<Index>(jumps.start.size()) - 1;
  // the sum is piecewise linear: increments of its constant and of its slope, per level
  struct Partial {
    Matrix constant, slope;
  };
  const auto empty = [&] {
    return Partial{Matrix::Zero(m + 1, times), Matrix::Zero(m + 1, times)};
  };
  const auto map = [&](Index begin, Index size) {
    Partial part = empty();
    for (Index i = begin; i < begin + size; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const double* const from = jumps.high.data() + jumps.start[row];
      const double* const to = jumps.high.data() + jumps.start[row + 1];
      for (Index r = 0; r < times; ++r) {
        const double v = counter_uniform(seed, static_cast<std::uint64_t>(r),
                                         first_row + static_cast<std::uint64_t>(i));
        const double* const end = std::upper_bound(from, to, v);
        const double low = end == to ? v : jumps.low[end - jumps.high.data()];
        const Index last = level_from(end == to || low > v ? v : *end, levels);
        part.constant(last, r) += 1.0;
        if (end == to || low > v) continue;
        const Index first = level_from(low, levels);
        const double slope = 1.0 / (*end - low);
        part.slope(first, r) += slope;
        part.slope(last, r) -= slope;
        part.constant(first, r) -= slope * low;
        part.constant(last, r) += slope * low;
      }
    }
    return part;
  };
  const Partial total =
      parallel_reduce(engine, n, Index(256), empty(), map, [](Partial& sum, const Partial& part) {
        sum.constant += part.constant;
        sum.slope += part.slope;
      });
  Matrix out(m, times);
  for (Index r = 0; r < times; ++r) {
    double constant = total.constant(0, r), slope = total.slope(0, r);
    for (Index k = 1; k <= m; ++k) {
      constant += total.constant(k, r);
      slope += total.slope(k, r);
      out(k - 1, r) = constant + slope * levels[k - 1];
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
