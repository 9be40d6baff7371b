// SPDX-License-Identifier: GPL-3.0-or-later
// Knots of hat functions (linear B-splines): distinct type-1 quantiles of the weighted values, or
// all values where there are at most m of them; and where a value lies between its knots.
#ifndef CALIBRISK_LADDER_KNOTS_H
#define CALIBRISK_LADDER_KNOTS_H

#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

// Sorted distinct values with the weight up to each of them.
struct WeightedValues {
  std::vector<double> value;
  std::vector<double> cumulated;
};

inline WeightedValues sorted_values(const ConstVectorRef& x, const RowWeights& weights) {
  std::vector<std::pair<double, double>> rows(static_cast<std::size_t>(x.size()));
  for (Index i = 0; i < x.size(); ++i) rows[static_cast<std::size_t>(i)] = {x(i), weights(i)};
  std::sort(rows.begin(), rows.end());
  WeightedValues out;
  double sum = 0.0;
  for (const auto& row : rows) {
    sum += row.second;
    if (!out.value.empty() && out.value.back() == row.first) {
      out.cumulated.back() = sum;
    } else {
      out.value.push_back(row.first);
      out.cumulated.push_back(sum);
    }
  }
  return out;
}

inline std::vector<double> hat_knots(const ConstVectorRef& x, const RowWeights& weights, Index m) {
  WeightedValues values = sorted_values(x, weights);
  if (values.value.size() <= static_cast<std::size_t>(m)) return values.value;
  std::vector<double> knots;
  const double total = values.cumulated.back(), slack = 1e-12 * total;
  std::size_t at = 0;
  for (Index q = 0; q < m; ++q) {
    const double target = static_cast<double>(q) / static_cast<double>(m - 1) * total - slack;
    while (at + 1 < values.value.size() && values.cumulated[at] < target) ++at;
    if (knots.empty() || knots.back() != values.value[at]) knots.push_back(values.value[at]);
  }
  return knots;
}

// Row i has the values 1 - t[i] and t[i] of the hats cell[i] and cell[i] + 1. Beyond the outer
// knots hats are constant; a single knot is the constant 1.
struct HatPositions {
  std::vector<std::uint16_t> cell;
  std::vector<double> t;
};

inline HatPositions hat_positions(const ConstVectorRef& x, const std::vector<double>& knots) {
  require(!knots.empty() && knots.size() < 65536, "Hats need between 1 and 65,535 knots.");
  HatPositions out;
  const auto n = static_cast<std::size_t>(x.size());
  out.cell.assign(n, 0);
  out.t.assign(n, 0.0);
  if (knots.size() == 1) return out;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = x(static_cast<Index>(i));
    auto above = std::upper_bound(knots.begin() + 1, knots.end() - 1, value);
    const auto cell = static_cast<std::size_t>(above - knots.begin()) - 1;
    out.cell[i] = static_cast<std::uint16_t>(cell);
    const double t = (value - knots[cell]) / (knots[cell + 1] - knots[cell]);
    out.t[i] = std::min(std::max(t, 0.0), 1.0);
  }
  return out;
}

}  // namespace calibrisk

#endif
