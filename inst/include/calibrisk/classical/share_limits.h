// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of shares of rows.
#ifndef CALIBRISK_CLASSICAL_SHARE_LIMITS_H
#define CALIBRISK_CLASSICAL_SHARE_LIMITS_H

#include <algorithm>
#include <array>
#include <cmath>

namespace calibrisk {

// Wilson's score interval of a share of n rows, at z standard errors.
inline std::array<double, 2> wilson_limits(double share, double n, double z) {
  const double successes = std::min(share * n, n);
  share = successes / n;
  const double centre = share + z * z / (2.0 * n), scale = 1.0 + z * z / n;
  const double half = z * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  // at the ends the two terms cancel exactly, but not in floating point
  return {successes == 0.0 ? 0.0 : (centre - half) / scale,
          successes == n ? 1.0 : (centre + half) / scale};
}

}  // namespace calibrisk

#endif
