// SPDX-License-Identifier: GPL-3.0-or-later
// Training values and queries of the Beta kernel, sorted.
#ifndef CALIBRISK_METHODS_KDE_BETA_TRAINING_H
#define CALIBRISK_METHODS_KDE_BETA_TRAINING_H

#include <calibrisk/types.h>

#include <cmath>
#include <vector>

namespace calibrisk {

// Distinct training values, ascending, with the weight of each (how often it occurs) and of those
// with label 1. Stored as the distance to the nearer end of [0, 1]: p below 1/2, p - 1 from there
// on, so that values next to 1 keep their relative accuracy.
struct BetaTraining {
  std::vector<double> offset;
  std::vector<double> count;
  std::vector<double> positive;
  Index n_lower = 0;  // values below 1/2

  Index n() const { return static_cast<Index>(offset.size()); }

  void add(double p, double label, double weight) {  // in ascending order of p
    const bool upper = p >= 0.5;
    const double x = upper ? p - 1.0 : p;
    const bool is_new = offset.empty() || offset.back() != x || (n() == n_lower) == upper;
    if (is_new) {
      offset.push_back(x);
      count.push_back(0.0);
      positive.push_back(0.0);
      if (!upper) ++n_lower;
    }
    count.back() += weight;
    positive.back() += weight * label;
  }
};

// logit(z), accurate next to both ends
inline double beta_logit(double z) {
  return z < 0.5 ? std::log(z) - std::log1p(-z) : std::log1p(z - 1.0) - std::log(1.0 - z);
}

// Queries of one training set, in ascending order of z: n_zeros rows with z exactly 0, those
// between, n_ones rows with z exactly 1.
struct BetaQueries {
  std::vector<double> logit;  // of 0 < z < 1
  Index n_zeros = 0, n_ones = 0;

  Index n() const { return n_zeros + static_cast<Index>(logit.size()) + n_ones; }

  void add(double z) {
    if (z <= 0.0) {
      ++n_zeros;
    } else if (z >= 1.0) {
      ++n_ones;
    } else {
      logit.push_back(beta_logit(z));
    }
  }
};

}  // namespace calibrisk

#endif
