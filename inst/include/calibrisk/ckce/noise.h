// SPDX-License-Identifier: GPL-3.0-or-later
// The variance of CKCE without its diagonal where predictions are calibrated: with
// M = A^-1 K A^-1, of the sum of M_ij <d_i, d_j> over i != j it is
//   2 sum_{i != j} M_ij^2 <d_i, d_j>^2.
// It does not factor into sums over rows, so it is estimated from the pairs of some rows with all
// others.
#ifndef CALIBRISK_CKCE_NOISE_H
#define CALIBRISK_CKCE_NOISE_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/pairs/factor_sums.h>

namespace calibrisk {

// out(i, j) = <d_i, d_j> of the rows from `first` on with `some`, the rows `at`; 0 of a row with
// itself.
inline void residual_products(const Engine& engine, const ConstMatrixRef& residuals, Index first,
                              const Matrix& some, const std::vector<Index>& at, MatrixRef out) {
  engine.dense.gemm(false, true, 1.0, residuals.middleRows(first, out.rows()), some, 0.0, out);
  for (std::size_t b = 0; b < at.size(); ++b) {
    const Index own = at[b] - first;
    if (own >= 0 && own < out.rows()) out(own, static_cast<Index>(b)) = 0.0;
  }
}

// From A^-1: M = A^-1 - c A^-2, or the product itself where c dwarfs K.
inline double dual_noise(const Engine& engine, const ConstMatrixRef& gram,
                         const ConstMatrixRef& residuals, const Matrix& inverse, double c,
                         const std::vector<Index>& at) {
  const Matrix some = take_rows(inverse, at).transpose();
  const Matrix weights = c > gram.trace()
                             ? engine.dense.multiply(inverse, engine.dense.multiply(gram, some))
                             : Matrix(some - c * engine.dense.multiply(inverse, some));
  Matrix products(some.rows(), some.cols());
  residual_products(engine, residuals, 0, take_rows(residuals, at), at, products);
  return weights.cwiseProduct(products).squaredNorm() * static_cast<double>(gram.rows()) /
         static_cast<double>(at.size());
}

// From a factor F with K = FF', [n x r], a block of rows at a time: rows(first, size). `some`:
// those of `at`. rotation: P = F rotation; none where F = P.
template <class Rows>
void factor_noise(const Engine& engine, const Spectrum& spectrum, const Matrix* rotation,
                  const Rows& rows, const Matrix& some, const ConstMatrixRef& residuals,
                  const ConstVectorRef& ridges, const std::vector<Index>& at,
                  std::vector<CkceValues>& values) {
  constexpr Index block = 1024;
  const Index n = residuals.rows();
  const Matrix turned = rotation ? engine.dense.multiply(some, *rotation) : some;
  std::vector<Matrix> weights;
  for (Index v = 0; v < ridges.size(); ++v) {
    const Vector filter =
        (spectrum.values.array() + static_cast<double>(n) * ridges(v)).square().inverse();
    const Matrix filtered = turned * filter.asDiagonal();
    weights.push_back(rotation ? engine.dense.multiply_a_bt(filtered, *rotation) : filtered);
  }
  const double share = static_cast<double>(n) / static_cast<double>(at.size());
  const Matrix residuals_at = take_rows(residuals, at);
  // one memory for all blocks: new pages cost more than the products
  Matrix products(std::min(block, n), some.rows()), pairs(std::min(block, n), some.rows());
  for (Index i = 0; i < n; i += block) {
    const Index m = std::min(block, n - i);
    const auto& f = rows(i, m);
    residual_products(engine, residuals, i, residuals_at, at, products.topRows(m));
    for (std::size_t v = 0; v < weights.size(); ++v) {
      engine.dense.gemm(false, true, 1.0, f, weights[v], 0.0, pairs.topRows(m));
      values[v].squares += share * pairs.topRows(m).cwiseProduct(products.topRows(m)).squaredNorm();
    }
  }
}

}  // namespace calibrisk

#endif
