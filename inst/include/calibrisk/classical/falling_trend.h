// SPDX-License-Identifier: GPL-3.0-or-later
// Do the outcomes of a class become rarer as its predicted probability rises? The area under the
// ROC curve, ties counted half, and its distance from 1/2 in standard errors of the rank test.
#ifndef CALIBRISK_CLASSICAL_FALLING_TREND_H
#define CALIBRISK_CLASSICAL_FALLING_TREND_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace calibrisk {

struct RankTrend {
  double auc = std::numeric_limits<double>::quiet_NaN();
  double z = std::numeric_limits<double>::quiet_NaN();
};

// `copies`: how many rows each stands for; empty: 1.
inline RankTrend rank_trend(const ConstVectorRef& prob, const std::vector<bool>& event,
                            const ConstVectorRef& copies) {
  std::vector<std::size_t> order(event.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto at = [&](std::size_t i) { return prob[static_cast<Index>(order[i])]; };
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return prob[static_cast<Index>(i)] < prob[static_cast<Index>(j)];
  });
  double reached = 0.0, ranks = 0.0, events = 0.0, cubes = 0.0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double size = 0.0, of_events = 0.0;
    for (end = begin; end < order.size() && at(end) == at(begin); ++end) {
      const double each = copies.size() == 0 ? 1.0 : copies[static_cast<Index>(order[end])];
      size += each;
      if (event[order[end]]) of_events += each;
    }
    reached += size;
    ranks += (reached - (size - 1.0) / 2.0) * of_events;
    events += of_events;
    cubes += size * size * size - size;
  }
  const double n = reached, others = n - events;
  RankTrend out;
  out.auc = (ranks / events - (events + 1.0) / 2.0) / others;
  const double variance = (n + 1.0 - cubes / (n * (n - 1.0))) / (12.0 * events * others);
  out.z = (out.auc - 0.5) / std::sqrt(variance);
  return out;
}

// The trend of every column, whose events are the rows labelled `classes`. Only those columns are
// sorted whose mean is lower among the events, by more than two standard errors: the others have no
// trend.
inline std::vector<RankTrend> falling_trends(const ConstMatrixRef& probs, const int* labels,
                                             const std::vector<int>& classes,
                                             const ConstVectorRef& copies) {
  require(probs.cols() == static_cast<Index>(classes.size()), "falling_trends: a class each.");
  std::vector<RankTrend> out(classes.size());
  std::vector<bool> event(static_cast<std::size_t>(probs.rows()));
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const auto prob = probs.col(static_cast<Index>(k));
    double n = 0.0, events = 0.0, sum = 0.0, own = 0.0, squares = 0.0;
    for (Index i = 0; i < probs.rows(); ++i) {
      const double each = copies.size() == 0 ? 1.0 : copies[i];
      const bool is_event = labels[i] == classes[k];
      event[static_cast<std::size_t>(i)] = is_event;
      n += each;
      sum += each * prob[i];
      squares += each * prob[i] * prob[i];
      if (is_event) {
        events += each;
        own += each * prob[i];
      }
    }
    const double gap = own / events - (sum - own) / (n - events);
    const double variance = squares / n - (sum / n) * (sum / n);
    if (gap < 0.0 && gap * gap >= 4.0 * variance * n / (events * (n - events))) {
      out[k] = rank_trend(prob, event, copies);
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
