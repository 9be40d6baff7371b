// SPDX-License-Identifier: GPL-3.0-or-later
// The pairs of rows that count weights and lie in clusters: w_i w_j h_ij, and 0 for two rows of one
// cluster.
#ifndef CALIBRISK_PAIRS_DESIGN_SOURCE_H
#define CALIBRISK_PAIRS_DESIGN_SOURCE_H

#include <calibrisk/pairs/pair_source.h>

namespace calibrisk {

class DesignSource : public PairSource {
 public:
  // Both may be empty: all rows count 1, and each is a cluster of its own.
  DesignSource(const PairSource& source, const ConstVectorRef& weights, Labels cluster)
      : source_(source), weights_(weights), cluster_(std::move(cluster)) {
    require(weights_.size() == 0 || weights_.size() == size(), "One weight per row of pairs.");
    require(cluster_.empty() || static_cast<Index>(cluster_.size()) == size(),
            "One cluster per row of pairs.");
  }
  Index size() const override { return source_.size(); }
  void block(Index i, Index j, MatrixRef out) const override {
    source_.block(i, j, out);
    count(i, j, 1, out);
  }
  void moments(Index i, Index j, MatrixRef out, MatrixRef second) const override {
    source_.moments(i, j, out, second);
    count(i, j, 1, out);
    count(i, j, 2, second);
  }
  double cost() const override { return source_.cost(); }

 private:
  void count(Index i, Index j, int power, MatrixRef out) const {
    if (weights_.size() > 0) {
      const auto rows = weights_.segment(i, out.rows()).array().pow(power);
      const auto columns = weights_.segment(j, out.cols()).array().pow(power);
      out.array().colwise() *= rows;
      out.array().rowwise() *= columns.transpose();
    }
    if (cluster_.empty()) return;
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) {
        if (i + a != j + b && cluster_at(i + a) == cluster_at(j + b)) out(a, b) = 0.0;
      }
    }
  }
  int cluster_at(Index i) const { return cluster_[static_cast<std::size_t>(i)]; }

  const PairSource& source_;
  Vector weights_;
  Labels cluster_;
};

}  // namespace calibrisk

#endif
