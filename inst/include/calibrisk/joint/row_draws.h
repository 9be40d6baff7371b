// SPDX-License-Identifier: GPL-3.0-or-later
// Outcomes drawn from the predictions, y* ~ Bernoulli(p), by a generator that counts: a random
// number depends on the number of its draw among the sorted ones and on that of the redraw. Neither
// the order of the rows nor the number of threads matters.
#ifndef CALIBRISK_JOINT_ROW_DRAWS_H
#define CALIBRISK_JOINT_ROW_DRAWS_H

#include <calibrisk/joint/rows.h>
#include <calibrisk/math/counter_packs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace calibrisk {

constexpr std::uint64_t redraw_key = 20261124;

namespace detail {

// Consecutive draws of similar probability of the rarer outcome, at most `largest`.
struct DrawBlock {
  std::size_t begin, end;
  double largest;
};

// The copies of rows. A row of c copies, not a whole number, is the nearest number of copies,
// each multiplied by the root of c over that number: variances are those of c.
class RowDraws {
 public:
  explicit RowDraws(const JointRows& rows) {
    for (Index i = 0; i < rows.size(); ++i) {
      const auto m = static_cast<Index>(std::max(std::nearbyint(rows.copies(i)), 1.0));
      for (Index d = 0; d < m; ++d) row_.push_back(static_cast<int>(i));
      factor_.push_back(std::sqrt(rows.copies(i) / static_cast<double>(m)));
    }
    for (const int i : row_) rarer_.push_back(rarer(rows.p(i)));
    std::size_t begin = 0;
    double expected = 0.0, least = 1.0, most = 0.0;
    for (std::size_t d = 0; d < row_.size(); ++d) {
      const double q = rarer_[d];
      const double low = std::min(least, q), high = std::max(most, q);
      if (d > begin && (high > 2.0 * low || expected > 8.0 || d - begin == most_of_block)) {
        blocks_.push_back({begin, d, most});
        begin = d;
        expected = 0.0;
        least = most = q;
      } else {
        least = low;
        most = high;
      }
      expected += q;
    }
    blocks_.push_back({begin, row_.size(), most});
  }

  double factor(Index row) const { return factor_[static_cast<std::size_t>(row)]; }

  // For every draw whose outcome is the rarer one, in redraws begin ... begin + 63: task.one(row,
  // r) where that is so in redraw begin + r, or task.several(row, mask) for all of them. The rows
  // of a redraw ascend.
  template <class Task>
  void rare(std::uint64_t begin, Task& task) const {
    constexpr double often = 0.1;
    std::uint64_t keys[counter_draws];
    for (std::uint64_t r = 0; r < counter_draws; ++r) keys[r] = counter_key(redraw_key, begin + r);
    DrawMask mask;
    for (const DrawBlock& block : blocks_) {
      if (block.largest > often) {
        for (std::size_t d = block.begin; d < block.end; ++d) {
          counter_loops().below(keys, 2 * d, counter_limit(rarer_[d]), mask);
          task.several(static_cast<Index>(row_[d]), mask);
        }
        continue;
      }
      skip(block, keys, task);
    }
  }

 private:
  static constexpr std::size_t most_of_block = 4096;

  // To the next candidate at once, then by the ratio of probabilities.
  template <class Task>
  void skip(const DrawBlock& block, const std::uint64_t* keys, Task& task) const {
    const double most = std::max(block.largest, 1e-300), rate = std::log1p(-most);
    const std::size_t size = block.end - block.begin;
    // whether there is one in what is left of the block, without its logarithm; nearly
    std::array<double, most_of_block + 1> any;
    double none = 1.0;
    for (std::size_t left = 0; left <= size; ++left, none *= 1.0 - most) {
      any[left] = 1.0 - none + 1e-9;
    }
    DrawMask some;
    counter_loops().below(keys, 2 * block.begin, counter_limit(any[size]), some);
    for (int r = 0; r < counter_draws; ++r) {
      if (some.of[r] == 0) continue;
      std::uint64_t counter = 2 * block.begin;
      const auto uniform = [&] { return counter_number(keys[r], counter++); };
      std::size_t d = block.begin;
      while (true) {
        const double u = uniform();
        if (!(u < any[block.end - d])) break;
        const double steps = std::floor(std::log(1.0 - u) / rate);
        if (!(steps < static_cast<double>(block.end - d))) break;
        d += static_cast<std::size_t>(steps);
        if (uniform() * block.largest < rarer_[d]) task.one(static_cast<Index>(row_[d]), r);
        ++d;
      }
    }
  }

  std::vector<int> row_;
  std::vector<double> rarer_;   // probability of each draw
  std::vector<double> factor_;  // of each row
  std::vector<DrawBlock> blocks_;
};

}  // namespace detail

}  // namespace calibrisk

#endif
