// SPDX-License-Identifier: GPL-3.0-or-later
// Two ways to make the accuracy a monotone function of the confidence, both on sorted data given by
// the ends of its tie blocks (1-based, the last is n). They are isotonic regression and the sweep
// of Roelofs et al. (2022). The sweep finds the largest number of equal-mass bins such that no
// smaller number has a bin less accurate than the one before.
#ifndef CALIBRISK_CLASSICAL_MONOTONE_BINS_H
#define CALIBRISK_CLASSICAL_MONOTONE_BINS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace calibrisk {

struct Pools {
  std::vector<int> ends;       // last row of each pool, 1-based
  std::vector<double> values;  // its mean, strictly increasing
};

// Pools adjacent violators of blocks that are added in increasing order.
class PoolStack {
 public:
  // total and weight of the next block; `end`: its last row.
  void add(double total, double weight, int end) {
    // mean of the last pool >= mean of the new one, without dividing
    while (!sums_.empty() && sums_.back() * weight >= total * weights_.back()) {
      total += sums_.back();
      weight += weights_.back();
      sums_.pop_back();
      weights_.pop_back();
      ends_.pop_back();
    }
    sums_.push_back(total);
    weights_.push_back(weight);
    ends_.push_back(end);
  }
  Pools pools() const {
    Pools out{ends_, sums_};
    for (std::size_t i = 0; i < sums_.size(); ++i) out.values[i] /= weights_[i];
    return out;
  }

 private:
  std::vector<double> sums_, weights_;
  std::vector<int> ends_;
};

// total [m] and weight [m] of each tie block, end [m]. O(m).
inline Pools isotonic_pools(const double* total, const double* weight, const int* end,
                            std::size_t m) {
  PoolStack stack;
  for (std::size_t i = 0; i < m; ++i) stack.add(total[i], weight[i], end[i]);
  return stack.pools();
}

// Rows that count 1: where equal-mass bins end, and how many successes there are up to a row. All
// in integers.
class CountedRows {
 public:
  using Number = std::int64_t;
  // y [n] 0/1 sorted by confidence; tie_ends [m].
  CountedRows(const int* y, std::int64_t n, const int* tie_ends, std::size_t m)
      : n_(n), tie_end_(static_cast<std::size_t>(n) + 1), ones_(static_cast<std::size_t>(n) + 1) {
    for (std::size_t b = 0, i = 1; b < m; ++b) {
      for (; i <= static_cast<std::size_t>(tie_ends[b]); ++i) tie_end_[i] = tie_ends[b];
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) ones_[i + 1] = ones_[i] + y[i];
  }

  std::int64_t rows() const { return n_; }
  std::int64_t copies() const { return n_; }
  // End of the k-th of b equal-mass bins: the tie block of order statistic ceil(n k / b).
  std::int64_t end(std::int64_t k, std::int64_t b) const {
    return tie_end_[static_cast<std::size_t>((n_ * k + b - 1) / b)];
  }
  Number size(std::int64_t begin, std::int64_t end) const { return end - begin; }
  Number ones(std::int64_t begin, std::int64_t end) const {
    return ones_[at(end)] - ones_[at(begin)];
  }
  // Is the mean of the first, ones / size, above that of the second?
  static bool falls(Number ones, Number size, Number next_ones, Number next_size) {
    return ones * next_size > next_ones * size;
  }

 private:
  static std::size_t at(std::int64_t row) { return static_cast<std::size_t>(row); }
  std::int64_t n_;
  std::vector<std::int64_t> tie_end_, ones_;
};

// Rows with weights: a bin ends at the tie block where the sum of the weights reaches its share.
class WeightedRows {
 public:
  using Number = double;
  // sum_w, sum_y [n]: cumulative weights of the rows and of the successes; the copies of all rows.
  WeightedRows(const double* sum_w, const double* sum_y, std::int64_t n, std::int64_t copies,
               const int* tie_ends, std::size_t m)
      : n_(n), copies_(copies), sum_w_(sum_w), sum_y_(sum_y), tie_ends_(tie_ends), reached_(m) {
    for (std::size_t b = 0; b < m; ++b) reached_[b] = sum_w[tie_ends[b] - 1];
  }

  std::int64_t rows() const { return n_; }
  std::int64_t copies() const { return copies_; }
  std::int64_t end(std::int64_t k, std::int64_t b) const {
    const double share = reached_.back() * static_cast<double>(k) / static_cast<double>(b);
    const auto place = std::lower_bound(reached_.begin(), reached_.end(), share * (1.0 - 1e-12));
    const auto block = std::min<std::ptrdiff_t>(place - reached_.begin(),
                                                static_cast<std::ptrdiff_t>(reached_.size()) - 1);
    return tie_ends_[block];
  }
  Number size(std::int64_t begin, std::int64_t end) const { return between(sum_w_, begin, end); }
  Number ones(std::int64_t begin, std::int64_t end) const { return between(sum_y_, begin, end); }
  // Equal means are so up to rounding.
  static bool falls(Number ones, Number size, Number next_ones, Number next_size) {
    return ones * next_size > next_ones * size + 1e-12 * size * next_size;
  }

 private:
  static double between(const double* sum, std::int64_t begin, std::int64_t end) {
    return sum[end - 1] - (begin == 0 ? 0.0 : sum[begin - 1]);
  }
  std::int64_t n_, copies_;
  const double* sum_w_;
  const double* sum_y_;
  const int* tie_ends_;
  std::vector<double> reached_;
};

template <class Rows>
class MonotoneSweep {
 public:
  // y [n] 0/1 in the order of the rows.
  MonotoneSweep(Rows rows, const int* y) : rows_(std::move(rows)) {
    const std::int64_t n = rows_.rows();
    first_one_ = n;  // rows before the first success
    last_zero_ = 0;  // rows up to the last failure
    for (std::int64_t i = 0; i < n; ++i) {
      if (y[i] == 1) first_one_ = std::min(first_one_, i);
      if (y[i] == 0) last_zero_ = i + 1;
    }
  }

  // Bins with only failures at the start and with only successes at the end violate nothing, so
  // each number of bins costs only its bins in between. Separable data, where every number passes,
  // stay cheap.
  std::int64_t run() const {
    if (first_one_ >= last_zero_) return rows_.copies();
    std::int64_t bins = 1;
    while (bins < rows_.copies() && monotone(bins + 1)) ++bins;
    return bins;
  }

 private:
  bool monotone(std::int64_t b) const {
    using Number = typename Rows::Number;
    // largest k with end(k) <= first_one_: everything up to it is failures
    std::int64_t low = 0, high = b;
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      (rows_.end(mid, b) <= first_one_ ? low : high) = mid;
    }
    std::int64_t begin = low == 0 ? 0 : rows_.end(low, b);
    Number last_sum = 0, last_size = 1;  // mean 0
    for (std::int64_t k = low + 1; k <= b && begin < last_zero_; ++k) {
      const std::int64_t stop = rows_.end(k, b);
      if (stop == begin) continue;
      const Number sum = rows_.ones(begin, stop), size = rows_.size(begin, stop);
      if (Rows::falls(last_sum, last_size, sum, size)) return false;
      last_sum = sum;
      last_size = size;
      begin = stop;
    }
    return true;  // what follows is successes only
  }

  Rows rows_;
  std::int64_t first_one_ = 0, last_zero_ = 0;
};

}  // namespace calibrisk

#endif
