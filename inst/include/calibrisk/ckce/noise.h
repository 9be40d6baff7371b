// SPDX-License-Identifier: GPL-3.0-or-later
// The variance of CKCE without its diagonal where predictions are calibrated: with
// M = A^-1 K A^-1, of the sum of M_ij <d_i, d_j> over i != j it is
//   2 sum_{i != j} M_ij^2 <d_i, d_j>^2.
// and known, with E <d_i, d_j>^2 in place of <d_i, d_j>^2 (pairs/outcome_moments.h). Neither
// factors into sums over rows, so they are estimated from the pairs of some rows: with all others
// from an inverse, with each other from a factor.
#ifndef CALIBRISK_CKCE_NOISE_H
#define CALIBRISK_CKCE_NOISE_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/pairs/factor_sums.h>

namespace calibrisk {

// From A^-1: M = A^-1 - c A^-2, or the product itself where c dwarfs K.
CALIBRISK_SHARED void dual_noise(const Engine& engine, const ConstMatrixRef& gram,
                                 const ConstMatrixRef& residuals, const Matrix& inverse, double c,
                                 const RowSample& rows, const OutcomeMoments& moments,
                                 CkceValues& out);

// From the rows `some` of a factor F with K = FF', which are those of a sample, and their pairs:
// the cost does not grow with n. rotation: P = F rotation; none where F = P.
CALIBRISK_SHARED void factor_noise(const Engine& engine, const Spectrum& spectrum,
                                   const Matrix* rotation, const ConstMatrixRef& some,
                                   const ConstMatrixRef& residuals, const ConstVectorRef& ridges,
                                   const RowSample& rows, const OutcomeMoments& moments,
                                   std::vector<CkceValues>& values);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE_GRAM)
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

void dual_noise(const Engine& engine, const ConstMatrixRef& gram, const ConstMatrixRef& residuals,
                const Matrix& inverse, double c, const RowSample& rows,
                const OutcomeMoments& moments, CkceValues& out) {
  const std::vector<Index>& at = rows.at;
  const Matrix some = take_rows(inverse, at).transpose();
  const Matrix weights = c > gram.trace()
                             ? engine.dense.multiply(inverse, engine.dense.multiply(gram, some))
                             : Matrix(some - c * engine.dense.multiply(inverse, some));
  Matrix squares(some.rows(), some.cols()), known(some.rows(), some.cols());
  residual_squares(engine, residuals, 0, take_rows(residuals, at), at, moments, squares, known);
  const Matrix square = weights.cwiseAbs2();
  out.squares = rows.count.dot(square.cwiseProduct(squares).colwise().sum());
  out.known = rows.count.dot(square.cwiseProduct(known).colwise().sum());
}

void factor_noise(const Engine& engine, const Spectrum& spectrum, const Matrix* rotation,
                  const ConstMatrixRef& some, const ConstMatrixRef& residuals,
                  const ConstVectorRef& ridges, const RowSample& rows,
                  const OutcomeMoments& moments, std::vector<CkceValues>& values) {
  constexpr Index block = 256;
  const Index m = some.rows();
  if (m < 2) return;
  const double n = static_cast<double>(residuals.rows());
  Matrix turned = rotation ? engine.dense.multiply(some, *rotation) : Matrix(some);
  turned = rows.count.cwiseSqrt().asDiagonal() * turned;
  std::vector<Matrix> halves;  // M_ij sqrt(count_i count_j) = half half'
  for (Index v = 0; v < ridges.size(); ++v) {
    halves.push_back(turned *
                     (spectrum.values.array() + n * ridges(v)).inverse().matrix().asDiagonal());
  }
  const Matrix own = take_rows(residuals, rows.at);
  const OutcomeMomentRows drawn(moments, rows.at);
  Matrix squares(m, std::min(block, m)), known(m, squares.cols()), pairs(m, squares.cols());
  for (Index i = 0; i < m; i += block) {
    const Index size = std::min(block, m - i), rest = m - i;
    auto g = squares.bottomLeftCorner(rest, size), expected = known.bottomLeftCorner(rest, size),
         product = pairs.bottomLeftCorner(rest, size);
    std::vector<Index> columns(static_cast<std::size_t>(size));
    std::iota(columns.begin(), columns.end(), i);
    residual_squares(engine, own, i, own.middleRows(i, size), columns, drawn.moments(), g,
                     expected);
    for (std::size_t v = 0; v < halves.size(); ++v) {
      engine.dense.gemm(false, true, 1.0, halves[v].bottomRows(rest), halves[v].middleRows(i, size),
                        0.0, product);
      // pairs within the block are there twice, those with later rows once
      const auto add = [&](double times, Index first, Index number) {
        const auto weight = product.middleRows(first, number).cwiseAbs2();
        times *= rows.pairs;
        values[v].squares += times * weight.cwiseProduct(g.middleRows(first, number)).sum();
        values[v].known += times * weight.cwiseProduct(expected.middleRows(first, number)).sum();
      };
      add(1.0, 0, size);
      add(2.0, size, rest - size);
    }
  }
}
#endif

}  // namespace calibrisk

#endif
