// SPDX-License-Identifier: GPL-3.0-or-later
// Distribution of sum (O - E)^2 / V over groups of independent outcomes with known probabilities
// and weights u k^y: where weights are far apart few rows decide, and it is not chi-squared (10 to
// 16% of calibrated predictions were rejected at 5%).
#ifndef CALIBRISK_CLASSICAL_GROUP_REDRAWS_H
#define CALIBRISK_CLASSICAL_GROUP_REDRAWS_H

#include <calibrisk/joint/row_draws.h>
#include <calibrisk/joint/row_redraws.h>

#include <vector>

namespace calibrisk {

// Of groups of so many rows each, one after the other.
inline std::vector<int> groups_of_rows(const std::vector<Index>& ends) {
  std::vector<int> out;
  for (std::size_t g = 0; g < ends.size(); ++g) {
    out.resize(static_cast<std::size_t>(ends[g]), static_cast<int>(g));
  }
  return out;
}

// Of a group's O - E, with its mean prediction and its sum of squared weights.
inline double group_variance(double share, double squares, double k) {
  return share * (1.0 - share) * squares * (k * (1.0 - share) + share) / (k * share + 1.0 - share);
}

// Rows in groups that end there, whose weights are k times as large with an event as without one.
struct GroupedRows {
  const Vector& prob;
  const Vector& copies;  // of each row; empty: 1
  const std::vector<Index>& ends;
  double k;
};

// P(sum >= the observed one) of outcomes that are redrawn as they are sampled: a row's weight has
// its outcome. `w`: the sums of weights over its copies.
inline double redrawn_groups_p(const Engine& engine, const GroupedRows& rows, const double* y,
                               const double* w, double observed) {
  constexpr Index redraws = 1999;
  const double k = rows.k;
  const Index n = rows.prob.size();
  const auto groups = static_cast<Index>(rows.ends.size());
  const std::vector<int> group = groups_of_rows(rows.ends);
  JointRows drawn;
  drawn.p = rows.prob.unaryExpr([&](double p) { return p / (p + k * (1.0 - p)); });
  if (rows.copies.size() > 0) drawn.counts = RowWeights::copies(rows.copies);
  const detail::RowDraws draws(drawn);
  // by group the sums of w (y - p), w, w p and w^2, and what the other outcome of a draw adds
  detail::RowChanges changes;
  Vector usual = Vector::Zero(4 * groups);
  for (Index i = 0; i < n; ++i) {
    const double p = rows.prob(i), often = drawn.p(i) > 0.5 ? 1.0 : 0.0;
    const double number = std::max(std::nearbyint(drawn.copies(i)), 1.0);
    const auto value = [&](int sum, double outcome) {
      const double u = w[i] / number * std::pow(k, outcome - y[i]);
      return sum == 0 ? u * (outcome - p) : sum == 1 ? u : sum == 2 ? u * p : u * u;
    };
    for (int sum = 0; sum < 4; ++sum) {
      const Index at = 4 * group[static_cast<std::size_t>(i)] + sum;
      const double before = value(sum, often), by = value(sum, 1.0 - often) - before;
      usual(at) += number * before;
      if (by == 0.0) continue;
      changes.column.push_back(static_cast<int>(at));
      changes.value.push_back(by);
    }
    changes.first.push_back(changes.value.size());
  }
  const Index blocks = (redraws + redraw_block - 1) / redraw_block;
  std::vector<Index> reached(static_cast<std::size_t>(blocks), 0);
  parallel_for(engine, blocks, [&](Index task) {
    detail::RedrawnSums sums(changes, usual);
    draws.rare(static_cast<std::uint64_t>(task * redraw_block), sums);
    for (Index r = 0; r < std::min(redraw_block, redraws - task * redraw_block); ++r) {
      double statistic = 0.0;
      for (Index g = 0; g < groups; ++g) {
        const double difference = sums.column(4 * g)(r), size = sums.column(4 * g + 1)(r);
        if (std::abs(difference) < 1e-12 * size) continue;
        statistic += difference * difference /
                     group_variance(sums.column(4 * g + 2)(r) / size, sums.column(4 * g + 3)(r), k);
      }
      if (statistic >= observed * (1.0 - 1e-9)) ++reached[static_cast<std::size_t>(task)];
    }
  });
  Index all = 1;
  for (const Index some : reached) all += some;
  return static_cast<double>(all) / static_cast<double>(redraws + 1);
}

}  // namespace calibrisk

#endif
