// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of events in blocks of rows, for outcomes drawn from the rows' probabilities.
#ifndef CALIBRISK_CLASSICAL_COUNT_DRAWS_H
#define CALIBRISK_CLASSICAL_COUNT_DRAWS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/tail_quantiles.h>
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

// The first three cumulants of a number of at most `most` events.
struct CountLaw {
  double mean = 0.0, variance = 0.0, third = 0.0, most = 0.0;

  void add(double trials, double p) {
    const double v = trials * p * (1.0 - p);
    mean += trials * p;
    variance += v;
    third += v * (1.0 - 2.0 * p);
    most += trials;
  }
  bool nearly_normal() const { return variance >= 9.0; }
  // The quantile at u, by Cornish and Fisher's correction of the normal one for skewness.
  double at(double u) const {
    const double z = -normal_quantile(u);
    const double value = mean + std::sqrt(variance) * z + third / variance * (z * z - 1.0) / 6.0;
    return std::min(std::max(std::nearbyint(value), 0.0), most);
  }
};

// A binomial number of successes, from a uniform one.
inline double drawn_successes(double trials, double p, double u) {
  CountLaw law;
  law.add(trials, p);
  if (law.nearly_normal()) return law.at(u);
  return p > 0.5 ? trials - binomial_quantile(trials, 1.0 - p, u) : binomial_quantile(trials, p, u);
}

// The number of times that a bootstrap sample of very many rows holds a row that stands for
// `copies`. It is a Poisson number: the successes in many trials, each of them rare.
inline double drawn_copies(double copies, double u) {
  constexpr double many = 1e12;
  return drawn_successes(many, copies / many, u);
}

// Rows of the probabilities `prob`, each of which stands for so many equal ones (`copies`, whole
// numbers; empty: 1), in blocks: block k ends before row end[k]. A draw depends on (seed, draw)
// alone and is that of the repeated rows, except for rows of more than 32 copies. Their number of
// events is drawn at once. Where that of a block is nearly normal, it is drawn for all of them.
class CountDraws {
 public:
  CountDraws(const ConstVectorRef& prob, const ConstVectorRef& copies, const std::vector<int>& end)
      : prob_(prob), copies_(copies), end_(end) {
    require(!end.empty() && end.back() == prob.size(), "CountDraws: the last block ends at n.");
    require(copies.size() == 0 || copies.size() == prob.size(), "CountDraws: one count per row.");
    Index i = 0;
    for (const int last : end) {
      double trials = 0.0;
      CountLaw many;
      for (; i < last; ++i) {
        trials += count(i);
        if (count(i) > most_single) many.add(count(i), prob[i]);
      }
      trials_.push_back(trials);
      many_.push_back(many);
    }
  }

  // Numbers of events per block.
  std::vector<double> totals(std::uint64_t seed, std::uint64_t draw) const {
    std::vector<double> total(end_.size());
    std::uint64_t place = 0;  // of a copy
    Index i = 0;
    for (std::size_t k = 0; k < end_.size(); ++k) {
      if (copies_.size() == 0) {
        for (; i < end_[k]; ++i) total[k] += event(seed, draw, place++, i);
        continue;
      }
      const CountLaw& many = many_[k];
      const bool normal = many.nearly_normal();
      if (normal) total[k] = many.at(counter_uniform(seed, draw, first_many(i, place)));
      for (; i < end_[k]; ++i) {
        const double c = count(i);
        if (c > most_single) {
          if (!normal) total[k] += drawn_successes(c, prob_[i], counter_uniform(seed, draw, place));
          place += static_cast<std::uint64_t>(c);
          continue;
        }
        for (double one = 0.0; one < c; one += 1.0) total[k] += event(seed, draw, place++, i);
      }
    }
    return total;
  }

  const std::vector<double>& trials() const { return trials_; }

 private:
  static constexpr double most_single = 32.0;

  double event(std::uint64_t seed, std::uint64_t draw, std::uint64_t place, Index i) const {
    return counter_uniform(seed, draw, place) < prob_[i] ? 1.0 : 0.0;
  }

  double count(Index i) const { return copies_.size() == 0 ? 1.0 : copies_[i]; }

  // The place of the first copy of many, from row i on.
  std::uint64_t first_many(Index i, std::uint64_t place) const {
    for (; count(i) <= most_single; ++i) place += static_cast<std::uint64_t>(count(i));
    return place;
  }

  const ConstVectorRef& prob_;
  const ConstVectorRef& copies_;
  const std::vector<int>& end_;
  std::vector<double> trials_;  // rows of a block, with their copies
  std::vector<CountLaw> many_;  // of its rows of many copies
};

// [blocks x draws]
inline Matrix count_draws(const Engine& engine, const CountDraws& draws, Index times,
                          std::uint64_t seed) {
  Matrix out(static_cast<Index>(draws.trials().size()), times);
  parallel_for(engine, times, [&](Index r) {
    const std::vector<double> total = draws.totals(seed, static_cast<std::uint64_t>(r));
    std::copy(total.begin(), total.end(), out.col(r).data());
  });
  return out;
}

}  // namespace calibrisk

#endif
