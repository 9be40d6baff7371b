// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over rows of a function of a scalar: where the function is a polynomial to rounding on each
// of 16 cells, those over 16 Chebyshev nodes of each cell.
#ifndef CALIBRISK_METHODS_SCALAR_NODES_H
#define CALIBRISK_METHODS_SCALAR_NODES_H

#include <calibrisk/math/chebyshev_rule.h>
#include <calibrisk/math/exp_sums.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// The weights of the rows' values in sums of g(x) (total), of g(x)^2 (squares) and of |e|^2 g(x)
// (lengths), for residuals e.
struct SummedRows {
  Matrix x;  // [n x features]
  Vector total, squares, lengths;
  double fourth = 0.0;  // sum of |e|^4
};

// The same sums at fewer points, where x is a scalar.
CALIBRISK_SHARED SummedRows at_nodes(const SummedRows& rows);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
SummedRows at_nodes(const SummedRows& rows) {
  constexpr int m = 16;
  constexpr Index n_cells = 16;
  const Index n = rows.x.rows();
  if (n < 4 * m * n_cells || rows.x.cols() != 1) return rows;
  const double from = rows.x.minCoeff(), range = rows.x.maxCoeff() - from;
  if (!(range > 0.0)) return rows;
  const auto cell_of = [&](double x) {
    return std::min(static_cast<Index>((x - from) / range * static_cast<double>(n_cells)),
                    n_cells - 1);
  };
  std::vector<Index> begin(n_cells + 1, 0), next;
  for (Index i = 0; i < n; ++i) ++begin[static_cast<std::size_t>(cell_of(rows.x(i, 0))) + 1];
  for (std::size_t c = 0; c < n_cells; ++c) begin[c + 1] += begin[c];
  next = begin;
  SummedRows by_cell{Matrix(n, 1), Vector(n), Vector(n), Vector(n)};
  for (Index i = 0; i < n; ++i) {
    const Index to = next[static_cast<std::size_t>(cell_of(rows.x(i, 0)))]++;
    by_cell.x(to, 0) = rows.x(i, 0);
    by_cell.total(to) = rows.total(i);
    by_cell.squares(to) = rows.squares(i);
    by_cell.lengths(to) = rows.lengths(i);
  }
  const ChebyshevRule<m>& rule = chebyshev_rule<m>();
  const Eigen::Map<const Matrix> basis(rule.basis[0].data(), m, m);  // a node for each row
  SummedRows out{Matrix(m * n_cells, 1), Vector(m * n_cells), Vector(m * n_cells),
                 Vector(m * n_cells), rows.fourth};
  const double half = 0.5 * range / static_cast<double>(n_cells);
  for (Index c = 0; c < n_cells; ++c) {
    const Index first = begin[static_cast<std::size_t>(c)],
                size = begin[static_cast<std::size_t>(c) + 1] - first;
    const double centre = from + half * static_cast<double>(2 * c + 1);
    const auto add = [&](const Vector& values, Vector& to) {
      Vector moments(m);
      exp_loops().chebyshev_moments(by_cell.x.data() + first, values.data() + first, centre,
                                    1.0 / half, size, m, moments.data());
      to.segment(c * m, m).noalias() = basis * moments;
    };
    for (int k = 0; k < m; ++k) out.x(c * m + k, 0) = centre + half * rule.node[std::size_t(k)];
    add(by_cell.total, out.total);
    add(by_cell.squares, out.squares);
    add(by_cell.lengths, out.lengths);
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
