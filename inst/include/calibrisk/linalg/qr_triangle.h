// SPDX-License-Identifier: GPL-3.0-or-later
// The upper triangle of the QR decomposition of a tall matrix with few columns, by Householder
// reflections on the calling thread: workers decompose blocks of rows with it.
#ifndef CALIBRISK_LINALG_QR_TRIANGLE_H
#define CALIBRISK_LINALG_QR_TRIANGLE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

// R [min(m, r) x r] with R'R = A'A for A [m x r]. Cost m r^2.
CALIBRISK_SHARED Matrix qr_triangle(Matrix a);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
Matrix qr_triangle(Matrix a) {
  const Index m = a.rows(), r = a.cols(), steps = std::min(m, r);
  for (Index k = 0; k < steps; ++k) {
    auto column = a.col(k).tail(m - k);
    const double below = column.tail(m - k - 1).squaredNorm();
    if (!(below > 0.0)) continue;
    const double length = std::hypot(column(0), std::sqrt(below));
    const double diagonal = column(0) > 0.0 ? -length : length;
    // I - v v' / (length |v_0|) with v = column - diagonal e_0 maps the column to diagonal e_0
    column(0) -= diagonal;
    const double scale = 1.0 / (length * std::abs(column(0)));
    for (Index j = k + 1; j < r; ++j) {
      auto other = a.col(j).tail(m - k);
      other -= (scale * column.dot(other)) * column;
    }
    column(0) = diagonal;
  }
  Matrix out = a.topRows(steps);
  out.triangularView<Eigen::StrictlyLower>().setZero();
  return out;
}
#endif

}  // namespace calibrisk

#endif
