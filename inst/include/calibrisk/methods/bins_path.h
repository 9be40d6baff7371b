// SPDX-License-Identifier: GPL-3.0-or-later
// Risks of binned estimators (bins.h) over all folds and numbers of bins. Pairs of a copy with
// itself, or within a cluster, are left out.
#ifndef CALIBRISK_METHODS_BINS_PATH_H
#define CALIBRISK_METHODS_BINS_PATH_H

#include <calibrisk/math/row_order.h>
#include <calibrisk/methods/bins.h>
#include <calibrisk/methods/fold_clusters.h>
#include <calibrisk/pair_statistics.h>

namespace calibrisk {

// The pairs that a risk leaves out, and the weight of those that it keeps.
struct OwnPairs {
  double losses = 0.0;
  PairWeight weight;
};

inline OwnPairs own_pairs(const std::vector<CellSums>& held, double fourth, const BinValues& h) {
  OwnPairs out;
  out.losses = fourth;
  for (std::size_t k = 0; k < held.size(); ++k) {
    const CellSums& cell = held[k];
    const double m = h.b[k] * h.b[k] - h.v[k];
    out.weight.count += cell.copies;
    out.weight.total += cell.n;
    out.weight.squares += cell.n_2;
    out.losses += m * (cell.n_2 * m - 2.0 * cell.square_2);
  }
  return out;
}

// The rows of a fold, cluster by cluster.
class ClusterCells {
 public:
  ClusterCells() = default;
  ClusterCells(const ConstVectorRef& z, const ConstVectorRef& residuals, const RowWeights& weights,
               const FoldClusters& clusters, Index f)
      : weight_(clusters.weight(weights, f)) {
    for (Index c = 0; c < clusters.count(f); ++c) {
      double square = 0.0;
      for (Index i = 0; i < clusters.size(f, c); ++i) {
        const Index row = clusters.rows(f, c)[i];
        rows_.push_back({z[row], weights(row), weights(row) * residuals[row]});
        square += weights(row) * residuals[row] * residuals[row];
      }
      clusters_.push_back({rows_.size(), square});
    }
  }

  // The pairs of h without v.
  OwnPairs own_pairs(const std::vector<double>& edges, const std::vector<double>& b) const {
    OwnPairs out;
    out.weight = weight_;
    std::size_t i = 0;
    for (const Cluster& cluster : clusters_) {
      double cross = 0.0, feature = 0.0;
      for (; i < cluster.end; ++i) {
        const double value = b[static_cast<std::size_t>(cell_of(edges, rows_[i].z))];
        cross += rows_[i].residual * value;
        feature += rows_[i].weight * value * value;
      }
      out.losses += pair_losses(cluster.square * cluster.square, cross * cross, feature * feature);
    }
    return out;
  }

 private:
  struct Row {
    double z, weight, residual;  // w, w e
  };
  struct Cluster {
    std::size_t end;
    double square;  // sum of w e^2
  };
  std::vector<Row> rows_;
  std::vector<Cluster> clusters_;
  PairWeight weight_;
};

// Risk of h = b b' - diag(v) on held-out cells, exactly (Eq. 20), and the mean of h(p, p).
struct BinRisk {
  double risk, squared_error;
};

inline BinRisk bin_risk(const std::vector<CellSums>& held, const BinValues& h,
                        const OwnPairs& own) {
  double s = 0, cb = 0, cv = 0, gb = 0, cross = 0, squares = 0, diagonal = 0;
  for (std::size_t k = 0; k < held.size(); ++k) {
    const CellSums& cell = held[k];
    const double b2 = h.b[k] * h.b[k], v = h.v[k];
    s += cell.square;
    cb += cell.residual * h.b[k];
    cv += cell.residual * cell.residual * v;
    gb += cell.n * b2;
    cross += cell.n * cell.n * b2 * v;
    squares += cell.n * cell.n * v * v;
    diagonal += cell.n * (b2 - v);
  }
  const double losses = pair_losses(s * s, cb * cb - cv, gb * gb - 2.0 * cross + squares);
  return {std::max(weighted_pair_risk(losses, own.losses, own.weight.value()), 0.0),
          own.weight.count > 0.0 ? diagonal / own.weight.total : not_a_number};
}

// All folds and numbers of bins. fold: 0 = test row, 1..n_folds = held out by that fold.
struct BinsPath {
  Matrix risk, squared_error, squared_error_test;  // [numbers of bins x folds]
};

class BinsProblem {
 public:
  BinsProblem(const Engine& engine, const ConstVectorRef& z, const ConstVectorRef& residuals,
              const Labels& outcome, const std::vector<int>& fold, Index n_folds,
              const RowWeights& weights = RowWeights(), const RowClusters& clusters = RowClusters())
      : parts_(static_cast<std::size_t>(n_folds + 1)), n_folds_(n_folds) {
    const FoldClusters by_fold(clusters, fold, n_folds);
    if (by_fold.given()) clusters_.resize(parts_.size());
    std::vector<std::vector<Index>> rows(static_cast<std::size_t>(n_folds + 1));
    for (const Index row : ascending_order(z)) {
      rows[static_cast<std::size_t>(fold[static_cast<std::size_t>(row)])].push_back(row);
    }
    parallel_for(engine, n_folds + 1, [&](Index f) {
      const auto& mine = rows[static_cast<std::size_t>(f)];
      parts_[static_cast<std::size_t>(f)] = SortedCells(z, residuals, outcome, mine, weights);
      if (by_fold.given()) {
        clusters_[static_cast<std::size_t>(f)] = ClusterCells(z, residuals, weights, by_fold, f);
      }
    });
  }

  Index n_folds() const { return n_folds_; }

  // Sorted features of the rows that train fold f; needed for equal mass only.
  SortedValues train_values(Index f) const {
    using Entry = std::pair<double, double>;
    SortedValues out;
    std::vector<Entry> weighted;
    for (Index g = 1; g <= n_folds_; ++g) {
      if (g == f) continue;
      const SortedCells& part = parts_[static_cast<std::size_t>(g)];
      const std::vector<double>& weight = part.weights();
      if (weight.empty()) {
        append_sorted(out.value, part.values());
      } else {
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < weight.size(); ++i) {
          entries.emplace_back(part.values()[i], weight[i]);
        }
        append_sorted(weighted, entries);
      }
    }
    for (const Entry& entry : weighted) {
      out.value.push_back(entry.first);
      out.weight.push_back(entry.second);
    }
    return out;
  }

  std::vector<CellSums> train_cells(Index f, const std::vector<double>& edges) const {
    std::vector<CellSums> out(edges.size() + 1);
    for (Index g = 1; g <= n_folds_; ++g) {
      if (g == f) continue;
      const std::vector<CellSums> part = parts_[static_cast<std::size_t>(g)].cells(edges);
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += part[k];
    }
    return out;
  }

  // The risk of h on the rows of a fold. Bins of clusters have no v.
  BinRisk risk(Index f, const std::vector<double>& edges, const BinValues& h) const {
    const auto at = static_cast<std::size_t>(f);
    const std::vector<CellSums> cells = parts_[at].cells(edges);
    return bin_risk(cells, h,
                    clusters_.empty() ? own_pairs(cells, parts_[at].fourth(), h)
                                      : clusters_[at].own_pairs(edges, h.b));
  }

  bool clustered() const { return !clusters_.empty(); }

 private:
  template <class Values>
  static void append_sorted(Values& to, const Values& part) {
    const auto middle = static_cast<std::ptrdiff_t>(to.size());
    to.insert(to.end(), part.begin(), part.end());
    std::inplace_merge(to.begin(), to.begin() + middle, to.end(),
                       [](const auto& a, const auto& b) { return first_of(a) < first_of(b); });
  }
  static double first_of(double x) { return x; }
  static double first_of(const std::pair<double, double>& x) { return x.first; }

  std::vector<SortedCells> parts_;      // test rows, then the folds
  std::vector<ClusterCells> clusters_;  // the same; none where rows are independent
  Index n_folds_;
};

// The fit to the rows outside fold f.
struct BinsFit {
  std::vector<double> edges;
  BinValues values;
};

inline BinsFit bins_fit(const BinsProblem& problem, Index f, int n_bins, BinType type,
                        bool debias) {
  const auto edges =
      bin_edges(type, n_bins, type == BinType::mass ? problem.train_values(f) : SortedValues());
  return {edges, bin_values(problem.train_cells(f, edges), debias)};
}

inline BinsPath bins_path(const Engine& engine, const BinsProblem& problem,
                          const std::vector<int>& n_bins, BinType type, bool debias) {
  require(!(debias && problem.clustered()), "A path of debiased bins needs independent rows.");
  const Index n_values = static_cast<Index>(n_bins.size()), n_folds = problem.n_folds();
  BinsPath out{Matrix(n_values, n_folds), Matrix(n_values, n_folds), Matrix(n_values, n_folds)};
  parallel_for(engine, n_folds, [&](Index t) {
    const Index f = t + 1;
    const SortedValues train = type == BinType::mass ? problem.train_values(f) : SortedValues();
    for (Index v = 0; v < n_values; ++v) {
      const auto edges = bin_edges(type, n_bins[static_cast<std::size_t>(v)], train);
      const BinValues h = bin_values(problem.train_cells(f, edges), debias);
      const BinRisk held = problem.risk(f, edges, h), test = problem.risk(0, edges, h);
      out.risk(v, t) = held.risk;
      out.squared_error(v, t) = held.squared_error;
      out.squared_error_test(v, t) = test.squared_error;
    }
  });
  return out;
}

}  // namespace calibrisk

#endif
