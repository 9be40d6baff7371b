// SPDX-License-Identifier: GPL-3.0-or-later
#include <calibrisk/linalg/jacobi_svd.h>

#include "check.h"

using namespace calibrisk;

TEST(jacobi_svd_takes_any_shape) {
  for (Index m : {Index(5), Index(40), Index(90)}) {
    for (Index r : {Index(3), Index(40), Index(70)}) {
      const Matrix a = Matrix::Random(m, r);
      const ThinSvd svd = jacobi_svd(a);
      const Index s = std::min(m, r);
      const Matrix one = Matrix::Identity(s, s);
      CHECK((svd.u.transpose() * svd.u - one).norm() < 1e-10);
      CHECK((svd.v.transpose() * svd.v - one).norm() < 1e-10);
      CHECK((svd.u * svd.values.asDiagonal() * svd.v.transpose() - a).norm() < 1e-12 * a.norm());
    }
  }
}

// Columns over sixteen orders of magnitude: the smallest singular value keeps its digits, which
// those of a'a or of a bound relative to the largest would not.
TEST(jacobi_svd_keeps_the_digits_of_tiny_singular_values) {
  const Index r = 30;
  Matrix a =
      Eigen::HouseholderQR<Matrix>(Matrix::Random(50, r)).householderQ() * Matrix::Identity(50, r);
  Vector scale(r);
  for (Index j = 0; j < r; ++j)
    scale(j) = std::pow(10.0, -16.0 * static_cast<double>(j) / (r - 1.0));
  const ThinSvd svd = jacobi_svd(a * scale.asDiagonal());
  CHECK(((svd.values - scale).array() / scale.array()).abs().maxCoeff() < 1e-12);
}
