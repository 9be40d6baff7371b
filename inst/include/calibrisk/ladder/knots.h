// SPDX-License-Identifier: GPL-3.0-or-later
// Knots of hat functions (linear B-splines): distinct type-1 quantiles of the weighted values, or
// all values where there are at most m of them; and where a value lies between its knots.
#ifndef CALIBRISK_LADDER_KNOTS_H
#define CALIBRISK_LADDER_KNOTS_H

#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cmath>
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

namespace detail {

// Up to m + 1 distinct values, ascending.
inline std::vector<double> first_distinct(const ConstVectorRef& x, std::size_t m) {
  std::vector<double> out;
  for (Index i = 0; i < x.size() && out.size() <= m; ++i) {
    const auto at = std::lower_bound(out.begin(), out.end(), x(i));
    if (at == out.end() || *at != x(i)) out.insert(at, x(i));
  }
  return out;
}

// Puts what a sort would at these ascending positions between begin and end.
inline void select_positions(std::vector<double>& x, Index begin, Index end, const Index* first,
                             const Index* last) {
  if (first == last) return;
  const Index* middle = first + (last - first) / 2;
  std::nth_element(x.begin() + begin, x.begin() + *middle, x.begin() + end);
  select_positions(x, begin, *middle, first, std::lower_bound(first, last, *middle));
  select_positions(x, *middle + 1, end, std::upper_bound(first, last, *middle), last);
}

}  // namespace detail

inline std::vector<double> hat_knots(const ConstVectorRef& x, const RowWeights& weights, Index m) {
  std::vector<double> few = detail::first_distinct(x, static_cast<std::size_t>(m));
  if (few.size() <= static_cast<std::size_t>(m)) return few;
  std::vector<double> knots;
  const auto add = [&](double value) {
    if (knots.empty() || knots.back() != value) knots.push_back(value);
  };
  const bool equal = weights.all_equal();
  WeightedValues values;
  if (!equal) values = sorted_values(x, weights);
  const double total = equal ? static_cast<double>(x.size()) : values.cumulated.back();
  const double slack = 1e-12 * total;
  std::vector<Index> position;
  std::size_t at = 0;
  for (Index q = 0; q < m; ++q) {
    const double share = m > 1 ? static_cast<double>(q) / static_cast<double>(m - 1) : 0.0;
    const double target = share * total - slack;
    if (equal) {
      position.push_back(std::max<Index>(static_cast<Index>(std::ceil(target)) - 1, 0));
      continue;
    }
    while (at + 1 < values.value.size() && values.cumulated[at] < target) ++at;
    add(values.value[at]);
  }
  if (equal) {
    std::vector<double> rows(x.data(), x.data() + x.size());
    detail::select_positions(rows, 0, x.size(), position.data(), position.data() + position.size());
    for (Index i : position) add(rows[static_cast<std::size_t>(i)]);
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
