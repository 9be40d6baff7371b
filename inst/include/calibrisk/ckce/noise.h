// SPDX-License-Identifier: GPL-3.0-or-later
// The variance of CKCE without its diagonal where predictions are calibrated: with
// M = A^-1 K A^-1, of the sum of M_ij <d_i, d_j> over i != j it is
//   2 sum_{i != j} M_ij^2 <d_i, d_j>^2.
// and known, with E <d_i, d_j>^2 in place of <d_i, d_j>^2 (pairs/outcome_moments.h). Neither
// factors into sums over rows, so they are estimated from the pairs of some rows with all others.
#ifndef CALIBRISK_CKCE_NOISE_H
#define CALIBRISK_CKCE_NOISE_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/pairs/factor_sums.h>

namespace calibrisk {

// out(i, j) = <d_i, d_j>^2 of the rows from `first` on with `some`, the rows `at`, and
// its expectation under calibration; 0 of a row with itself.
inline void residual_squares(const Engine& engine, const ConstMatrixRef& residuals, Index first,
                             const Matrix& some, const std::vector<Index>& at,
                             const OutcomeMoments& moments, MatrixRef out, MatrixRef known) {
  engine.dense.gemm(false, true, 1.0, residuals.middleRows(first, out.rows()), some, 0.0, out);
  out = out.cwiseAbs2();
  if (moments.known()) {
    moments.products(engine, first, at, known);
  } else {
    known = out;
  }
  for (std::size_t b = 0; b < at.size(); ++b) {
    const Index own = at[b] - first;
    if (own < 0 || own >= out.rows()) continue;
    out(own, static_cast<Index>(b)) = known(own, static_cast<Index>(b)) = 0.0;
  }
}

// From A^-1: M = A^-1 - c A^-2, or the product itself where c dwarfs K.
inline void dual_noise(const Engine& engine, const ConstMatrixRef& gram,
                       const ConstMatrixRef& residuals, const Matrix& inverse, double c,
                       const std::vector<Index>& at, const OutcomeMoments& moments,
                       CkceValues& out) {
  const Matrix some = take_rows(inverse, at).transpose();
  const Matrix weights = c > gram.trace()
                             ? engine.dense.multiply(inverse, engine.dense.multiply(gram, some))
                             : Matrix(some - c * engine.dense.multiply(inverse, some));
  Matrix squares(some.rows(), some.cols()), known(some.rows(), some.cols());
  residual_squares(engine, residuals, 0, take_rows(residuals, at), at, moments, squares, known);
  const double share = static_cast<double>(gram.rows()) / static_cast<double>(at.size());
  out.squares = share * weights.cwiseAbs2().cwiseProduct(squares).sum();
  out.known = share * weights.cwiseAbs2().cwiseProduct(known).sum();
}

// From a factor F with K = FF', [n x r], a block of rows at a time: rows(first, size). `some`:
// those of `at`. rotation: P = F rotation; none where F = P.
template <class Rows>
void factor_noise(const Engine& engine, const Spectrum& spectrum, const Matrix* rotation,
                  const Rows& rows, const Matrix& some, const ConstMatrixRef& residuals,
                  const ConstVectorRef& ridges, const std::vector<Index>& at,
                  const OutcomeMoments& moments, std::vector<CkceValues>& values) {
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
  Matrix squares(std::min(block, n), some.rows()), known(squares.rows(), some.rows()),
      pairs(squares.rows(), some.rows());
  for (Index i = 0; i < n; i += block) {
    const Index m = std::min(block, n - i);
    const auto& f = rows(i, m);
    residual_squares(engine, residuals, i, residuals_at, at, moments, squares.topRows(m),
                     known.topRows(m));
    for (std::size_t v = 0; v < weights.size(); ++v) {
      engine.dense.gemm(false, true, 1.0, f, weights[v], 0.0, pairs.topRows(m));
      const auto weight = pairs.topRows(m).cwiseAbs2();
      values[v].squares += share * weight.cwiseProduct(squares.topRows(m)).sum();
      values[v].known += share * weight.cwiseProduct(known.topRows(m)).sum();
    }
  }
}

}  // namespace calibrisk

#endif
