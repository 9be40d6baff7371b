// SPDX-License-Identifier: GPL-3.0-or-later
// Weighted sums over pairs of what the outcomes contribute to h_Y, for many sets of outcomes and
// the same predictions: with W symmetric,
//   sum_ij W_ij h_Y(i, j) = sum_ij W_ij (k(y_i, y_j) - 2 E k(Z_i, y_j)) + a term without y.
#ifndef CALIBRISK_SKCE_OUTCOME_SUMS_H
#define CALIBRISK_SKCE_OUTCOME_SUMS_H

#include <calibrisk/engine.h>
#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/targets/target.h>

#include <algorithm>

namespace calibrisk {

// weights: [n x n]; outcomes: [n x sets d], one set after the other; points: the same outcomes as
// the target takes them. Per set: n^2 expectations and n^2 / 2 kernel values, memory O(n).
inline Vector outcome_sums(const Engine& engine, const ConstMatrixRef& weights,
                           const Target& target, const Kernel& kernel,
                           const ConstMatrixRef& outcomes, const ConstMatrixRef& points,
                           Index sets) {
  const Index n = target.size(), d = outcomes.cols() / sets, d_points = points.cols() / sets;
  require(weights.rows() == n && weights.cols() == n && outcomes.rows() == n && points.rows() == n,
          "Weights, outcomes and points must have one row per prediction.");
  const double entries = detail::task_evaluations / target.cost() / static_cast<double>(n);
  const Index tile = std::max<Index>(1, static_cast<Index>(std::min(entries, 64.0)));
  const Index n_tiles = (n + tile - 1) / tile;
  Matrix parts(n_tiles, sets);
  parallel_for(engine, n_tiles * sets, [&](Index task) {
    const Index set = task / n_tiles, j = (task % n_tiles) * tile, width = std::min(tile, n - j);
    const auto y = outcomes.middleCols(set * d, d);
    const auto columns = weights.middleCols(j, width);
    Matrix block(n, width);
    target.expectation(0, points.block(j, set * d_points, width, d_points), block);
    double sum = -2.0 * block.cwiseProduct(columns).sum();
    // rows j, j + 1, ... stand for those above as well
    const Index below = n - j - width;
    gram_block(kernel, y.middleRows(j, width), y.middleRows(j, width), block.topRows(width));
    sum += block.topRows(width).cwiseProduct(columns.middleRows(j, width)).sum();
    gram_block(kernel, y.bottomRows(below), y.middleRows(j, width), block.topRows(below));
    sum += 2.0 * block.topRows(below).cwiseProduct(columns.bottomRows(below)).sum();
    parts(task % n_tiles, set) = sum;
  });
  return parts.colwise().sum().transpose();
}

}  // namespace calibrisk

#endif
