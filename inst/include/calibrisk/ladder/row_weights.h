// SPDX-License-Identifier: GPL-3.0-or-later
// Weights and clusters of the rows. A row may stand for several copies (of frequency weights).
#ifndef CALIBRISK_LADDER_ROW_WEIGHTS_H
#define CALIBRISK_LADDER_ROW_WEIGHTS_H

#include <calibrisk/types.h>

#include <cmath>
#include <numeric>

namespace calibrisk {

// Row i counts v_i in a mean and stands for c_i copies, each of weight v_i / c_i: a sum over its
// copies of weight^k is v_i^k / c_i^(k - 1).
class RowWeights {
 public:
  RowWeights() = default;  // one copy of weight 1 for all rows
  // either may be empty: 1 for all rows
  explicit RowWeights(const ConstVectorRef& values, const ConstVectorRef& copies = Vector())
      : values_(values), copies_(copies) {
    require(copies_.size() == 0 || copies_.size() == values_.size(), "Copies need weights.");
  }
  // Every row stands for so many equal ones (not necessarily a whole number).
  static RowWeights copies(const ConstVectorRef& counts) { return RowWeights(counts, counts); }

  double operator()(Index i) const { return values_.size() == 0 ? 1.0 : values_(i); }
  double copies(Index i) const { return copies_.size() == 0 ? 1.0 : copies_(i); }
  double each(Index i) const { return (*this)(i) / copies(i); }
  // the sum of the squared weights of its copies, and its root
  double squares(Index i) const { return (*this)(i)*each(i); }
  double root(Index i) const { return std::sqrt(copies(i)) * each(i); }
  double total(Index n) const {
    return values_.size() == 0 ? static_cast<double>(n) : values_.sum();
  }
  double count(Index n) const {
    return copies_.size() == 0 ? static_cast<double>(n) : copies_.sum();
  }
  bool have_copies() const { return copies_.size() > 0; }
  bool all_equal() const { return values_.size() == 0; }

 private:
  Vector values_, copies_;
};

// The weight of all pairs of two copies among some rows, sum_{i != j} w_i w_j: what the risk of a
// pair form is a mean over.
struct PairWeight {
  double count = 0.0, total = 0.0, squares = 0.0;

  void add(const RowWeights& weights, Index row) {
    count += weights.copies(row);
    total += weights(row);
    squares += weights.squares(row);
  }
  double value() const { return count < 2.0 ? 0.0 : total * total - squares; }
};

// Units that are independent of each other: clusters of rows, or all rows where there are none.
class RowClusters {
 public:
  RowClusters() = default;
  // cluster: 1..C for each row, every one of them with a row
  explicit RowClusters(const Labels& cluster) : cluster_(cluster) {
    const auto label = [&](std::size_t i) { return static_cast<std::size_t>(cluster[i]); };
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      if (begin_.size() <= label(i)) begin_.resize(label(i) + 1);
      ++begin_[label(i)];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    members_.resize(cluster.size());
    for (std::size_t i = cluster.size(); i-- > 0;) {
      members_[--begin_[label(i)]] = static_cast<Index>(i);
    }
    begin_.push_back(cluster.size());
  }

  // The rows of a cluster, in their order.
  struct Rows {
    const Index *first, *last;
    const Index* begin() const { return first; }
    const Index* end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };

  bool given() const { return !cluster_.empty(); }
  Index units(Index n) const { return given() ? static_cast<Index>(begin_.size()) - 2 : n; }
  Index unit(Index i) const {
    return given() ? static_cast<Index>(cluster_[static_cast<std::size_t>(i)]) - 1 : i;
  }
  Rows rows(Index c) const {
    const auto label = static_cast<std::size_t>(c) + 1;
    return {members_.data() + begin_[label], members_.data() + begin_[label + 1]};
  }

 private:
  Labels cluster_;
  std::vector<Index> members_;      // cluster by cluster
  std::vector<std::size_t> begin_;  // by label
};

}  // namespace calibrisk

#endif
