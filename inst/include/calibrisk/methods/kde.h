// SPDX-License-Identifier: GPL-3.0-or-later
// Results of the kernel density ratio: ratios at new points, leave-one-out ratios and likelihoods,
// and the risks of a whole grid of bandwidths over all folds. Scalar problems (labels 0/1, one
// feature) use the Beta kernel, vectors the Dirichlet kernel. Scalar problems with more than
// `direct_pairs` pairs take the near-linear way, the others sum every pair.
#ifndef CALIBRISK_METHODS_KDE_H
#define CALIBRISK_METHODS_KDE_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/methods/kde_beta.h>
#include <calibrisk/methods/kde_dirichlet.h>
#include <calibrisk/pair_risk.h>

#include <vector>

namespace calibrisk {

// Below this number of pairs summing all of them is the quickest.
constexpr double kde_direct_pairs = 1e6;

namespace detail {

// Positions that sort z ascending; ties stay in order. Stretches are sorted by workers, then
// merged, two of them by several workers.
inline std::vector<Index> ascending_order(const Engine& engine, const ConstVectorRef& z) {
  using Entry = std::pair<double, Index>;
  constexpr Index stretch = 32768;
  const Index n = z.size();
  std::vector<Entry> entries(static_cast<std::size_t>(n)), merged;
  const auto at = [&](std::vector<Entry>& x, Index i) { return x.begin() + std::min(i, n); };
  parallel_for(engine, (n + stretch - 1) / stretch, [&](Index task) {
    const Index begin = task * stretch;
    for (Index i = begin; i < std::min(n, begin + stretch); ++i) {
      entries[static_cast<std::size_t>(i)] = {z(i), i};
    }
    std::sort(at(entries, begin), at(entries, begin + stretch));
  });
  for (Index size = stretch; size < n; size *= 2) {
    merged.resize(entries.size());
    constexpr Index pieces = 4;
    parallel_for(engine, (n + 2 * size - 1) / (2 * size) * pieces, [&](Index task) {
      const Index begin = task / pieces * 2 * size, piece = task % pieces;
      const auto middle = at(entries, begin + size), end = at(entries, begin + 2 * size);
      // where a share of the left stretch ends, and the entries below that in the right one
      const auto left = [&](Index share) { return at(entries, begin + size * share / pieces); };
      const auto right = [&](Index share) {
        if (share == 0) return middle;
        return share == pieces || left(share) == middle
                   ? end
                   : std::lower_bound(middle, end, *left(share));
      };
      const auto from_left = std::min(left(piece), middle), from_right = right(piece);
      std::merge(from_left, std::min(left(piece + 1), middle), from_right, right(piece + 1),
                 merged.begin() + (from_left - entries.begin()) + (from_right - middle));
    });
    entries.swap(merged);
  }
  std::vector<Index> order(static_cast<std::size_t>(n));
  parallel_for(engine, (n + stretch - 1) / stretch, [&](Index task) {
    for (Index i = task * stretch; i < std::min(n, (task + 1) * stretch); ++i) {
      order[static_cast<std::size_t>(i)] = entries[static_cast<std::size_t>(i)].second;
    }
  });
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

// `weights`: of the rows of the input, or empty.
inline void set_weights(KdeTraining& train, const Vector& weights) {
  if (weights.size() == 0) return;
  require(weights.size() == train.n(), "kde: one weight for each row is needed.");
  train.log_weights.resize(train.n());
  for (Index i = 0; i < train.n(); ++i) {
    train.log_weights(i) = std::log(weights(train.order[static_cast<std::size_t>(i)]));
  }
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
                         const ConstVectorRef& x, double bandwidth, const RowWeights& weights) {
  require(static_cast<Index>(labels.size()) == z.size(), "kde: one label for each row is needed.");
  BetaTraining train;
  for (Index i : ascending_order(engine, z)) {
    train.add(z(i), labels[static_cast<std::size_t>(i)], weights(i));
  }
  const std::vector<Index> rows = ascending_order(engine, x);
  std::vector<double> sorted;
  for (Index i : rows) sorted.push_back(x(i));
  Matrix out(x.size(), 1);
  beta_ratios(engine, std::move(train), BetaQueries(engine, sorted, {}), {bandwidth},
              [&](Index, Index, Index, const std::vector<Index>& at, const double* ratio) {
                for (const Index i : at) out(rows[static_cast<std::size_t>(i)], 0) = *ratio++;
              });
  return out;
}

}  // namespace detail

// r(x) at every row of `x`: [m x K], for a scalar [m x 1] with the share of label 1.
// NaN without training rows. `weights`: of the training rows, or empty.
inline Matrix kde_ratio(const Engine& engine, const ConstMatrixRef& features, const Labels& labels,
                        Index n_classes, const ConstMatrixRef& x, double bandwidth,
                        bool leave_one_out, double direct_pairs = kde_direct_pairs,
                        const Vector& weights = Vector()) {
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

// log( sum_{i != j} k(p_j; p_i) / (n - 1) ) of these rows j for every bandwidth, [rows x
// bandwidths].
inline Matrix kde_loo_density(const Engine& engine, const ConstMatrixRef& features,
                              const std::vector<Index>& rows,
                              const std::vector<double>& bandwidths) {
  const bool scalar = features.cols() == 1;
  const Matrix simplex = simplex_features(features);
  const Index n = simplex.rows(), n_bandwidths = static_cast<Index>(bandwidths.size());
  const KdeTraining train =
      detail::one_block(simplex, Labels(static_cast<std::size_t>(n), scalar ? 0 : 1), 1, scalar);
  const KdeQueries all = detail::leave_one_out_queries(simplex, train);
  KdeQueries queries;
  queries.features = take_rows(all.features, rows);
  queries.left_out.assign(rows.size(), kde_all_blocks);
  for (Index j : rows) queries.self.push_back(all.self[static_cast<std::size_t>(j)]);
  Matrix out(queries.m(), n_bandwidths);
  dirichlet_ratios(engine, train, queries, bandwidths, [&](const KdeValue& value) {
    out(value.row, value.bandwidth) = value.log_total;
  });
  for (Index h = 0; h < n_bandwidths; ++h) {
    const double inv_h = inverse_bandwidth(bandwidths[static_cast<std::size_t>(h)]);
    out.col(h).array() += reduced_log_gamma_total(static_cast<double>(simplex.cols()), inv_h) -
                          std::log(static_cast<double>(n - 1));
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

// Rows in ascending order of z.
struct BetaRows {
  std::vector<Index> row;
  std::vector<double> z;
  std::vector<int> label, fold;
  const RowWeights& weights;  // of the rows as they were given

  BetaRows(const Engine& engine, const ConstVectorRef& all, const Labels& labels,
           const std::vector<int>& folds, const RowWeights& weights)
      : row(ascending_order(engine, all)), weights(weights) {
    require(labels.size() == row.size() && folds.size() == row.size(),
            "kde: one label and one fold for each row are needed.");
    constexpr Index block = 8192;
    const auto n = static_cast<Index>(row.size());
    z.resize(row.size());
    label.resize(row.size());
    fold.resize(row.size());
    parallel_for(engine, (n + block - 1) / block, [&](Index task) {
      for (Index i = task * block; i < std::min(n, (task + 1) * block); ++i) {
        const auto to = static_cast<std::size_t>(i), from = static_cast<std::size_t>(row[to]);
        z[to] = all(row[to]);
        label[to] = labels[from];
        fold[to] = folds[from];
      }
    });
  }
};

// All rows that are not for testing, a block for each fold.
inline BetaTraining beta_training(const BetaRows& rows, Index n_folds) {
  BetaTraining out(n_folds);
  for (std::size_t i = 0; i < rows.z.size(); ++i) {
    if (rows.fold[i] == 0) continue;
    out.add(rows.z[i], rows.label[i], rows.weights(rows.row[i]), rows.fold[i] - 1);
  }
  return out;
}

// Sums over queries: of e g, g^2 and (e^2 - g^2)^2 of held-out rows with residual e and gap g, and
// of g^2 of test rows.
struct BetaFoldSums {
  double cross = 0.0, squared = 0.0, delta_squares = 0.0, squared_test = 0.0;
};

inline BetaFoldSums beta_fold_sums(const BetaRows& rows, const std::vector<double>& residuals,
                                   const std::vector<Index>& queries, const double* ratio) {
  BetaFoldSums out;
  for (const Index query : queries) {
    const std::size_t at = static_cast<std::size_t>(query);
    const double gap = rows.z[at] - *ratio++, squared = gap * gap;
    const double w = rows.weights(rows.row[at]), e = residuals[at], delta = e * e - squared;
    const double held_out = rows.fold[at] != 0 ? 1.0 : 0.0;  // a factor: branches would be guesses
    out.cross += held_out * w * e * gap;
    out.squared += held_out * w * squared;
    out.delta_squares += held_out * rows.weights.squares(rows.row[at]) * delta * delta;
    out.squared_test += (1.0 - held_out) * w * squared;
  }
  return out;
}

// The near-linear way: the training values of all folds share their exponentials. The risk needs
// four sums of the gaps.
inline KdePath beta_path(const Engine& engine, const ConstVectorRef& z,
                         const ConstVectorRef& residuals, const Labels& labels,
                         const std::vector<int>& fold, Index n_folds,
                         const std::vector<double>& bandwidths, const RowWeights& weights) {
  const Index n = z.size(), n_bandwidths = static_cast<Index>(bandwidths.size());
  const BetaRows rows(engine, z, labels, fold, weights);
  std::vector<double> sorted_residuals;
  for (Index i : rows.row) sorted_residuals.push_back(residuals(i));
  KdePath path{Matrix(n_bandwidths, n_folds), Matrix(n_bandwidths, n_folds),
               Matrix(n_bandwidths, n_folds)};
  const Index n_chunks = (n + beta_chunk - 1) / beta_chunk;
  std::vector<BetaFoldSums> parts(static_cast<std::size_t>(n_folds * n_bandwidths * n_chunks));
  const auto part = [&](Index f, Index h, Index chunk) -> BetaFoldSums& {
    return parts[static_cast<std::size_t>((f * n_bandwidths + h) * n_chunks + chunk)];
  };
  beta_ratios(
      engine, beta_training(rows, n_folds), BetaQueries(engine, rows.z, rows.fold), bandwidths,
      [&](Index h, Index chunk, Index f, const std::vector<Index>& at, const double* ratio) {
        part(f, h, chunk) = beta_fold_sums(rows, sorted_residuals, at, ratio);
      });
  std::vector<PairWeight> held_out(static_cast<std::size_t>(n_folds) + 1);  // the first: test rows
  std::vector<double> residual(held_out.size());
  for (std::size_t i = 0; i < rows.z.size(); ++i) {
    const auto f = static_cast<std::size_t>(rows.fold[i]);
    held_out[f].add(weights, rows.row[i]);
    residual[f] += weights(rows.row[i]) * sorted_residuals[i] * sorted_residuals[i];
  }
  for (Index f = 0; f < n_folds; ++f) {
    const auto of_fold = static_cast<std::size_t>(f) + 1;
    for (Index h = 0; h < n_bandwidths; ++h) {
      BetaFoldSums total;
      for (Index chunk = 0; chunk < n_chunks; ++chunk) {
        const BetaFoldSums& one = part(f, h, chunk);
        total.cross += one.cross;
        total.squared += one.squared;
        total.delta_squares += one.delta_squares;
        total.squared_test += one.squared_test;
      }
      const double losses = pair_losses(residual[of_fold] * residual[of_fold],
                                        total.cross * total.cross, total.squared * total.squared);
      path.risk(h, f) = weighted_pair_risk(losses, total.delta_squares, held_out[of_fold].value());
      path.squared_error(h, f) =
          held_out[of_fold].draws > 0.0 ? total.squared / held_out[of_fold].total : not_a_number;
      path.squared_error_test(h, f) =
          held_out[0].draws > 0.0 ? total.squared_test / held_out[0].total : not_a_number;
    }
  }
  return path;
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

struct KdeFoldGaps {
  Vector held_out;  // [n] of each row by the function of its own fold, NaN for test rows
  Matrix test;      // [n_test x n_folds]
};

// z - r(z) of scalar rows that no function has seen, in near-linear time; fold: as in kde_path().
inline KdeFoldGaps kde_fold_gaps(const Engine& engine, const ConstVectorRef& z,
                                 const Labels& labels, const std::vector<int>& fold, Index n_folds,
                                 double bandwidth, const RowWeights& weights = RowWeights()) {
  const detail::BetaRows rows(engine, z, labels, fold, weights);
  std::vector<Index> test_row(fold.size());
  Index n_test = 0;
  for (std::size_t i = 0; i < fold.size(); ++i) {
    test_row[i] = n_test;
    if (fold[i] == 0) ++n_test;
  }
  KdeFoldGaps out{Vector::Constant(z.size(), not_a_number), Matrix(n_test, n_folds)};
  beta_ratios(engine, detail::beta_training(rows, n_folds), BetaQueries(engine, rows.z, rows.fold),
              {bandwidth},
              [&](Index, Index, Index f, const std::vector<Index>& at, const double* ratio) {
                for (const Index query : at) {
                  const auto i = static_cast<std::size_t>(query);
                  const double gap = rows.z[i] - *ratio++;
                  if (rows.fold[i] != 0) {
                    out.held_out(rows.row[i]) = gap;
                  } else {
                    out.test(test_row[static_cast<std::size_t>(rows.row[i])], f) = gap;
                  }
                }
              });
  return out;
}

}  // namespace calibrisk

#endif
