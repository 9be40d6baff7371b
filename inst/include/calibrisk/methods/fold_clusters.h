// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of every fold, cluster by cluster: a risk leaves out the pairs within a cluster.
#ifndef CALIBRISK_METHODS_FOLD_CLUSTERS_H
#define CALIBRISK_METHODS_FOLD_CLUSTERS_H

#include <calibrisk/ladder/row_weights.h>

namespace calibrisk {

class FoldClusters {
 public:
  FoldClusters() = default;
  // fold: 0..n_folds. A cluster that folds cut is one in each of them.
  FoldClusters(const RowClusters& clusters, const std::vector<int>& fold, Index n_folds) {
    if (!clusters.given()) return;
    folds_.resize(static_cast<std::size_t>(n_folds + 1));
    const Index n_clusters = clusters.units(static_cast<Index>(fold.size()));
    for (Index c = 0; c < n_clusters; ++c) {
      for (Index row : clusters.rows(c)) {
        Fold& own = folds_[static_cast<std::size_t>(fold[static_cast<std::size_t>(row)])];
        if (own.last != c) own.begin.push_back(static_cast<Index>(own.rows.size()));
        own.last = c;
        own.rows.push_back(row);
      }
    }
    for (Fold& own : folds_) own.begin.push_back(static_cast<Index>(own.rows.size()));
  }

  bool given() const { return !folds_.empty(); }
  Index count(Index f) const { return static_cast<Index>(fold(f).begin.size()) - 1; }
  Index size(Index f, Index c) const { return begin(f, c + 1) - begin(f, c); }
  // The rows of cluster c of fold f, c < count(f).
  const Index* rows(Index f, Index c) const { return fold(f).rows.data() + begin(f, c); }

  // The weight of the pairs of two clusters.
  PairWeight weight(const RowWeights& weights, Index f) const {
    PairWeight out;
    for (Index c = 0; c < count(f); ++c) {
      double total = 0.0;
      for (Index i = 0; i < size(f, c); ++i) total += weights(rows(f, c)[i]);
      out.count += 1.0;
      out.total += total;
      out.squares += total * total;
    }
    return out;
  }

 private:
  struct Fold {
    std::vector<Index> rows;
    std::vector<Index> begin;  // of every cluster, and the end
    Index last = -1;           // the cluster of the last row
  };
  const Fold& fold(Index f) const { return folds_[static_cast<std::size_t>(f)]; }
  Index begin(Index f, Index c) const { return fold(f).begin[static_cast<std::size_t>(c)]; }

  std::vector<Fold> folds_;
};

}  // namespace calibrisk

#endif
