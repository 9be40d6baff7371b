// SPDX-License-Identifier: GPL-3.0-or-later
// Where the numbers of events in bins lie if the predictions are calibrated.
#ifndef CALIBRISK_CLASSICAL_BIN_COUNTS_H
#define CALIBRISK_CLASSICAL_BIN_COUNTS_H

#include <calibrisk/classical/count_draws.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// The distribution of a bin's number of events: exact where that is cheap (n sd up to 1e6, and to
// 3e7 where events are rare), else normal with Cornish and Fisher's correction for skewness.
struct BinCount {
  SumLaw law;
  TrialCount count;

  double trials() const { return law.most; }
  bool exact() const {
    const double cost = trials() * std::sqrt(law.variance + 1.0);
    return cost <= 1e6 || (cost <= 3e7 && law.variance < 25.0);
  }
  double quantile(double level) const {
    if (!exact()) return law.at(level);
    double sum = 0.0;
    std::size_t j = 0;
    for (; j + 1 < count.mass().size(); ++j) {
      if ((sum += count.mass()[j]) >= level) break;
    }
    return count.first() + static_cast<double>(j);
  }
};

// The tail probability, at most that of one bin, beyond which no bin's count lies with probability
// `level`. Counts are discrete, so bins have less in their tails than that. A bin of many rows
// counts as if its tails were full.
inline double joint_tail(const std::vector<BinCount>& bins, double level) {
  constexpr double many = 500.0;
  std::vector<std::vector<double>> below;
  for (const BinCount& bin : bins) {
    if (bin.trials() > many) continue;
    below.push_back(bin.count.mass());
    std::partial_sum(below.back().begin(), below.back().end(), below.back().begin());
  }
  const auto n = static_cast<double>(bins.size()), larger = n - static_cast<double>(below.size());
  const auto inside = [&](double tail) {
    double out = std::pow(1.0 - 2.0 * tail, larger);
    for (const std::vector<double>& reached : below) {
      const auto low = std::lower_bound(reached.begin(), reached.end(), tail);
      const auto high = std::lower_bound(low, reached.end(), 1.0 - tail);
      out *= (high == reached.end() ? reached.back() : *high) -
             (low == reached.begin() ? 0.0 : *(low - 1));
    }
    return out;
  };
  // tails that independent bins with full tails need, and those of one bin
  double holds = (1.0 - std::pow(level, 1.0 / n)) / 2.0, most = (1.0 - level) / 2.0;
  if (inside(most) >= level) return most;
  for (int step = 0; step < 30; ++step) {
    const double middle = (holds + most) / 2.0;
    (inside(middle) >= level ? holds : most) = middle;
  }
  return holds;
}

// `bin`: of each row, from 0; `copies` may be empty.
inline std::vector<BinCount> bin_counts(const ConstVectorRef& prob, const ConstVectorRef& copies,
                                        const std::vector<int>& bin, int n_bins) {
  std::vector<BinCount> bins(static_cast<std::size_t>(n_bins));
  const auto copies_of = [&](Index i) { return copies.size() == 0 ? 1.0 : copies[i]; };
  const auto bin_of = [&](Index i) -> BinCount& {
    return bins[static_cast<std::size_t>(bin[static_cast<std::size_t>(i)])];
  };
  for (Index i = 0; i < prob.size(); ++i) bin_of(i).law.add(copies_of(i), prob[i]);
  for (Index i = 0; i < prob.size(); ++i) {
    BinCount& own = bin_of(i);
    if (!own.exact()) continue;
    for (double one = 0.0; one < copies_of(i); one += 1.0) own.count.add(prob[i]);
  }
  return bins;
}

// Least and largest counts of each bin, at one bin and (rows 3, 4) at all of them, with probability
// `level`.
inline Matrix bin_count_limits(const ConstVectorRef& prob, const ConstVectorRef& copies,
                               const std::vector<int>& bin, int n_bins, double level) {
  const std::vector<BinCount> bins = bin_counts(prob, copies, bin, n_bins);
  const double one = (1.0 - level) / 2.0, all = joint_tail(bins, level);
  Matrix out(4, n_bins);
  for (int k = 0; k < n_bins; ++k) {
    const BinCount& own = bins[static_cast<std::size_t>(k)];
    out.col(k) << own.quantile(one), own.quantile(1.0 - one), own.quantile(all),
        own.quantile(1.0 - all);
  }
  return out;
}

}  // namespace calibrisk

#endif
