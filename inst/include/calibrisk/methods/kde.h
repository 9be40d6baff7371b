// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel density ratio at new points, and leave-one-out ratios and likelihoods. Scalar problems
// (labels 0/1, one feature) use the Beta kernel, vectors the Dirichlet kernel. Scalar problems with
// more than `direct_pairs` pairs take the near-linear way, the others sum every pair.
#ifndef CALIBRISK_METHODS_KDE_H
#define CALIBRISK_METHODS_KDE_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/math/row_order.h>
#include <calibrisk/methods/kde_beta.h>
#include <calibrisk/methods/kde_dirichlet.h>

#include <vector>

namespace calibrisk {

// Below this number of pairs summing all of them is the quickest.
constexpr double kde_direct_pairs = 1e6;

namespace detail {

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

// `weights`: of the rows of the input, or empty.
inline void set_weights(KdeTraining& train, const Vector& weights) {
  if (weights.size() == 0) return;
  require(weights.size() == train.n(), "kde: one weight for each row is needed.");
  train.log_weights.resize(train.n());
  for (Index i = 0; i < train.n(); ++i) {
    train.log_weights(i) = std::log(weights(train.order[static_cast<std::size_t>(i)]));
  }
}

// `copies` (empty: 1): how many each row stands for, one of which is left out.
inline KdeQueries leave_one_out_queries(const Matrix& simplex, const KdeTraining& train,
                                        const Vector& copies = Vector()) {
  const std::size_t n = static_cast<std::size_t>(simplex.rows());
  require(copies.size() == 0 || copies.size() == simplex.rows(), "kde: one count for each row.");
  KdeQueries queries{simplex, std::vector<int>(n, kde_all_blocks), std::vector<Index>(n, -1), {}};
  queries.self_share = (-copies.cwiseInverse()).array().log1p();
  for (std::size_t i = 0; i < n; ++i) {
    queries.self[static_cast<std::size_t>(train.order[i])] = static_cast<Index>(i);
  }
  return queries;
}

inline Matrix beta_ratio(const Engine& engine, const ConstVectorRef& z, const Labels& labels,
                         const ConstVectorRef& x, double bandwidth, const RowWeights& weights) {
  require(static_cast<Index>(labels.size()) == z.size(), "kde: one label for each row is needed.");
  BetaTraining train;
  for (Index i : ascending_order(z)) {
    train.add(z(i), labels[static_cast<std::size_t>(i)], weights(i));
  }
  const std::vector<Index> rows = ascending_order(x);
  std::vector<double> sorted;
  for (Index i : rows) sorted.push_back(x(i));
  Matrix out(x.size(), 1);
  const BetaQueries queries(engine, sorted, {});
  const BetaSumsOfBandwidths sums(engine, std::move(train), queries, {bandwidth});
  sums.ratios(engine, queries, 0, 1,
              [&](Index, Index, Index, const std::vector<Index>& at, const double* ratio) {
                for (const Index i : at) out(rows[static_cast<std::size_t>(i)], 0) = *ratio++;
              });
  return out;
}

}  // namespace detail

// r(x) at every row of `x`: [m x K], for a scalar [m x 1] with the share of label 1.
// NaN without training rows. `weights`, `copies`: of the training rows, or empty.
inline Matrix kde_ratio(const Engine& engine, const ConstMatrixRef& features, const Labels& labels,
                        Index n_classes, const ConstMatrixRef& x, double bandwidth,
                        bool leave_one_out, double direct_pairs = kde_direct_pairs,
                        const Vector& weights = Vector(), const Vector& copies = Vector()) {
  require(features.cols() >= 1 && features.cols() == x.cols(), "kde: numbers of columns differ.");
  require(bandwidth > 0.0, "kde: a bandwidth is above 0.");
  const bool scalar = features.cols() == 1;
  if (scalar) n_classes = 2;
  const double n_pairs = static_cast<double>(features.rows()) * static_cast<double>(x.rows());
  if (scalar && !leave_one_out && n_pairs > direct_pairs) {
    return detail::beta_ratio(engine, features.col(0), labels, x.col(0), bandwidth,
                              RowWeights(weights));
  }
  const Matrix simplex = simplex_features(features);
  KdeTraining train = detail::one_block(simplex, labels, n_classes, scalar);
  detail::set_weights(train, weights);
  KdeQueries queries;
  if (leave_one_out) {
    queries = detail::leave_one_out_queries(simplex, train, copies);
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

// Ratios at the rows themselves that a row is not in.
struct KdeLeftOut {
  Matrix own;   // r without the row, [n x K]
  Matrix fold;  // r without the row's fold
};

// For vectors. fold: 1, 2, ... per row. The weights of a pair serve both rows.
inline KdeLeftOut kde_left_out(const Engine& engine, const ConstMatrixRef& features,
                               const Labels& labels, const std::vector<int>& fold, double bandwidth,
                               const Vector& weights) {
  const Index n = features.rows(), n_classes = features.cols();
  require(n_classes > 1 && static_cast<Index>(fold.size()) == n, "kde: one fold for each row.");
  std::vector<Index> block(fold.size());
  for (std::size_t i = 0; i < fold.size(); ++i) block[i] = fold[i] - 1;
  const Index n_blocks = n > 0 ? *std::max_element(fold.begin(), fold.end()) : 0;
  KdeTraining train =
      kde_training(features, detail::zero_based(labels, false), n_classes, block, n_blocks, false);
  detail::set_weights(train, weights);
  KdeQueries queries = detail::leave_one_out_queries(features, train);
  for (std::size_t i = 0; i < fold.size(); ++i) queries.left_out[i] = fold[i] - 1;
  queries.whole_too = true;
  KdeLeftOut out{Matrix(n, n_classes), Matrix(n, n_classes)};
  dirichlet_ratios(engine, train, queries, {bandwidth}, [&](const KdeValue& value) {
    Matrix& to = value.whole ? out.own : out.fold;
    for (Index k = 0; k < n_classes; ++k) to(value.row, k) = value.ratio[k];
  });
  return out;
}

// The ratio without the row's fold alone, for rows of which several are equal: origin is a number
// from 1 that they share.
inline Matrix kde_fold_left_out(const Engine& engine, const ConstMatrixRef& features,
                                const Labels& labels, const std::vector<int>& fold,
                                double bandwidth, const Vector& weights,
                                const std::vector<int>& origin) {
  const Index n = features.rows(), n_classes = features.cols();
  require(n > 0 && n_classes > 1 && origin.size() == fold.size() &&
              static_cast<Index>(fold.size()) == n,
          "kde: one fold and origin for each row.");
  std::vector<Index> block;
  for (const int own : fold) block.push_back(own - 1);
  const Index n_blocks = *std::max_element(fold.begin(), fold.end());
  KdeTraining train =
      kde_training(features, detail::zero_based(labels, false), n_classes, block, n_blocks, false);
  detail::set_weights(train, weights);
  // each of equal rows is looked at once
  std::vector<Index> first(
      static_cast<std::size_t>(*std::max_element(origin.begin(), origin.end())), 0);
  for (Index i = n - 1; i >= 0; --i) {
    first[static_cast<std::size_t>(origin[static_cast<std::size_t>(i)] - 1)] = i;
  }
  KdeQueries queries;
  queries.features = take_rows(features, first);
  queries.left_out.assign(first.size(), kde_each_left_out);
  Matrix ratios(queries.m(), n_classes * n_blocks);
  dirichlet_ratios(engine, train, queries, {bandwidth}, [&](const KdeValue& value) {
    for (Index k = 0; k < n_classes; ++k) {
      ratios(value.row, value.left_out * n_classes + k) = value.ratio[k];
    }
  });
  Matrix out(n, n_classes);
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.row(i) = ratios.row(origin[at] - 1).segment(block[at] * n_classes, n_classes);
  }
  return out;
}

// log( sum_{i != j} k(p_j; p_i) / (n - 1) ) of these rows j for every bandwidth, [rows x
// bandwidths]. Rows may stand for `copies` (empty: 1).
inline Matrix kde_loo_density(const Engine& engine, const ConstMatrixRef& features,
                              const std::vector<Index>& rows, const std::vector<double>& bandwidths,
                              ProgressSpan span = ProgressSpan(), const Vector& copies = Vector()) {
  const bool scalar = features.cols() == 1;
  const Matrix simplex = simplex_features(features);
  const Index n = simplex.rows(), n_bandwidths = static_cast<Index>(bandwidths.size());
  const double count = copies.size() == 0 ? static_cast<double>(n) : copies.sum();
  KdeTraining train =
      detail::one_block(simplex, Labels(static_cast<std::size_t>(n), scalar ? 0 : 1), 1, scalar);
  detail::set_weights(train, copies);
  const KdeQueries all = detail::leave_one_out_queries(simplex, train, copies);
  KdeQueries queries;
  queries.features = take_rows(all.features, rows);
  queries.left_out.assign(rows.size(), kde_all_blocks);
  for (Index j : rows) queries.self.push_back(all.self[static_cast<std::size_t>(j)]);
  if (copies.size() > 0) queries.self_share = take_rows(all.self_share, rows);
  Matrix out(queries.m(), n_bandwidths);
  dirichlet_ratios(
      engine, train, queries, bandwidths,
      [&](const KdeValue& value) { out(value.row, value.bandwidth) = value.log_total; }, span);
  for (Index h = 0; h < n_bandwidths; ++h) {
    const double inv_h = inverse_bandwidth(bandwidths[static_cast<std::size_t>(h)]);
    out.col(h).array() +=
        reduced_log_gamma_total(static_cast<double>(simplex.cols()), inv_h) - std::log(count - 1.0);
  }
  return out;
}

// The bandwidth of the largest leave-one-out likelihood. Round k looks at race[k] evenly spaced
// rows, or with `copies` (empty: 1) copies. Bandwidths that are more than six standard errors below
// the best retire from it. The last round of up to `many` rows looks at all of them.
inline double likely_bandwidth(const Engine& engine, const ConstMatrixRef& features,
                               std::vector<double> grid, Index many, const std::vector<int>& race,
                               const Vector& copies = Vector()) {
  const Index n = features.rows();
  std::vector<double> place(static_cast<std::size_t>(copies.size()));
  std::partial_sum(copies.data(), copies.data() + copies.size(), place.begin());
  const double count = place.empty() ? static_cast<double>(n) : place.back();
  std::vector<int> rounds = race;
  if (n <= many) {
    // a round of a few rows saves some of the last one; copies are those of all rows
    const auto is_short = [&](int size) { return place.empty() && 4 * size <= n; };
    rounds.erase(std::find_if_not(rounds.begin(), rounds.end(), is_short), rounds.end());
    rounds.push_back(static_cast<int>(n));
  }
  const double all = std::accumulate(rounds.begin(), rounds.end(), 0.0);
  double done = 0.0;
  Index best = 0;
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const double size = rounds[k];
    // all rows are counted, of some their copies are looked at one by one
    const bool counted = !place.empty() && n > many;
    const double step = size > 1.0 ? ((counted ? count : n) - 1.0) / (size - 1.0) : 0.0;
    std::vector<Index> rows(static_cast<std::size_t>(rounds[k]));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      // rounded as a number from 1
      const double at = std::nearbyint(1.0 + static_cast<double>(i) * step);
      rows[i] = counted ? std::lower_bound(place.begin(), place.end(), at) - place.begin()
                        : static_cast<Index>(at) - 1;
    }
    const Matrix density =
        kde_loo_density(engine, features, rows, grid, {done / all, (done + size) / all}, copies);
    done += size;
    if (!place.empty() && !counted) {
      (copies.transpose() * density).maxCoeff(&best);
    } else {
      density.colwise().sum().maxCoeff(&best);
    }
    if (k + 1 == rounds.size()) break;
    std::vector<double> left;
    for (Index h = 0; h < density.cols(); ++h) {
      const Vector behind = density.col(best) - density.col(h);
      const double mean = behind.mean();
      const double error = std::sqrt((behind.array() - mean).square().sum() / (size - 1.0) / size);
      if (mean <= 6.0 * error) left.push_back(grid[static_cast<std::size_t>(h)]);
    }
    grid = left;
    if (grid.size() == 1) return grid[0];
  }
  return grid[static_cast<std::size_t>(best)];
}

}  // namespace calibrisk

#endif
