// SPDX-License-Identifier: GPL-3.0-or-later
// Thin singular value decomposition by one-sided Jacobi rotations, for small matrices whose columns
// differ by many orders of magnitude. Pairs of columns are made orthogonal relative to their own
// lengths, so tiny singular values keep their digits. (A bound relative to the largest singular
// value, as in Eigen::JacobiSVD, costs kernel ridge seven of ten digits.)
#ifndef CALIBRISK_LINALG_JACOBI_SVD_H
#define CALIBRISK_LINALG_JACOBI_SVD_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace calibrisk {

// a = u diag(values) v', with s = min(m, r) singular values.
struct ThinSvd {
  Matrix u;       // [m x s]
  Vector values;  // [s], descending
  Matrix v;       // [r x s]; columns of zero singular values of either side may be zero
};

// a: [m x r]. Cost m r^2 per sweep, about ten sweeps. More columns than rows would never become
// orthogonal: then the transpose is decomposed.
CALIBRISK_SHARED ThinSvd jacobi_svd(const ConstMatrixRef& a);

// Singular values of a small matrix, in no order.
CALIBRISK_SHARED Vector singular_values(Matrix a);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
namespace detail {

// [left, right] <- [c left - s right, s left + c right]
inline void rotate(double* left, double* right, Index n, double c, double s) {
  for (Index k = 0; k < n; ++k) {
    const double old = left[k];
    left[k] = c * old - s * right[k];
    right[k] = s * old + c * right[k];
  }
}

// Rotates the columns of a, and v along, until all pairs are orthogonal up to `tolerance`
// times their lengths. Squared lengths are kept up by the rotations and renewed every sweep.
inline void jacobi_sweeps(Matrix& a, Matrix& v, double tolerance) {
  constexpr int max_sweeps = 60;
  const Index r = a.cols();
  bool rotated = true;
  for (int sweep = 0; sweep < max_sweeps && rotated; ++sweep) {
    rotated = false;
    Vector squares = a.colwise().squaredNorm().transpose();
    for (Index i = 0; i + 1 < r; ++i) {
      for (Index j = i + 1; j < r; ++j) {
        const double inner = a.col(i).dot(a.col(j));
        if (!(std::abs(inner) > tolerance * std::sqrt(squares(i)) * std::sqrt(squares(j))))
          continue;
        rotated = true;
        const double zeta = (squares(j) - squares(i)) / (2.0 * inner);
        const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double c = 1.0 / std::sqrt(1.0 + t * t), s = c * t;
        rotate(a.col(i).data(), a.col(j).data(), a.rows(), c, s);
        rotate(v.col(i).data(), v.col(j).data(), v.rows(), c, s);
        squares(i) = a.col(i).squaredNorm();
        squares(j) = a.col(j).squaredNorm();
      }
    }
  }
}

// For a matrix with at least as many rows as columns; v0 [q x r] is rotated too.
inline ThinSvd rotated_svd(Matrix a, Matrix v0, double tolerance) {
  jacobi_sweeps(a, v0, tolerance);
  const Index r = a.cols();
  const Vector lengths = a.colwise().norm().transpose();
  std::vector<Index> order(static_cast<std::size_t>(r));
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](Index i, Index j) { return lengths(i) > lengths(j); });
  ThinSvd out{Matrix::Zero(a.rows(), r), Vector(r), Matrix(v0.rows(), r)};
  for (Index k = 0; k < r; ++k) {
    const Index from = order[static_cast<std::size_t>(k)];
    out.values(k) = lengths(from);
    out.v.col(k) = v0.col(from);
    if (lengths(from) > 0) out.u.col(k) = a.col(from) / lengths(from);
  }
  return out;
}

}  // namespace detail

ThinSvd jacobi_svd(const ConstMatrixRef& a) {
  const Index m = a.rows(), r = a.cols();
  if (m >= r) {
    return detail::rotated_svd(a, Matrix::Identity(r, r), std::numeric_limits<double>::epsilon());
  }
  ThinSvd out = jacobi_svd(Matrix(a.transpose()));
  std::swap(out.u, out.v);
  return out;
}

Vector singular_values(Matrix a) {
  if (a.cols() > a.rows()) a = Matrix(a.transpose());
  Matrix none(0, a.cols());
  // what is left of inner products enters by its square
  detail::jacobi_sweeps(a, none, 16.0 * std::numeric_limits<double>::epsilon());
  return a.colwise().norm().transpose();
}
#endif

}  // namespace calibrisk

#endif
