// SPDX-License-Identifier: GPL-3.0-or-later
// Values of rows within groups of them, from 1.
#ifndef CALIBRISK_CLASSICAL_GROUP_SCORES_H
#define CALIBRISK_CLASSICAL_GROUP_SCORES_H

#include <calibrisk/types.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// Of each row the mean of its group; `w`: weights, empty for none.
inline Vector group_means(const ConstVectorRef& v, const Labels& group, const ConstVectorRef& w) {
  const int groups = group.empty() ? 0 : *std::max_element(group.begin(), group.end());
  Vector sum = Vector::Zero(groups), size = sum, out(v.size());
  for (Index i = 0; i < v.size(); ++i) {
    const double own = w.size() == 0 ? 1.0 : w(i);
    const Index g = group[static_cast<std::size_t>(i)] - 1;
    sum(g) += own * v(i);
    size(g) += own;
  }
  for (Index i = 0; i < v.size(); ++i) {
    const Index g = group[static_cast<std::size_t>(i)] - 1;
    out(i) = sum(g) / size(g);
  }
  return out;
}

// The CRPS of every outcome under the empirical distribution of its group:
// mean_j |y_i - y_j| - mean_jk |y_j - y_k| / 2, from sorted sums.
inline Vector group_crps(const ConstVectorRef& y, const Labels& group, const ConstVectorRef& w) {
  std::vector<std::size_t> order(group.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return group[a] != group[b] ? group[a] < group[b]
                                : y(static_cast<Index>(a)) < y(static_cast<Index>(b));
  });
  Vector near(y.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double all = 0.0, weight = 0.0, below = 0.0, passed = 0.0;
    const auto weight_of = [&](std::size_t i) {
      return w.size() == 0 ? 1.0 : w(static_cast<Index>(i));
    };
    for (; end < order.size() && group[order[end]] == group[order[begin]]; ++end) {
      all += weight_of(order[end]) * y(static_cast<Index>(order[end]));
      weight += weight_of(order[end]);
    }
    for (std::size_t r = begin; r < end; ++r) {
      const auto i = static_cast<Index>(order[r]);
      below += weight_of(order[r]) * y(i);
      passed += weight_of(order[r]);
      near(i) = (y(i) * (2.0 * passed - weight) + all - 2.0 * below) / weight;
    }
  }
  return near - group_means(near, group, w) / 2.0;
}

}  // namespace calibrisk

#endif
