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

// Are the predictions of the events lower, by more than two standard errors of a mean? `copies` may
// be empty. Sums of short blocks of rows, which the processor takes several at a time.
template <class Label>
bool mean_falls(const ConstVectorRef& prob, const Label* labels, int event,
                const ConstVectorRef& copies) {
  constexpr Index most = 512;
  const auto own = static_cast<Label>(event);
  constexpr double one_if[2] = {0.0, 1.0};  // no branch that the processor would have to guess
  Eigen::Array<double, most, 1> of_event;
  double rows = 0.0, events = 0.0, all = 0.0, of_events = 0.0;
  const Index n = prob.size();
  for (Index begin = 0; begin < n; begin += most) {
    const Index size = std::min(most, n - begin);
    const auto p = prob.segment(begin, size).array();
    for (Index i = 0; i < size; ++i) {
      of_event[i] = one_if[labels[begin + i] == own];
    }
    if (copies.size() == 0) {
      rows += static_cast<double>(size);
      all += p.sum();
    } else {
      const auto each = copies.segment(begin, size).array();
      of_event.head(size) *= each;
      rows += each.sum();
      all += (each * p).sum();
    }
    events += of_event.head(size).sum();
    of_events += (of_event.head(size) * p).sum();
  }
  const double others = rows - events, gap = of_events / events - (all - of_events) / others;
  if (!(gap < 0.0)) return false;
  const double mean = all / rows;
  const double squares = copies.size() == 0
                             ? (prob.array() - mean).square().sum()
                             : (copies.array() * (prob.array() - mean).square()).sum();
  return gap * gap >= 4.0 * squares / (events * others);
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
    if (!mean_falls(prob, labels, classes[k], copies)) continue;
    std::vector<bool> event(static_cast<std::size_t>(probs.rows()));
    for (std::size_t i = 0; i < event.size(); ++i) event[i] = labels[i] == classes[k];
    out[k] = rank_trend(prob, event, copies);
  }
  return out;
}

}  // namespace calibrisk

#endif
