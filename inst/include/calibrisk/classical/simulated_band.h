// SPDX-License-Identifier: GPL-3.0-or-later
// Bands from simulated curves.
#ifndef CALIBRISK_CLASSICAL_SIMULATED_BAND_H
#define CALIBRISK_CLASSICAL_SIMULATED_BAND_H

#include <calibrisk/engine.h>
#include <calibrisk/math/counter_normal.h>
#include <calibrisk/math/select_rank.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// At one place and (band_) at all places together.
struct CurveLimits {
  Vector low, high, band_low, band_high;
};

// The order of the smallest of n values that reaches this share of them, from 0.
inline Index share_rank(Index n, double share) {
  const auto rank = static_cast<Index>(std::ceil(static_cast<double>(n) * share));
  return std::min(std::max<Index>(rank, 1), n) - 1;
}

// The value that a new one of the same distribution as these exceeds with probability 1 - level.
inline Index upper_rank(Index n, double level) {
  const auto size = static_cast<double>(n);
  return static_cast<Index>(std::min(std::ceil((size + 1.0) * level), size)) - 1;
}
inline double upper_order(std::vector<double> values, double level) {
  const auto n = static_cast<Index>(values.size());
  const Index at = upper_rank(n, level);
  select_rank(values.data(), n, at);
  return values[static_cast<std::size_t>(at)];
}

// Between two values in order: type 7 of Hyndman and Fan (1996).
inline double interpolated_quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = static_cast<double>(values.size() - 1) * share;
  const auto below = static_cast<std::size_t>(place);
  const double next = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - static_cast<double>(below)) * (next - values[below]);
}

template <class Values>
std::vector<double> column_maxima(const Values& x) {
  std::vector<double> out(static_cast<std::size_t>(x.cols()));
  for (Index j = 0; j < x.cols(); ++j) out[static_cast<std::size_t>(j)] = x.col(j).maxCoeff();
  return out;
}

// Independent standard normal numbers [rows x times], the same for any number of threads.
CALIBRISK_SHARED Matrix counter_normals(const Engine& engine, Index rows, Index times,
                                        std::uint64_t seed);

// The level-quantile of max_g |sum_c l_gc e_c| / sd_g for independent normal e_c of these
// variances.
CALIBRISK_SHARED double normal_maximum(const Engine& engine, const Matrix& weights,
                                       const Vector& variance, Index times, double level,
                                       std::uint64_t seed);

// Draws are columns: pointwise quantiles, widened on each side by one factor so that the share
// `level` of whole curves is inside. Quantiles come from one half of the draws and the factor from
// the other. A curve of the same distribution as the draws is then inside with exactly that
// probability, however few they are.
CALIBRISK_SHARED CurveLimits simulated_band(const Matrix& draws, double level);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CURVES)
Matrix counter_normals(const Engine& engine, Index rows, Index times, std::uint64_t seed) {
  Matrix out(rows, times);
  parallel_for(engine, times, [&](Index r) {
    const std::uint64_t key = counter_key(seed, static_cast<std::uint64_t>(r));
    for (Index k = 0; k < rows; ++k) out(k, r) = counter_normal(key, static_cast<std::uint64_t>(k));
  });
  return out;
}

double normal_maximum(const Engine& engine, const Matrix& weights, const Vector& variance,
                      Index times, double level, std::uint64_t seed) {
  Matrix process = weights * variance.cwiseSqrt().asDiagonal();
  for (Index g = 0; g < process.rows(); ++g) {
    const double size = process.row(g).norm();
    if (size > 0.0) process.row(g) /= size;
  }
  const Matrix normal = counter_normals(engine, process.cols(), times, seed);
  const Matrix drawn = engine.dense.multiply(process, normal);
  return interpolated_quantile(column_maxima(drawn.cwiseAbs()), level);
}

CurveLimits simulated_band(const Matrix& draws, double level) {
  const Index places = draws.rows(), times = draws.cols(), half = times / 2;
  const double tail = (1.0 - level) / 2.0;
  CurveLimits out{Vector(places), Vector(places), Vector(places), Vector(places)};
  Vector middle(places), below(places), above(places), spread(places);
  std::vector<double> row(static_cast<std::size_t>(times));
  // the values of lower ranks than `from` have been sorted out before
  const auto ranked = [&](Index n, double share, double from) {
    const Index rank = share_rank(n, share), first = from > 0.0 ? share_rank(n, from) : 0;
    select_rank(row.data() + first, n - first, rank - first);
    return row[static_cast<std::size_t>(rank)];
  };
  for (Index g = 0; g < places; ++g) {
    long double sum = 0.0, squares = 0.0;
    for (Index r = 0; r < times; ++r) {
      const double v = row[static_cast<std::size_t>(r)] = draws(g, r);
      if (r >= half) continue;
      sum += v;
      squares += v * v;
    }
    const double mean = static_cast<double>(sum / half),
                 square = static_cast<double>(squares / half);
    spread(g) = std::sqrt(std::max(square - mean * mean, 0.0));
    below(g) = ranked(half, tail, 0.0);
    middle(g) = ranked(half, 0.5, tail);
    above(g) = ranked(half, 1.0 - tail, 0.5);
    out.low(g) = ranked(times, tail, 0.0);
    out.high(g) = ranked(times, 1.0 - tail, tail);
  }
  // places where the draws hardly move must not decide on the factor
  const Vector least = spread.cwiseMax(std::max(0.1 * spread.maxCoeff(), 1e-12));
  below = (middle - below).cwiseMax(least);
  above = (above - middle).cwiseMax(least);
  std::vector<double> excess(static_cast<std::size_t>(times - half));
  for (Index r = half; r < times; ++r) {
    const auto gap = (draws.col(r) - middle).array();
    excess[static_cast<std::size_t>(r - half)] =
        std::max((gap / above.array()).maxCoeff(), (-gap / below.array()).maxCoeff());
  }
  const double factor = upper_order(std::move(excess), level);
  out.band_low = (middle - factor * below).cwiseMin(out.low);
  out.band_high = (middle + factor * above).cwiseMax(out.high);
  return out;
}
#endif

}  // namespace calibrisk

#endif
