// SPDX-License-Identifier: GPL-3.0-or-later
// Boxes of training values of the Beta kernel. Where a box holds more than 16 values, 16 Chebyshev
// nodes with the values' moments stand for them. Cells for the smallest bandwidth are cut once;
// boxes are made of whole cells, whose nodes have all moments that theirs need.
#ifndef CALIBRISK_METHODS_KDE_BETA_BOXES_H
#define CALIBRISK_METHODS_KDE_BETA_BOXES_H

#include <calibrisk/math/chebyshev_rule.h>
#include <calibrisk/math/exp_sums.h>
#include <calibrisk/methods/kde_beta_training.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

namespace calibrisk {

namespace detail {

constexpr int beta_nodes = 16;
constexpr double beta_box_variation = 17.0;  // of terms over a box at the edge of a window
constexpr double beta_end_variation = 6.0;   // over a box next to 0 or 1 at the last query
constexpr double beta_cells = 4.0;  // smallest bandwidth / that of cells, for boxes that vary much

// Largest offset that shares a box with the value `x`, for queries with |logit| up to the limit.
inline double beta_box_end(double x, double inv_h, double slope_limit) {
  const double spread = 1.0 / (inv_h * std::abs(x));
  const double slope = 40.0 * spread + std::sqrt(80.0 * spread);
  return x + std::max(beta_box_variation / slope, beta_end_variation / slope_limit) / inv_h;
}

// Appends the nodes that stand for values around `centre` with these moments, a column of the
// weights after the other.
inline void append_nodes(double centre, double half, const std::vector<double>& moments,
                         BetaItems& to) {
  constexpr int m = beta_nodes;
  const ChebyshevRule<m>& rule = chebyshev_rule<m>();
  for (int k = m - 1; k >= 0; --k) {  // ascending
    to.offset.push_back(centre + half * rule.node[k]);
    for (std::size_t c = 0; c < static_cast<std::size_t>(to.width()); ++c) {
      double at_node = 0.0;
      for (std::size_t j = 0; j < m; ++j) at_node += rule.basis[j][k] * moments[c * m + j];
      to.weight.push_back(at_node);
    }
  }
}

// The moments of the items from[begin, end), whose offsets are at (offset - centre) / half.
inline void item_moments(const BetaItems& from, Index begin, Index end, double centre, double half,
                         std::vector<double>& moments) {
  constexpr int m = beta_nodes;
  const Index width = from.width();
  std::vector<double> column(static_cast<std::size_t>(end - begin));
  for (Index c = 0; c < width; ++c) {
    const double* weight = from.weights(begin) + c;
    for (double& w : column) {
      w = *weight;
      weight += width;
    }
    exp_loops().chebyshev_moments(&from.offset[static_cast<std::size_t>(begin)], column.data(),
                                  centre, 1.0 / half, end - begin, m,
                                  &moments[static_cast<std::size_t>(c) * m]);
  }
}

// Training values are each in the moments of the blocks that have them.
inline void item_moments(const BetaTraining& from, Index begin, Index end, double centre,
                         double half, std::vector<double>& moments) {
  struct Block {
    std::vector<double> x, count, positive;
  };
  std::vector<Block> blocks(static_cast<std::size_t>(from.n_blocks));
  for (Index i = begin; i < end; ++i) {
    for (const BetaTraining::Part* part = from.begin(i); part != from.end(i); ++part) {
      Block& block = blocks[static_cast<std::size_t>(part->block)];
      block.x.push_back(from.offset[static_cast<std::size_t>(i)]);
      block.count.push_back(part->count);
      block.positive.push_back(part->positive);
    }
  }
  double* of_column = moments.data();
  for (const Block& block : blocks) {
    for (const std::vector<double>* column : {&block.count, &block.positive}) {
      exp_loops().chebyshev_moments(block.x.data(), column->data(), centre, 1.0 / half,
                                    static_cast<Index>(block.x.size()), beta_nodes, of_column);
      of_column += beta_nodes;
    }
  }
}

// Appends what stands for the items from[begin, end): the items themselves, or nodes. True for
// nodes.
template <class Items>
bool condense(const Items& from, Index begin, Index end, BetaItems& to) {
  if (end - begin <= beta_nodes) {
    for (Index i = begin; i < end; ++i) to.append(from, i);
    return false;
  }
  const double lowest = from.offset[static_cast<std::size_t>(begin)];
  const double half = 0.5 * (from.offset[static_cast<std::size_t>(end - 1)] - lowest);
  const double centre = lowest + half;
  std::vector<double> moments(static_cast<std::size_t>(to.width()) * beta_nodes);
  item_moments(from, begin, end, centre, half, moments);
  append_nodes(centre, half, moments, to);
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
  BetaItems items;
  std::vector<BetaCell> cells;
  double slope_limit = 0.0;  // |logit| of the queries

  BetaCells(BetaTraining training, double smallest_bandwidth, double limit)
      : values(std::move(training)),
        items(values.n_blocks),
        slope_limit(std::max(37.0, limit)),
        smallest_bandwidth_(smallest_bandwidth),
        others_(static_cast<std::size_t>(values.n_blocks)) {
    const double inv_h = detail::beta_cells * inverse_bandwidth(smallest_bandwidth);
    cut(0, values.n_lower, inv_h);
    cut(values.n_lower, values.n(), inv_h);
  }

  // Those of the values of all blocks but one, made where they are asked for.
  const BetaCells& others(Index left_out) const {
    Others& out = others_[static_cast<std::size_t>(left_out)];
    std::call_once(out.made, [&] {
      BetaTraining kept;
      for (Index i = 0; i < values.n(); ++i) {
        const BetaPair pair(values, i, left_out);
        if (!(pair.count > 0.0)) continue;
        kept.append(values.offset[static_cast<std::size_t>(i)], i >= values.n_lower,
                    {0, pair.count, pair.positive});
      }
      out.cells = std::make_unique<BetaCells>(std::move(kept), smallest_bandwidth_, slope_limit);
    });
    return *out.cells;
  }

 private:
  struct Others {
    std::once_flag made;
    std::unique_ptr<BetaCells> cells;
  };
  double smallest_bandwidth_;
  mutable std::vector<Others> others_;

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
