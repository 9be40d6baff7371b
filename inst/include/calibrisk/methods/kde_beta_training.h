// SPDX-License-Identifier: GPL-3.0-or-later
// Training values and queries of the Beta kernel, sorted.
#ifndef CALIBRISK_METHODS_KDE_BETA_TRAINING_H
#define CALIBRISK_METHODS_KDE_BETA_TRAINING_H

#include <calibrisk/engine.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace calibrisk {

// Distinct training values, ascending, each with the blocks of the training rows that have it: how
// often it occurs there, and how often with label 1. Most values occur once, so that a place for
// every block would be empty memory. Values are stored as the distance to the nearer end of [0, 1]:
// p below 1/2, p - 1 from there on, so that values next to 1 keep their relative accuracy.
struct BetaTraining {
  struct Part {
    Index block;
    double count, positive;
  };

  Index n_blocks = 1;
  std::vector<double> offset;
  std::vector<Part> parts;      // value by value
  std::vector<Index> part_end;  // of each value
  Index n_lower = 0;            // values below 1/2

  explicit BetaTraining(Index blocks = 1) : n_blocks(blocks) {}

  Index n() const { return static_cast<Index>(offset.size()); }
  const Part* begin(Index i) const {
    return parts.data() + (i == 0 ? 0 : part_end[static_cast<std::size_t>(i - 1)]);
  }
  const Part* end(Index i) const { return parts.data() + part_end[static_cast<std::size_t>(i)]; }

  void reserve(Index rows) {
    offset.reserve(static_cast<std::size_t>(rows));
    parts.reserve(static_cast<std::size_t>(rows));
    part_end.reserve(static_cast<std::size_t>(rows));
  }
  void add(double p, double label, double w, Index block = 0) {  // in ascending order of p
    const bool upper = p >= 0.5;
    const double x = upper ? p - 1.0 : p;
    if (offset.empty() || offset.back() != x || (n() == n_lower) == upper) {
      append(x, upper, {block, w, w * label});
      return;
    }
    for (Index at = begin(n() - 1) - parts.data(); at < part_end.back(); ++at) {
      Part& part = parts[static_cast<std::size_t>(at)];
      if (part.block != block) continue;
      part.count += w;
      part.positive += w * label;
      return;
    }
    parts.push_back({block, w, w * label});
    ++part_end.back();
  }
  void append(double x, bool upper, const Part& part) {  // a new value
    offset.push_back(x);
    parts.push_back(part);
    part_end.push_back(static_cast<Index>(parts.size()));
    if (!upper) ++n_lower;
  }
};

// Values or nodes that stand for training values, with both weights of every block.
struct BetaItems {
  Index n_blocks;
  std::vector<double> offset;
  std::vector<double> weight;  // item by item, count and positive of block by block

  explicit BetaItems(Index blocks) : n_blocks(blocks) {}

  Index n() const { return static_cast<Index>(offset.size()); }
  Index width() const { return 2 * n_blocks; }
  const double* weights(Index i) const { return weight.data() + i * width(); }

  void append(const BetaItems& from, Index i) {
    offset.push_back(from.offset[static_cast<std::size_t>(i)]);
    weight.insert(weight.end(), from.weights(i), from.weights(i + 1));
  }
  void append(const BetaTraining& from, Index i) {
    offset.push_back(from.offset[static_cast<std::size_t>(i)]);
    append_weights(from, i, weight);
  }
  // Both weights of every block of a training value.
  static void append_weights(const BetaTraining& from, Index i, std::vector<double>& weight) {
    const std::size_t first = weight.size();
    weight.resize(first + static_cast<std::size_t>(2 * from.n_blocks));
    for (const BetaTraining::Part* part = from.begin(i); part != from.end(i); ++part) {
      double* const of_block = &weight[first + static_cast<std::size_t>(2 * part->block)];
      of_block[0] = part->count;
      of_block[1] = part->positive;
    }
  }
};

// Count and positive of all blocks but one (none: -1).
struct BetaPair {
  double count = 0.0, positive = 0.0;

  BetaPair(const double* weights, Index n_blocks, Index left_out) {
    for (Index b = 0; b < n_blocks; ++b) {
      if (b == left_out) continue;
      count += weights[2 * b];
      positive += weights[2 * b + 1];
    }
  }
  BetaPair(const BetaTraining& values, Index i, Index left_out) {
    for (const BetaTraining::Part* part = values.begin(i); part != values.end(i); ++part) {
      if (part->block == left_out) continue;
      count += part->count;
      positive += part->positive;
    }
  }
};

// logit(z), accurate next to both ends
inline double beta_logit(double z) {
  return z < 0.5 ? std::log(z) - std::log1p(-z) : std::log1p(z - 1.0) - std::log(1.0 - z);
}

// Queries in ascending order of z: n_zeros rows with z exactly 0, those between, n_ones rows with z
// exactly 1. The ratio at a row of fold f > 0 leaves block f - 1 of the training rows out, that of
// fold 0 each block in turn. Without folds nothing is left out.
struct BetaQueries {
  std::vector<double> logit;  // of 0 < z < 1
  std::vector<int> fold;
  Index n_zeros = 0, n_ones = 0;

  BetaQueries() = default;
  BetaQueries(const Engine& engine, const std::vector<double>& z, std::vector<int> folds)
      : fold(std::move(folds)) {
    const auto inside = std::upper_bound(z.begin(), z.end(), 0.0);
    const auto ones = std::lower_bound(inside, z.end(), 1.0);
    n_zeros = static_cast<Index>(inside - z.begin());
    n_ones = static_cast<Index>(z.end() - ones);
    logit.resize(static_cast<std::size_t>(ones - inside));
    constexpr std::size_t block = 8192;
    parallel_for(engine, static_cast<Index>((logit.size() + block - 1) / block), [&](Index task) {
      const std::size_t begin = static_cast<std::size_t>(task) * block;
      for (std::size_t i = begin; i < std::min(logit.size(), begin + block); ++i) {
        logit[i] = beta_logit(inside[static_cast<std::ptrdiff_t>(i)]);
      }
    });
  }

  Index n() const { return n_zeros + static_cast<Index>(logit.size()) + n_ones; }
};

// The queries of a chunk that leave one block out, or none (-1).
struct BetaSet {
  Index left_out = -1;
  std::vector<Index> rows;    // positions among all queries
  std::vector<double> logit;  // of 0 < z < 1
  Index n_zeros = 0;
};

// Their ratios, as far as they are done.
struct BetaRatios {
  const BetaSet& set;
  std::vector<double> ratio;
  std::size_t done = 0;
  std::vector<std::size_t> refused;  // those that have no ratio yet

  explicit BetaRatios(const BetaSet& queries)
      : set(queries), ratio(queries.logit.size(), std::numeric_limits<double>::quiet_NaN()) {}
  // the end of the queries up to `last`
  std::size_t end(double last) const {
    return static_cast<std::size_t>(
        std::upper_bound(set.logit.begin() + static_cast<std::ptrdiff_t>(done), set.logit.end(),
                         last) -
        set.logit.begin());
  }
};

// The sets of the queries [begin, end).
inline std::vector<BetaSet> beta_sets(const BetaQueries& queries, Index n_blocks, Index begin,
                                      Index end) {
  const bool leave_out = !queries.fold.empty();
  std::vector<BetaSet> sets(leave_out ? static_cast<std::size_t>(n_blocks) : 1);
  for (std::size_t t = 0; t < sets.size(); ++t) sets[t].left_out = leave_out ? Index(t) : -1;
  for (Index i = begin; i < end; ++i) {
    const auto fold = leave_out ? static_cast<std::size_t>(queries.fold[std::size_t(i)]) : 0;
    const Index inside = i - queries.n_zeros;
    for (std::size_t t = fold == 0 ? 0 : fold - 1; t < (fold == 0 ? sets.size() : fold); ++t) {
      sets[t].rows.push_back(i);
      if (inside < 0) {
        ++sets[t].n_zeros;
      } else if (inside < static_cast<Index>(queries.logit.size())) {
        sets[t].logit.push_back(queries.logit[static_cast<std::size_t>(inside)]);
      }
    }
  }
  return sets;
}

}  // namespace calibrisk

#endif
