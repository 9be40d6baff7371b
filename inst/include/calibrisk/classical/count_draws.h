// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of events in blocks of rows, for outcomes drawn from the rows' probabilities.
#ifndef CALIBRISK_CLASSICAL_COUNT_DRAWS_H
#define CALIBRISK_CLASSICAL_COUNT_DRAWS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/tail_quantiles.h>
#include <calibrisk/recal/poisson_binomial.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace calibrisk {

// The smallest number of successes among `trials` whose distribution function reaches u, for
// probabilities up to 1/2; `trials` p is small enough for a sum from 0 on.
inline double binomial_quantile(double trials, double p, double u) {
  const double odds = p / (1.0 - p);
  double mass = std::exp(trials * std::log1p(-p)), reached = mass, k = 0.0;
  while (reached <= u && k < trials && mass > 0.0) {
    mass *= (trials - k) / (k + 1.0) * odds;
    reached += mass;
    k += 1.0;
  }
  return k;
}

// The first three cumulants of a sum of independent events, each of which adds its own size.
struct SumLaw {
  double mean = 0.0, variance = 0.0, third = 0.0, most = 0.0;

  void add(double trials, double p, double size = 1.0) {
    const double v = trials * p * (1.0 - p) * size * size;
    mean += trials * p * size;
    variance += v;
    third += v * (1.0 - 2.0 * p) * size;
    most += trials * size;
  }
  // The quantile at u, by Cornish and Fisher's correction of the normal one for skewness.
  double at(double u, bool whole = true) const {
    const double z = -normal_quantile(u);
    const double value = mean + std::sqrt(variance) * z + third / variance * (z * z - 1.0) / 6.0;
    return std::min(std::max(whole ? std::nearbyint(value) : value, 0.0), most);
  }
};

// A binomial number of successes, from a uniform one.
inline double drawn_successes(double trials, double p, double u) {
  SumLaw law;
  law.add(trials, p);
  if (law.variance >= 9.0) return law.at(u);
  return p > 0.5 ? trials - binomial_quantile(trials, 1.0 - p, u) : binomial_quantile(trials, p, u);
}

// The number of times that a bootstrap sample of very many rows holds a row that stands for
// `copies`. It is a Poisson number: the successes in many trials, each of them rare.
inline double drawn_copies(double copies, double u) {
  constexpr double many = 1e12;
  return drawn_successes(many, copies / many, u);
}

// What rows count in sums of their outcomes. Plain rows: v and u are empty, k is 1. Otherwise (and
// see R/curve-design.R) a row's share of its block's expected sum is v p, and its draw adds
// u (event (k (1 - p) + p) - p), where the event has the odds of p over k. `copies` (whole numbers;
// empty: 1): how many equal rows each stands for.
struct RowCounts {
  ConstVectorRef copies, v, u;
  double k = 1.0;

  bool plain() const { return v.size() == 0; }
  double rows(Index i) const { return copies.size() == 0 ? 1.0 : copies[i]; }
  // what the row counts in its block
  double weight(Index i) const { return plain() ? rows(i) : v[i]; }
};

// From so many rows on, blocks of several rows have one draw each, from the law of their sum. The
// outcomes of fewer rows are drawn one by one.
inline bool drawn_by_block(const ConstVectorRef& prob, const RowCounts& rows) {
  const double n = rows.copies.size() == 0 ? static_cast<double>(prob.size()) : rows.copies.sum();
  return n > 10000.0;
}

// Sums of events in blocks of rows with the probabilities `prob`: block k ends before row end[k]. A
// draw depends on (seed, draw) alone, and is that of the repeated rows where these have copies.
class OutcomeDraws {
 public:
  CALIBRISK_SHARED OutcomeDraws(const ConstVectorRef& prob, const RowCounts& rows,
                                std::vector<int> end);

  std::size_t size() const { return blocks_.size(); }
  double weight(std::size_t k) const { return blocks_[k].weight; }

  CALIBRISK_SHARED std::vector<double> totals(std::uint64_t seed, std::uint64_t draw) const;

 private:
  enum class Kind { rows, table, normal };
  struct Block {
    Kind kind = Kind::rows;
    Index first = 0;
    double weight = 0.0, shift = 0.0;
    SumLaw law;
    double least = 0.0;               // of a table: the smallest count, and where its
    std::size_t begin = 0, size = 0;  // distribution function stands
  };
  // numbers of laws are others than those of rows
  static constexpr std::uint64_t law_places = std::uint64_t{1} << 48;

  double chance(Index i) const {
    const double p = prob_[i], k = rows_.k;
    return k == 1.0 ? p : p / (p + k * (1.0 - p));
  }
  // what an event of the row adds
  double size(Index i) const {
    return rows_.plain() ? 1.0 : rows_.u[i] * (rows_.k * (1.0 - prob_[i]) + prob_[i]);
  }

  CALIBRISK_SHARED void set_law(int last, Block& block);

  double counted(const Block& block, double u) const {
    std::size_t j = 0;
    while (j + 1 < block.size && below_[block.begin + j] <= u) ++j;
    return block.least + static_cast<double>(j);
  }

  // `place`: the number of the next copy
  CALIBRISK_SHARED double drawn_rows(std::uint64_t key, Index i, int last,
                                     std::uint64_t& place) const;

  const ConstVectorRef& prob_;
  const RowCounts& rows_;
  std::vector<int> end_;
  bool many_ = false;
  std::vector<Block> blocks_;
  std::vector<double> below_;  // the distribution functions of all tables
};

// [blocks x draws]
CALIBRISK_SHARED Matrix outcome_draws(const Engine& engine, const OutcomeDraws& draws, Index times,
                                      std::uint64_t seed);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CURVES)
OutcomeDraws::OutcomeDraws(const ConstVectorRef& prob, const RowCounts& rows, std::vector<int> end)
    : prob_(prob), rows_(rows), end_(std::move(end)) {
  require(!end_.empty() && end_.back() == prob.size(), "OutcomeDraws: the last block ends at n.");
  for (const ConstVectorRef* v : {&rows_.copies, &rows_.v, &rows_.u}) {
    require(v->size() == 0 || v->size() == prob.size(), "OutcomeDraws: one number per row.");
  }
  const bool counted = rows_.copies.size() > 0;
  many_ = drawn_by_block(prob, rows);
  Index i = 0;
  for (const int last : end_) {
    Block block;
    block.first = i;
    for (; i < last; ++i) {
      block.weight += rows_.weight(i);
      if (!rows_.plain()) block.shift += (rows_.v[i] - rows_.u[i]) * prob[i];
    }
    if (many_ && (counted || last - block.first > 1)) set_law(last, block);
    blocks_.push_back(block);
  }
}

std::vector<double> OutcomeDraws::totals(std::uint64_t seed, std::uint64_t draw) const {
  const std::uint64_t key = counter_key(seed, draw);
  std::vector<double> out(blocks_.size());
  std::uint64_t place = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const Block& block = blocks_[k];
    if (block.kind == Kind::rows) {
      out[k] = block.shift + drawn_rows(key, block.first, end_[k], place);
      continue;
    }
    const double u = counter_number(key, law_places + k);
    out[k] = block.kind == Kind::normal ? block.law.at(u, rows_.plain()) : counted(block, u);
    out[k] += block.shift;
  }
  return out;
}

void OutcomeDraws::set_law(int last, Block& block) {
  double trials = 0.0, largest = 0.0;
  for (Index i = block.first; i < last; ++i) {
    const double n = rows_.rows(i), each = size(i) / (rows_.plain() ? 1.0 : n);
    block.law.add(n, chance(i), each);
    trials += n;
    largest = std::max(largest, each);
  }
  if (block.law.variance >= 9.0 * largest * largest) {
    block.kind = Kind::normal;
  } else if (rows_.plain() && trials <= 1e6) {
    TrialCount count;
    for (Index i = block.first; i < last; ++i) {
      for (double one = 0.0; one < rows_.rows(i); one += 1.0) count.add(prob_[i]);
    }
    block.kind = Kind::table;
    block.least = count.first();
    block.begin = below_.size();
    block.size = count.mass().size();
    double sum = 0.0;
    for (const double mass : count.mass()) below_.push_back(sum += mass);
  }
}

double OutcomeDraws::drawn_rows(std::uint64_t key, Index i, int last, std::uint64_t& place) const {
  if (rows_.plain() && rows_.copies.size() == 0) {
    // without a branch that the processor would have to guess
    const double* p = prob_.data();
    Index events = 0;
    for (; i < last; ++i) events += counter_number(key, place++) < p[i];
    return static_cast<double>(events);
  }
  double sum = 0.0;
  for (; i < last; ++i) {
    const double n = rows_.rows(i), p = chance(i);
    if (n == 1.0 || (rows_.plain() && !many_)) {
      for (double one = 0.0; one < n; one += 1.0) {
        if (counter_number(key, place++) < p) sum += size(i);
      }
    } else {
      const double count = drawn_successes(n, p, counter_number(key, place));
      sum += size(i) * (rows_.plain() ? count : count / n);
      place += static_cast<std::uint64_t>(n);
    }
  }
  return sum;
}

Matrix outcome_draws(const Engine& engine, const OutcomeDraws& draws, Index times,
                     std::uint64_t seed) {
  Matrix out(static_cast<Index>(draws.size()), times);
  parallel_for(engine, times, [&](Index r) {
    const std::vector<double> total = draws.totals(seed, static_cast<std::uint64_t>(r));
    std::copy(total.begin(), total.end(), out.col(r).data());
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
