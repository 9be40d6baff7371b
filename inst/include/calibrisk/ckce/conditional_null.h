// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional null distribution of CKCE: under strong calibration the labels are
// independent draws y_i ~ q_i given the predictions, and the kernel's factor depends on
// the predictions alone. A draw costs O(n r): P'onehot(y) are sums of rows of P by label.
// The p-value (1 + #{draw >= observed}) / (1 + draws) is exact.
#ifndef CALIBRISK_CKCE_CONDITIONAL_NULL_H
#define CALIBRISK_CKCE_CONDITIONAL_NULL_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/skce/class_cross.h>

#include <algorithm>
#include <cstdint>

namespace calibrisk {

struct NullDraws {
  Matrix estimate;  // [draws x ridges]
  Matrix diagonal;  // [draws x ridges]: sum_i M_ii G_ii of the draw
};

// probs: [n x m]; embedding: [m x d] label features (identity for the Kronecker kernel),
// residuals D = (probs - onehot) embedding.
CALIBRISK_SHARED NullDraws conditional_null(const Engine& engine, const ConstMatrixRef& factor,
                                            const Spectrum& spectrum, const ConstMatrixRef& probs,
                                            const ConstMatrixRef& embedding,
                                            const ConstVectorRef& ridges, Index times,
                                            std::uint64_t seed);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE_GRAM)
NullDraws conditional_null(const Engine& engine, const ConstMatrixRef& factor,
                           const Spectrum& spectrum, const ConstMatrixRef& probs,
                           const ConstMatrixRef& embedding, const ConstVectorRef& ridges,
                           Index times, std::uint64_t seed) {
  constexpr Index chunk = 8, row_block = 256;
  const Index n = probs.rows(), rank = factor.cols(), n_ridges = ridges.size();
  const ClassDraws class_of(probs);
  Matrix filter(rank, n_ridges);
  for (Index v = 0; v < n_ridges; ++v) {
    filter.col(v) =
        (spectrum.values.array() + static_cast<double>(n) * ridges(v)).square().inverse();
  }
  const Matrix weights = engine.dense.multiply(factor.cwiseAbs2(), filter);  // M_ii, [n x ridges]
  // |(q_i - e_y) embedding|^2 = b_i'b_i - 2 b_i'l_y + l_y'l_y, b_i = q_i embedding
  const Matrix embedded = engine.dense.multiply(probs, embedding);
  const Matrix inner = engine.dense.multiply_a_bt(embedded, embedding);  // [n x m]
  const Vector square = embedded.rowwise().squaredNorm(), own = embedding.rowwise().squaredNorm();
  const auto share = [&](Index i, Index y) {
    return (square(i) - 2.0 * inner(i, y) + own(y)) * weights.row(i).transpose();
  };
  const ClassCross cross(engine, factor, probs);
  Vector start_diagonal = Vector::Zero(n_ridges);
  const Matrix& start = cross.start([&](Index i, Index y) { start_diagonal += share(i, y); });

  NullDraws out{Matrix(times, n_ridges), Matrix(times, n_ridges)};
  parallel_for(engine, (times + chunk - 1) / chunk, [&](Index task) {
    const Index first = task * chunk, size = std::min(chunk, times - first);
    std::vector<Matrix> sums(static_cast<std::size_t>(size), start);
    Matrix diagonal = start_diagonal.replicate(1, size);
    // some rows of all draws at a time: the rows of the factor are read once
    for (Index begin = 0; begin < n; begin += row_block) {
      for (Index b = 0; b < size; ++b) {
        const auto draw = [&](Index i) {
          return class_of(i, counter_uniform(seed, static_cast<std::uint64_t>(first + b),
                                             static_cast<std::uint64_t>(i)));
        };
        cross.read(
            begin, std::min(begin + row_block, n), draw, sums[static_cast<std::size_t>(b)],
            [&](Index i, Index y) { diagonal.col(b) += share(i, y); },
            [&](Index i, Index y) { diagonal.col(b) -= share(i, y); });
      }
    }
    for (Index b = 0; b < size; ++b) {
      const Vector energy = (sums[static_cast<std::size_t>(b)] * embedding).rowwise().squaredNorm();
      out.estimate.row(first + b) = energy.transpose() * filter;
      out.diagonal.row(first + b) = diagonal.col(b).transpose();
    }
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
