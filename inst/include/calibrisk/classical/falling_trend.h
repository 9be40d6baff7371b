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

// Are the predictions of the events lower, by more than two standard errors of a mean? `weight(i)`
// is that of row i. Sums of every fourth row, so that none waits for the one before.
template <class Label, class Weight>
bool mean_falls(const ConstVectorRef& prob, const Label* labels, int event, const Weight& weight) {
  using Sums = Eigen::Array<double, 5, 1>;  // n, events, of p, of p of events, of p^2
  Sums sums[4] = {Sums::Zero(), Sums::Zero(), Sums::Zero(), Sums::Zero()};
  const auto add = [&](Index i) {
    const double p = prob[i], each = weight(i);
    const double of_event = labels[i] == event ? each : 0.0;
    Sums& to = sums[i % 4];
    to[0] += each;
    to[1] += of_event;
    to[2] += each * p;
    to[3] += of_event * p;
    to[4] += each * p * p;
  };
  const Index n = prob.size();
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    for (Index k = 0; k < 4; ++k) add(i + k);
  }
  for (; i < n; ++i) add(i);
  const Sums all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  const double rows = all[0], events = all[1], others = rows - events, mean = all[2] / rows;
  const double gap = all[3] / events - (all[2] - all[3]) / others;
  const double variance = all[4] / rows - mean * mean;
  return gap < 0.0 && gap * gap >= 4.0 * variance * rows / (events * others);
}

// The trend of every column, whose events are the rows labelled `classes`. Only those columns are
// sorted whose mean is lower among the events: the others have no trend.
template <class Label>
std::vector<RankTrend> falling_trends(const ConstMatrixRef& probs, const Label* labels,
                                      const std::vector<int>& classes,
                                      const ConstVectorRef& copies) {
  require(probs.cols() == static_cast<Index>(classes.size()), "falling_trends: a class each.");
  std::vector<RankTrend> out(classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const auto prob = probs.col(static_cast<Index>(k));
    const bool falls =
        copies.size() == 0
            ? mean_falls(prob, labels, classes[k], [](Index) { return 1.0; })
            : mean_falls(prob, labels, classes[k], [&](Index i) { return copies[i]; });
    if (!falls) continue;
    std::vector<bool> event(static_cast<std::size_t>(probs.rows()));
    for (std::size_t i = 0; i < event.size(); ++i) event[i] = labels[i] == classes[k];
    out[k] = rank_trend(prob, event, copies);
  }
  return out;
}

}  // namespace calibrisk

#endif
