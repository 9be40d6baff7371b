// SPDX-License-Identifier: GPL-3.0-or-later
// The order of numbers, found by workers.
#ifndef CALIBRISK_MATH_ASCENDING_ORDER_H
#define CALIBRISK_MATH_ASCENDING_ORDER_H

#include <calibrisk/engine.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace calibrisk {

namespace detail {

// Positions that sort z ascending; ties stay in order. Stretches are sorted by workers, then
// merged, two of them by several workers.
inline std::vector<Index> ascending_order(const Engine& engine, const ConstVectorRef& z) {
  using Entry = std::pair<double, Index>;
  constexpr Index stretch = 32768;
  const Index n = z.size();
  std::vector<Entry> entries(static_cast<std::size_t>(n)), merged;
  const auto at = [&](std::vector<Entry>& x, Index i) { return x.begin() + std::min(i, n); };
  parallel_for(engine, (n + stretch - 1) / stretch, [&](Index task) {
    const Index begin = task * stretch;
    for (Index i = begin; i < std::min(n, begin + stretch); ++i) {
      entries[static_cast<std::size_t>(i)] = {z(i), i};
    }
    std::sort(at(entries, begin), at(entries, begin + stretch));
  });
  for (Index size = stretch; size < n; size *= 2) {
    merged.resize(entries.size());
    constexpr Index pieces = 4;
    parallel_for(engine, (n + 2 * size - 1) / (2 * size) * pieces, [&](Index task) {
      const Index begin = task / pieces * 2 * size, piece = task % pieces;
      const auto middle = at(entries, begin + size), end = at(entries, begin + 2 * size);
      // where a share of the left stretch ends, and the entries below that in the right one
      const auto left = [&](Index share) { return at(entries, begin + size * share / pieces); };
      const auto right = [&](Index share) {
        if (share == 0) return middle;
        return share == pieces || left(share) == middle
                   ? end
                   : std::lower_bound(middle, end, *left(share));
      };
      const auto from_left = std::min(left(piece), middle), from_right = right(piece);
      std::merge(from_left, std::min(left(piece + 1), middle), from_right, right(piece + 1),
                 merged.begin() + (from_left - entries.begin()) + (from_right - middle));
    });
    entries.swap(merged);
  }
  std::vector<Index> order(static_cast<std::size_t>(n));
  parallel_for(engine, (n + stretch - 1) / stretch, [&](Index task) {
    for (Index i = task * stretch; i < std::min(n, (task + 1) * stretch); ++i) {
      order[static_cast<std::size_t>(i)] = entries[static_cast<std::size_t>(i)].second;
    }
  });
  return order;
}

}  // namespace detail

}  // namespace calibrisk

#endif
