// SPDX-License-Identifier: GPL-3.0-or-later
// Knots of hat functions (linear B-splines): distinct type-2 quantiles of the weighted values, or
// all values where there are at most m of them; and where a value lies between its knots. With type
// 2 (the mean of two values where a whole number of rows is reached), the knots of 1 - x are 1
// minus those of x.
#ifndef CALIBRISK_LADDER_KNOTS_H
#define CALIBRISK_LADDER_KNOTS_H

#include <calibrisk/engine.h>
#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <array>
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

// Number of `size` ascending values that are at most x, without a branch that the processor would
// have to predict.
inline std::size_t count_at_most(const double* values, std::size_t size, double x) {
  const double* base = values;
  while (size > 1) {
    const std::size_t half = size / 2;
    base += half * static_cast<std::size_t>(base[half - 1] <= x);
    size -= half;
  }
  return static_cast<std::size_t>(base - values) +
         static_cast<std::size_t>(size == 1 && *base <= x);
}

// A copy of x with what a sort would put at these ascending positions. Many rows go into parts
// between values of an even sample first, which workers select from.
inline std::vector<double> selected(const Engine& engine, const ConstVectorRef& x,
                                    const std::vector<Index>& positions) {
  constexpr Index block = 32768, sample_size = 1024, spacing = 16;
  constexpr std::size_t n_parts = sample_size / spacing;
  const Index n = x.size(), n_blocks = (n + block - 1) / block;
  std::vector<double> rows(static_cast<std::size_t>(n));
  if (n_blocks < 3) {
    std::copy(x.data(), x.data() + n, rows.begin());
    select_positions(rows, 0, n, positions.data(), positions.data() + positions.size());
    return rows;
  }
  std::vector<double> sample(sample_size), splits;
  for (Index s = 0; s < sample_size; ++s) {
    sample[static_cast<std::size_t>(s)] = x(s * (n / sample_size));
  }
  std::sort(sample.begin(), sample.end());
  for (Index s = spacing; s < sample_size; s += spacing) {
    splits.push_back(sample[static_cast<std::size_t>(s)]);
  }
  using Counts = std::array<Index, n_parts>;
  std::vector<std::uint8_t> part(static_cast<std::size_t>(n));
  std::vector<Counts> next(static_cast<std::size_t>(n_blocks));
  const auto of_block = [&](Index t, const auto& task) {
    Counts& counts = next[static_cast<std::size_t>(t)];
    for (Index i = t * block; i < std::min(n, (t + 1) * block); ++i) {
      task(static_cast<std::size_t>(i), counts);
    }
  };
  parallel_for(engine, n_blocks, [&](Index t) {
    next[static_cast<std::size_t>(t)].fill(0);
    of_block(t, [&](std::size_t i, Counts& counts) {
      const std::size_t at = count_at_most(splits.data(), splits.size(), x(static_cast<Index>(i)));
      part[i] = static_cast<std::uint8_t>(at);
      ++counts[at];
    });
  });
  std::array<Index, n_parts + 1> begin;
  Index sum = 0;
  for (std::size_t p = 0; p < n_parts; ++p) {
    begin[p] = sum;
    for (Counts& counts : next) {
      const Index size = counts[p];
      counts[p] = sum;
      sum += size;
    }
  }
  begin[n_parts] = n;
  parallel_for(engine, n_blocks, [&](Index t) {
    of_block(t, [&](std::size_t i, Counts& counts) {
      rows[static_cast<std::size_t>(counts[part[i]]++)] = x(static_cast<Index>(i));
    });
  });
  parallel_for(engine, static_cast<Index>(n_parts), [&](Index t) {
    const auto p = static_cast<std::size_t>(t);
    const auto first = std::lower_bound(positions.begin(), positions.end(), begin[p]);
    const auto last = std::lower_bound(first, positions.end(), begin[p + 1]);
    select_positions(rows, begin[p], begin[p + 1], positions.data() + (first - positions.begin()),
                     positions.data() + (last - positions.begin()));
  });
  return rows;
}

}  // namespace detail

// The knots of several numbers of hats: `sizes`.
inline std::vector<std::vector<double>> hat_knots(const Engine& engine, const ConstVectorRef& x,
                                                  const RowWeights& weights,
                                                  const std::vector<Index>& sizes) {
  std::vector<std::vector<double>> out(sizes.size());
  if (sizes.empty()) return out;
  const std::vector<double> few = detail::first_distinct(
      x, static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end())));
  const auto all_fit = [&](Index m) { return few.size() <= static_cast<std::size_t>(m); };
  const bool equal = weights.all_equal(),
             all_known = std::all_of(sizes.begin(), sizes.end(), all_fit);
  WeightedValues values;
  if (!equal && !all_known) values = sorted_values(x, weights);
  const double total =
      values.value.empty() ? static_cast<double>(x.size()) : values.cumulated.back();
  const double slack = 1e-12 * total;
  const auto target = [&](Index q, Index m) {
    const double share = m > 1 ? static_cast<double>(q) / static_cast<double>(m - 1) : 0.0;
    return share * total;
  };
  // of the first value that reaches a sum
  const auto position = [&](double sum) {
    const auto at = static_cast<Index>(std::ceil(sum)) - 1;
    return std::min(std::max<Index>(at, 0), x.size() - 1);
  };
  std::vector<double> rows;
  if (equal && !all_known) {
    std::vector<Index> positions;
    for (Index m : sizes) {
      for (Index q = 0; q < m && !all_fit(m); ++q) {
        positions.push_back(position(target(q, m) - slack));
        positions.push_back(position(target(q, m) + slack));
      }
    }
    std::sort(positions.begin(), positions.end());
    rows = detail::selected(engine, x, positions);
  }
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const Index m = sizes[s];
    if (all_fit(m)) {
      out[s] = few;
      continue;
    }
    std::size_t at = 0;
    const auto reached = [&](double sum) {
      if (equal) return rows[static_cast<std::size_t>(position(sum))];
      while (at + 1 < values.value.size() && values.cumulated[at] < sum) ++at;
      return values.value[at];
    };
    for (Index q = 0; q < m; ++q) {
      const double low = reached(target(q, m) - slack), high = reached(target(q, m) + slack);
      const double value = low == high ? low : (low + high) / 2.0;
      if (out[s].empty() || out[s].back() != value) out[s].push_back(value);
    }
  }
  return out;
}

// Row i has the values 1 - t[i] and t[i] of the hats cell[i] and cell[i] + 1. Beyond the outer
// knots hats are constant; a single knot is the constant 1.
struct HatPositions {
  std::vector<std::uint16_t> cell;
  std::vector<double> t;
};

inline HatPositions hat_positions(const Engine& engine, const ConstVectorRef& x,
                                  const std::vector<double>& knots) {
  require(!knots.empty() && knots.size() < 65536, "Hats need between 1 and 65,535 knots.");
  constexpr Index block = 8192;
  HatPositions out;
  const Index n = x.size();
  out.cell.resize(static_cast<std::size_t>(n));
  out.t.resize(static_cast<std::size_t>(n));
  if (knots.size() == 1) return out;
  parallel_for(engine, (n + block - 1) / block, [&](Index task) {
    for (Index i = task * block; i < std::min(n, (task + 1) * block); ++i) {
      const double value = x(i);
      const std::size_t cell = detail::count_at_most(knots.data() + 1, knots.size() - 2, value);
      const auto at = static_cast<std::size_t>(i);
      out.cell[at] = static_cast<std::uint16_t>(cell);
      const double t = (value - knots[cell]) / (knots[cell + 1] - knots[cell]);
      out.t[at] = std::min(std::max(t, 0.0), 1.0);
    }
  });
  return out;
}

}  // namespace calibrisk

#endif
