// SPDX-License-Identifier: GPL-3.0-or-later
// Jumps of the distribution functions of forecasts that are finite: of the probability integral
// transform of outcomes drawn from them.
#ifndef CALIBRISK_LAW_JUMPS_H
#define CALIBRISK_LAW_JUMPS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// Those of row i, from `low` to `high`, are start[i] to start[i + 1] - 1.
struct Jumps {
  std::vector<int> start{0};
  std::vector<double> low, high;

  // To the next level of a row.
  void add(double level) {
    low.push_back(static_cast<int>(low.size()) == start.back() ? 0.0 : high.back());
    high.push_back(level);
  }
  void end_row() { start.push_back(static_cast<int>(low.size())); }
};

// Of an ensemble and its outcome together, whose ranks they are; ties share theirs.
inline Jumps ensemble_jumps(const ConstMatrixRef& draws, const ConstVectorRef& y) {
  require(draws.rows() == y.size(), "ensemble_jumps: an outcome for each row.");
  Jumps out;
  const Index size = draws.cols() + 1;
  std::vector<double> values(static_cast<std::size_t>(size));
  for (Index i = 0; i < draws.rows(); ++i) {
    for (Index k = 0; k + 1 < size; ++k) values[static_cast<std::size_t>(k)] = draws(i, k);
    values.back() = y[i];
    std::sort(values.begin(), values.end());
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (k + 1 < values.size() && values[k + 1] == values[k]) continue;
      out.add(static_cast<double>(k + 1) / static_cast<double>(size));
    }
    out.end_row();
  }
  return out;
}

// Of quantile forecasts, which say nothing between their levels: equal quantiles are one cell with
// the levels among them, at the ends also with the tail.
inline Jumps quantile_jumps(const ConstMatrixRef& values, const ConstMatrixRef& levels) {
  const Index k = values.cols();
  require(levels.rows() == values.rows() && levels.cols() == k, "quantile_jumps: a level each.");
  Jumps out;
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < k; ++j) {
      const bool before = j == 0 || values(i, j) == values(i, j - 1);
      const bool after = j + 1 == k || values(i, j + 1) == values(i, j);
      if (!(before && after)) out.add(levels(i, j));
    }
    out.add(1.0);
    out.end_row();
  }
  return out;
}

}  // namespace calibrisk

#endif
