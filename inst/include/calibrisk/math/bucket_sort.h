// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_MATH_BUCKET_SORT_H
#define CALIBRISK_MATH_BUCKET_SORT_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace calibrisk {

// Sorts as std::sort() does; entries with different finite values of number(entry) are in the order
// of these. They go into as many buckets of equal width as there are entries, in linear time, and
// each bucket is sorted. Values that crowd in few buckets take as long as in std::sort().
template <class Entry, class Number>
void bucket_sort(std::vector<Entry>& entries, const Number& number) {
  const std::size_t n = entries.size();
  if (n < 2) return;
  double low = number(entries[0]), high = low;
  for (const Entry& entry : entries) {
    const double x = number(entry);
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const double scale = static_cast<double>(n) / (high - low);
  if (!(scale > 0.0 && scale * (high - low) <= 2.0 * static_cast<double>(n))) {
    return std::sort(entries.begin(), entries.end());
  }
  std::vector<std::uint32_t> bucket(n), end(n + 1, 0);
  for (std::size_t a = 0; a < n; ++a) {
    bucket[a] = static_cast<std::uint32_t>((number(entries[a]) - low) * scale);
    ++end[bucket[a]];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& count : end) {
    const std::uint32_t before = sum;
    sum += count;
    count = before;
  }
  std::vector<Entry> sorted(n);
  for (std::size_t a = 0; a < n; ++a) sorted[end[bucket[a]]++] = entries[a];
  auto from = sorted.begin();
  for (const std::uint32_t to : end) {
    const auto until = sorted.begin() + to;
    if (until - from > 1) std::sort(from, until);
    from = until;
  }
  entries.swap(sorted);
}

}  // namespace calibrisk

#endif
