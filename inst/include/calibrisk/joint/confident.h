// SPDX-License-Identifier: GPL-3.0-or-later
// Failures among the most confident predictions. A few of them, each often wrong, have an error
// that bases of quantiles and hats spread over their neighbours; they are counted here.
#ifndef CALIBRISK_JOINT_CONFIDENT_H
#define CALIBRISK_JOINT_CONFIDENT_H

#include <calibrisk/joint/constant.h>
#include <calibrisk/joint/rows.h>

namespace calibrisk {

// The most confident of `size` equal copies: how many they are, their failures (outcomes that were
// predicted to be the less likely ones) and how many were expected.
struct ConfidentSet {
  double copies, failures, expected, size;

  // At least the probability of as many failures if the outcomes are drawn from the predictions.
  // From 1 above the expected number on, no sum of unequal copies has more in its tail than the
  // binomial one of the same mean (Hoeffding, 1956); below, Markov's inequality holds.
  double chance() const {
    if (!(failures > expected)) return 1.0;
    return failures < expected + 1.0
               ? expected / failures
               : ConstantPrediction::at_least(failures, copies, expected / copies);
  }

  // Upper limit of the squared error that lies in the set, whose share of all copies times the
  // squared gap of its failure rate it is. With the observed share, the rate is uncertain; with the
  // observed rate, the share of failing copies is. The larger limit counts.
  double high(double tail) const {
    const double rate = clopper_pearson(failures, copies, tail).high - expected / copies;
    const double failing = clopper_pearson(failures, size, tail).high - expected / size;
    const double gap = (failures - expected) / copies;
    return std::max(copies / size * std::pow(std::max(rate, 0.0), 2.0),
                    std::max(failing, 0.0) * gap);
  }
};

// The sets of 1, 2, 4, ... copies, and what is tied with their last one, whose failures are too
// many for chance: all of them are so with a probability of at most 2.5 percent under calibration.
inline std::vector<ConfidentSet> failing_sets(const JointRows& rows, const Vector& e) {
  const auto n = static_cast<std::size_t>(rows.size());
  const auto doubt = [&](std::size_t i) { return detail::rarer(rows.p(static_cast<Index>(i))); };
  const double size = rows.effective();
  std::vector<ConfidentSet> sets;
  ConfidentSet sum{0.0, 0.0, 0.0, size};
  double copies = 0.0, next = 1.0;
  for (std::size_t low = 0, high = n; low < high && 4.0 * next <= rows.count;) {
    // rows are in ascending order, so that the most confident ones are at the ends
    const double least = std::min(doubt(low), doubt(high - 1)) * (1.0 + 1e-9);
    const auto take = [&](std::size_t at) {
      const auto i = static_cast<Index>(at);
      const double share = size * rows.weight(i) / rows.total, event = rows.p(i) - e(i);
      sum.copies += share;
      sum.expected += share * doubt(at);
      sum.failures += share * (rows.p(i) <= 0.5 ? event : 1.0 - event);
      copies += rows.copies(i);
    };
    while (low < high && doubt(low) <= least) take(low++);
    while (low < high && doubt(high - 1) <= least) take(--high);
    if (copies < next) continue;
    sets.push_back(sum);
    while (next <= copies) next *= 2.0;
  }
  std::vector<ConfidentSet> out;
  for (const ConfidentSet& set : sets) {
    if (set.chance() * static_cast<double>(sets.size()) < 0.025) out.push_back(set);
  }
  return out;
}

}  // namespace calibrisk

#endif
