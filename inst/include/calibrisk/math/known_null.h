// SPDX-License-Identifier: GPL-3.0-or-later
// Lower limits of errors whose variance is known where predictions are calibrated.
#ifndef CALIBRISK_MATH_KNOWN_NULL_H
#define CALIBRISK_MATH_KNOWN_NULL_H

#include <calibrisk/math/roots.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

// Of an error that is 0 where predictions are calibrated: its variance there, `known` from the
// predictions, and the one estimated from the outcomes, which holds at the estimate. In between it
// is linear. A hypothesis whose variance is known is not tested with an estimated one: without
// events squared residuals are p^2, not p (1 - p).
struct NullVariance {
  double known, estimated;
  double at(double share) const { return known + (estimated - known) * share; }
};

// The least x that a test with the upper quantile(share), at x = share value, does not reject: not
// above 0 where it does not reject 0.
template <class Quantile>
double known_null_limit(double value, const NullVariance& variance, const Quantile& quantile) {
  const auto excess = [&](double share) {
    return value * (1.0 - share) - quantile(share) * std::sqrt(std::max(variance.at(share), 0.0));
  };
  const double at_0 = excess(0.0);
  // at the value itself an estimated variance of 0 is a second root
  return at_0 > 0.0 ? value * bracketed_root(excess, 0.0, 1.0 - 1e-12, 1e-14) : at_0;
}

}  // namespace calibrisk

#endif
