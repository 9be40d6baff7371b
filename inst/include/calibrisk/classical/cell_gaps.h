// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_CLASSICAL_CELL_GAPS_H
#define CALIBRISK_CLASSICAL_CELL_GAPS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// The mean residual of the rows of a row's cell (1, 2, ...) in the other folds (1, 2, ...), which
// is not finite where there are none; up to `rounding` it is 0. Weights are empty or one per row.
inline Matrix cell_gaps(const ConstMatrixRef& residuals, const int* cell, const int* fold,
                        const ConstVectorRef& weights, double rounding) {
  const Index n = residuals.rows(), d = residuals.cols();
  require(weights.size() == 0 || weights.size() == n, "cell_gaps: a weight for each row.");
  if (n == 0) return residuals;
  require(*std::min_element(cell, cell + n) > 0 && *std::min_element(fold, fold + n) > 0,
          "cell_gaps: cells and folds count from 1.");
  const Index cells = *std::max_element(cell, cell + n), folds = *std::max_element(fold, fold + n);
  const auto weight = [&](Index i) { return weights.size() == 0 ? 1.0 : weights(i); };
  // the weight in the first column
  Matrix total = Matrix::Zero(cells, d + 1), inside(cells, d + 1);
  const auto add = [&](Matrix& sums, Index i) {
    sums(cell[i] - 1, 0) += weight(i);
    sums.row(cell[i] - 1).tail(d) += weight(i) * residuals.row(i);
  };
  for (Index i = 0; i < n; ++i) add(total, i);
  Matrix out(n, d);
  for (Index f = 1; f <= folds; ++f) {
    inside.setZero();
    for (Index i = 0; i < n; ++i) {
      if (fold[i] == f) add(inside, i);
    }
    for (Index i = 0; i < n; ++i) {
      if (fold[i] != f) continue;
      const Index c = cell[i] - 1;
      double left = total(c, 0) - inside(c, 0);
      if (left < 1e-9 * total(c, 0)) left = 0.0;
      for (Index k = 0; k < d; ++k) {
        const double gap = (total(c, k + 1) - inside(c, k + 1)) / left;
        out(i, k) = std::abs(gap) < rounding ? 0.0 : gap;
      }
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
