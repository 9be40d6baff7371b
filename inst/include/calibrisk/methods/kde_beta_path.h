// SPDX-License-Identifier: GPL-3.0-or-later
// The risks of a grid of bandwidths of the Beta kernel over all folds, in near-linear time.
#ifndef CALIBRISK_METHODS_KDE_BETA_PATH_H
#define CALIBRISK_METHODS_KDE_BETA_PATH_H

#include <calibrisk/methods/kde_beta.h>
#include <calibrisk/methods/kde_beta_nodes.h>
#include <calibrisk/pair_statistics.h>

namespace calibrisk {

struct KdePath {
  Matrix risk;                // [n_bandwidths x k]
  Matrix squared_error;       // [n_bandwidths x k], held-out rows
  Matrix squared_error_test;  // [n_bandwidths x k], test rows
};

namespace detail {

// All rows that are not for testing, a block for each fold.
inline BetaTraining beta_training(const BetaRows& rows, Index n_folds) {
  BetaTraining out(n_folds);
  out.reserve(static_cast<Index>(rows.z.size()));
  for (std::size_t i = 0; i < rows.z.size(); ++i) {
    if (rows.fold[i] == 0) continue;
    out.add(rows.z[i], rows.label[i], rows.weights(rows.row[i]), rows.fold[i] - 1);
  }
  return out;
}

// The sums of the gaps of every fold and bandwidth. Training values of all folds share their
// exponentials.
class BetaPathSums {
 public:
  BetaPathSums(const Engine& engine, const BetaRows& rows, const std::vector<double>& residuals,
               Index n_folds, const std::vector<double>& bandwidths)
      : rows_(rows),
        residuals_(residuals),
        n_folds_(n_folds),
        n_bandwidths_(static_cast<Index>(bandwidths.size())),
        all_(engine, rows.z, rows.fold),
        nodes_(engine, rows, residuals, n_folds, all_,
               *std::min_element(bandwidths.begin(), bandwidths.end())),
        sums_(static_cast<std::size_t>(n_folds * n_bandwidths_)) {
    const BetaSumsOfBandwidths sums(engine, beta_training(rows, n_folds), all_, bandwidths);
    gaps_.resize(sums_.size() * nodes_.cells.size() * m);
    add(engine, sums, nodes_, 0, n_bandwidths_, {0.0, 0.8});
    std::vector<std::vector<const BetaCellOfRows*>> rough(bandwidths.size());
    parallel_for(engine, n_bandwidths_, [&](Index h) {
      for (std::size_t c = 0; c < nodes_.cells.size(); ++c) {
        if (!add_cell(h, c)) rough[static_cast<std::size_t>(h)].push_back(&nodes_.cells[c]);
      }
    });
    for (Index h = 0; h < n_bandwidths_; ++h) {
      const BetaNodes one_by_one(rows, all_, rough[static_cast<std::size_t>(h)]);
      const double step = 0.2 / static_cast<double>(n_bandwidths_), from = static_cast<double>(h);
      add(engine, sums, one_by_one, h, h + 1, {0.8 + step * from, 0.8 + step * (from + 1.0)});
    }
  }

  const BetaFoldSums& of(Index f, Index h) const { return sums_[index(f, h)]; }

 private:
  static constexpr std::size_t m = beta_nodes;

  std::size_t index(Index f, Index h) const {
    return static_cast<std::size_t>(f * n_bandwidths_ + h);
  }
  double* gaps(Index f, Index h) { return gaps_.data() + index(f, h) * nodes_.cells.size() * m; }

  // Adds the sums of queries that are rows, and keeps the gaps of those that are nodes.
  void add(const Engine& engine, const BetaSumsOfBandwidths& sums, const BetaNodes& of, Index first,
           Index last, ProgressSpan span) {
    const auto n_chunks = static_cast<std::size_t>(beta_chunks(of.queries));
    std::vector<BetaFoldSums> parts(sums_.size() * n_chunks);
    sums.ratios(
        engine, of.queries, first, last,
        [&](Index h, Index chunk, Index f, const std::vector<Index>& at, const double* ratio) {
          parts[index(f, h) * n_chunks + static_cast<std::size_t>(chunk)] =
              sums_of_queries(of, at, ratio, gaps(f, h));
        },
        span);
    for (std::size_t i = 0; i < parts.size(); ++i) sums_[i / n_chunks].add(parts[i]);
  }

  BetaFoldSums sums_of_queries(const BetaNodes& of, const std::vector<Index>& queries,
                               const double* ratio, double* gaps) const {
    BetaFoldSums out;
    for (const Index query : queries) {
      const Index source = of.source[static_cast<std::size_t>(query)];
      if (source < 0) {
        const auto inside = static_cast<std::size_t>(query - of.queries.n_zeros);
        gaps[-1 - source] = 1.0 / (1.0 + std::exp(-of.queries.logit[inside])) - *ratio++;
        continue;
      }
      const std::size_t at = static_cast<std::size_t>(source);
      const double gap = rows_.z[at] - *ratio++, squared = gap * gap;
      const double w = rows_.weights(rows_.row[at]), e = residuals_[at], delta = e * e - squared;
      const double held_out = rows_.fold[at] != 0 ? 1.0 : 0.0;  // a factor: no guess of a branch
      out.cross += held_out * w * e * gap;
      out.squared += held_out * w * squared;
      out.delta_squares += held_out * rows_.weights.squares(rows_.row[at]) * delta * delta;
      out.squared_test += (1.0 - held_out) * w * squared;
    }
    return out;
  }

  // For all folds, or for none where the gaps of one are not smooth.
  bool add_cell(Index h, std::size_t c) {
    std::vector<BetaFoldSums> parts(static_cast<std::size_t>(n_folds_));
    for (std::size_t f = 0; f < parts.size(); ++f) {
      const double* gap = gaps(static_cast<Index>(f), h) + c * m;
      if (!nodes_.cells[c].add(f + 1, gap, parts[f])) return false;
    }
    for (std::size_t f = 0; f < parts.size(); ++f) {
      sums_[index(static_cast<Index>(f), h)].add(parts[f]);
    }
    return true;
  }

  const BetaRows& rows_;
  const std::vector<double>& residuals_;
  Index n_folds_, n_bandwidths_;
  BetaQueries all_;
  BetaNodes nodes_;
  std::vector<BetaFoldSums> sums_;  // fold by fold
  std::vector<double> gaps_;        // at the nodes, in the same order
};

inline KdePath beta_path(const Engine& engine, const ConstVectorRef& z,
                         const ConstVectorRef& residuals, const Labels& labels,
                         const std::vector<int>& fold, Index n_folds,
                         const std::vector<double>& bandwidths, const RowWeights& weights) {
  const Index n_bandwidths = static_cast<Index>(bandwidths.size());
  const BetaRows rows(engine, z, labels, fold, weights);
  std::vector<double> sorted_residuals;
  sorted_residuals.reserve(rows.row.size());
  for (Index i : rows.row) sorted_residuals.push_back(residuals(i));
  const BetaPathSums sums(engine, rows, sorted_residuals, n_folds, bandwidths);
  std::vector<PairWeight> held_out(static_cast<std::size_t>(n_folds) + 1);  // the first: test rows
  std::vector<double> residual(held_out.size());
  for (std::size_t i = 0; i < rows.z.size(); ++i) {
    const auto f = static_cast<std::size_t>(rows.fold[i]);
    held_out[f].add(weights, rows.row[i]);
    residual[f] += weights(rows.row[i]) * sorted_residuals[i] * sorted_residuals[i];
  }
  KdePath path{Matrix(n_bandwidths, n_folds), Matrix(n_bandwidths, n_folds),
               Matrix(n_bandwidths, n_folds)};
  for (Index f = 0; f < n_folds; ++f) {
    const auto of_fold = static_cast<std::size_t>(f) + 1;
    for (Index h = 0; h < n_bandwidths; ++h) {
      const BetaFoldSums& total = sums.of(f, h);
      const double losses = pair_losses(residual[of_fold] * residual[of_fold],
                                        total.cross * total.cross, total.squared * total.squared);
      path.risk(h, f) = weighted_pair_risk(losses, total.delta_squares, held_out[of_fold].value());
      path.squared_error(h, f) =
          held_out[of_fold].count > 0.0 ? total.squared / held_out[of_fold].total : not_a_number;
      path.squared_error_test(h, f) =
          held_out[0].count > 0.0 ? total.squared_test / held_out[0].total : not_a_number;
    }
  }
  return path;
}

}  // namespace detail

}  // namespace calibrisk

#endif
