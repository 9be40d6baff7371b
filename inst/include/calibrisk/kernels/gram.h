// SPDX-License-Identifier: GPL-3.0-or-later
// Whole Gram matrices in parallel tiles, and the median heuristic.
#ifndef CALIBRISK_KERNELS_GRAM_H
#define CALIBRISK_KERNELS_GRAM_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/kernel.h>
#include <calibrisk/short_work.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

// out <- k(x_i, y_j), [n_x x n_y]
CALIBRISK_SHARED void gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                           const ConstMatrixRef& y, MatrixRef out);

// The same in memory of its own, n_x n_y. For tests and for parts that are small.
CALIBRISK_SHARED Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                             const ConstMatrixRef& y);

// Symmetric k(x_i, x_j): tiles of the lower triangle only, mirrored.
CALIBRISK_SHARED Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x);

// The exact median over i < j of the metric's distance (square root taken for the
// squared Euclidean one); the mean of the two middle values if their number is even. If it is 0,
// the median of the positive distances, or 1 if there are none (Moskvichev & Sejdinovic 2025 leave
// this open). Cost n^2 q, memory of a few hundredths of them. Infinite where a distance is.
CALIBRISK_SHARED double median_distance(const Engine& engine, Metric metric,
                                        const ConstMatrixRef& x);

}  // namespace calibrisk

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)

#include <calibrisk/math/value_stretch.h>

#include <random>

namespace calibrisk {

void gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
          const ConstMatrixRef& y, MatrixRef out) {
  constexpr Index tile = 256;
  const Index row_tiles = (x.rows() + tile - 1) / tile, col_tiles = (y.rows() + tile - 1) / tile;
  parallel_for(engine, row_tiles * col_tiles, [&](Index t) {
    const Index i = (t % row_tiles) * tile, j = (t / row_tiles) * tile;
    const Index m = std::min(tile, x.rows() - i), n = std::min(tile, y.rows() - j);
    gram_block(kernel, x.middleRows(i, m), y.middleRows(j, n), out.block(i, j, m, n));
  });
}

Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
            const ConstMatrixRef& y) {
  Matrix out(x.rows(), y.rows());
  gram(engine, kernel, x, y, out);
  return out;
}

Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x) {
  constexpr Index tile = 256;
  const Index n_obs = x.rows(), n_tiles = (n_obs + tile - 1) / tile;
  Matrix out(n_obs, n_obs);
  parallel_for(engine, n_tiles, [&](Index a) {
    const Index i = a * tile, m = std::min(tile, n_obs - i);
    for (Index b = 0; b <= a; ++b) {
      const Index j = b * tile, n = std::min(tile, n_obs - j);
      gram_block(kernel, x.middleRows(i, m), x.middleRows(j, n), out.block(i, j, m, n));
      if (a != b) out.block(j, i, n, m) = out.block(i, j, m, n).transpose();
    }
  });
  return out;
}

namespace detail {

// Distances from `from` to `to`, and how many are below.
struct DistanceStretch {
  std::int64_t below = 0;
  std::vector<double> inside;
  bool has(std::int64_t rank) const {
    return rank >= below && rank < below + static_cast<std::int64_t>(inside.size());
  }
};

// For the pairs i < j, in blocks that stay in the cache.
inline DistanceStretch distance_stretch(const Engine& engine, Metric metric,
                                        const ConstMatrixRef& x, double from, double to) {
  constexpr Index tile = 64, block = 512;
  return parallel_reduce(
      engine, x.rows(), tile, DistanceStretch(),
      [&](Index begin, Index size) {
        DistanceStretch out;
        Matrix distances(std::min(block, x.rows() - begin), size);
        std::vector<double> inside(static_cast<std::size_t>(distances.rows()) + 8);
        for (Index i = begin; i < x.rows(); i += block) {
          const Index m = std::min(block, x.rows() - i);
          metric_block(metric, x.middleRows(i, m), x.middleRows(begin, size), distances.topRows(m));
          for (Index j = 0; j < size; ++j) {
            const double* v = distances.col(j).data();
            const Index first = std::max<Index>(0, begin + j + 1 - i);
            if (first >= m) continue;
            const Index used =
                copy_stretch(v + first, m - first, from, to, inside.data(), out.below);
            out.inside.insert(out.inside.end(), inside.begin(), inside.begin() + used);
          }
        }
        return out;
      },
      [](DistanceStretch& total, const DistanceStretch& part) {
        total.below += part.below;
        total.inside.insert(total.inside.end(), part.inside.begin(), part.inside.end());
      });
}

inline std::vector<Index> random_order(Index n) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index(0));
  std::shuffle(order.begin(), order.end(), std::minstd_rand());
  return order;
}

// The distances between each row and `steps` of those after it, around a circle of the rows in a
// random order. No row is in more pairs than another. Their quantiles are therefore nearer to those
// of all pairs than the quantiles of as many independent pairs.
inline Matrix some_distances(Metric metric, const ConstMatrixRef& x, Index steps) {
  const Index n = x.rows();
  std::vector<Index> order = random_order(n);
  order.insert(order.end(), order.begin(), order.begin() + steps);
  const Matrix circle = take_rows(x, order);
  Matrix out(steps, n);
  for (Index i = 0; i < n; ++i) {
    metric_block(metric, circle.middleRows(i + 1, steps), circle.middleRows(i, 1),
                 out.middleCols(i, 1));
  }
  return out;
}

// The distances of these ranks, counted from 0, of which `high` is `low` or the next: among those
// around the same shares of some of the distances, and of wider stretches until they are there.
inline std::pair<double, double> ordered_distances(const Engine& engine, Metric metric,
                                                   const ConstMatrixRef& x, std::int64_t low,
                                                   std::int64_t high) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Index n = x.rows();
  const double pairs = 0.5 * static_cast<double>(n) * static_cast<double>(n - 1);
  Matrix some;
  if (n > 64) some = some_distances(metric, x, static_cast<Index>(std::cbrt(n)));
  const double size = static_cast<double>(some.size());
  const auto at_share = [&](double share) {
    if (!(share > 0.0 && share < 1.0) || some.size() == 0) return share > 0.0 ? infinite : 0.0;
    double* at = some.data() + static_cast<Index>(share * size);
    std::nth_element(some.data(), at, some.data() + some.size());
    return *at;
  };
  DistanceStretch found;
  for (double margin = some.size() > 0 ? 1.6 / std::sqrt(size) : 1.0;; margin *= 3.0) {
    found = distance_stretch(engine, metric, x, at_share(static_cast<double>(low) / pairs - margin),
                             at_share(static_cast<double>(high) / pairs + margin));
    if (found.has(low) && found.has(high)) break;
    require(margin < 1.0, "Distances must be numbers.");
  }
  const auto place = found.inside.begin() + (low - found.below);
  std::nth_element(found.inside.begin(), place, found.inside.end());
  return {*place, low == high ? *place : *std::min_element(place + 1, found.inside.end())};
}

}  // namespace detail

double median_distance(const Engine& engine, Metric metric, const ConstMatrixRef& x) {
  require(metric == Metric::squared_euclidean || metric == Metric::total_variation,
          "The median heuristic needs a distance.");
  // Distances are at most this: the diagonal of the bounding box, or half its L1 size.
  const Vector range = x.colwise().maxCoeff() - x.colwise().minCoeff();
  const double largest =
      metric == Metric::squared_euclidean ? range.squaredNorm() : 0.5 * range.sum();
  const double widest = x.rows() < 2 ? 0.0 : range.maxCoeff();
  if (!(widest > 0)) return 1.0;
  if (std::isinf(widest)) return widest;
  // Squares that overflow or vanish: the same of the rescaled rows.
  if (!(largest > 1e-250 && largest < 1e250)) {
    return widest * median_distance(engine, metric, x / widest);
  }
  const std::int64_t n = x.rows(), pairs = n * (n - 1) / 2;
  // a coordinate of a distance takes an operation or two
  const Engine within = engine_for(engine, static_cast<double>(n * n * x.cols()));
  auto middle = detail::ordered_distances(within, metric, x, (pairs - 1) / 2, pairs / 2);
  if (middle.second == 0.0) {
    constexpr double positive = std::numeric_limits<double>::denorm_min();
    const std::int64_t zeros = detail::distance_stretch(within, metric, x, positive, 0.0).below;
    if (zeros == pairs) return 1.0;
    middle = detail::ordered_distances(within, metric, x, zeros + (pairs - zeros - 1) / 2,
                                       zeros + (pairs - zeros) / 2);
  }
  const auto distance = [&](double v) {
    return metric == Metric::squared_euclidean ? std::sqrt(v) : v;
  };
  return middle.first == middle.second ? distance(middle.first)
                                       : 0.5 * (distance(middle.first) + distance(middle.second));
}

}  // namespace calibrisk

#endif

#endif
