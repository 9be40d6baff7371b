// SPDX-License-Identifier: GPL-3.0-or-later
// Explicit features of a sum of kernels: x itself for the linear kernel and, for a
// translation-invariant one, D^-1/2 (cos w_1'x, sin w_1'x, ...) with frequencies drawn from its
// spectral distribution (Moskvichev & Sejdinovic 2025, appendix B). Rows are streamed: memory
// O(r^2), not O(n r).
#ifndef CALIBRISK_CKCE_FOURIER_FEATURES_H
#define CALIBRISK_CKCE_FOURIER_FEATURES_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/pairs/factor_sums.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

struct FeatureTerm {
  double scale = 1.0;  // of the kernel
  bool linear = false;
  Matrix frequencies;  // [q x D]; unused where linear
};

using FeatureMap = std::vector<FeatureTerm>;

CALIBRISK_SHARED Index feature_rank(const FeatureMap& map, Index q);

// Features of the rows of x, [m x r]; safe in workers.
CALIBRISK_SHARED void map_features(const FeatureMap& map, const ConstMatrixRef& x, MatrixRef out);

CALIBRISK_SHARED Matrix map_features(const Engine& engine, const FeatureMap& map,
                                     const ConstMatrixRef& x, ProgressSpan span = {});

// Rows of a factor (pairs/factor_sums.h) that are made as they are read.
struct FeatureRows {
  const FeatureMap& map;
  ConstMatrixRef x;
  Index size() const { return x.rows(); }
  Index rank() const { return feature_rank(map, x.cols()); }
  Matrix block(const Engine& engine, Index i, Index m) const {
    return map_features(engine, map, x.middleRows(i, m));
  }
  Matrix at(const Engine& engine, const std::vector<Index>& rows) const {
    return map_features(engine, map, take_rows(x, rows));
  }
};

// F'F, F'D, ... over row blocks. Cost n r^2 + n r d; memory O(block r + r^2).
CALIBRISK_SHARED FactorMoments feature_moments(const Engine& engine, const FeatureMap& map,
                                               const ConstMatrixRef& x,
                                               const ConstMatrixRef& residuals,
                                               const ConstVectorRef& variances, bool diagonals);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE_FACTOR)
Index feature_rank(const FeatureMap& map, Index q) {
  Index rank = 0;
  for (const FeatureTerm& term : map) rank += term.linear ? q : 2 * term.frequencies.cols();
  return rank;
}

void map_features(const FeatureMap& map, const ConstMatrixRef& x, MatrixRef out) {
  Index at = 0;
  for (const FeatureTerm& term : map) {
    if (term.linear) {
      out.middleCols(at, x.cols()) = std::sqrt(term.scale) * x;
      at += x.cols();
      continue;
    }
    const Index d = term.frequencies.cols();
    const double weight = std::sqrt(term.scale / static_cast<double>(d));
    const Matrix angles = x * term.frequencies;
    for (Index j = 0; j < d; ++j, at += 2) {
      for (Index i = 0; i < x.rows(); ++i) {
        out(i, at) = weight * std::cos(angles(i, j));
        out(i, at + 1) = weight * std::sin(angles(i, j));
      }
    }
  }
}

Matrix map_features(const Engine& engine, const FeatureMap& map, const ConstMatrixRef& x,
                    ProgressSpan span) {
  constexpr Index block = 256;
  Matrix out(x.rows(), feature_rank(map, x.cols()));
  parallel_for(
      engine, (x.rows() + block - 1) / block,
      [&](Index b) {
        const Index i = b * block, m = std::min(block, x.rows() - i);
        map_features(map, x.middleRows(i, m), out.middleRows(i, m));
      },
      span);
  return out;
}

FactorMoments feature_moments(const Engine& engine, const FeatureMap& map, const ConstMatrixRef& x,
                              const ConstMatrixRef& residuals, const ConstVectorRef& variances,
                              bool diagonals) {
  constexpr Index block = 16384;
  const Index n = x.rows(), n_blocks = (n + block - 1) / block;
  FactorMoments moments(feature_rank(map, x.cols()), residuals.cols());
  for (Index b = 0; b < n_blocks; ++b) {
    const Index i = b * block, m = std::min(block, n - i);
    const Matrix f =
        map_features(engine, map, x.middleRows(i, m), ProgressSpan().part(b, n_blocks));
    moments.add(engine, f, residuals.middleRows(i, m), variances.segment(i, m), diagonals);
  }
  return moments;
}
#endif

}  // namespace calibrisk

#endif
