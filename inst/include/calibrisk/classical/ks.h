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

// Where a walk over the ends of ties is furthest from 0: the rows up to there, and the walk.
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

// Rows in ascending order: residuals d, weights w (nullptr: 1), sums of w d up to each of them, and
// folds 1, ..., n_folds (nullptr: none). `ties`: the last row of each stretch, counted from 1. Sums
// are in long double, as cumsum() of R.
inline KsWalk ks_walk(const double* d, const double* w, const double* sum_d, const int* fold,
                      const int* ties, std::size_t n_ties, std::size_t n_folds) {
  KsWalk out;
  out.others.resize(n_folds);
  std::vector<long double> own(n_folds, 0.0L);
  std::vector<double> rounded(n_folds, 0.0);
  std::size_t row = 0;
  for (std::size_t k = 0; k < n_ties; ++k) {
    const auto end = static_cast<std::size_t>(ties[k]);
    const double walk = sum_d[end - 1];
    out.all.see(end, walk);
    out.low = std::min(out.low, walk);
    out.high = std::max(out.high, walk);
    if (n_folds == 0) continue;
    for (; row < end; ++row) {
      const auto f = static_cast<std::size_t>(fold[row] - 1);
      own[f] += w == nullptr ? d[row] : w[row] * d[row];
      rounded[f] = static_cast<double>(own[f]);
    }
    for (std::size_t f = 0; f < n_folds; ++f) out.others[f].see(end, walk - rounded[f]);
  }
  return out;
}

}  // namespace calibrisk

#endif
