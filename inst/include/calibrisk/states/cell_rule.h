// SPDX-License-Identifier: GPL-3.0-or-later
// A few rows with counts instead of all rows of a cell. For its rows with one outcome a cell keeps
// the moments sum_i w_i T_k(u_i), k < m, of their place u in [-1, 1] (T_k: Chebyshev). Gauss's rule
// of this measure has floor(m / 2) nodes within the range of the rows, with positive counts, and
// gives the same sums of every polynomial of degree below 2 floor(m / 2). If there are at most
// floor(m / 2) distinct values, the nodes are these values. Nodes are the eigenvalues of
// multiplication by u on orthonormal polynomials (Golub and Welsch 1969).
#ifndef CALIBRISK_STATES_CELL_RULE_H
#define CALIBRISK_STATES_CELL_RULE_H

#include <calibrisk/linalg/dense_algebra.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

struct CellRule {
  Vector node, count;  // node: in [-1, 1]
};

// `moment`: the first 2 `size` ones, moment[0] > 0. If the remainder of a polynomial after
// projection on those before it is below the tolerance, it is rounding error: the measure has no
// more values than there are polynomials.
inline CellRule cell_rule(const DenseAlgebra& dense, const double* moment, Index size) {
  constexpr double tolerance = 1e-13;
  // sum w T_i T_j / sum w
  const auto product = [&](Index i, Index j) {
    return (moment[i + j] + moment[std::abs(i - j)]) / (2.0 * moment[0]);
  };
  Matrix l = Matrix::Zero(size, size);
  Index rank = 0;
  for (; rank < size; ++rank) {
    for (Index j = 0; j < rank; ++j) {
      const double known = l.row(rank).head(j).dot(l.row(j).head(j));
      l(rank, j) = (product(rank, j) - known) / l(j, j);
    }
    const double left = product(rank, rank) - l.row(rank).head(rank).squaredNorm();
    if (!(left > tolerance)) break;
    l(rank, rank) = std::sqrt(left);
  }
  if (rank == 0) return {Vector(), Vector()};
  Matrix turn(rank, rank);  // u T_i = (T_{i+1} + T_{|i-1|}) / 2
  for (Index i = 0; i < rank; ++i) {
    for (Index j = 0; j < rank; ++j) {
      turn(i, j) = (product(i + 1, j) + product(std::abs(i - 1), j)) / 2.0;
    }
  }
  const auto lower = l.topLeftCorner(rank, rank).triangularView<Eigen::Lower>();
  lower.solveInPlace(turn);
  const Matrix right = turn.transpose();
  Matrix jacobi = right;
  lower.solveInPlace(jacobi);
  const SymEigen spectrum = dense.sym_eigen((jacobi + jacobi.transpose()) / 2.0);
  CellRule out;
  out.node = spectrum.values.cwiseMax(-1.0).cwiseMin(1.0);
  out.count = moment[0] * spectrum.vectors.row(0).transpose().array().square().matrix();
  return out;
}

}  // namespace calibrisk

#endif
