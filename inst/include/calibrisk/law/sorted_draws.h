// SPDX-License-Identifier: GPL-3.0-or-later
// Quantiles of draws. An outcome that is exchangeable with S draws is at or below the k-th of them
// with probability k / (S + 1): type 6 of Hyndman and Fan (1996). Beyond the first and the last
// draw nothing is known.
#ifndef CALIBRISK_LAW_SORTED_DRAWS_H
#define CALIBRISK_LAW_SORTED_DRAWS_H

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// From 1 to `size`.
inline double draw_position(std::size_t size, double u) {
  double position = u * static_cast<double>(size + 1);
  const double whole = std::nearbyint(position);
  if (std::abs(position - whole) < 1e-9) position = whole;
  return std::min(std::max(position, 1.0), static_cast<double>(size));
}

inline double draw_quantile(const std::vector<double>& sorted, double u) {
  const double position = draw_position(sorted.size(), u);
  const auto at = static_cast<std::size_t>(position);
  const double low = sorted[at - 1];
  return low + (position - std::floor(position)) * (sorted[std::min(at, sorted.size() - 1)] - low);
}

// Of a sorted row of draws and an outcome, which are exchangeable: the share of all of them that is
// in the interval of the others, from their value at `position` (from 1) to that as far from the
// end.
inline double share_within(std::vector<double> sorted, double position) {
  const auto at = static_cast<std::size_t>(position);
  const double part = position - static_cast<double>(at);
  const auto missed = [&](const std::vector<double>& v) {
    const double next = v[at], after = at + 1 < v.size() ? v[at + 1] : next;
    const bool untied = part > 0.0 && next < after;
    double lower = next < v[at - 1] + part * (after - v[at - 1]);
    for (std::size_t j = 0; j < at; ++j) lower += v[j] < next || untied;
    return lower / static_cast<double>(v.size());
  };
  const double below = missed(sorted);
  std::reverse(sorted.begin(), sorted.end());
  for (double& v : sorted) v = -v;
  return 1.0 - below - missed(sorted);
}

}  // namespace calibrisk

#endif
