// SPDX-License-Identifier: GPL-3.0-or-later
#include <calibrisk/linalg/eigen_algebra.h>
#include <calibrisk/linalg/jacobi_svd.h>
#include <calibrisk/linalg/qr_triangle.h>

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

TEST(singular_values_are_those_of_the_decomposition) {
  for (Index m : {Index(2), Index(5)}) {
    Matrix a = Matrix::Random(m, 3);
    a.col(2) = a.col(0);
    Vector values = singular_values(a);
    std::sort(values.data(), values.data() + values.size(), std::greater<double>());
    CHECK((values - jacobi_svd(a).values).norm() < 1e-13);
  }
}

TEST(qr_triangle_has_the_inner_products_of_the_columns) {
  for (Index m : {Index(0), Index(1), Index(4), Index(200)}) {
    Matrix a = Matrix::Random(m, 4);
    a.col(1).setZero();
    const Matrix r = qr_triangle(a);
    CHECK(r.rows() == std::min<Index>(m, 4) && r.cols() == 4);
    CHECK(r.isUpperTriangular(0.0));
    CHECK((r.transpose() * r - a.transpose() * a).norm() < 1e-12);
  }
  // columns of very different lengths keep their digits
  Matrix a = Matrix::Random(300, 3);
  a.col(2) *= 1e-12;
  const Matrix r = qr_triangle(a);
  const Eigen::HouseholderQR<Matrix> qr(a);
  CHECK(is_near(std::abs(r(2, 2)) / std::abs(qr.matrixQR()(2, 2)), 1.0));
}
