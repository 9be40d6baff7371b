// SPDX-License-Identifier: GPL-3.0-or-later
// QR with pivoted columns, for few of them. Eigen's takes longer to compile than to run.
#ifndef CALIBRISK_LINALG_PIVOTED_QR_H
#define CALIBRISK_LINALG_PIVOTED_QR_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

// A(:, order) = basis triangle, the columns by decreasing length of what is left of them.
struct PivotedQr {
  Matrix basis;              // [m x min(m, r)], orthonormal columns, then zeros beyond the rank
  Matrix triangle;           // [min(m, r) x r], upper triangle
  std::vector<Index> order;  // [r]
};

// By Gram and Schmidt: a pivot is made orthogonal once more, to what rounding brought back.
inline PivotedQr pivoted_qr(Matrix a) {
  const Index m = a.rows(), r = a.cols(), k = std::min(m, r);
  PivotedQr out{Matrix::Zero(m, k), Matrix::Zero(k, r),
                std::vector<Index>(static_cast<std::size_t>(r))};
  std::iota(out.order.begin(), out.order.end(), Index{0});
  const auto take_out = [&](Index from, Index column) {
    const double* q = out.basis.col(from).data();
    double* rest = a.col(column).data();
    double along = 0.0;
    for (Index i = 0; i < m; ++i) along += q[i] * rest[i];
    for (Index i = 0; i < m; ++i) rest[i] -= along * q[i];
    out.triangle(from, column) += along;
  };
  const auto square = [&](Index column) {
    const double* v = a.col(column).data();
    double sum = 0.0;
    for (Index i = 0; i < m; ++i) sum += v[i] * v[i];
    return sum;
  };
  for (Index j = 0; j < k; ++j) {
    Index longest = j;
    for (Index c = j + 1; c < r; ++c) {
      if (square(c) > square(longest)) longest = c;
    }
    std::swap_ranges(a.col(j).data(), a.col(j).data() + m, a.col(longest).data());
    std::swap_ranges(out.triangle.col(j).data(), out.triangle.col(j).data() + k,
                     out.triangle.col(longest).data());
    std::swap(out.order[static_cast<std::size_t>(j)], out.order[static_cast<std::size_t>(longest)]);
    for (Index b = 0; b < j; ++b) take_out(b, j);
    const double length = std::sqrt(square(j));
    if (!(length > 0.0)) break;
    out.triangle(j, j) = length;
    for (Index i = 0; i < m; ++i) out.basis(i, j) = a(i, j) / length;
    for (Index c = j + 1; c < r; ++c) take_out(j, c);
  }
  return out;
}

}  // namespace calibrisk

#endif
