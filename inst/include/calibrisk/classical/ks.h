// SPDX-License-Identifier: GPL-3.0-or-later
// The largest cumulated residual of sorted rows (Kolmogorov-Smirnov), and its cross-fitted lower
// bound (R/crossfit.R).
#ifndef CALIBRISK_CLASSICAL_KS_H
#define CALIBRISK_CLASSICAL_KS_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace calibrisk {

// The place where a walk over the ends of ties is furthest from 0: the rows up to there, and the
// walk.
struct FurthestPoint {
  std::size_t end = 0;
  double walk = 0.0;
  void see(std::size_t at, double value) {
    if (end == 0 || std::abs(value) > std::abs(walk)) *this = {at, value};
  }
};

struct KsWalk {
  FurthestPoint all;
  double low = 0.0, high = 0.0;
  std::vector<FurthestPoint> others;  // of the rows that are not in fold 1, 2, ...
};

// Rows in ascending order of x: residuals d, weights w (nullptr: 1) and folds 1, ..., n_folds
// (nullptr: none). The walk is looked at where x changes, or after the rows `ends`, counted from 1
// (cells of a state). Sums are in long double, as cumsum() of R.
inline KsWalk ks_walk(std::size_t n, const double* x, const double* d, const double* w,
                      const int* fold, std::size_t n_folds, const int* ends = nullptr) {
  KsWalk out;
  out.others.resize(n_folds);
  std::vector<long double> own(n_folds, 0.0L);
  std::vector<double> rounded(n_folds, 0.0);
  long double total = 0.0L;
  for (std::size_t row = 0; row < n; ++row) {
    const double term = w == nullptr ? d[row] : w[row] * d[row];
    total += term;
    if (n_folds > 0) {
      const auto f = static_cast<std::size_t>(fold[row] - 1);
      own[f] += term;
      rounded[f] = static_cast<double>(own[f]);
    }
    const std::size_t end = row + 1;
    const bool looked =
        ends == nullptr ? end == n || x[end] != x[row] : end == static_cast<std::size_t>(*ends);
    if (!looked) continue;
    if (ends != nullptr) ++ends;
    const auto walk = static_cast<double>(total);
    out.all.see(end, walk);
    out.low = std::min(out.low, walk);
    out.high = std::max(out.high, walk);
    for (std::size_t f = 0; f < n_folds; ++f) out.others[f].see(end, walk - rounded[f]);
  }
  return out;
}

}  // namespace calibrisk

#endif
