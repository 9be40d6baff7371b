// SPDX-License-Identifier: GPL-3.0-or-later
// The bins of other libraries, of values in ascending order: the number of values at or below the
// upper edge of each, bins without values among them.
#ifndef CALIBRISK_CLASSICAL_LIBRARY_BINS_H
#define CALIBRISK_CLASSICAL_LIBRARY_BINS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

enum class EdgeSide { above, below };  // of a value that equals an edge

inline std::vector<int> inner_ends(const std::vector<double>& sorted,
                                   const std::vector<double>& edges, EdgeSide equal) {
  std::vector<int> out;
  for (const double edge : edges) {
    const auto end = equal == EdgeSide::below
                         ? std::upper_bound(sorted.begin(), sorted.end(), edge)
                         : std::lower_bound(sorted.begin(), sorted.end(), edge);
    out.push_back(static_cast<int>(end - sorted.begin()));
  }
  out.push_back(static_cast<int>(sorted.size()));
  return out;
}

// Values in ascending order that stand for several equal ones each, up to the place end[i].
class CountedValues {
 public:
  CountedValues(const std::vector<double>& values, const std::vector<double>& end)
      : values_(values), end_(end) {
    require(values.size() == end.size(), "library_bins: one place for each value.");
  }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return empty() ? 0 : static_cast<std::size_t>(end_.back()); }
  double operator[](std::size_t place) const {
    const auto at = std::upper_bound(end_.begin(), end_.end(), static_cast<double>(place));
    return values_[static_cast<std::size_t>(at - end_.begin())];
  }

 private:
  const std::vector<double>&values_, &end_;
};

// torch's: multiples of the step from 0 in the first half, from 1 down in the second, in single
// precision throughout; without 0.
inline std::vector<double> torch_edges(int bins) {
  const auto single = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  const double step = single(1.0 / bins);
  std::vector<double> out;
  for (int i = 1; i <= bins; ++i) {
    out.push_back(i < (bins + 1) / 2 ? single(step * i) : single(1.0 - single(step * (bins - i))));
  }
  return out;
}

// numpy's linspace(0, 1, B + 1) without its ends: multiples of the rounded step; `mass`: the
// quantiles of these levels with numpy's roundings, by which a value is on one side of its own edge
// or on the other.
template <class Values>
std::vector<double> numpy_edges(const Values& sorted, int bins, bool mass) {
  std::vector<double> out;
  for (int i = 1; i < bins; ++i) {
    const double level = i * (1.0 / bins);
    out.push_back(level);
    if (!mass || sorted.empty()) continue;
    const double place = static_cast<double>(sorted.size() - 1) * level;
    const auto low = static_cast<std::size_t>(place);
    const double value = sorted[low], part = place - static_cast<double>(low);
    const double next = sorted[std::min(low + 1, sorted.size() - 1)], step = next - value;
    out.back() = part < 0.5 ? value + step * part : next - step * (1.0 - part);
  }
  return out;
}

// Between consecutive chunks of the values, as even as possible or of ceil(N / B): the mid-point of
// the two values, so that ties on both sides go left.
template <class Values>
std::vector<double> chunk_edges(const Values& sorted, int bins, bool even) {
  std::vector<double> out;
  const auto n = sorted.size(), parts = std::min(static_cast<std::size_t>(bins), n);
  for (std::size_t part = 0, last = 0; part < parts; ++part) {
    last += even ? n / parts + (part < n % parts) : (n + parts - 1) / parts;
    if (last >= n) break;
    const double edge = (sorted[last - 1] + sorted[last]) / 2.0;
    if (out.empty() || edge != out.back()) out.push_back(edge);
  }
  return out;
}

}  // namespace calibrisk

#endif
