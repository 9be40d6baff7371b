// SPDX-License-Identifier: GPL-3.0-or-later
// QR with pivoted columns. Apart from the algebra of a host, since it is for few columns, once, and
// slow to compile.
#ifndef CALIBRISK_LINALG_PIVOTED_QR_H
#define CALIBRISK_LINALG_PIVOTED_QR_H

#include <calibrisk/types.h>

#include <Eigen/QR>

#include <algorithm>
#include <numeric>
#include <vector>

namespace calibrisk {

// A(:, order) = basis triangle, the columns by decreasing length of what is left of them.
struct PivotedQr {
  Matrix basis;              // [m x min(m, r)], orthonormal columns
  Matrix triangle;           // [min(m, r) x r], upper triangle
  std::vector<Index> order;  // [r]
};

inline PivotedQr pivoted_qr(Matrix a) {
  const Index k = std::min(a.rows(), a.cols());
  PivotedQr out{Matrix(a.rows(), k), Matrix(k, a.cols()), {}};
  if (a.size() == 0) {
    out.order.resize(static_cast<std::size_t>(a.cols()));
    std::iota(out.order.begin(), out.order.end(), Index{0});
    return out;
  }
  const Eigen::ColPivHouseholderQR<Eigen::Ref<Matrix>> qr(a);
  out.basis = qr.householderQ() * Matrix::Identity(a.rows(), k);
  out.triangle = qr.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
  const auto& order = qr.colsPermutation().indices();
  out.order.assign(order.data(), order.data() + order.size());
  return out;
}

}  // namespace calibrisk

#endif
