// SPDX-License-Identifier: GPL-3.0-or-later
// The risks of a whole grid of bandwidths of the kernel density ratio over all folds.
#ifndef CALIBRISK_METHODS_KDE_PATH_H
#define CALIBRISK_METHODS_KDE_PATH_H

#include <calibrisk/methods/kde.h>
#include <calibrisk/methods/kde_beta_path.h>
#include <calibrisk/pair_risk.h>

namespace calibrisk {

namespace detail {

// Gaps of a group of bandwidths: held-out rows in sorted order, squared test gaps per fold.
struct KdeGaps {
  std::vector<Matrix> held_out;      // per bandwidth [n_tune x d]
  std::vector<Matrix> squared_test;  // per bandwidth [n_test x k]
};

// Exact risks on each fold's held-out rows (identity core) and means of h(p, p).
inline void score_gaps(const Engine& engine, const KdeTraining& train, const Matrix& residuals,
                       const KdeGaps& gaps, Index first, KdePath& path) {
  for (Index f = 0; f < train.n_blocks(); ++f) {
    const Index begin = train.block_begin[static_cast<std::size_t>(f)];
    const Index m = train.block_begin[static_cast<std::size_t>(f + 1)] - begin;
    const auto e = residuals.middleRows(begin, m);
    const Vector lengths = e.rowwise().squaredNorm();
    PairStatistics stats;
    stats.n_obs = m;
    stats.residual = engine.dense.crossprod(e);
    for (std::size_t h = 0; h < gaps.held_out.size(); ++h) {
      const Index v = first + static_cast<Index>(h);
      const auto phi = gaps.held_out[h].middleRows(begin, m);
      const Vector squared = phi.rowwise().squaredNorm();
      stats.cross = engine.dense.multiply_at_b(e, phi);
      stats.feature = engine.dense.crossprod(phi);
      path.risk(v, f) =
          pair_risk_value(engine, stats, Matrix(0, 0), (lengths - squared).squaredNorm());
      path.squared_error(v, f) = m > 0 ? squared.mean() : not_a_number;
      const auto test = gaps.squared_test[h].col(f);
      path.squared_error_test(v, f) = test.size() > 0 ? test.mean() : not_a_number;
    }
  }
}

}  // namespace detail

// fold: 0 for a test row, else the fold 1..k that holds the row out. Only scalars have weights.
inline KdePath kde_path(const Engine& engine, const ConstMatrixRef& features,
                        const ConstMatrixRef& residuals, const Labels& labels,
                        const std::vector<int>& fold, Index n_folds,
                        const std::vector<double>& bandwidths,
                        double direct_pairs = kde_direct_pairs,
                        const RowWeights& weights = RowWeights()) {
  const bool scalar = features.cols() == 1;
  require(scalar || weights.all_equal(), "kde: the rows of a path of vectors have no weights.");
  if (scalar) {
    const double n_tune =
        static_cast<double>(std::count_if(fold.begin(), fold.end(), [](int f) { return f != 0; }));
    if (!weights.all_equal() || n_tune * static_cast<double>(fold.size()) > direct_pairs) {
      return detail::beta_path(engine, features.col(0), residuals.col(0), labels, fold, n_folds,
                               bandwidths, weights);
    }
  }
  const Index n_classes = scalar ? 2 : features.cols(), d = residuals.cols();
  const Matrix simplex = simplex_features(features);
  std::vector<Index> block(fold.size()), test_rows;
  for (std::size_t i = 0; i < fold.size(); ++i) {
    block[i] = fold[i] - 1;
    if (fold[i] == 0) test_rows.push_back(static_cast<Index>(i));
  }
  const KdeTraining train =
      kde_training(simplex, detail::zero_based(labels, scalar), n_classes, block, n_folds, scalar);
  const Index n_tune = train.n(), n_test = static_cast<Index>(test_rows.size());

  std::vector<Index> rows(train.order);  // held-out rows in sorted order, then test rows
  rows.insert(rows.end(), test_rows.begin(), test_rows.end());
  KdeQueries queries;
  queries.features = take_rows(simplex, rows);
  queries.left_out.assign(rows.size(), kde_each_left_out);
  for (Index f = 0; f < n_folds; ++f) {
    std::fill(queries.left_out.begin() + train.block_begin[static_cast<std::size_t>(f)],
              queries.left_out.begin() + train.block_begin[static_cast<std::size_t>(f + 1)],
              static_cast<int>(f));
  }
  const Matrix held_out_residuals = take_rows(residuals, train.order);

  const Index n_bandwidths = static_cast<Index>(bandwidths.size());
  KdePath path{Matrix(n_bandwidths, n_folds), Matrix(n_bandwidths, n_folds),
               Matrix(n_bandwidths, n_folds)};
  // as many bandwidths at a time as fit into about 400 MB
  const double bytes = 8.0 * static_cast<double>(n_tune * d + n_test * n_folds + 1);
  const Index group = std::clamp<Index>(static_cast<Index>(4e8 / bytes), 1, n_bandwidths);
  for (Index first = 0; first < n_bandwidths; first += group) {
    const Index size = std::min(group, n_bandwidths - first);
    const std::vector<double> part(bandwidths.begin() + first, bandwidths.begin() + first + size);
    detail::KdeGaps gaps;
    gaps.held_out.assign(static_cast<std::size_t>(size), Matrix(n_tune, d));
    gaps.squared_test.assign(static_cast<std::size_t>(size), Matrix(n_test, n_folds));
    const ProgressSpan span = ProgressSpan().part(first, n_bandwidths);
    const ProgressSpan group_span{span.from,
                                  span.from + static_cast<double>(size) * (span.to - span.from)};
    const auto keep = [&](Index row, Index h, Index left_out, const double* ratio) {
      double squared = 0.0;
      for (Index k = 0; k < d; ++k) {
        const Index column = scalar ? 1 : k;
        const double gap = queries.features(row, column) - ratio[column];
        if (row < n_tune) gaps.held_out[static_cast<std::size_t>(h)](row, k) = gap;
        squared += gap * gap;
      }
      if (row >= n_tune) {
        gaps.squared_test[static_cast<std::size_t>(h)](row - n_tune, left_out) = squared;
      }
    };
    dirichlet_ratios(
        engine, train, queries, part,
        [&](const KdeValue& value) {
          keep(value.row, value.bandwidth, value.left_out, value.ratio);
        },
        group_span);
    detail::score_gaps(engine, train, held_out_residuals, gaps, first, path);
  }
  return path;
}

}  // namespace calibrisk

#endif
