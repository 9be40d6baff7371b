// SPDX-License-Identifier: GPL-3.0-or-later
// Whole Gram matrices in parallel tiles, and the median heuristic.
#ifndef CALIBRISK_KERNELS_GRAM_H
#define CALIBRISK_KERNELS_GRAM_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace calibrisk {

// out <- k(x_i, y_j), [n_x x n_y]
inline void gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                 const ConstMatrixRef& y, MatrixRef out) {
  constexpr Index tile = 256;
  const Index row_tiles = (x.rows() + tile - 1) / tile, col_tiles = (y.rows() + tile - 1) / tile;
  parallel_for(engine, row_tiles * col_tiles, [&](Index t) {
    const Index i = (t % row_tiles) * tile, j = (t / row_tiles) * tile;
    const Index m = std::min(tile, x.rows() - i), n = std::min(tile, y.rows() - j);
    gram_block(kernel, x.middleRows(i, m), y.middleRows(j, n), out.block(i, j, m, n));
  });
}

// The same in memory of its own, n_x n_y. For tests and for parts that are small.
inline Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                   const ConstMatrixRef& y) {
  Matrix out(x.rows(), y.rows());
  gram(engine, kernel, x, y, out);
  return out;
}

// Symmetric k(x_i, x_j): tiles of the lower triangle only, mirrored.
inline Matrix gram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x) {
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

// Streams metric(x_i, x_j), i < j, to visit(values, count) per row tile, in parallel;
// `State` collects per tile and is merged in order.
template <class State, class Visit, class Merge>
State visit_pairs(const Engine& engine, Metric metric, const ConstMatrixRef& x, State total,
                  const Visit& visit, const Merge& merge) {
  return parallel_reduce(
      engine, x.rows(), 64, std::move(total),
      [&](Index begin, Index size) {
        State state = State();
        Matrix block(x.rows(), size);
        // rows begin.. only: pairs (i, j) with i > j
        const Index rest = x.rows() - begin;
        metric_block(metric, x.bottomRows(rest), x.middleRows(begin, size), block.topRows(rest));
        for (Index j = 0; j < size; ++j) {
          visit(state, block.col(j).data() + j + 1, rest - j - 1);
        }
        return state;
      },
      merge);
}

}  // namespace detail

// The exact median over i < j of the metric's distance (square root taken for the
// squared Euclidean one); the mean of the two middle values if their number is even. If it is 0,
// the median of the positive distances, or 1 if there are none (Moskvichev & Sejdinovic 2025 leave
// this open). Cost n^2 q, memory O(n): one pass counts distances in 2^16 cells, a second collects
// the cell(s) in the middle. Infinite where a distance is.
inline double median_distance(const Engine& engine, Metric metric, const ConstMatrixRef& x) {
  require(metric == Metric::squared_euclidean || metric == Metric::total_variation,
          "The median heuristic needs a distance.");
  constexpr Index n_cells = 1 << 16;
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
  // Cell 0 is exactly zero; others are equal in width.
  const double scale = static_cast<double>(n_cells - 2) / largest;
  auto cell = [&](double v) {
    return v == 0 ? Index(0) : 1 + std::min<Index>(static_cast<Index>(v * scale), n_cells - 2);
  };
  using Counts = std::vector<std::int64_t>;
  const Counts counts = detail::visit_pairs(
      engine, metric, x, Counts(n_cells, 0),
      [&](Counts& state, const double* v, Index n) {
        if (state.empty()) state.assign(n_cells, 0);
        for (Index i = 0; i < n; ++i) ++state[static_cast<std::size_t>(cell(v[i]))];
      },
      [](Counts& total, const Counts& state) {
        for (std::size_t c = 0; c < state.size(); ++c) total[c] += state[c];
      });
  std::int64_t n_pairs = 0;
  for (std::int64_t c : counts) n_pairs += c;
  std::int64_t low = (n_pairs - 1) / 2, high = n_pairs / 2, skipped = 0;
  if (counts[0] > high) {  // the median is zero: of the positive distances instead
    const std::int64_t positive = n_pairs - counts[0];
    if (positive == 0) return 1.0;
    low = counts[0] + (positive - 1) / 2;
    high = counts[0] + positive / 2;
  }
  Index first = 0;
  while (skipped + counts[static_cast<std::size_t>(first)] <= low) {
    skipped += counts[static_cast<std::size_t>(first)];
    ++first;
  }
  Index last = first;
  std::int64_t upto = skipped + counts[static_cast<std::size_t>(first)];
  while (upto <= high) upto += counts[static_cast<std::size_t>(++last)];
  using Values = std::vector<double>;
  Values middle = detail::visit_pairs(
      engine, metric, x, Values(),
      [&](Values& state, const double* v, Index n) {
        for (Index i = 0; i < n; ++i) {
          const Index c = cell(v[i]);
          if (c == first || c == last) state.push_back(v[i]);
        }
      },
      [](Values& total, const Values& state) {
        total.insert(total.end(), state.begin(), state.end());
      });
  auto order_statistic = [&](std::int64_t rank) {
    auto at = middle.begin() + (rank - skipped);
    std::nth_element(middle.begin(), at, middle.end());
    return metric == Metric::squared_euclidean ? std::sqrt(*at) : *at;
  };
  const double lower = order_statistic(low);
  return low == high ? lower : 0.5 * (lower + order_statistic(high));
}

}  // namespace calibrisk

#endif
