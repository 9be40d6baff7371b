// SPDX-License-Identifier: GPL-3.0-or-later
// Boxes of training values of the Beta kernel. Where a box holds more than 16 values, 16 Chebyshev
// nodes with the values' moments stand for them. The cells of the smallest bandwidth are cut once;
// boxes of the larger ones are made of whole cells, whose nodes have all moments that theirs need.
#ifndef CALIBRISK_METHODS_KDE_BETA_BOXES_H
#define CALIBRISK_METHODS_KDE_BETA_BOXES_H

#include <calibrisk/math/chebyshev_rule.h>
#include <calibrisk/math/exp_sums.h>
#include <calibrisk/methods/kde_beta_training.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

namespace detail {

constexpr int beta_nodes = 16;
constexpr double beta_box_variation = 17.0;  // of terms over a box at the edge of a window
constexpr double beta_end_variation = 6.0;   // over a box next to 0 or 1 at the last query

// Largest offset that shares a box with the value `x`, for queries with |logit| up to the limit.
inline double beta_box_end(double x, double inv_h, double slope_limit) {
  const double spread = 1.0 / (inv_h * std::abs(x));
  const double slope = 40.0 * spread + std::sqrt(80.0 * spread);
  return x + std::max(beta_box_variation / slope, beta_end_variation / slope_limit) / inv_h;
}

// Appends what stands for from[begin, end): the values themselves, or nodes. True for nodes.
inline bool condense(const BetaTraining& from, Index begin, Index end, BetaTraining& to) {
  constexpr int m = beta_nodes;
  if (end - begin <= m) {
    for (std::size_t i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      to.offset.push_back(from.offset[i]);
      to.count.push_back(from.count[i]);
      to.positive.push_back(from.positive[i]);
    }
    return false;
  }
  const std::size_t first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(end);
  const ChebyshevRule<m>& rule = chebyshev_rule<m>();
  const double half = 0.5 * (from.offset[last - 1] - from.offset[first]);
  const double centre = from.offset[first] + half;
  double count[m], positive[m];
  const auto moments = exp_loops().chebyshev_moments;
  moments(&from.offset[first], &from.count[first], centre, 1.0 / half, end - begin, m, count);
  moments(&from.offset[first], &from.positive[first], centre, 1.0 / half, end - begin, m, positive);
  for (int k = m - 1; k >= 0; --k) {  // ascending
    double node_count = 0.0, node_positive = 0.0;
    for (int j = 0; j < m; ++j) {
      node_count += rule.basis[j][k] * count[j];
      node_positive += rule.basis[j][k] * positive[j];
    }
    to.offset.push_back(centre + half * rule.node[k]);
    to.count.push_back(node_count);
    to.positive.push_back(node_positive);
  }
  return true;
}

}  // namespace detail

struct BetaCell {
  Index begin, end;            // training values
  Index item_begin, item_end;  // what stands for them
  bool condensed;              // by nodes
  bool upper;
  double lowest, highest;  // first and last offset
};

// Training values and their cells.
struct BetaCells {
  BetaTraining values;
  BetaTraining items;  // n_lower is not used
  std::vector<BetaCell> cells;
  double slope_limit = 0.0;  // |logit| of the queries

  BetaCells(BetaTraining training, double smallest_bandwidth, double limit)
      : values(std::move(training)), slope_limit(std::max(37.0, limit)) {
    const double inv_h = inverse_bandwidth(smallest_bandwidth);
    cut(0, values.n_lower, inv_h);
    cut(values.n_lower, values.n(), inv_h);
  }

 private:
  void cut(Index begin, Index end, double inv_h) {
    const std::vector<double>& x = values.offset;
    const bool upper = begin >= values.n_lower;
    while (begin < end) {
      const double first = x[static_cast<std::size_t>(begin)];
      const double last = detail::beta_box_end(first, inv_h, slope_limit);
      const Index next = static_cast<Index>(
          std::upper_bound(x.begin() + begin + 1, x.begin() + end, last) - x.begin());
      const Index item_begin = items.n();
      const bool condensed = detail::condense(values, begin, next, items);
      cells.push_back({begin, next, item_begin, items.n(), condensed, upper, first,
                       x[static_cast<std::size_t>(next - 1)]});
      begin = next;
    }
  }
};

}  // namespace calibrisk

#endif
