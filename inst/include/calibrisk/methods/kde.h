// SPDX-License-Identifier: GPL-3.0-or-later
// What the kernel density ratio answers: ratios at new points, leave-one-out ratios and
// likelihoods, and the risks of a whole grid of bandwidths over all folds. Scalar problems
// (labels 0/1, one feature) use the Beta kernel, vectors the Dirichlet kernel. Scalar problems
// with more than `direct_pairs` pairs take the near-linear way, the others sum every pair.
#ifndef CALIBRISK_METHODS_KDE_H
#define CALIBRISK_METHODS_KDE_H

#include <calibrisk/methods/kde_beta.h>
#include <calibrisk/methods/kde_dirichlet.h>
#include <calibrisk/pair_risk.h>

#include <vector>

namespace calibrisk {

// Below this number of pairs summing all of them is the quickest.
constexpr double kde_direct_pairs = 1e6;

namespace detail {

// Positions that sort z ascending; ties stay in order.
inline std::vector<Index> ascending_order(const ConstVectorRef& z) {
  std::vector<Index> order(static_cast<std::size_t>(z.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return z(i) < z(j); });
  return order;
}

// 0-based labels: classes 1..K, or 0/1 for a scalar.
inline Labels zero_based(Labels labels, bool scalar) {
  if (!scalar) {
    for (int& label : labels) --label;
  }
  return labels;
}

inline KdeTraining one_block(const Matrix& simplex, const Labels& labels, Index n_classes,
                             bool scalar) {
  return kde_training(simplex, zero_based(labels, scalar), n_classes,
                      std::vector<Index>(static_cast<std::size_t>(simplex.rows()), 0), 1, scalar);
}

inline KdeQueries leave_one_out_queries(const Matrix& simplex, const KdeTraining& train) {
  const std::size_t n = static_cast<std::size_t>(simplex.rows());
  KdeQueries queries{simplex, std::vector<int>(n, kde_all_blocks), std::vector<Index>(n, -1)};
  for (std::size_t i = 0; i < n; ++i) {
    queries.self[static_cast<std::size_t>(train.order[i])] = static_cast<Index>(i);
  }
  return queries;
}

inline Matrix beta_ratio(const Engine& engine, const ConstVectorRef& z, const Labels& labels,
                         const ConstVectorRef& x, double bandwidth) {
  BetaTraining train;
  for (Index i : ascending_order(z)) train.add(z(i), labels[static_cast<std::size_t>(i)]);
  BetaQueries queries;
  for (Index i : ascending_order(x)) queries.add(x(i), i);
  Matrix out(x.size(), 1);
  beta_ratios(engine, train, queries, {bandwidth},
              [&](Index row, Index, double ratio) { out(row, 0) = ratio; });
  return out;
}

}  // namespace detail

// r(x) at every row of `x`: [m x K], for a scalar [m x 1] with the share of label 1.
// NaN without training rows. `weights`: of the training rows, or empty.
inline Matrix kde_ratio(const Engine& engine, const ConstMatrixRef& features, const Labels& labels,
                        Index n_classes, const ConstMatrixRef& x, double bandwidth,
                        bool leave_one_out, double direct_pairs = kde_direct_pairs,
                        const Vector& weights = Vector()) {
  const bool scalar = features.cols() == 1;
  if (scalar) n_classes = 2;
  const double n_pairs = static_cast<double>(features.rows()) * static_cast<double>(x.rows());
  if (scalar && !leave_one_out && weights.size() == 0 && n_pairs > direct_pairs) {
    return detail::beta_ratio(engine, features.col(0), labels, x.col(0), bandwidth);
  }
  const Matrix simplex = simplex_features(features);
  KdeTraining train = detail::one_block(simplex, labels, n_classes, scalar);
  if (weights.size() > 0) {
    train.log_weights.resize(train.n());
    for (Index i = 0; i < train.n(); ++i) {
      train.log_weights(i) = std::log(weights(train.order[static_cast<std::size_t>(i)]));
    }
  }
  KdeQueries queries;
  if (leave_one_out) {
    queries = detail::leave_one_out_queries(simplex, train);
  } else {
    queries.features = simplex_features(x);
    queries.left_out.assign(static_cast<std::size_t>(x.rows()), kde_all_blocks);
  }
  Matrix out(queries.m(), scalar ? 1 : n_classes);
  dirichlet_ratios(engine, train, queries, {bandwidth}, [&](const KdeValue& value) {
    for (Index k = 0; k < out.cols(); ++k) out(value.row, k) = value.ratio[scalar ? 1 : k];
  });
  return out;
}

// sum_j log( sum_{i != j} k(p_j; p_i) / (n - 1) ) for every bandwidth.
inline Vector kde_loo_loglik(const Engine& engine, const ConstMatrixRef& features,
                             const std::vector<double>& bandwidths) {
  const bool scalar = features.cols() == 1;
  const Matrix simplex = simplex_features(features);
  const Index n = simplex.rows(), n_bandwidths = static_cast<Index>(bandwidths.size());
  const KdeTraining train =
      detail::one_block(simplex, Labels(static_cast<std::size_t>(n), scalar ? 0 : 1), 1, scalar);
  Matrix log_total(n, n_bandwidths);
  dirichlet_ratios(
      engine, train, detail::leave_one_out_queries(simplex, train), bandwidths,
      [&](const KdeValue& value) { log_total(value.row, value.bandwidth) = value.log_total; });
  Vector out(n_bandwidths);
  for (Index h = 0; h < n_bandwidths; ++h) {
    const double inv_h = inverse_bandwidth(bandwidths[static_cast<std::size_t>(h)]);
    const double constant = reduced_log_gamma_total(static_cast<double>(simplex.cols()), inv_h) -
                            std::log(static_cast<double>(n - 1));
    out(h) = log_total.col(h).sum() + static_cast<double>(n) * constant;
  }
  return out;
}

struct KdePath {
  Matrix risk;                // [n_bandwidths x k]
  Matrix squared_error;       // [n_bandwidths x k], held-out rows
  Matrix squared_error_test;  // [n_bandwidths x k], test rows
};

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

// The near-linear way: one training set per fold, its held-out rows and all test rows as queries.
template <class Keep>
void beta_path(const Engine& engine, const KdeQueries& queries, const KdeTraining& train,
               const std::vector<double>& bandwidths, ProgressSpan span, const Keep& keep) {
  const auto z = queries.features.col(1);
  std::vector<int> label(static_cast<std::size_t>(train.n()));
  for (const LabelSegment& part : train.segments) {
    std::fill(label.begin() + part.begin, label.begin() + part.end, static_cast<int>(part.label));
  }
  const std::vector<Index> order = ascending_order(z);
  for (Index f = 0; f < train.n_blocks(); ++f) {
    BetaTraining fold_train;
    BetaQueries fold_queries;
    for (Index i : order) {
      const int left_out = queries.left_out[static_cast<std::size_t>(i)];
      if (left_out == f || left_out == kde_each_left_out) {
        fold_queries.add(z(i), i);
      } else {
        fold_train.add(z(i), label[static_cast<std::size_t>(i)]);
      }
    }
    beta_ratios(
        engine, fold_train, fold_queries, bandwidths,
        [&](Index row, Index h, double positive) {
          const double ratio[2] = {1.0 - positive, positive};
          keep(row, h, f, ratio);
        },
        span.part(f, train.n_blocks()));
  }
}

}  // namespace detail

// fold: 0 for a test row, else the fold 1..k that holds the row out.
inline KdePath kde_path(const Engine& engine, const ConstMatrixRef& features,
                        const ConstMatrixRef& residuals, const Labels& labels,
                        const std::vector<int>& fold, Index n_folds,
                        const std::vector<double>& bandwidths,
                        double direct_pairs = kde_direct_pairs) {
  const bool scalar = features.cols() == 1;
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
  queries.features = detail::pick_rows(simplex, rows);
  queries.left_out.assign(rows.size(), kde_each_left_out);
  for (Index f = 0; f < n_folds; ++f) {
    std::fill(queries.left_out.begin() + train.block_begin[static_cast<std::size_t>(f)],
              queries.left_out.begin() + train.block_begin[static_cast<std::size_t>(f + 1)],
              static_cast<int>(f));
  }
  const Matrix held_out_residuals = detail::pick_rows(residuals, train.order);
  const bool fast =
      scalar && static_cast<double>(n_tune) * static_cast<double>(n_tune + n_test) > direct_pairs;

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
    if (fast) {
      detail::beta_path(engine, queries, train, part, group_span, keep);
    } else {
      dirichlet_ratios(
          engine, train, queries, part,
          [&](const KdeValue& value) {
            keep(value.row, value.bandwidth, value.left_out, value.ratio);
          },
          group_span);
    }
    detail::score_gaps(engine, train, held_out_residuals, gaps, first, path);
  }
  return path;
}

}  // namespace calibrisk

#endif
