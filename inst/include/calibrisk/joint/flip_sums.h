// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of independent clusters, of which few entries are not zero.
#ifndef CALIBRISK_JOINT_FLIP_SUMS_H
#define CALIBRISK_JOINT_FLIP_SUMS_H

#include <calibrisk/engine.h>
#include <calibrisk/ladder/rung.h>
#include <calibrisk/math/counter_packs.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace calibrisk {

// Sums c_g of the clusters as their nonzero entries. A cluster without any is none.
class FlipSums {
 public:
  explicit FlipSums(Index columns)
      : open_(Vector::Zero(columns)), used_(static_cast<std::size_t>(columns), false) {}

  void add(Index column, double value) {
    const auto at = static_cast<std::size_t>(column);
    if (!used_[at]) touched_.push_back(static_cast<int>(column));
    used_[at] = true;
    open_(column) += value;
  }
  // ends a cluster
  void close() {
    std::sort(touched_.begin(), touched_.end());
    const std::size_t begin = entries_.size();
    for (int column : touched_) {
      if (open_(column) != 0.0) entries_.push_back({column, open_(column)});
      open_(column) = 0.0;
      used_[static_cast<std::size_t>(column)] = false;
    }
    touched_.clear();
    if (entries_.size() > begin) start_.push_back(entries_.size());
  }

  Index size() const { return static_cast<Index>(start_.size()) - 1; }
  Index columns() const { return open_.size(); }
  std::size_t entries() const { return entries_.size(); }

  // Adds a cluster's sums to 32 rows of `total` [32 x columns], negative where a row's bit is set.
  void flip(Index g, std::uint64_t bits, Matrix& total) const {
    counter_loops().flip(bits, begin(g), begin(g + 1) - begin(g), total.data());
  }

  // task(column, value) for the entries of cluster g
  template <class Task>
  void each(Index g, const Task& task) const {
    for (const ColumnChange* at = begin(g); at != begin(g + 1); ++at) task(at->column, at->value);
  }

  // The clusters by their sums, not by their numbers, from the largest on.
  std::vector<Index> order() const {
    std::vector<double> square(static_cast<std::size_t>(size()), 0.0);
    for (Index g = 0; g < size(); ++g) {
      each(g, [&](int, double value) { square[static_cast<std::size_t>(g)] += value * value; });
    }
    std::vector<Index> out(square.size());
    std::iota(out.begin(), out.end(), Index{0});
    std::sort(out.begin(), out.end(), [&](Index a, Index b) {
      const double left = square[static_cast<std::size_t>(a)],
                   right = square[static_cast<std::size_t>(b)];
      if (left != right) return left > right;
      return std::lexicographical_compare(begin(a), begin(a + 1), begin(b), begin(b + 1), before);
    });
    return out;
  }

  // sum_g c_g c_g', in this order
  Matrix products(const Engine& engine, const std::vector<Index>& order) const {
    Matrix out = parallel_reduce(
        engine, size(), rung_block, Matrix(Matrix::Zero(columns(), columns())),
        [&](Index begin, Index count) {
          Matrix part = Matrix::Zero(columns(), columns());
          for (Index at = begin; at < begin + count; ++at) {
            const Index g = order[static_cast<std::size_t>(at)];
            each(g, [&](int a, double left) {
              each(g, [&](int b, double right) {
                if (b <= a) part(a, b) += left * right;
              });
            });
          }
          return part;
        },
        [](Matrix& total, const Matrix& part) { total += part; });
    out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
    return out;
  }

 private:
  const ColumnChange* begin(Index g) const {
    return entries_.data() + start_[static_cast<std::size_t>(g)];
  }
  static bool before(const ColumnChange& a, const ColumnChange& b) {
    return std::tie(a.column, a.value) < std::tie(b.column, b.value);
  }
  Vector open_;
  std::vector<bool> used_;
  std::vector<int> touched_;
  std::vector<ColumnChange> entries_;
  std::vector<std::size_t> start_ = {0};
};

}  // namespace calibrisk

#endif
