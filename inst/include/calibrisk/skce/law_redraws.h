// SPDX-License-Identifier: GPL-3.0-or-later
// The SKCE of many outcome vectors on the same predictions, both kernels in factored form
// (pairs/factor_sums.h): K = A A' on the predictions, and l(y, y') = psi(y)'psi(y'), psi(y) = T^-1
// l(t, y), on the outcomes, t the pivots of a factor and T T' = l(t, t). With g_i = psi(y_i) - E
// psi(Z_i),
//   n (n - 1) U = |A'G|^2 - sum_i |a_i|^2 |g_i|^2.
#ifndef CALIBRISK_SKCE_LAW_REDRAWS_H
#define CALIBRISK_SKCE_LAW_REDRAWS_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/kernel.h>
#include <calibrisk/pairs/pair_sums.h>

#include <algorithm>

namespace calibrisk {

class LawRedraws {
 public:
  // factor: [n x r]; expected: E l(t, Z_i), [n x s]; pivots: [s x d]; triangle: T, [s x s]
  LawRedraws(const Engine& engine, const ConstMatrixRef& factor, const ConstMatrixRef& expected,
             Kernel kernel, const ConstMatrixRef& pivots, const ConstMatrixRef& triangle)
      : factor_(factor),
        kernel_(std::move(kernel)),
        pivots_(pivots),
        triangle_(triangle),
        squares_(factor.rowwise().squaredNorm()),
        expected_(expected.transpose()) {
    require(factor.rows() == expected.rows() && pivots.rows() == expected.cols() &&
                triangle.rows() == pivots.rows(),
            "Factor, expectations and pivots do not belong together.");
    engine.dense.solve_lower(triangle_, false, expected_);
  }

  // y: [n x d]. Cost n r s and n s kernel values, memory O(s).
  PairTotals operator()(const Engine& engine, const ConstMatrixRef& y) const {
    constexpr Index chunk = 16384, tile = 512;
    const Index n = factor_.rows(), s = pivots_.rows();
    Matrix cross = Matrix::Zero(factor_.cols(), s);
    double diagonal = 0.0;
    Matrix g(s, std::min(chunk, n));
    for (Index begin = 0; begin < n; begin += chunk) {
      const Index size = std::min(chunk, n - begin);
      engine.executor.run((size + tile - 1) / tile, [&](Index t) {
        const Index at = t * tile, m = std::min(tile, size - at);
        auto part = g.middleCols(at, m);
        gram_block(kernel_, pivots_, y.middleRows(begin + at, m), part);
        triangle_.triangularView<Eigen::Lower>().solveInPlace(part);
        part -= expected_.middleCols(begin + at, m);
      });
      const auto done = g.leftCols(size);
      diagonal += done.colwise().squaredNorm().dot(squares_.segment(begin, size));
      engine.dense.gemm(true, true, 1.0, factor_.middleRows(begin, size), done, 1.0, cross);
    }
    return {cross.squaredNorm(), diagonal, static_cast<double>(n)};
  }

 private:
  ConstMatrixRef factor_;
  Kernel kernel_;
  ConstMatrixRef pivots_, triangle_;
  Vector squares_;
  Matrix expected_;  // E psi(Z_i) as columns
};

}  // namespace calibrisk

#endif
