// SPDX-License-Identifier: GPL-3.0-or-later
// Isotonic regression of tie blocks, and of many redrawn outcomes at once.
#ifndef CALIBRISK_RECAL_ISOTONIC_H
#define CALIBRISK_RECAL_ISOTONIC_H

#include <calibrisk/classical/count_draws.h>
#include <calibrisk/classical/monotone_bins.h>
#include <calibrisk/engine.h>

#include <numeric>

namespace calibrisk {

// total and weight of each tie block, in increasing order -> the closest non-decreasing values.
inline Vector isotonic(const std::vector<double>& total, const std::vector<double>& weight) {
  require(total.size() == weight.size(), "isotonic: one weight per block.");
  std::vector<int> end(total.size());
  std::iota(end.begin(), end.end(), 1);
  const Pools pools = isotonic_pools(total.data(), weight.data(), end.data(), total.size());
  Vector out(static_cast<Index>(total.size()));
  Index from = 0;
  for (std::size_t k = 0; k < pools.ends.size(); ++k) {
    out.segment(from, pools.ends[k] - from).setConstant(pools.values[k]);
    from = pools.ends[k];
  }
  return out;
}

// Column r: the isotonic fit of draw r (blocks are the ties of the predictions) at the blocks
// `at` (0-based). Cost O(draws n).
inline Matrix isotonic_draws(const Engine& engine, const CountDraws& draws,
                             const std::vector<int>& at, Index times, std::uint64_t seed) {
  Matrix out(static_cast<Index>(at.size()), times);
  parallel_for(engine, times, [&](Index r) {
    const Vector fit = isotonic(draws.totals(seed, static_cast<std::uint64_t>(r)), draws.trials());
    for (std::size_t g = 0; g < at.size(); ++g) out(static_cast<Index>(g), r) = fit[at[g]];
  });
  return out;
}

// The likelihood ratio of pi(x_k) = theta under an increasing pi (Banerjee & Wellner 2001), for the
// blocks `at`. The constrained fit is the isotonic fit of the blocks before k, at most theta; theta
// in block k; and the isotonic fit of the blocks after k, at least theta. Twice the log ratio
// equals `critical` at the limits. Cost O(m) per place, plus the pools per step of the search.
inline Matrix isotonic_limits(const Engine& engine, const std::vector<double>& total,
                              const std::vector<double>& weight, const std::vector<int>& at,
                              const std::vector<double>& critical) {
  struct Sums {
    double successes, trials;
  };
  const auto log_likelihood = [](const Sums& s, double p) {
    const double failures = s.trials - s.successes;
    return (s.successes > 0 ? s.successes * std::log(p) : 0.0) +
           (failures > 0 ? failures * std::log1p(-p) : 0.0);
  };
  const auto pools_of = [&](std::size_t from, std::size_t to) {
    std::vector<Sums> out;
    if (from == to) return out;
    std::vector<int> end(to - from);
    std::iota(end.begin(), end.end(), 1);
    const Pools pools =
        isotonic_pools(total.data() + from, weight.data() + from, end.data(), to - from);
    std::size_t row = from;
    for (const int last : pools.ends) {
      Sums s{0.0, 0.0};
      for (; row < from + static_cast<std::size_t>(last); ++row) {
        s.successes += total[row];
        s.trials += weight[row];
      }
      out.push_back(s);
    }
    return out;
  };
  const Vector fit = isotonic(total, weight);
  double best = 0.0;
  for (std::size_t k = 0; k < total.size(); ++k) {
    best += log_likelihood({total[k], weight[k]}, fit[static_cast<Index>(k)]);
  }
  Matrix out(static_cast<Index>(at.size()), 2);
  parallel_for(engine, static_cast<Index>(at.size()), [&](Index g) {
    const auto k = static_cast<std::size_t>(at[static_cast<std::size_t>(g)]);
    const std::vector<Sums> before = pools_of(0, k), after = pools_of(k + 1, total.size());
    const auto ratio = [&](double theta) {
      double value = log_likelihood({total[k], weight[k]}, theta);
      for (const Sums& s : before)
        value += log_likelihood(s, std::min(s.successes / s.trials, theta));
      for (const Sums& s : after)
        value += log_likelihood(s, std::max(s.successes / s.trials, theta));
      return 2.0 * (best - value);
    };
    const double centre = fit[static_cast<Index>(k)], limit = critical[static_cast<std::size_t>(g)];
    const auto search = [&](double inside, double outside) {
      if (inside == outside || ratio(outside) <= limit) return outside;
      for (int step = 0; step < 40; ++step) {
        const double middle = 0.5 * (inside + outside);
        (ratio(middle) <= limit ? inside : outside) = middle;
      }
      return inside;
    };
    out(g, 0) = search(centre, 0.0);
    out(g, 1) = search(centre, 1.0);
  });
  return out;
}

}  // namespace calibrisk

#endif
