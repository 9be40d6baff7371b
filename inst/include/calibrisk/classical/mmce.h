// SPDX-License-Identifier: GPL-3.0-or-later
// Row sums of the Laplace kernel on sorted scalars, exactly and in linear time:
//   r_i = sum_j d_j exp(-|x_i - x_j| / bandwidth)
// The kernel factorises on each side of i, so one forward and one backward
// recursion suffice (MMCE: Gruber & Buettner 2022, Definition C.3). Steps are at most 1:
// no overflow.
#ifndef CALIBRISK_CLASSICAL_MMCE_H
#define CALIBRISK_CLASSICAL_MMCE_H

#include <cmath>
#include <cstddef>
#include <vector>

namespace calibrisk {

// x [n] ascending, d [n]; returns r [n].
inline std::vector<double> laplace_row_sums(const double* x, const double* d, std::size_t n,
                                            double bandwidth) {
  std::vector<double> r(n);
  double left = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) left *= std::exp(-(x[i] - x[i - 1]) / bandwidth);
    left += d[i];
    r[i] = left;
  }
  double right = 0.0;  // sum over j > i
  for (std::size_t i = n; i-- > 0;) {
    r[i] += right;
    if (i > 0) right = (right + d[i]) * std::exp(-(x[i] - x[i - 1]) / bandwidth);
  }
  return r;
}

}  // namespace calibrisk

#endif
