// SPDX-License-Identifier: GPL-3.0-or-later
// Two ways to make the accuracy a monotone function of the confidence, both on
// sorted data given by the ends of its tie blocks (1-based, the last is n):
// isotonic regression, and the sweep of Roelofs et al. (2022), the largest number of
// equal-mass bins such that no smaller number has a bin less accurate than the one before.
#ifndef CALIBRISK_CLASSICAL_MONOTONE_BINS_H
#define CALIBRISK_CLASSICAL_MONOTONE_BINS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrisk {

struct Pools {
  std::vector<int> ends;       // last row of each pool, 1-based
  std::vector<double> values;  // its mean, strictly increasing
};

// Pool adjacent violators: total [m] and weight [m] of each tie block, end [m]. O(m).
inline Pools isotonic_pools(const double* total, const double* weight, const int* end,
                            std::size_t m) {
  Pools pools;
  std::vector<double> sums, weights;
  for (std::size_t i = 0; i < m; ++i) {
    double s = total[i], w = weight[i];
    // mean of the last pool >= mean of the new one, without dividing
    while (!sums.empty() && sums.back() * w >= s * weights.back()) {
      s += sums.back();
      w += weights.back();
      sums.pop_back();
      weights.pop_back();
      pools.ends.pop_back();
    }
    sums.push_back(s);
    weights.push_back(w);
    pools.ends.push_back(end[i]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) pools.values.push_back(sums[i] / weights[i]);
  return pools;
}

class MonotoneSweep {
 public:
  // y [n] 0/1 sorted by confidence; tie_ends [m].
  MonotoneSweep(const int* y, std::int64_t n, const int* tie_ends, std::size_t m)
      : n_(n), tie_end_(static_cast<std::size_t>(n) + 1), ones_(static_cast<std::size_t>(n) + 1) {
    for (std::size_t b = 0, i = 1; b < m; ++b) {
      for (; i <= static_cast<std::size_t>(tie_ends[b]); ++i) tie_end_[i] = tie_ends[b];
    }
    first_one_ = n;  // rows before the first success
    last_zero_ = 0;  // rows up to the last failure
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ones_[at + 1] = ones_[at] + y[i];
      if (y[i] == 1) first_one_ = std::min(first_one_, i);
      if (y[i] == 0) last_zero_ = i + 1;
    }
  }

  // Bins of only failures at the start and of only successes at the end violate
  // nothing, so that each number of bins costs only its bins in between: separable
  // data, where every number passes, stays cheap.
  std::int64_t run() const {
    if (first_one_ >= last_zero_) return n_;
    std::int64_t bins = 1;
    while (bins < n_ && monotone(bins + 1)) ++bins;
    return bins;
  }

 private:
  // End of the k-th of b equal-mass bins: the tie block of order statistic ceil(n k / b).
  std::int64_t end(std::int64_t k, std::int64_t b) const {
    return tie_end_[static_cast<std::size_t>((n_ * k + b - 1) / b)];
  }
  std::int64_t ones(std::int64_t row) const { return ones_[static_cast<std::size_t>(row)]; }

  bool monotone(std::int64_t b) const {
    // largest k with end(k) <= first_one_: everything up to it is failures
    std::int64_t low = 0, high = b;
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      (end(mid, b) <= first_one_ ? low : high) = mid;
    }
    std::int64_t begin = low == 0 ? 0 : end(low, b);
    std::int64_t last_sum = 0, last_size = 1;  // mean 0
    for (std::int64_t k = low + 1; k <= b && begin < last_zero_; ++k) {
      const std::int64_t stop = end(k, b);
      if (stop == begin) continue;
      const std::int64_t sum = ones(stop) - ones(begin), size = stop - begin;
      if (last_sum * size > sum * last_size) return false;
      last_sum = sum;
      last_size = size;
      begin = stop;
    }
    return true;  // what follows is successes only
  }

  std::int64_t n_, first_one_ = 0, last_zero_ = 0;
  std::vector<std::int64_t> tie_end_, ones_;
};

}  // namespace calibrisk

#endif
