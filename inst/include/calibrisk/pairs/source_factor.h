// SPDX-License-Identifier: GPL-3.0-or-later
// Pivoted Cholesky of any pair source, one pivot at a time: for kernels on the predictions that are
// not a function of one matrix of features. Kernels of features: kernels/pivoted_cholesky.h.
#ifndef CALIBRISK_PAIRS_SOURCE_FACTOR_H
#define CALIBRISK_PAIRS_SOURCE_FACTOR_H

#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/pairs/pair_source.h>

#include <cmath>
#include <vector>

namespace calibrisk {

struct SourceFactor {
  Matrix l;  // [n x r]
  std::vector<Index> pivots;
  Vector residual;     // diagonal of K - L L', at least 0
  double noise = 0.0;  // what counts as 0 there

  Index rank() const { return static_cast<Index>(pivots.size()); }
};

// A factor without columns, to be extended.
CALIBRISK_SHARED SourceFactor empty_factor(const Engine& engine, const PairSource& source);

// Until the mean residual diagonal is at most `tolerance`, or the rank is `max_rank`. Cost n r^2
// and n r entries, memory n r.
CALIBRISK_SHARED void extend_factor(const Engine& engine, const PairSource& source,
                                    double tolerance, Index max_rank, SourceFactor& factor);

CALIBRISK_SHARED SourceFactor source_factor(const Engine& engine, const PairSource& source,
                                            double tolerance, Index max_rank);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PAIRS)
SourceFactor empty_factor(const Engine& engine, const PairSource& source) {
  const Index n = source.size();
  SourceFactor out{Matrix(n, 0), {}, Vector(n)};
  detail::for_row_blocks(engine, n, [&](Index begin, Index size) {
    for (Index i = begin; i < begin + size; ++i) source.block(i, i, out.residual.segment(i, 1));
  });
  if (n > 0) out.noise = 4.0 * std::numeric_limits<double>::epsilon() * out.residual.maxCoeff();
  return out;
}

void extend_factor(const Engine& engine, const PairSource& source, double tolerance, Index max_rank,
                   SourceFactor& factor) {
  const Index n = source.size(), limit = std::min(max_rank, n);
  Index rank = factor.rank();
  for (; rank < limit; ++rank) {
    Index j;
    if (!(factor.residual.maxCoeff(&j) > factor.noise)) break;
    if (rank > 0 && factor.residual.mean() <= tolerance) break;  // a factor has a column
    detail::reserve_columns(factor.l, rank + 1, limit);
    const Vector at_pivot = factor.l.row(j).head(rank);
    const double root = std::sqrt(factor.residual(j));
    detail::for_row_blocks(engine, n, [&](Index begin, Index size) {
      auto column = factor.l.block(begin, rank, size, 1);
      source.block(begin, j, column);
      column.noalias() -= factor.l.block(begin, 0, size, rank) * at_pivot;
      column /= root;
      auto residual = factor.residual.segment(begin, size).array();
      residual = (residual - column.col(0).array().square()).max(0.0);
    });
    factor.residual(j) = 0.0;
    factor.pivots.push_back(j);
    engine.progress.advance(static_cast<double>(rank) / static_cast<double>(limit));
  }
  factor.l.conservativeResize(Eigen::NoChange, rank);
}

SourceFactor source_factor(const Engine& engine, const PairSource& source, double tolerance,
                           Index max_rank) {
  SourceFactor out = empty_factor(engine, source);
  extend_factor(engine, source, tolerance, max_rank, out);
  return out;
}
#endif

}  // namespace calibrisk

#endif
