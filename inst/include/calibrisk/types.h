// SPDX-License-Identifier: GPL-3.0-or-later
// Aliases and small checks shared by the whole core. Observations are rows, in
// column-major storage, exactly as R hands them over: no header ever transposes
// a data matrix.
#ifndef CALIBRISK_TYPES_H
#define CALIBRISK_TYPES_H

#include <calibrisk/linalg/eigen_products.h>

#include <Eigen/Core>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace calibrisk {

using Index = Eigen::Index;  // 64 bit: n^2 may exceed 2^31
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using ConstMatrixRef = Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>;
using MatrixRef = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using VectorRef = Eigen::Ref<Vector>;
using Labels = std::vector<int>;  // 1-based classes, as in R; 0/1 for scalar outcomes

// The core trusts the values it is given (R has checked them) but not the shapes.
inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

inline Matrix take_rows(const ConstMatrixRef& x, const std::vector<Index>& rows) {
  Matrix out(static_cast<Index>(rows.size()), x.cols());
  for (Index k = 0; k < x.cols(); ++k) {
    for (Index i = 0; i < out.rows(); ++i) out(i, k) = x(rows[static_cast<std::size_t>(i)], k);
  }
  return out;
}

}  // namespace calibrisk

#endif
