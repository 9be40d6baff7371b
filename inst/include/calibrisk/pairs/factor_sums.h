// SPDX-License-Identifier: GPL-3.0-or-later
// The sums of pairs/pair_sums.h where the kernel is a factor, K = L L', and the residuals are
// vectors: with M = D times the target kernel's matrix (M = D in a basis of its feature space)
//   all pairs  <L'D, L'M>
//   row i      l_i' (L'D) m_i
//   i = j      |l_i|^2 <d_i, m_i>
// Linear in the rows, which are read twice and need not be kept. The sum of squares does not factor
// in this way: it is estimated from the pairs of all rows with some of them.
#ifndef CALIBRISK_PAIRS_FACTOR_SUMS_H
#define CALIBRISK_PAIRS_FACTOR_SUMS_H

#include <calibrisk/pairs/outcome_moments.h>
#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/pairs/row_sample.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// Rows of a factor in memory. Features made as they are read: ckce/fourier_features.h.
struct KeptRows {
  ConstMatrixRef l;
  Index size() const { return l.rows(); }
  Index rank() const { return l.cols(); }
  ConstMatrixRef block(const Engine&, Index i, Index m) const { return l.middleRows(i, m); }
  Matrix at(const Engine&, const std::vector<Index>& rows) const { return take_rows(l, rows); }
};

// cross = L'D tells all but the diagonal, here of residuals in a basis.
inline PairTotals factor_totals(const ConstMatrixRef& l, const ConstMatrixRef& d,
                                const ConstMatrixRef& cross) {
  return {cross.squaredNorm(), l.rowwise().squaredNorm().dot(d.rowwise().squaredNorm()),
          static_cast<double>(l.rows())};
}

// Rows whose pairs with all others stand for the sum of squares of all pairs: factor and residuals.
struct NoiseRows {
  const RowSample& sample;
  const Labels& cluster;  // pairs within one do not count; empty: every row is one
  const OutcomeMoments& moments;
  Matrix l, d;

  // Adds the sums over pairs of the rows begin, begin + 1, ... of the factor and of M with these.
  CALIBRISK_SHARED void add_squares(const Engine& engine, Index begin, const ConstMatrixRef& rows,
                                    const ConstMatrixRef& m, const ConstVectorRef& weights,
                                    PairSums& sums) const;
};

// With weights (empty: none) the sums are sum_j w_j H_ij and w_i H_ii; with clusters (codes from 1;
// empty: none) the sums leave out the pairs within one.
template <class Rows>
PairSums factor_sums(const Engine& engine, const Rows& rows, const ConstMatrixRef& d,
                     const ConstMatrixRef& m, const ConstVectorRef& weights, const Labels& cluster,
                     const RowSample& noise_rows, const OutcomeMoments& moments = {}) {
  constexpr Index step = 16384;
  const Index n = rows.size();
  require(d.rows() == n && m.rows() == n && d.cols() == m.cols(),
          "A factor and residuals must have the same rows.");
  const Matrix weighted = weights.size() > 0 ? Matrix(weights.asDiagonal() * d) : Matrix();
  const ConstMatrixRef wd = weights.size() > 0 ? ConstMatrixRef(weighted) : d;
  const Vector own = wd.cwiseProduct(m).rowwise().sum();
  Matrix cross = Matrix::Zero(rows.rank(), d.cols());
  for (Index i = 0; i < n; i += step) {
    const Index size = std::min(step, n - i);
    engine.dense.gemm(true, false, 1.0, rows.block(engine, i, size), wd.middleRows(i, size), 1.0,
                      cross);
    engine.progress.advance(0.5 * static_cast<double>(i + size) / static_cast<double>(n));
  }
  const NoiseRows some{noise_rows, cluster, moments, rows.at(engine, noise_rows.at),
                       take_rows(wd, noise_rows.at)};
  PairSums out{Vector(n), Vector(n)};
  Vector kernel(n);
  for (Index i = 0; i < n; i += step) {
    const Index size = std::min(step, n - i);
    const auto& l = rows.block(engine, i, size);
    kernel.segment(i, size) = l.rowwise().squaredNorm();
    out.diagonal.segment(i, size) = kernel.segment(i, size).cwiseProduct(own.segment(i, size));
    out.off_diagonal.segment(i, size) =
        engine.dense.multiply(l, cross).cwiseProduct(m.middleRows(i, size)).rowwise().sum();
    some.add_squares(engine, i, l, m.middleRows(i, size), weights, out);
    engine.progress.advance(0.5 + 0.5 * static_cast<double>(i + size) / static_cast<double>(n));
  }
  out.trace = moments.known()      ? moments.trace(kernel)
              : weights.size() > 0 ? weights.dot(out.diagonal)
                                   : out.diagonal.sum();
  if (cluster.empty()) {
    out.off_diagonal -= out.diagonal;
    return out;
  }
  std::vector<std::vector<Index>> members(
      static_cast<std::size_t>(*std::max_element(cluster.begin(), cluster.end())));
  for (Index i = 0; i < n; ++i) {
    members[static_cast<std::size_t>(cluster[static_cast<std::size_t>(i)] - 1)].push_back(i);
  }
  for (const std::vector<Index>& at : members) {
    const Matrix l = rows.at(engine, at);
    const Vector within =
        (l * (l.transpose() * take_rows(wd, at))).cwiseProduct(take_rows(m, at)).rowwise().sum();
    for (std::size_t i = 0; i < at.size(); ++i) {
      out.off_diagonal(at[i]) -= within(static_cast<Index>(i));
    }
  }
  return out;
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PAIRS)
void NoiseRows::add_squares(const Engine& engine, Index begin, const ConstMatrixRef& rows,
                            const ConstMatrixRef& m, const ConstVectorRef& weights,
                            PairSums& sums) const {
  constexpr Index step = 1024;
  if (sample.at.empty()) return;
  const auto group = [&](Index i) {
    return cluster.empty() ? i : static_cast<Index>(cluster[static_cast<std::size_t>(i)]);
  };
  for (Index i = 0; i < rows.rows(); i += step) {
    const Index size = std::min(step, rows.rows() - i);
    Matrix h(size, l.rows()), inner(size, l.rows()), second;
    engine.dense.gemm(false, true, 1.0, rows.middleRows(i, size), l, 0.0, h);
    if (moments.known()) {
      moments.products(engine, begin + i, sample.at, inner);
      second = h.cwiseAbs2().cwiseProduct(inner);
    }
    engine.dense.gemm(false, true, 1.0, m.middleRows(i, size), d, 0.0, inner);
    h.array() *= inner.array();
    if (weights.size() > 0) h = weights.segment(begin + i, size).asDiagonal() * h;
    const Matrix squares = h.cwiseAbs2();
    const Matrix& known = moments.known() ? second : squares;
    for (Index b = 0; b < h.cols(); ++b) {
      const Index own = group(sample.at[static_cast<std::size_t>(b)]);
      for (Index a = 0; a < size; ++a) {
        if (group(begin + i + a) == own) continue;
        sums.squares += sample.count(b) * squares(a, b);
        sums.known += sample.count(b) * known(a, b);
      }
    }
  }
}
#endif

}  // namespace calibrisk

#endif
